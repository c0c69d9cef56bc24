//! Screens of the main views, as a person sees them.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use dormouse_agent::protocol::{
    CommandFacts, DeltaKind, LayerName, OpenedSession, PermissionRequest, QuestionRequest, Side,
};
use dormouse_agent::{Command, Event, Mode, Told, TurnEnd};
use dormouse_core::block::Block;
use dormouse_core::id::{CallId, MessageId, RecordId, SessionId};
use dormouse_core::record::Purpose;
use dormouse_core::units::Tokens;
use dormouse_core::usage::{TokenUsage, Usd};
use dormouse_testkit_terminal::Emulator;
use dormouse_tui::{Effect, Gauge, Input, Model, Screen, Start, Theme};
use serde_json::json;

pub(crate) struct Stage {
    pub(crate) model: Model,
    pub(crate) screen: Screen,
    pub(crate) emulator: Emulator,
}

impl Stage {
    pub(crate) fn new(columns: u16, rows: u16) -> Self {
        let start = Start {
            version: "0.1.0".to_owned(),
            folder: "~/project".to_owned(),
            branch: Some("main".to_owned()),
            commands: [
                ("memory", "List, show, add, change and undo memories"),
                ("rewind", "Take a session back"),
            ]
            .map(|(name, about)| (name.to_owned(), about.to_owned()))
            .to_vec(),
            ..Start::default()
        };
        Self::with(start, columns, rows)
    }

    fn with(start: Start, columns: u16, rows: u16) -> Self {
        Self {
            model: Model::new(start),
            screen: Screen::new(columns.into(), rows.into(), Theme::Dark, false),
            emulator: Emulator::new(columns, rows),
        }
    }

    pub(crate) fn opened(columns: u16, rows: u16) -> Self {
        let mut stage = Self::new(columns, rows);
        stage.tell(Event::Opened(Box::new(OpenedSession {
            protocol: 1,
            session: SessionId::new("0199a2b3-4c5d"),
            resumed: false,
            model: "claude-opus-4-6".to_owned(),
            mode: Mode::Ask,
            folder: "/home/me/project".to_owned(),
            tools: Vec::new(),
            servers: Vec::new(),
            commands: vec![CommandFacts {
                name: "compact".to_owned(),
                description: "Summarise the conversation".to_owned(),
                hint: None,
                skill: false,
            }],
        })));
        stage
    }

    pub(crate) fn tell(&mut self, event: Event) -> Vec<Effect> {
        self.model
            .update(Input::Told(Box::new(Told { seq: None, event })))
    }

    pub(crate) fn key(&mut self, code: KeyCode) -> Vec<Effect> {
        self.model
            .update(Input::Key(KeyEvent::new(code, KeyModifiers::NONE)))
    }

    pub(crate) fn control(&mut self, letter: char) -> Vec<Effect> {
        self.model.update(Input::Key(KeyEvent::new(
            KeyCode::Char(letter),
            KeyModifiers::CONTROL,
        )))
    }

    pub(crate) fn types(&mut self, text: &str) {
        for character in text.chars() {
            self.key(KeyCode::Char(character));
        }
    }

    pub(crate) fn shown(&mut self) -> String {
        let (columns, height) = self.screen.size();
        if let Some(frame) = self.model.panel_view(columns, height) {
            let bytes = self.screen.draw_over(frame);
            self.emulator.write(bytes.as_bytes());
            return self.emulator.screen();
        }
        let cells = self.model.take_cells();
        let finished: Vec<_> = cells.iter().flat_map(|cell| cell.lines(columns)).collect();
        let frame = self.model.view(columns, height);
        let bytes = self.screen.draw(&finished, frame);
        self.emulator.write(bytes.as_bytes());
        self.emulator.screen()
    }
}

pub(crate) fn commands(effects: Vec<Effect>) -> Vec<Command> {
    let sent = effects.into_iter().filter_map(|effect| match effect {
        Effect::Send(ask) => Some(ask.command),
        _ => None,
    });
    sent.collect()
}

