//! The one way to stdout and stderr: colour, width, JSON or text.
//!
//! # Not here
//! The wording of results: `Report::text` of each command. Errors: `crate::error`.

use super::bar::Bar;
use super::line::{Line, Paint, Role};
use super::table::Table;
use super::text::{clipped, printable, printable_json, printable_lines, wrapped};
use dormouse_core::units::Millis;
use dormouse_system::Environment;
use serde::Serialize;
use serde_json::json;
use std::fmt;
use std::io::{self, BufWriter, IsTerminal as _, Write};

/// Columns without a terminal that says how many it has: the width of the oldest terminals, which
/// mails, issues and logs still fit.
const DEFAULT_WIDTH: usize = 80;
/// Columns that a bar or a paragraph fills at most: the eye loses the line beyond about 100.
const WIDEST: usize = 100;

/// Result of printing: nothing, or the reason why the output cannot be written.
pub type OutResult = Result<(), OutError>;

/// Output that could not be written: a full disk, or a closed pipe.
#[derive(Debug, thiserror::Error)]
#[error("failed to write the output")]
pub struct OutError(#[source] io::Error);

impl OutError {
    /// True if the reader closed the pipe (`dormouse … | head`), which is no failure.
    pub fn reader_is_gone(&self) -> bool {
        self.0.kind() == io::ErrorKind::BrokenPipe
    }
}

/// The time for colour, chosen by `--color`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum ColorChoice {
    /// On a terminal, unless `NO_COLOR` is set
    #[default]
    Auto,
    /// Always, also into a pipe or a file
    Always,
    /// Never, also on a terminal
    Never,
}

/// The reader of the output, chosen by `--json`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A person: tables, colour, words.
    Text,
    /// A program: JSON with stable field names.
    Json,
}

/// Abilities of the terminal, asked once at the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "abilities of a terminal are independent of each other"
)]
pub struct Terminal {
    /// True if stdout takes escape codes for colour.
    pub color: bool,
    /// True if stderr takes them; one of the two is often a file.
    pub color_errors: bool,
    /// True if stdout is a screen, which no byte of a file may steer.
    pub screen: bool,
    /// True if a person watches stderr, so that work under way may be shown there.
    pub watched: bool,
    /// Columns, if they are known; nothing is cut short otherwise.
    pub columns: Option<usize>,
}

impl Terminal {
    /// The terminal this process writes to, if it does.
    pub fn of_process(env: &dyn Environment, choice: ColorChoice) -> Self {
        let set = |name| env.var(name).is_some_and(|value| !value.is_empty());
        // An empty value is unset: the convention of `NO_COLOR`.
        let plain = set("NO_COLOR") || env.text("TERM").is_some_and(|term| term == "dumb");
        let color = |is_terminal: bool| match choice {
            // A choice on the command line wins over the environment.
            ColorChoice::Auto => is_terminal && !plain,
            ColorChoice::Always => true,
            ColorChoice::Never => false,
        };
        // The variable wins: tests and scripts state a width where no terminal can be asked.
        let stated = env
            .text("COLUMNS")
            .and_then(|text| text.trim().parse().ok());
        let measured =
            || terminal_size::terminal_size_of(io::stdout()).map(|(width, _)| usize::from(width.0));
        Self {
            color: color(io::stdout().is_terminal()),
            color_errors: color(io::stderr().is_terminal()),
            screen: io::stdout().is_terminal(),
            watched: io::stderr().is_terminal()
                // A dumb terminal cannot go back to the start of a line.
                && env.text("TERM").is_none_or(|term| term != "dumb"),
            columns: stated.filter(|columns| *columns > 0).or_else(measured),
        }
    }
}

/// The outputs of the process, and all that decides about their form.
pub struct Out {
    stdout: Box<dyn Write>,
    stderr: Box<dyn Write>,
    terminal: Terminal,
    format: Format,
    /// Moment against which ages are told, the same for a whole output.
    now: Millis,
}

impl fmt::Debug for Out {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Out")
            .field("terminal", &self.terminal)
            .field("format", &self.format)
            .finish_non_exhaustive()
    }
}

