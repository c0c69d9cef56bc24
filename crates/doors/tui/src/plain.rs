//! Lines in place of a screen, for screen readers and terminals without a cursor.

use crate::cell::Cell;
use crate::line::{Line, Theme};
use crate::run::Serving;
use crate::terminal;
use std::io;

/// State of the lines-only screen.
#[derive(Debug, Default)]
pub(crate) struct Plain {
    /// The dialog as it was printed last.
    dialog: Vec<Line>,
    /// The panel as it was printed last.
    panel: Vec<Line>,
    /// True once the history was printed: the terminal shows what is typed from then on.
    begun: bool,
    /// True if the sign that waits for words is printed.
    waits: bool,
}

impl Serving {
    /// Prints what is new; returns the finished lines.
    pub(crate) fn print(&mut self) -> io::Result<Vec<Line>> {
        let columns = self.screen.size().0;
        let model = &mut self.on.model;
        let cells = model.take_cells();
        let dialog = model.dialog_lines(columns);
        let panel = model.panel_lines(columns).unwrap_or_default();
        let (busy, deaf) = (model.is_busy() || model.opening, model.is_touring());
        let begun = !model.opening;
        let Some(plain) = &mut self.plain else {
            return Ok(Vec::new());
        };
        // A tour types by itself, so that its words have to be told.
        let typed = |cell: &&Cell| plain.begun && !deaf && matches!(cell, Cell::User(_));
        let mut lines: Vec<Line> = Vec::new();
        for cell in cells.iter().filter(|cell| !typed(cell)) {
            lines.extend(cell.lines(columns));
        }
        let finished = lines.clone();
        if dialog != plain.dialog {
            lines.extend(dialog.iter().cloned());
            plain.dialog = dialog;
        }
        if panel != plain.panel {
            lines.extend(panel.iter().cloned());
            plain.panel = panel;
        }
        plain.begun = begun;
        let mut text = String::new();
        if !lines.is_empty() && plain.waits {
            text.push('\n');
            plain.waits = false;
        }
        for line in &lines {
            line.paint(Theme::Flat, &mut text);
            text.push('\n');
        }
        let asks = !busy && !plain.waits || !plain.dialog.is_empty() && !lines.is_empty();
        if asks && !deaf {
            text.push_str("> ");
            plain.waits = true;
        }
        terminal::write(text.as_bytes())?;
        Ok(finished)
    }
}