fn said(text: &str) -> Event {
    Event::Said {
        by: Side::User,
        content: vec![Block::text(text)],
    }
}

fn delta(kind: DeltaKind, text: &str) -> Event {
    Event::Delta {
        index: 0,
        kind,
        text: text.to_owned(),
    }
}

fn asked(call: &str, tool: &str, input: serde_json::Value) -> Event {
    Event::ToolAsked {
        call: CallId::new(call),
        tool: tool.to_owned(),
        input,
    }
}

/// A turn up to a question about an edit.
fn editing(stage: &mut Stage) {
    stage.types("fix the greeting");
    stage.key(KeyCode::Enter);
    stage.tell(said("fix the greeting"));
    stage.tell(Event::MessageStarted {
        message: MessageId::new("m"),
        model: "claude-opus-4-6".to_owned(),
    });
    stage.tell(delta(
        DeltaKind::Text,
        "I look at **the file** first:\n\n- read it\n- edit it\n",
    ));
    stage.tell(Event::MessageDone {
        message: None,
        model: None,
        content: vec![Block::text(
            "I look at **the file** first:\n\n- read it\n- edit it\n",
        )],
        usage: None,
        stop_reason: None,
    });
    stage.tell(asked("c1", "Read", json!({ "file_path": "src/main.rs" })));
    stage.tell(Event::ToolRunning {
        call: CallId::new("c1"),
    });
    stage.tell(Event::ToolDone {
        call: CallId::new("c1"),
        is_error: false,
        content: Block::tool_result(
            &CallId::new("c1"),
            "1 fn main() {\n2     println!(\"helo\");\n3 }",
            false,
        ),
    });
    let input = json!({ "file_path": "src/main.rs", "old_string": "fn main() {\n    println!(\"helo\");\n}\n", "new_string": "fn main() {\n    println!(\"hello\");\n}\n" });
    stage.tell(asked("c2", "Edit", input.clone()));
    stage.tell(Event::PermissionWanted(Box::new(PermissionRequest {
        call: CallId::new("c2"),
        tool: "Edit".to_owned(),
        input,
        question: "Edit changes src/main.rs. May it?".to_owned(),
        lasting: vec!["Edit(src/**)".to_owned()],
    })));
}

#[test]
fn the_first_screen_with_and_without_a_model() {
    insta::assert_snapshot!("first", Stage::opened(80, 10).shown());
    let start = Start {
        version: "0.1.0".to_owned(),
        folder: "~/project".to_owned(),
        without_agent: Some(
            "no model is set; set ANTHROPIC_API_KEY and ANTHROPIC_MODEL".to_owned(),
        ),
        ..Start::default()
    };
    let mut stage = Stage::with(start, 80, 14);
    stage.types("hello");
    assert_eq!(commands(stage.key(KeyCode::Enter)), []);
    insta::assert_snapshot!("without_a_model", stage.shown());
}

#[test]
fn an_edit_is_asked_about_with_its_diff() {
    let mut stage = Stage::opened(80, 34);
    editing(&mut stage);
    insta::assert_snapshot!("permission", stage.shown());
    let sent = commands(stage.key(KeyCode::Char('2')));
    let Some(Command::Permit {
        allow: true,
        remember: Some(_),
        ..
    }) = sent.first()
    else {
        panic!("{sent:?}");
    };
    stage.tell(Event::ToolDone {
        call: CallId::new("c2"),
        is_error: false,
        content: Block::tool_result(&CallId::new("c2"), "changed 1 line", false),
    });
    stage.tell(Event::Usage {
        message: None,
        model: "claude-opus-4-6".to_owned(),
        purpose: Purpose::Turn,
        usage: TokenUsage {
            input: Tokens(400),
            cache_read: Tokens(11_900),
            output: Tokens(80),
            ..TokenUsage::default()
        },
        cost: Some(Usd::from_pico(12_300_000_000)),
    });
    stage.model.update(Input::Gauge(Gauge {
        used: 12_000,
        window: 200_000,
        compact_at: Some(167_000),
        warning: 160_000,
        blocked: 180_000,
    }));
    stage.tell(Event::LayerActed {
        layer: LayerName::Distil,
        what: "3 results distilled".to_owned(),
        freed: Tokens(8_300),
        cost: None,
        undo: Some(RecordId::new("r")),
    });
    stage.tell(Event::TurnEnded(Box::new(TurnEnd {
        end: "answered".to_owned(),
        requests: 2,
        stop_reason: None,
        why: None,
        text: String::new(),
    })));
    insta::assert_snapshot!("after_the_edit", stage.shown());
}