impl Out {
    /// Writes to stdout, which is locked from now on, and stderr.
    pub fn of_process(terminal: Terminal, format: Format) -> Self {
        // Buffered: a table of thousands of rows would be as many system calls.
        let stdout = BufWriter::new(io::stdout().lock());
        Self::new(Box::new(stdout), Box::new(io::stderr()), terminal, format)
    }

    /// Writes to anything; tests pass buffers.
    pub fn new(
        stdout: Box<dyn Write>,
        stderr: Box<dyn Write>,
        terminal: Terminal,
        format: Format,
    ) -> Self {
        Self {
            stdout,
            stderr,
            terminal,
            format,
            now: Millis::default(),
        }
    }

    /// Tells ages against this moment.
    #[must_use]
    pub fn at(mut self, now: Millis) -> Self {
        self.now = now;
        self
    }

    /// The moment that ages are told against.
    pub fn now(&self) -> Millis {
        self.now
    }

    /// The reader, from `--json`.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Columns to fill with a bar or a paragraph.
    pub fn width(&self) -> usize {
        self.terminal.columns.unwrap_or(DEFAULT_WIDTH).min(WIDEST)
    }

    /// Escape codes for colour are welcome on stdout.
    pub fn has_color(&self) -> bool {
        self.terminal.color
    }

    /// True if stderr takes escape codes for colour.
    pub fn has_color_for_errors(&self) -> bool {
        self.terminal.color_errors
    }

    /// Prints a line and its line break.
    pub fn line(&mut self, line: impl Into<Line>) -> OutResult {
        let text = line.into().render(self.paint());
        self.write(&text)?;
        self.write("\n")
    }

    /// Prints a paragraph, broken to fit the screen; lines after the first hang by `indent`.
    pub fn paragraph(&mut self, role: Role, text: &str, indent: usize) -> OutResult {
        let hang = " ".repeat(indent);
        let width = self.width().saturating_sub(indent);
        for (at, line) in wrapped(text, width).into_iter().enumerate() {
            let start = if at == 0 { "" } else { hang.as_str() };
            self.line(Line::new().text(start).role(role, line))?;
        }
        Ok(())
    }

    /// Prints a paragraph that stands in by `indent`, broken to fit the screen.
    pub fn indented(&mut self, role: Role, text: &str, indent: usize) -> OutResult {
        let width = self.width().saturating_sub(indent);
        for line in wrapped(text, width) {
            self.line(Line::new().text(" ".repeat(indent)).role(role, line))?;
        }
        Ok(())
    }

    /// Prints an empty line between parts of a result.
    pub fn blank(&mut self) -> OutResult {
        self.write("\n")
    }

    /// Prints a table, at most as wide as the terminal where columns give way.
    pub fn table(&mut self, table: &Table) -> OutResult {
        for line in table.render(self.terminal.columns, self.paint()) {
            self.write(&line)?;
            self.write("\n")?;
        }
        Ok(())
    }

    /// Prints a bar with its legend.
    pub fn bar(&mut self, bar: &Bar) -> OutResult {
        for line in bar.drawing(self.width()) {
            let line = line.render(self.paint());
            // The line of letters may end in blanks, which screens recorded in tests would show.
            self.write(line.trim_end())?;
            self.write("\n")?;
        }
        self.table(&bar.legend())
    }

    /// Prints text of our own making as it is; it may have many lines and escape codes.
    pub fn raw(&mut self, text: &str) -> OutResult {
        self.write(text)
    }

    /// Prints data for another program: byte for byte into a pipe or a file, made harmless on a
    /// screen, which would act on its control characters.
    pub fn bytes(&mut self, bytes: &[u8]) -> OutResult {
        if self.terminal.screen {
            let text = String::from_utf8_lossy(bytes);
            return self.write(&printable_lines(&text));
        }
        self.stdout.write_all(bytes).map_err(OutError)
    }

    /// Prints a value as JSON, indented.
    pub fn json(&mut self, value: &impl Serialize) -> OutResult {
        let json = serde_json::to_string_pretty(value).map_err(|error| OutError(error.into()))?;
        self.write(&printable_json(&json))?;
        self.write("\n")
    }

