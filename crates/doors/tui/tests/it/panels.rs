//! Panels: layers and memories on the alternate screen.

use crate::views::{Stage, commands};
use crossterm::event::KeyCode;
use dormouse_agent::protocol::LayerName;
use dormouse_agent::{Command, Event};
use dormouse_core::id::RecordId;
use dormouse_core::units::Tokens;
use dormouse_core::usage::Usd;
use dormouse_tui::{Act, Effect, Input, Panel, PanelAction, PanelItem, PanelKind, Printed, Wish};

fn action(key: char, label: &str, act: Act) -> PanelAction {
    PanelAction {
        key,
        label: label.to_owned(),
        act,
    }
}

fn forgotten() -> Panel {
    let item = |title: &str, aside: &str, record: &str| PanelItem {
        title: title.to_owned(),
        aside: aside.to_owned(),
        detail: vec![
            "40 of 41 names and figures of yours are still in the prompt (98 %)".to_owned(),
            "  12.0k  tool results: the log of the build".to_owned(),
            "- gone".to_owned(),
            "+ came".to_owned(),
        ],
        actions: vec![action(
            'u',
            "take it back",
            Act::Undo(RecordId::new(record)),
        )],
    };
    Panel {
        summary: vec!["2 rewrites of the prompt, 31.0k tokens freed.".to_owned()],
        items: vec![
            item(
                "compact: compacted with a summary",
                "30.0k freed · $0.04",
                "second",
            ),
            item("clear: 3 old results", "1.0k freed", "first"),
        ],
        empty: "Nothing was forgotten.".to_owned(),
    }
}

fn opened() -> Stage {
    let mut stage = Stage::opened(80, 24);
    stage.shown();
    let effects = stage.control('o');
    assert_eq!(
        effects,
        [Effect::ReadPanel {
            kind: PanelKind::Forgotten,
            words: String::new()
        }]
    );
    assert!(stage.shown().contains("reading…"));
    stage.model.update(Input::Panel {
        kind: PanelKind::Forgotten,
        found: Ok(forgotten()),
    });
    stage
}

#[test]
fn one_key_shows_what_was_forgotten_and_one_takes_it_back() {
    let mut stage = opened();
    insta::assert_snapshot!("forgotten", stage.shown());
    stage.key(KeyCode::Down);
    assert!(stage.shown().contains("› clear: 3 old results"));
    let undo = Command::Undo {
        rewrite: Some(RecordId::new("first")),
    };
    assert_eq!(commands(stage.key(KeyCode::Char('u'))), [undo]);
    // The conversation is back as it was, and its lines stand once.
    let shown = stage.shown();
    assert!(!shown.contains("rewrites of the prompt"), "{shown}");
    let lines = stage.emulator.lines();
    let banners = lines.iter().filter(|line| line.contains("dormouse 0.1.0"));
    assert_eq!(banners.count(), 1, "{lines:#?}");
}

#[test]
fn lines_that_come_meanwhile_wait_for_the_panel_to_be_closed() {
    let mut stage = opened();
    stage.tell(Event::Notice {
        text: "news from the agent".to_owned(),
    });
    assert!(!stage.shown().contains("news from the agent"));
    stage.screen.resize(60, 20);
    stage.emulator.resize(60, 20);
    stage.shown();
    stage.key(KeyCode::Esc);
    stage.shown();
    let lines = stage.emulator.lines();
    let news = lines.iter().filter(|line| line.contains("news from"));
    assert_eq!(news.count(), 1, "{lines:#?}");
    assert!(!stage.emulator.has_modes() || stage.emulator.screen().contains("news"));
}

#[test]
fn a_small_screen_keeps_the_list_and_the_keys() {
    let mut stage = Stage::opened(40, 12);
    stage.control('o');
    stage.model.update(Input::Panel {
        kind: PanelKind::Forgotten,
        found: Ok(forgotten()),
    });
    insta::assert_snapshot!("forgotten_small", stage.shown());
}

