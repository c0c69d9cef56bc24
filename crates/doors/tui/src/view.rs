//! The live part of the screen: running work, queue, composer or dialog, status line.
//!
//! Everything here is drawn anew and never goes into the scrollback, so it stays short: at most a
//! third of the screen for running work, and the rest as long as it fits.

use crate::line::{Line, Role, Span};
use crate::model::{Armed, Model};
use crate::text::{clean, clip, clip_line, width};
use crate::{cell::Cell, tool};

/// Marks of work that goes on, one for each quarter of a second.
const SPINNER: [&str; 4] = ["◐", "◓", "◑", "◒"];
/// Waiting prompts that are shown; the rest is counted.
const MOST_QUEUED: usize = 3;
/// Running calls that are shown; the rest is counted.
const MOST_CALLS: usize = 4;

/// Rows of the live part with the place of the cursor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frame {
    /// Rows from the top, none wider than the screen.
    pub rows: Vec<Line>,
    /// Row and column of the cursor; hidden if absent.
    pub cursor: Option<(usize, usize)>,
}

impl Model {
    /// The first cell: name, folder, how to begin.
    pub(crate) fn banner(&self) -> Cell {
        let name = Line::of("dormouse ", Role::Heading).with(self.start.version.clone(), Role::Dim);
        let name = name.with(format!("  {}", clean(&self.start.folder)), Role::Dim);
        let mut lines = vec![name];
        if self.start.without_agent.is_some() {
            lines.extend(self.without_lines());
        } else {
            lines.push(Line::of(
                "/help commands · /keys keys · Esc stops · Ctrl+D leaves",
                Role::Dim,
            ));
        }
        Cell::Banner(lines)
    }

    /// Lines that say why there is no agent, and what can be done without one.
    pub(crate) fn without_lines(&self) -> Vec<Line> {
        let why = self.start.without_agent.as_deref().unwrap_or_default();
        let offer = "Without a model: /memory, /sessions, /search WORDS, /recall WORDS, /demo, /doctor, !command; /help lists all";
        vec![
            Line::of(clean(why), Role::Warning),
            Line::of(offer, Role::Dim),
        ]
    }

    /// The live part for a screen.
    pub fn view(&self, columns: usize, height: usize) -> Frame {
        let columns = columns.max(8);
        // One row stays for the scrollback, so that the live part never fills the screen.
        let room = height.saturating_sub(1).max(3);
        let mut below = Vec::new();
        if self.dialogs.is_empty() {
            below.extend(self.completion.rows(columns));
        }
        if let Some(tour) = self.tour_line() {
            below.push(clip_line(Line::of(tour, Role::Accent), columns));
        }
        below.push(self.status(columns));
        let (mut middle, cursor) = self.middle(columns);
        below.truncate(room.saturating_sub(1));
        let most = room.saturating_sub(below.len()).max(1);
        let mut at = cursor;
        if middle.len() > most {
            // The row of the cursor stays in sight; without one, the end does.
            let row = cursor.map_or(middle.len(), |(row, _)| row + 1);
            let first = row.saturating_sub(most).min(middle.len() - most);
            middle.drain(..first);
            middle.truncate(most);
            at = cursor.map(|(row, column)| (row.saturating_sub(first), column));
        }
        let left = room.saturating_sub(below.len() + middle.len() + 1);
        let live = self.live(columns, left.min((height / 3).max(1)));
        let mut rows = Vec::new();
        if left > 0 {
            rows.push(Line::default());
        }
        rows.extend(live);
        let above = rows.len();
        rows.extend(middle);
        rows.extend(below);
        Frame {
            rows,
            cursor: at.map(|(row, column)| (row + above, column.min(columns - 1))),
        }
    }

