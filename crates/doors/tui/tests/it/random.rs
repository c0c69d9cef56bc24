//! Random events, keys and sizes: nothing panics, nothing leaves the screen.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use dormouse_agent::protocol::{
    DeltaKind, LayerName, OpenedSession, PermissionRequest, QuestionRequest, ServerFacts, Side,
    TaskFacts, TaskState,
};
use dormouse_agent::{Event, Mode, Told, TurnEnd};
use dormouse_core::block::Block;
use dormouse_core::id::{CallId, MessageId, RecordId, Seq, SessionId};
use dormouse_core::record::Purpose;
use dormouse_core::units::Tokens;
use dormouse_core::usage::{TokenUsage, Usd};
use dormouse_testkit_terminal::{Emulator, lint};
use dormouse_tui::{
    Act, Effect, Gauge, Input, Model, Panel, PanelAction, PanelItem, PanelKind, Printed, Screen,
    Start, Theme,
};
use serde_json::{Value, json};

/// Numbers that look random and are the same on every run.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// A number below another.
    pub(crate) fn below(&mut self, most: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % u64::try_from(most.max(1)).unwrap()).unwrap()
    }

    fn of<T: Clone>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())].clone()
    }
}

/// Texts that break screens.
const TEXTS: [&str; 14] = [
    "",
    "a",
    "word word\n",
    "\n\n",
    "```rust\n",
    "fn main() {}\n```\n",
    "| a | b |\n|---|---|\n| 1 | 2 |\n",
    "日本語のテキスト",
    "👨‍👩‍👧 e\u{301}\u{301}",
    "\u{1b}[2J\u{1b}[3J\u{9b}31m",
    "x\u{202e}y\u{200b}z\t\r",
    "- item **bold\n  1. two\n> quote\n",
    "https://example.org/a/very/long/address/that/does/not/break/anywhere/at/all",
    "/compact [link](x) `code",
];

fn text(dice: &mut Dice) -> String {
    let count = dice.below(3) + 1;
    (0..count).map(|_| dice.of(&TEXTS)).collect()
}

fn call(dice: &mut Dice) -> CallId {
    CallId::new(format!("call-{}", dice.below(6)))
}

fn input(dice: &mut Dice) -> Value {
    let words = text(dice);
    match dice.below(6) {
        0 => json!({ "file_path": words, "old_string": text(dice), "new_string": text(dice) }),
        1 => json!({ "command": words }),
        2 => json!({ "plan": words }),
        3 => json!({ "todos": [{ "content": words, "status": "completed" }, 3] }),
        4 => json!([words]),
        _ => Value::Null,
    }
}

fn opened(dice: &mut Dice) -> OpenedSession {
    OpenedSession {
        protocol: 1,
        session: SessionId::new("0199-session"),
        resumed: false,
        model: text(dice).replace('\n', " "),
        mode: Mode::Ask,
        folder: "/".to_owned(),
        tools: Vec::new(),
        servers: Vec::new(),
        commands: Vec::new(),
    }
}

