//! The terminal's rows: finished lines go into its own scrollback, the live part is drawn below them.
//!
//! # Model
//! The screen knows no absolute position. It remembers how many rows of the live part stand above the
//! cursor; to draw, the cursor goes up by that many rows, everything below is erased, and finished
//! lines and the new live part are written. Where that meets the bottom, line feeds scroll the
//! screen, and the rows that leave at the top enter the scrollback in every terminal. Sequences that
//! scroll a region lose rows in some terminals and are never sent, nor is anything that erases the
//! scrollback.
//!
//! When the window gets narrower, most terminals break long rows into several. The rows of the live
//! part that did are counted from their widths. Of the row with the cursor one is counted, because
//! terminals differ there: the remains of a live row may be left behind, a finished line is never
//! erased.

use crate::line::{Line, Theme};
use crate::terminal::{self, IS_OVER};
use crate::view::Frame;
use std::fmt::Write as _;
use std::sync::atomic::Ordering;

/// Begin and end of an update that the terminal shows at once.
const BEGIN: &str = "\u{1b}[?2026h\u{1b}[?25l";
const END: &str = "\u{1b}[?2026l";
const SHOW_CURSOR: &str = "\u{1b}[?25h";

/// Rows of the terminal that belong to the screen.
#[derive(Clone, Debug)]
pub struct Screen {
    columns: usize,
    height: usize,
    /// True if the terminal breaks long rows when it gets narrower.
    reflows: bool,
    theme: Theme,
    /// The live part as it was drawn last.
    drawn: Frame,
    /// Columns of the terminal when it was drawn.
    drawn_at: usize,
    /// True if the rows on the screen may differ from the drawn ones.
    stale: bool,
    /// Updates written so far.
    frames: u64,
    /// Frame on the alternate screen, if that is shown.
    over: Option<Frame>,
    /// True if the alternate screen has to be written again.
    stale_over: bool,
}

impl Screen {
    /// A screen of a size, on which nothing is drawn.
    pub fn new(columns: usize, height: usize, theme: Theme, reflows: bool) -> Self {
        Self {
            columns,
            height,
            reflows,
            theme,
            drawn: Frame::default(),
            drawn_at: columns,
            stale: true,
            frames: 0,
            over: None,
            stale_over: false,
        }
    }

    /// Columns and rows of the terminal, as last told.
    pub const fn size(&self) -> (usize, usize) {
        (self.columns, self.height)
    }

    /// Updates written so far.
    pub const fn frames(&self) -> u64 {
        self.frames
    }

    /// The terminal has another size.
    pub fn resize(&mut self, columns: usize, height: usize) {
        self.columns = columns;
        self.height = height;
        self.stale = true;
        self.stale_over = true;
    }

    /// Colours of the screen.
    pub(crate) const fn theme(&self) -> Theme {
        self.theme
    }

    /// Paints later rows in other colours; finished lines keep the ones they have.
    pub const fn set_theme(&mut self, theme: Theme) {
        self.theme = theme;
        self.stale = true;
        self.stale_over = true;
    }

    /// The next update writes every row again.
    pub const fn redraw(&mut self) {
        self.stale = true;
        self.stale_over = true;
    }

    /// Rows from the cursor up to the first row of the live part.
    fn rows_above(&self) -> usize {
        let row = self.cursor_row();
        let narrower = self.reflows && self.columns < self.drawn_at;
        let above = self.drawn.rows.iter().take(row);
        let count: usize = if narrower {
            above
                .map(|line| line.width().div_ceil(self.columns.max(1)).max(1))
                .sum()
        } else {
            row
        };
        // Rows that have left at the top cannot be reached.
        count.min(self.height.saturating_sub(1))
    }

    /// Row on which the cursor was left.
    fn cursor_row(&self) -> usize {
        let last = self.drawn.rows.len().saturating_sub(1);
        self.drawn.cursor.map_or(last, |(row, _)| row.min(last))
    }