    /// Prints a value as JSON on one line, at once: there may be many, and they may take a while.
    pub fn json_line(&mut self, value: &impl Serialize) -> OutResult {
        let json = serde_json::to_string(value).map_err(|error| OutError(error.into()))?;
        self.write(&printable_json(&json))?;
        self.write("\n")?;
        self.flush()
    }

    /// Makes sure that everything printed has arrived.
    pub fn flush(&mut self) -> OutResult {
        self.stdout.flush().map_err(OutError)
    }

    /// Shows a line about work under way, in place of the one before. Only on a watched terminal:
    /// in a log, each would be a line of its own. An empty text takes the line away.
    pub fn progress(&mut self, text: &str) {
        if self.terminal.watched && self.format == Format::Text {
            // One column less than the screen: some terminals wrap behind the last one, and `\r`
            // would return to the wrong line.
            let text = clipped(text, self.width().saturating_sub(1)).into_owned();
            self.raw_aside(&format!("\r\u{1b}[2K{}", printable(&text)));
        }
    }

    /// Says something beside the result, on stderr.
    pub fn aside(&mut self, line: impl Into<Line>) {
        let paint = self.error_paint();
        let text = line.into().render(paint);
        self.raw_aside(&format!("{text}\n"));
    }

    /// Says something beside the result, on stderr: a line, or with `--json` an object `{"note"}`.
    pub fn note(&mut self, text: &str) {
        match self.format {
            Format::Text => self.aside(
                Line::new()
                    .role(Role::Warning, "note")
                    .text(": ")
                    .text(text),
            ),
            // One object a line, so that a program can read stderr line by line.
            Format::Json => self.json_aside(&json!({"note": text})),
        }
    }

    /// Says something on stderr as a JSON object on one line.
    pub fn json_aside(&mut self, object: &serde_json::Value) {
        self.raw_aside(&format!("{}\n", printable_json(&object.to_string())));
    }

    /// Prints text of our own making on stderr, as it is.
    pub fn raw_aside(&mut self, text: &str) {
        // The last way to complain has failed; the exit code still says how it ended.
        drop(self.stderr.write_all(text.as_bytes()));
    }

    fn write(&mut self, text: &str) -> OutResult {
        self.stdout.write_all(text.as_bytes()).map_err(OutError)
    }

    fn paint(&self) -> Paint {
        paint(self.terminal.color)
    }

    fn error_paint(&self) -> Paint {
        paint(self.terminal.color_errors)
    }
}

fn paint(color: bool) -> Paint {
    if color { Paint::On } else { Paint::Off }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use std::cell::RefCell;
    use std::rc::Rc;

    /// Buffer that the test keeps hold of.
    #[derive(Clone, Default)]
    struct Page(Rc<RefCell<Vec<u8>>>);

    impl Write for Page {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.borrow_mut().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn printed(screen: bool, bytes: &[u8]) -> Vec<u8> {
        let page = Page::default();
        let terminal = Terminal {
            color: false,
            color_errors: false,
            screen,
            watched: false,
            columns: None,
        };
        let stdout = Box::new(page.clone());
        let mut out = Out::new(stdout, Box::new(io::sink()), terminal, Format::Text);
        out.bytes(bytes).unwrap();
        page.0.take()
    }

    #[test]
    fn data_is_exact_in_a_pipe_and_harmless_on_a_screen() {
        // A title, C1, a reordering, a zero-width character and a byte that is no UTF-8.
        let data = "a\u{1b}]0;x\u{7}\n\u{9b}2J \u{202e}b\u{200b}\n".as_bytes();
        let data = [data, b"\xff\n"].concat();
        assert_eq!(printed(false, &data), data);
        let shown = String::from_utf8(printed(true, &data)).unwrap();
        assert_eq!(shown.lines().count(), 3, "{shown:?}");
        let hidden = |character: &char| {
            *character != '\n'
                && (character.is_control() || ['\u{202e}', '\u{200b}'].contains(character))
        };
        assert_eq!(shown.chars().find(hidden), None, "{shown:?}");
        let plain = "plain é 睡\n".as_bytes();
        assert_eq!(printed(true, plain), plain);
    }
}
