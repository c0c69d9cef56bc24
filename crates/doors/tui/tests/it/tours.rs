//! Tours: steps that show themselves.

use crate::views::Stage;
use crossterm::event::KeyCode;
use dormouse_agent::Event;
use dormouse_tui::{Effect, Input, Panel, PanelKind, Tour, TourAct, TourStep};

fn tour(paced: bool) -> Tour {
    let step = |name: &str, act: TourAct| TourStep {
        name: name.to_owned(),
        caption: format!("This is {name}."),
        act,
        pause: 3,
    };
    Tour {
        steps: vec![
            step("one", TourAct::Say("hello".to_owned())),
            step("two", TourAct::Show(PanelKind::Next)),
            step("three", TourAct::Later(70)),
        ],
        paced,
    }
}

fn ticks(stage: &mut Stage, most: usize) -> Vec<Effect> {
    (0..most)
        .flat_map(|_| stage.model.update(Input::Tick))
        .collect()
}

fn ended() -> Event {
    Event::TurnEnded(Box::new(dormouse_agent::TurnEnd {
        end: "answered".to_owned(),
        requests: 1,
        stop_reason: None,
        why: None,
        text: String::new(),
    }))
}

#[test]
fn a_tour_types_waits_for_the_agent_and_goes_on() {
    let mut stage = Stage::opened(80, 24);
    stage.model.begin_tour(tour(true));
    assert_eq!(ticks(&mut stage, 2), []);
    let shown = stage.shown();
    assert!(shown.contains("▌ 1/3 This is one."), "{shown}");
    assert!(shown.contains("› hello"), "{shown}");
    assert!(shown.contains("demo 1/3 · Space pauses"), "{shown}");
    let sent = ticks(&mut stage, 5);
    assert!(matches!(sent[..], [Effect::Send(_)]), "{sent:?}");
    // Paused, nothing moves; the agent's turn goes on.
    stage.key(KeyCode::Char(' '));
    stage.tell(ended());
    assert_eq!(ticks(&mut stage, 20), []);
    stage.key(KeyCode::Char(' '));
    assert_eq!(ticks(&mut stage, 1), [Effect::Shot("one".to_owned())]);
    // A key goes on without waiting.
    let opened = stage.key(KeyCode::Char('n'));
    assert!(
        matches!(opened[..], [Effect::ReadPanel { .. }]),
        "{opened:?}"
    );
    assert_eq!(ticks(&mut stage, 10), []);
    stage.model.update(Input::Panel {
        kind: PanelKind::Next,
        found: Ok(Panel::default()),
    });
    assert_eq!(ticks(&mut stage, 1), [Effect::Shot("two".to_owned())]);
    let effects = ticks(&mut stage, 6);
    assert_eq!(
        effects,
        [Effect::Later(70), Effect::Shot("three".to_owned())]
    );
    ticks(&mut stage, 5);
    assert!(stage.shown().contains("the demo is over"));
    assert_eq!(stage.key(KeyCode::Char('q')), [Effect::Exit]);
}

#[test]
fn a_tour_that_nobody_watches_ends_by_itself() {
    let mut stage = Stage::opened(80, 24);
    stage.model.begin_tour(tour(false));
    ticks(&mut stage, 3);
    stage.tell(ended());
    ticks(&mut stage, 3);
    stage.model.update(Input::Panel {
        kind: PanelKind::Next,
        found: Err("there is none".to_owned()),
    });
    let effects = ticks(&mut stage, 10);
    assert_eq!(effects.last(), Some(&Effect::Exit));
}
