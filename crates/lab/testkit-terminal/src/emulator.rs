//! A terminal that remembers what scrolled away.

use serde_json::{Value, json};
use std::num::NonZeroU16;

/// Rows of scrollback: more than any test writes.
const SCROLLBACK: usize = 100_000;

/// Parser of a terminal's bytes, with its screen and scrollback.
pub struct Emulator {
    parser: vt100::Parser,
}

impl std::fmt::Debug for Emulator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.screen())
    }
}

fn size(number: u16) -> NonZeroU16 {
    NonZeroU16::new(number).expect("a terminal has rows and columns")
}

impl Emulator {
    /// An empty terminal of this size, with scrollback.
    pub fn new(columns: u16, rows: u16) -> Self {
        Self {
            parser: vt100::Parser::new(size(rows), size(columns), SCROLLBACK),
        }
    }

    /// Takes bytes of a program.
    pub fn write(&mut self, bytes: &[u8]) {
        self.parser.process(bytes);
    }

    /// Gives the terminal another size. Long rows are cut and not broken, as xterm does.
    pub fn resize(&mut self, columns: u16, rows: u16) {
        self.parser.screen_mut().set_size(size(rows), size(columns));
    }

    /// Rows of the screen, without blanks at their ends.
    pub fn screen(&self) -> String {
        let columns = self.parser.screen().size().1.get();
        let rows = self.parser.screen().rows(0, columns);
        let rows: Vec<String> = rows.map(|row| row.trim_end().to_owned()).collect();
        rows.join("\n")
    }

    /// Row and column of the cursor.
    pub fn cursor(&self) -> (u16, u16) {
        self.parser.screen().cursor_position()
    }

    /// True if the program has left a mode set that a shell does not expect.
    pub fn has_modes(&self) -> bool {
        let screen = self.parser.screen();
        screen.bracketed_paste()
            || screen.hide_cursor()
            || screen.alternate_screen()
            || screen.application_cursor()
    }

    /// Everything that a person can scroll to, from the oldest row.
    pub fn lines(&mut self) -> Vec<String> {
        let columns = self.parser.screen().size().1.get();
        let screen = self.parser.screen_mut();
        screen.set_scrollback(usize::MAX);
        let above = screen.scrollback();
        let mut lines = Vec::new();
        for offset in (1..=above).rev() {
            screen.set_scrollback(offset);
            lines.extend(screen.rows(0, columns).next());
        }
        screen.set_scrollback(0);
        lines.extend(screen.rows(0, columns));
        lines
            .into_iter()
            .map(|line| line.trim_end().to_owned())
            .collect()
    }
}

/// Something that happened to a terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// The program wrote bytes.
    Bytes(Vec<u8>),
    /// The terminal got another size: columns and rows.
    Size(u16, u16),
}

/// Life of a terminal, to be played elsewhere.
#[derive(Clone, Debug, Default)]
pub struct Recording {
    /// Sizes and bytes in order; the first is a size.
    pub steps: Vec<Step>,
    /// Texts that must stand in exactly one row at the end.
    pub once: Vec<String>,
}

impl Recording {
    /// All bytes of the program.
    pub fn bytes(&self) -> Vec<u8> {
        let bytes = self.steps.iter().filter_map(|step| match step {
            Step::Bytes(bytes) => Some(bytes.as_slice()),
            Step::Size(..) => None,
        });
        bytes.collect::<Vec<_>>().concat()
    }

    /// The recording as JSON. Bytes are numbers: pieces may end inside a character.
    pub fn to_json(&self) -> Value {
        let steps = self.steps.iter().map(|step| match step {
            Step::Bytes(bytes) => json!({ "bytes": bytes }),
            Step::Size(columns, rows) => json!({ "size": [columns, rows] }),
        });
        json!({ "steps": steps.collect::<Vec<_>>(), "once": self.once })
    }

    /// Writes the recording into the folder that the variable `DORMOUSE_RECORDINGS` names, if it does.
    #[expect(
        clippy::disallowed_methods,
        reason = "a helper of tests, which have no system of their own"
    )]
    pub fn keep(&self, name: &str) {
        if let Some(folder) = std::env::var_os("DORMOUSE_RECORDINGS") {
            let path = std::path::Path::new(&folder).join(format!("{name}.json"));
            std::fs::write(path, self.to_json().to_string()).expect("the recording can be written");
        }
    }
}
