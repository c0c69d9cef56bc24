//! Every finished line stands in the scrollback once, whatever is drawn below it.

use crate::random::Dice;
use dormouse_testkit_terminal::{Emulator, Recording, Step, lint};
use dormouse_tui::{Frame, Line, Role, Screen, Theme};

/// Steps of one play: enough for the scrollback to be many screens long.
const STEPS: usize = 300;

/// A screen that writes into a terminal.
struct Stage {
    screen: Screen,
    emulator: Emulator,
    recording: Recording,
}

impl Stage {
    fn new(columns: u16, rows: u16, reflows: bool) -> Self {
        Self {
            screen: Screen::new(columns.into(), rows.into(), Theme::Dark, reflows),
            emulator: Emulator::new(columns, rows),
            recording: Recording {
                steps: vec![Step::Size(columns, rows)],
                once: Vec::new(),
            },
        }
    }

    fn write(&mut self, text: &str) {
        self.emulator.write(text.as_bytes());
        self.recording
            .steps
            .push(Step::Bytes(text.as_bytes().to_vec()));
    }

    fn resize(&mut self, columns: u16, rows: u16) {
        self.emulator.resize(columns, rows);
        self.recording.steps.push(Step::Size(columns, rows));
        self.screen.resize(columns.into(), rows.into());
    }
}

/// A live part of random height and width, with the cursor in it.
fn frame(dice: &mut Dice, columns: usize, height: usize) -> Frame {
    let count = 1 + dice.below(height.saturating_sub(2).clamp(1, 9));
    let row = |dice: &mut Dice| {
        let text = ["live ", "日本語", "█"][dice.below(3)].repeat(1 + dice.below(40));
        let mut text: String = text;
        while dormouse_width(&text) > columns {
            text.pop();
        }
        Line::of(text, Role::Good)
    };
    let rows: Vec<Line> = (0..count).map(|_| row(dice)).collect();
    let at = dice.below(count);
    let cursor = (at, dice.below(rows[at].width().clamp(1, columns)));
    Frame {
        rows,
        cursor: (dice.below(8) > 0).then_some(cursor),
    }
}

fn dormouse_width(text: &str) -> usize {
    Line::of(text, Role::Plain).width()
}

/// Plays random steps and returns the stage with the marks of its finished lines.
fn play(seed: u64, reflows: bool) -> Stage {
    let mut dice = Dice::new(seed);
    let mut stage = Stage::new(80, 24, reflows);
    stage.write("$ dormouse\r\n");
    for step in 0..STEPS {
        if dice.below(6) == 0 {
            // Storms of sizes come without a frame between them.
            for _ in 0..=dice.below(3) {
                let (columns, rows) = (30 + dice.below(120), 10 + dice.below(40));
                stage.resize(
                    u16::try_from(columns).unwrap(),
                    u16::try_from(rows).unwrap(),
                );
            }
        }
        let (columns, height) = stage.screen.size();
        let finished: Vec<Line> = (0..dice.below(5))
            .map(|nth| {
                let mark = format!("<{seed}.{step}.{nth}>");
                stage.recording.once.push(mark.clone());
                let filler = "x".repeat(dice.below(columns - mark.len()));
                Line::of(mark, Role::Plain).with(filler, Role::Dim)
            })
            .collect();
        let live = frame(&mut dice, columns, height.min(24));
        let bytes = stage.screen.draw(&finished, live);
        stage.write(&bytes);
    }
    let bytes = stage.screen.leave(&[]);
    stage.write(&bytes);
    stage
}

#[test]
fn every_finished_line_is_in_the_scrollback_once() {
    for seed in 0..12 {
        let mut stage = play(seed, false);
        let lines = stage.emulator.lines();
        for mark in &stage.recording.once {
            let count = lines
                .iter()
                .filter(|line| line.contains(mark.as_str()))
                .count();
            assert_eq!(count, 1, "{mark} of seed {seed}");
        }
        assert_eq!(lint(&stage.recording.bytes(), true), [""; 0]);
    }
}

/// Recordings for the emulator that breaks rows when it gets narrower; `.ci/terminal` plays them.
#[test]
fn plays_for_a_terminal_that_breaks_rows_are_recorded() {
    for seed in 100..112 {
        let stage = play(seed, true);
        assert!(
            stage.recording.once.len() > STEPS,
            "{}",
            stage.recording.once.len()
        );
        stage.recording.keep(&format!("screen-{seed}"));
    }
}

#[test]
fn an_unchanged_frame_writes_nothing_and_a_key_little() {
    let mut screen = Screen::new(80, 24, Theme::Dark, true);
    let with = |text: &str| Frame {
        rows: vec![
            Line::of("status ".repeat(9), Role::Dim),
            Line::of(text, Role::Plain),
        ],
        cursor: Some((1, text.len())),
    };
    assert!(!screen.draw(&[], with("a")).is_empty());
    assert_eq!(screen.draw(&[], with("a")), "");
    let bytes = screen.draw(&[], with("ab"));
    // Row, cursor and the marks of an update.
    assert!(bytes.len() < 60 && !bytes.contains("status"), "{bytes:?}");
    assert_eq!(screen.frames(), 2);
}