fn event(dice: &mut Dice) -> Event {
    let words = text(dice);
    let number = u64::try_from(dice.below(300_000)).unwrap();
    match dice.below(30) {
        0 => Event::Opened(Box::new(opened(dice))),
        1 => Event::Done { ask: number % 20, failed: (number % 2 == 0).then_some(words) },
        2 => Event::Said { by: dice.of(&[Side::User, Side::Host]), content: vec![Block::text(&words)] },
        3 => Event::Queued { prompts: vec![json!([{ "type": "text", "text": words }]), Value::Null] },
        4 => Event::MessageStarted { message: MessageId::new("m"), model: words },
        5 => Event::BlockStarted { index: 0, head: json!({ "type": "tool_use", "name": words }) },
        6..=9 => Event::Delta {
            index: u32::try_from(dice.below(2)).unwrap(),
            kind: dice.of(&[DeltaKind::Text, DeltaKind::Text, DeltaKind::Thinking, DeltaKind::Input, DeltaKind::Signature]),
            text: words,
        },
        10 => Event::BlockEnded { index: 0 },
        11 => Event::MessageDone { message: None, model: None, content: vec![Block::text(&words)], usage: None, stop_reason: None },
        12 | 13 => Event::ToolAsked { call: call(dice), tool: dice.of(&["Edit", "Bash", "日本"]).to_owned(), input: input(dice) },
        14 => Event::InputChanged { call: call(dice), input: input(dice) },
        15 => Event::ToolRunning { call: call(dice) },
        16 => {
            let id = call(dice);
            Event::ToolDone { content: Block::tool_result(&id, &words, number % 2 == 0), call: id, is_error: number % 2 == 0 }
        }
        17 => Event::PermissionWanted(Box::new(PermissionRequest {
            call: call(dice), tool: "Edit".to_owned(), input: input(dice), question: words.clone(),
            lasting: if number % 2 == 0 { vec![words] } else { Vec::new() },
        })),
        18 => Event::QuestionWanted(Box::new(QuestionRequest {
            call: call(dice), answers: None,
            questions: dice.of(&[
                json!([{ "question": words, "options": [{ "label": "A", "description": "a" }, {}], "multiSelect": number % 2 == 0 }]),
                Value::Null,
            ]),
        })),
        19 => Event::Settled { call: call(dice) },
        20 => Event::Refused { call: call(dice), tool: words, input: input(dice) },
        21 => Event::LayerActed {
            layer: dice.of(&[LayerName::Offload, LayerName::Distil, LayerName::Clear, LayerName::Notes, LayerName::Compaction, LayerName::Recall, LayerName::Undo]),
            what: words, freed: Tokens(number), cost: Some(Usd::from_pico(i128::from(number))), undo: Some(RecordId::new("r")),
        },
        22 => Event::TaskChanged { task: words.clone(), what: words, state: dice.of(&[TaskState::Running, TaskState::Ended, TaskState::Killed]) },
        23 => Event::Tasks { tasks: vec![TaskFacts { task: words.clone(), what: words }] },
        24 => Event::ServerChanged(ServerFacts { name: words.clone(), status: "failed".to_owned(), why: Some(words), tools: 0 }),
        25 => Event::Usage {
            message: None, model: words, purpose: Purpose::Turn, cost: None,
            usage: TokenUsage { input: Tokens(number), output: Tokens(u64::MAX), ..TokenUsage::default() },
        },
        26 => Event::AttemptFailed { number: 1, why: words, again_after: Some(u64::MAX) },
        27 => dice.of(&[
            Event::Notice { text: words.clone() }, Event::Saved { what: words }, Event::Forked { session: SessionId::new("x") },
            Event::Changed { mode: Mode::Plan, model: "m".to_owned() }, Event::Lagged { after: Seq::new(3) }, Event::Unknown,
        ]),
        28 => Event::TurnEnded(Box::new(TurnEnd {
            end: dice.of(&["answered", "interrupted", "requests", "budget", "hook", "command", "failed", ""]).to_owned(),
            requests: number % 2, stop_reason: Some("refusal".to_owned()), why: Some(words.clone()), text: words,
        })),
        _ => Event::Closed { failed: Some(words) },
    }
}

fn panel(dice: &mut Dice) -> Result<Panel, String> {
    if dice.below(4) == 0 {
        return Err(text(dice));
    }
    let item = |dice: &mut Dice| PanelItem {
        title: text(dice),
        aside: text(dice),
        detail: (0..dice.below(30)).map(|_| text(dice)).collect(),
        actions: [
            ('u', Act::Undo(RecordId::new("r"))),
            ('a', Act::Run(vec![vec!["memory".to_owned()]])),
            (
                'e',
                Act::Edit {
                    lines: vec![vec!["memory".to_owned()]],
                    text: text(dice),
                },
            ),
        ]
        .map(|(key, act)| PanelAction {
            key,
            label: "do it".to_owned(),
            act,
        })
        .to_vec(),
    };
    Ok(Panel {
        summary: vec![text(dice)],
        items: (0..dice.below(40)).map(|_| item(dice)).collect(),
        empty: text(dice),
    })
}

/// Answers of services, and lines.
fn answer(dice: &mut Dice) -> Input {
    match dice.below(5) {
        0 => Input::Line(text(dice)),
        1 => Input::Acted(Printed {
            text: text(dice),
            failed: dice.below(2) == 0,
        }),
        2 => Input::Kept {
            before: 9,
            after: u64::try_from(dice.below(10)).unwrap(),
        },
        3 => Input::Focus(dice.below(2) == 0),
        _ => Input::Panel {
            kind: dice.of(&PanelKind::ALL),
            found: panel(dice),
        },
    }
}