#[test]
fn a_bare_no_stops_the_turn_and_a_word_goes_to_the_model() {
    let mut stage = Stage::opened(80, 24);
    editing(&mut stage);
    let sent = commands(stage.key(KeyCode::Esc));
    assert!(
        matches!(
            sent.as_slice(),
            [
                Command::Permit {
                    allow: false,
                    words: None,
                    ..
                },
                Command::Interrupt
            ]
        ),
        "{sent:?}"
    );
    let mut stage = Stage::opened(80, 24);
    editing(&mut stage);
    stage.key(KeyCode::Char('3'));
    stage.types("use yes");
    let sent = commands(stage.key(KeyCode::Enter));
    let [
        Command::Permit {
            allow: false,
            words: Some(words),
            ..
        },
    ] = sent.as_slice()
    else {
        panic!("{sent:?}");
    };
    assert_eq!(words, "use yes");
}

#[test]
fn words_steer_or_wait_while_the_agent_works() {
    let mut stage = Stage::opened(60, 14);
    stage.types("go");
    stage.key(KeyCode::Enter);
    stage.tell(said("go"));
    stage.tell(delta(
        DeltaKind::Thinking,
        "Let me think about\nthe best way",
    ));
    stage.tell(asked("c1", "Bash", json!({ "command": "cargo test" })));
    stage.tell(Event::ToolRunning {
        call: CallId::new("c1"),
    });
    stage.tell(Event::Queued {
        prompts: vec![json!([{ "type": "text", "text": "then commit" }])],
    });
    for _ in 0..9 {
        stage.model.update(Input::Tick);
    }
    insta::assert_snapshot!("working", stage.shown());
    let when = |effects: Vec<Effect>| match commands(effects).pop() {
        Some(Command::Prompt { when, .. }) => format!("{when:?}"),
        other => panic!("{other:?}"),
    };
    stage.types("faster");
    assert_eq!(when(stage.key(KeyCode::Enter)), "Steer");
    stage.types("later");
    assert_eq!(when(stage.key(KeyCode::Tab)), "Queue");
    stage.types("a draft");
    assert_eq!(commands(stage.key(KeyCode::Esc)), [Command::Interrupt]);
    assert!(stage.shown().contains("› a draft"), "{}", stage.shown());
}

#[test]
fn questions_of_the_model_are_answered_one_by_one() {
    let mut stage = Stage::opened(60, 14);
    stage.tell(Event::QuestionWanted(Box::new(QuestionRequest {
        call: CallId::new("q"),
        questions: json!([
            { "question": "Which database?", "options": [{ "label": "SQLite", "description": "one file" }, { "label": "Postgres", "description": "a server" }] },
            { "question": "Which parts?", "multiSelect": true, "options": [{ "label": "API" }, { "label": "UI" }] },
        ]),
        answers: None,
    })));
    insta::assert_snapshot!("question", stage.shown());
    assert_eq!(commands(stage.key(KeyCode::Char('2'))), []);
    stage.key(KeyCode::Char(' '));
    stage.key(KeyCode::Down);
    stage.key(KeyCode::Char(' '));
    let sent = commands(stage.key(KeyCode::Enter));
    let [Command::Answer { answers, .. }] = sent.as_slice() else {
        panic!("{sent:?}");
    };
    assert_eq!(answers["Which database?"], "Postgres");
    assert_eq!(answers["Which parts?"], "API, UI");
}