    /// The composer, a dialog, or a search.
    fn middle(&self, columns: usize) -> (Vec<Line>, Option<(usize, usize)>) {
        if let Some(dialog) = self.dialogs.front() {
            let (mut rows, cursor) = dialog.rows(columns);
            let more = self.dialogs.len() - 1;
            if more > 0 {
                let more = Line::of(format!("{more} more wait"), Role::Dim);
                rows.push(clip_line(more, columns));
            }
            return (rows, cursor);
        }
        if let Some((text, before)) = &self.search {
            let found = self
                .composer
                .search(text, *before)
                .map_or("", |(_, prompt)| prompt);
            let line = Line::of(format!("search: {}", clean(text)), Role::Accent);
            let cursor = line.width().min(columns - 1);
            let line = line.with(format!("   {}", clean(found)), Role::Dim);
            return (vec![clip_line(line, columns)], Some((0, cursor)));
        }
        let shown = self.composer.shown(columns - 3);
        let rows = shown.rows.into_iter().enumerate().map(|(nth, row)| {
            let sign = if nth == 0 { "› " } else { "  " };
            Line::of(sign, Role::Accent).with(row, Role::Plain)
        });
        let mut rows: Vec<Line> = rows.collect();
        if self.composer.is_empty() {
            let hint = match self.armed {
                Some(Armed::Exit) => "the same key again leaves",
                Some(Armed::Rewind) => "Esc again lists the points to go back to",
                None if self.busy => "Enter steers, Tab sends after the turn, Esc stops",
                None => "",
            };
            if let Some(row) = rows.first_mut() {
                *row = clip_line(row.clone().with(hint, Role::Dim), columns);
            }
        }
        (rows, Some((shown.cursor.0, shown.cursor.1 + 2)))
    }

    /// Running work, the newest rows of it.
    fn live(&self, columns: usize, most: usize) -> Vec<Line> {
        let mut rows: Vec<Line> = Vec::new();
        for block in self.answer.tail() {
            rows.extend(block.lines(columns));
        }
        if !self.thinking.is_empty() {
            let last = self
                .thinking
                .lines()
                .rfind(|line| !line.trim().is_empty())
                .unwrap_or_default();
            rows.push(Line::of(
                format!("thinking: {}", clean(last.trim())),
                Role::Dim,
            ));
        }
        let spinner = SPINNER[usize::try_from(self.ticks % 4).unwrap_or_default()];
        let shown = self
            .calls
            .iter()
            .filter(|call| call.running || self.dialogs.is_empty());
        for call in shown.take(MOST_CALLS) {
            let (mark, role) = if call.running {
                (spinner, Role::Accent)
            } else {
                ("○", Role::Dim)
            };
            let line = Line::of(format!("{mark} "), role).with(call.tool.clone(), Role::Strong);
            rows.push(line.with(format!(" {}", tool::subject(&call.input)), Role::Plain));
        }
        let more = self.calls.len().saturating_sub(MOST_CALLS);
        if more > 0 {
            rows.push(Line::of(format!("  {more} more calls"), Role::Dim));
        }
        for title in &self.running {
            rows.push(
                Line::of(format!("{spinner} "), Role::Accent).with(clean(title), Role::Plain),
            );
        }
        if self.busy && self.dialogs.is_empty() {
            rows.push(self.working(spinner));
        }
        for (nth, prompt) in self.queued.iter().enumerate().take(MOST_QUEUED) {
            let line = Line::of(format!("waits {}: ", nth + 1), Role::Dim);
            rows.push(line.with(prompt.clone(), Role::Plain));
        }
        let unlogged = self.sent.iter().filter(|sent| !self.queued.contains(sent));
        let unlogged = unlogged.chain(self.held.iter().map(|(text, _)| text));
        for prompt in unlogged.take(MOST_QUEUED) {
            rows.push(Line::of("› ", Role::Dim).with(clip(&clean(prompt), columns), Role::Dim));
        }
        let first = rows.len().saturating_sub(most);
        rows.drain(..first);
        rows.into_iter()
            .map(|row| clip_line(row, columns))
            .collect()
    }

    fn working(&self, spinner: &str) -> Line {
        let what = match &self.writing {
            Some(tool) => format!("writing a call of {tool}"),
            None if self.answer.is_arriving() => "answering".to_owned(),
            None if self.calls.iter().any(|call| call.running) => "running tools".to_owned(),
            None => "working".to_owned(),
        };
        let line = Line::of(format!("{spinner} "), Role::Accent);
        line.with(format!("{what}, {} s", self.ticks / 4), Role::Dim)
    }

    /// Rows of the dialog for a terminal that knows lines only.
    pub(crate) fn dialog_lines(&self, columns: usize) -> Vec<Line> {
        let dialog = self.dialogs.front();
        let mut rows = dialog
            .map(|dialog| dialog.rows(columns).0)
            .unwrap_or_default();
        if !rows.is_empty() {
            // The keys of the other screens do not work here.
            rows.pop();
            let keys = "answer with y, s (session), a (always), n, n WORDS, or a number";
            rows.push(Line {
                spans: vec![Span::plain(clip(keys, columns.max(width(keys))))],
            });
        }
        rows
    }
}