fn key(dice: &mut Dice) -> KeyEvent {
    let codes = [
        KeyCode::Enter,
        KeyCode::Esc,
        KeyCode::Tab,
        KeyCode::BackTab,
        KeyCode::Up,
        KeyCode::Down,
        KeyCode::Left,
        KeyCode::Right,
        KeyCode::Home,
        KeyCode::End,
        KeyCode::Backspace,
        KeyCode::Delete,
        KeyCode::PageUp,
        KeyCode::F(5),
        KeyCode::Char('y'),
        KeyCode::Char('n'),
        KeyCode::Char('s'),
        KeyCode::Char('2'),
        KeyCode::Char(' '),
        KeyCode::Char('/'),
        KeyCode::Char('!'),
        KeyCode::Char('日'),
        KeyCode::Char('\u{301}'),
        KeyCode::Char('\\'),
        KeyCode::Char('a'),
        KeyCode::Char('k'),
        KeyCode::Char('w'),
        KeyCode::Char('r'),
        KeyCode::Char('p'),
        KeyCode::Char('o'),
        KeyCode::Char('q'),
        KeyCode::Char('e'),
        KeyCode::PageDown,
        KeyCode::Char('\u{100000}'),
    ];
    let modifiers = [
        KeyModifiers::NONE,
        KeyModifiers::NONE,
        KeyModifiers::NONE,
        KeyModifiers::CONTROL,
        KeyModifiers::ALT,
        KeyModifiers::SHIFT,
    ];
    KeyEvent::new(dice.of(&codes), dice.of(&modifiers))
}

#[test]
fn a_hundred_thousand_events_and_keys_leave_the_screen_whole() {
    let mut dice = Dice::new(7);
    let start = Start {
        version: "1".to_owned(),
        folder: "~/x".to_owned(),
        commands: vec![("memory".to_owned(), "list".to_owned())],
        ..Start::default()
    };
    let mut model = Model::new(start);
    // Keys come before the session is open, as they may.
    model.open_later();
    let (mut columns, mut rows) = (80_u16, 24_u16);
    let mut screen = Screen::new(80, 24, Theme::Dark, false);
    let mut emulator = Emulator::new(columns, rows);
    let mut bytes = Vec::new();
    let (mut effects, mut panels) = (0, 0);
    for nth in 0..100_000 {
        let input = match dice.below(20) {
            0 => Input::Paste(text(&mut dice).repeat(dice.below(40))),
            1 => Input::Tick,
            2 => Input::Ran {
                title: "/memory".to_owned(),
                text: text(&mut dice),
                failed: false,
            },
            3 => Input::Gauge(Gauge {
                used: 1,
                window: 10,
                compact_at: Some(5),
                warning: 7,
                blocked: 9,
            }),
            4 => answer(&mut dice),
            5..=11 => Input::Key(key(&mut dice)),
            _ => Input::Told(Box::new(Told {
                seq: None,
                event: event(&mut dice),
            })),
        };
        let told = model.update(input);
        effects += told.len();
        if told.contains(&Effect::Redraw) {
            screen.redraw();
        }
        if nth % 23 != 0 {
            continue;
        }
        if dice.below(10) == 0 {
            columns = u16::try_from(8 + dice.below(150)).unwrap();
            rows = u16::try_from(4 + dice.below(50)).unwrap();
            emulator.resize(columns, rows);
            screen.resize(columns.into(), rows.into());
        }
        let (wide, high) = (usize::from(columns), usize::from(rows));
        let mut finished = Vec::new();
        for cell in model.take_cells() {
            finished.extend(cell.lines(wide));
        }
        if let Some(frame) = model.panel_view(wide, high) {
            assert!(frame.rows.len() <= high.max(6), "{frame:?} on {high}");
            for line in &frame.rows {
                assert!(line.width() <= wide, "{line:?} on {wide} columns");
                assert!(!line.text().chars().any(char::is_control), "{line:?}");
            }
            panels += 1;
            let written = screen.draw_over(frame);
            emulator.write(written.as_bytes());
            bytes.extend_from_slice(written.as_bytes());
        }
        let frame = model.view(wide, high);
        assert!(
            frame.rows.len() < high,
            "{} rows on {high}",
            frame.rows.len()
        );
        for line in finished.iter().chain(&frame.rows) {
            assert!(line.width() <= wide, "{line:?} on {wide} columns");
            assert!(!line.text().chars().any(char::is_control), "{line:?}");
        }
        let written = screen.draw(&finished, frame);
        emulator.write(written.as_bytes());
        bytes.extend_from_slice(written.as_bytes());
    }
    let written = screen.leave(&[]);
    emulator.write(written.as_bytes());
    bytes.extend_from_slice(written.as_bytes());
    assert!(effects > 1_000 && panels > 100, "{effects}, {panels}");
    assert_eq!(lint(&bytes, true), [""; 0]);
    assert!(!emulator.has_modes());
}