#[test]
fn commands_are_completed_and_run() {
    let mut stage = Stage::opened(80, 14);
    stage.types("/m");
    insta::assert_snapshot!("completion", stage.shown());
    stage.types("em");
    let effects = stage.key(KeyCode::Enter);
    assert!(
        matches!(effects.as_slice(), [Effect::ReadPanel { .. }]),
        "{effects:?}"
    );
    stage.key(KeyCode::Esc);
    stage.types("/memory list");
    let effects = stage.key(KeyCode::Enter);
    let words = vec!["memory".to_owned(), "list".to_owned()];
    assert_eq!(
        effects,
        [Effect::Run {
            title: "/memory list".to_owned(),
            words
        }]
    );
    stage.types("/undo");
    assert_eq!(
        commands(stage.key(KeyCode::Enter)),
        [Command::Undo { rewrite: None }]
    );
    stage.types("/rewind 3 files");
    let effects = stage.key(KeyCode::Enter);
    assert!(
        matches!(effects.as_slice(), [Effect::FindPoint { number: 3, .. }]),
        "{effects:?}"
    );
    // The agent's own commands are prompts, which it reads.
    stage.types("/compact keep names");
    assert!(matches!(
        commands(stage.key(KeyCode::Enter)).as_slice(),
        [Command::Prompt { .. }]
    ));
}

#[test]
fn small_screens_keep_composer_and_status() {
    for (columns, rows) in [(40, 12), (20, 6), (8, 4)] {
        let mut stage = Stage::opened(columns, rows);
        editing(&mut stage);
        stage.key(KeyCode::Char('y'));
        stage.types("日本語の入力をここに書く。それは長い。");
        let shown = stage.shown();
        assert!(shown.contains('い') || columns == 8, "{shown}");
        if columns == 40 {
            insta::assert_snapshot!("small", shown);
        }
    }
}

#[test]
fn the_program_is_left_with_the_same_key_twice() {
    let mut stage = Stage::opened(60, 10);
    stage.types("draft");
    assert_eq!(stage.control('c'), []);
    assert_eq!(stage.control('c'), []);
    assert!(stage.shown().contains("the same key again leaves"));
    assert_eq!(commands(stage.control('c')), [Command::Quit { now: false }]);
    assert_eq!(stage.tell(Event::Closed { failed: None }), [Effect::Exit]);
}

#[test]
fn an_answer_that_is_left_in_its_midst_is_kept() {
    for twice in [false, true] {
        let mut stage = Stage::opened(60, 12);
        stage.tell(delta(DeltaKind::Text, "one\ntwo"));
        stage.shown();
        stage.types("/exit");
        stage.key(KeyCode::Enter);
        if twice {
            stage.model.update(Input::Terminate);
        } else {
            stage.tell(Event::Closed { failed: None });
        }
        let shown = stage.shown();
        assert_eq!(
            shown.lines().filter(|line| *line == "two").count(),
            1,
            "{shown}"
        );
    }
}

#[test]
fn a_long_answer_is_shown_once_and_costs_no_more_than_its_length() {
    let mut stage = Stage::opened(80, 24);
    let mut bytes = 0;
    for line in 0..10_000 {
        stage.tell(delta(
            DeltaKind::Text,
            &format!("line {line} of the answer\n"),
        ));
        if line % 50 == 0 {
            let (columns, height) = stage.screen.size();
            let cells = stage.model.take_cells();
            let finished: Vec<_> = cells.iter().flat_map(|cell| cell.lines(columns)).collect();
            let frame = stage.model.view(columns, height);
            let written = stage.screen.draw(&finished, frame);
            bytes += written.len();
            stage.emulator.write(written.as_bytes());
        }
    }
    stage.shown();
    assert_eq!(stage.screen.frames(), 201);
    // The text itself is 250 kB; a live part of some hundred bytes comes with each frame.
    assert!(bytes < 400_000, "{bytes}");
    let lines = stage.emulator.lines();
    for line in [0, 1, 4_999, 9_998, 9_999] {
        let text = format!("line {line} of the answer");
        assert_eq!(
            lines.iter().filter(|shown| **shown == text).count(),
            1,
            "{text}"
        );
    }
}