    /// Bytes that show a frame on the alternate screen, in place of everything; empty if nothing has
    /// changed. The live part stays as it is below.
    pub fn draw_over(&mut self, frame: Frame) -> String {
        if self.over.as_ref() == Some(&frame) && !self.stale_over {
            return String::new();
        }
        let mut out = String::from(BEGIN);
        if self.over.is_none() {
            IS_OVER.store(true, Ordering::SeqCst);
            out.push_str(terminal::OVER);
        }
        out.push_str("\u{1b}[H");
        for (nth, line) in frame.rows.iter().take(self.height).enumerate() {
            if nth > 0 {
                out.push_str("\r\n");
            }
            // Erased first: behind a full row an erasure would take its last column.
            out.push_str("\u{1b}[K");
            line.paint(self.theme, &mut out);
        }
        if let Some((row, column)) = frame.cursor {
            // Writing to a string cannot fail.
            let _infallible = write!(out, "\u{1b}[{};{}H", row + 1, column + 1);
            out.push_str(SHOW_CURSOR);
        }
        out.push_str(END);
        self.over = Some(frame);
        self.stale_over = false;
        self.frames += 1;
        out
    }

    /// Goes back from the alternate screen, if it is shown.
    fn come_back(&mut self, out: &mut String) {
        if self.over.take().is_some() {
            IS_OVER.store(false, Ordering::SeqCst);
            out.push_str(terminal::BACK);
            // The terminal may have got another size meanwhile.
            self.stale = true;
        }
    }

    /// Bytes that add finished lines and show the live part; empty if nothing has changed.
    pub fn draw(&mut self, finished: &[Line], frame: Frame) -> String {
        let mut back = String::new();
        self.come_back(&mut back);
        if finished.is_empty() && !self.stale && frame == self.drawn {
            return String::new();
        }
        let mut out = back;
        out.push_str(BEGIN);
        let same_rows = frame.rows.len() == self.drawn.rows.len();
        if finished.is_empty() && !self.stale && same_rows {
            self.changed_rows(&frame, &mut out);
        } else {
            self.all_rows(finished, &frame, &mut out);
        }
        self.put_cursor(&frame, &mut out);
        out.push_str(END);
        self.drawn = frame;
        self.drawn_at = self.columns;
        self.stale = false;
        self.frames += 1;
        out
    }

    /// Writes everything from the first row of the live part on. The cursor ends in the last row.
    fn all_rows(&self, finished: &[Line], frame: &Frame, out: &mut String) {
        up(self.rows_above(), out);
        // Erased before anything is written: behind a full row an erasure would take its last column.
        out.push_str("\r\u{1b}[J");
        for line in finished {
            line.paint(self.theme, out);
            out.push_str("\r\n");
        }
        for (nth, line) in frame.rows.iter().enumerate() {
            if nth > 0 {
                out.push_str("\r\n");
            }
            line.paint(self.theme, out);
        }
    }

    /// Writes the rows that differ. The cursor ends in the last row.
    fn changed_rows(&self, frame: &Frame, out: &mut String) {
        let mut at = self.cursor_row();
        for (row, (line, before)) in frame.rows.iter().zip(&self.drawn.rows).enumerate() {
            if line == before {
                continue;
            }
            go(at, row, out);
            out.push_str("\r\u{1b}[K");
            line.paint(self.theme, out);
            at = row;
        }
        go(at, frame.rows.len().saturating_sub(1), out);
    }

    /// Moves the cursor from the last row to its place.
    fn put_cursor(&self, frame: &Frame, out: &mut String) {
        let last = frame.rows.len().saturating_sub(1);
        let Some((row, column)) = frame.cursor else {
            return;
        };
        out.push('\r');
        up(last.saturating_sub(row.min(last)), out);
        let column = column.min(self.columns.saturating_sub(1));
        if column > 0 {
            // Writing to a string cannot fail.
            let _infallible = write!(out, "\u{1b}[{column}C");
        }
        out.push_str(SHOW_CURSOR);
    }

    /// Bytes that add finished lines and take the live part away, for the end or for another program.
    pub fn leave(&mut self, finished: &[Line]) -> String {
        let mut out = String::new();
        self.come_back(&mut out);
        out.push_str(BEGIN);
        self.all_rows(finished, &Frame::default(), &mut out);
        out.push_str(SHOW_CURSOR);
        out.push_str(END);
        self.drawn = Frame::default();
        self.stale = true;
        out
    }
}

fn up(rows: usize, out: &mut String) {
    if rows > 0 {
        let _infallible = write!(out, "\u{1b}[{rows}A");
    }
}

/// Moves the cursor between rows of the live part.
fn go(from: usize, to: usize, out: &mut String) {
    up(from.saturating_sub(to), out);
    let down = to.saturating_sub(from);
    if down > 0 {
        let _infallible = write!(out, "\u{1b}[{down}B");
    }
}