#[test]
fn a_memory_is_edited_searched_and_its_answer_is_shown() {
    let mut stage = Stage::new(80, 24);
    // Without a session the key opens the memories.
    let effects = stage.control('o');
    let read = |words: &str| Effect::ReadPanel {
        kind: PanelKind::Memories,
        words: words.to_owned(),
    };
    assert_eq!(effects, [read("")]);
    let edit = Act::Edit {
        lines: vec![vec!["memory".to_owned(), "edit".to_owned()]],
        text: "Use tabs".to_owned(),
    };
    let panel = Panel {
        items: vec![PanelItem {
            title: "tabs.md".to_owned(),
            actions: vec![action('e', "edit", edit)],
            ..PanelItem::default()
        }],
        ..Panel::default()
    };
    stage.model.update(Input::Panel {
        kind: PanelKind::Memories,
        found: Ok(panel),
    });
    stage.key(KeyCode::Char('e'));
    stage.types("!");
    assert!(stage.shown().contains("edit › Use tabs!"));
    let effects = stage.key(KeyCode::Enter);
    let words = ["memory", "edit", "Use tabs!"].map(str::to_owned).to_vec();
    assert_eq!(effects, [Effect::Act(vec![words])]);
    let effects = stage.model.update(Input::Acted(Printed {
        text: "\nChanged: tabs.md\n".to_owned(),
        failed: false,
    }));
    assert_eq!(effects, [read("")]);
    assert!(stage.shown().contains("Changed: tabs.md"));
    stage.key(KeyCode::Char('/'));
    stage.types("blanks");
    assert_eq!(stage.key(KeyCode::Enter), [read("blanks")]);
    // Panels about a session are skipped without one.
    stage.key(KeyCode::BackTab);
    assert!(stage.shown().contains("›8 sessions"), "{}", stage.shown());
}

#[test]
fn a_compaction_tells_what_it_kept_and_offers_to_go_back() {
    let mut stage = Stage::opened(100, 24);
    let effects = stage.tell(Event::LayerActed {
        layer: LayerName::Compaction,
        what: "compacted with a summary".to_owned(),
        freed: Tokens(12_000),
        cost: Some(Usd::from_pico(40_000_000_000)),
        undo: Some(RecordId::new("r")),
    });
    assert_eq!(effects, [Effect::ReadKept]);
    stage.model.update(Input::Kept {
        before: 40,
        after: 40,
    });
    let shown = stage.shown();
    assert!(shown.contains("Ctrl+O shows it · /undo"), "{shown}");
    assert!(shown.contains("◦ 40 of 40 names and figures"), "{shown}");
    stage.model.update(Input::Kept {
        before: 40,
        after: 30,
    });
    let shown = stage.shown();
    assert!(shown.contains("! 30 of 40 names and figures"), "{shown}");
    assert!(shown.contains("takes the compaction back"), "{shown}");
}

#[test]
fn a_person_who_looks_elsewhere_is_called() {
    let mut stage = Stage::opened(80, 24);
    let wanted = || {
        Event::QuestionWanted(Box::new(dormouse_agent::protocol::QuestionRequest {
            call: dormouse_core::id::CallId::new("c"),
            questions: serde_json::json!([{ "question": "Which?", "options": [] }]),
            answers: None,
        }))
    };
    assert_eq!(stage.tell(wanted()), [Effect::Bell]);
    stage.model.update(Input::Focus(false));
    let effects = stage.tell(wanted());
    assert_eq!(
        effects,
        [
            Effect::Bell,
            Effect::Notify("dormouse: the model asks a question".to_owned())
        ]
    );
}

#[test]
fn another_session_is_opened_unless_it_is_this_one_or_the_agent_works() {
    let sessions = |session: &str| Panel {
        items: vec![PanelItem {
            title: "an errand".to_owned(),
            actions: vec![action('r', "go on", Act::Resume(session.to_owned()))],
            ..PanelItem::default()
        }],
        ..Panel::default()
    };
    let show = |stage: &mut Stage, session: &str| {
        stage.control('o');
        stage.key(KeyCode::Char('8'));
        stage.model.update(Input::Panel {
            kind: PanelKind::Sessions,
            found: Ok(sessions(session)),
        });
    };
    let mut stage = Stage::opened(80, 24);
    show(&mut stage, "0199a2b3-4c5d");
    assert_eq!(stage.key(KeyCode::Enter), []);
    assert!(stage.shown().contains("this session is open here"));
    stage.key(KeyCode::Esc);
    show(&mut stage, "another");
    let open = Effect::Open(Wish::Resume("another".to_owned()));
    assert_eq!(stage.key(KeyCode::Enter), [open]);
    assert!(!stage.shown().contains("an errand"));
    stage.model.update(Input::Line("work".to_owned()));
    show(&mut stage, "another");
    assert_eq!(stage.key(KeyCode::Char('r')), []);
    assert!(stage.shown().contains("stop it first"));
}
