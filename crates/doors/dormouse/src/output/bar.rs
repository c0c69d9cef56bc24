//! A stacked bar: the parts of a whole, in proportion.
//!
//! Each category has a letter, a pattern and a colour; the letter stands under its part of the bar
//! and in the legend, so the bar can be read without colour.
//!
//! # Not here
//! Choosing the categories: the command that draws. Lines over time: the plot of `replay`.

use super::figures::{share, tokens};
use super::line::{Line, Role};
use super::table::{Cell, Column, Table};
use dormouse_core::units::Tokens;

/// Fillings of parts, the darkest first: block elements that differ at a glance. Twelve, two more
/// than a session has categories; a thirteenth part would begin again.
const PATTERNS: [&str; 12] = ["█", "▓", "▒", "░", "▚", "▄", "▀", "▌", "▐", "▞", "▙", "▟"];
/// Filling of the part that is free: so light that it reads as empty on any background.
const FREE: &str = "·";

/// A bar of tokens, filled from the left.
#[derive(Clone, Debug)]
pub struct Bar {
    capacity: Tokens,
    parts: Vec<Part>,
}

#[derive(Clone, Debug)]
struct Part {
    letter: char,
    label: String,
    amount: Tokens,
}

impl Bar {
    /// An empty bar that is full at `capacity`; what is left is drawn as free.
    pub fn new(capacity: Tokens) -> Self {
        Self {
            capacity,
            parts: Vec::new(),
        }
    }

    /// Adds a category. It gets the first letter of its label that is still free.
    pub fn add(&mut self, label: impl Into<String>, amount: Tokens) {
        let label = label.into();
        let letter = self.free_letter(&label);
        self.parts.push(Part {
            letter,
            label,
            amount,
        });
    }

    fn free_letter(&self, label: &str) -> char {
        let own = label.chars().filter(char::is_ascii_alphabetic);
        own.map(|letter| letter.to_ascii_uppercase())
            .chain('A'..='Z')
            .chain('0'..='9')
            .find(|letter| self.parts.iter().all(|part| part.letter != *letter))
            // More than 36 categories: the pattern and the order still tell them apart.
            .unwrap_or('?')
    }

    fn used(&self) -> Tokens {
        self.parts.iter().map(|part| part.amount).sum()
    }

    /// The width of the bar in tokens. More than the capacity is a whole of its own: parts that
    /// overflow are drawn in proportion instead of beyond the edge.
    fn whole(&self) -> Tokens {
        self.capacity.max(self.used())
    }

    /// The bar and the letters under it.
    pub(super) fn drawing(&self, columns: usize) -> [Line; 2] {
        let mut bar = Line::new();
        let mut letters = Line::new();
        let cells = self.cells(columns);
        for (nth, (part, count)) in self.parts.iter().zip(&cells).enumerate() {
            // No room was left for this part: the legend still has it.
            if *count == 0 {
                continue;
            }
            let role = Role::Series(nth);
            bar = bar.role(role, PATTERNS[nth % PATTERNS.len()].repeat(*count));
            letters = letters
                .role(role, part.letter)
                // The letter takes the first cell of its part; blanks keep the next letter under
                // its own part.
                .text(" ".repeat(count.saturating_sub(1)));
        }
        let free = columns.saturating_sub(cells.iter().sum());
        [bar.role(Role::Dim, FREE.repeat(free)), letters]
    }

    /// Every category with its letter and figures.
    pub(super) fn legend(&self) -> Table {
        let mut table = Table::new([
            Column::left(""),
            Column::left(""),
            Column::left(""),
            Column::right("TOKENS"),
            Column::right("SHARE"),
        ]);
        let whole = self.whole();
        let figures = |amount: Tokens| [tokens(amount), share(amount.get(), whole.get())];
        for (nth, part) in self.parts.iter().enumerate() {
            let role = Role::Series(nth);
            let [amount, share] = figures(part.amount);
            table.row([
                Cell::with_role(role, part.letter),
                Cell::with_role(role, PATTERNS[nth % PATTERNS.len()]),
                Cell::new(&part.label),
                amount.into(),
                share.into(),
            ]);
        }
        // Subtraction of tokens stops at zero: an overfull bar has no free part.
        let free = self.capacity - self.used();
        if free > Tokens::ZERO {
            let [amount, share] = figures(free);
            let dim = |text: &str| Cell::with_role(Role::Dim, text);
            table.row([dim(""), dim(FREE), dim("free"), dim(&amount), dim(&share)]);
        }
        table
    }

    /// Number of cells of each part: in proportion, and at least one for a part that is not empty.
    fn cells(&self, columns: usize) -> Vec<usize> {
        // An empty bar has no parts to divide, but the division still happens.
        let whole = u128::from(self.whole().get()).max(1);
        let columns = columns as u128;
        let mut end: u128 = 0;
        let mut drawn: u128 = 0;
        let mut cells = Vec::new();
        for part in &self.parts {
            end += u128::from(part.amount.get());
            // Rounding ends instead of lengths keeps the sum right.
            let until = (end * columns + whole / 2) / whole;
            // One cell is the least that can be seen; without it a small part would be in the
            // legend only.
            let least = drawn + u128::from(part.amount > Tokens::ZERO);
            let until = until.max(least).min(columns);
            cells.push(usize::try_from(until - drawn).unwrap_or(0));
            drawn = until;
        }
        cells
    }
}

#[cfg(test)]
mod tests {
    use super::super::line::Paint;
    use super::*;
    use pretty_assertions::assert_eq;

    fn draw(capacity: u64, parts: &[(&str, u64)], columns: usize) -> Vec<String> {
        let mut bar = Bar::new(Tokens(capacity));
        for (label, amount) in parts {
            bar.add(*label, Tokens(*amount));
        }
        let drawing = bar.drawing(columns);
        let drawing = drawing
            .iter()
            .map(|line| line.render(Paint::Off).trim_end().to_owned());
        drawing
            .chain(bar.legend().render(None, Paint::Off))
            .collect()
    }

    #[test]
    fn parts_are_told_apart_by_letter_and_pattern() {
        assert_eq!(
            draw(
                200_000,
                &[
                    ("system prompt", 20_000),
                    ("summary", 1),
                    ("tool results", 99_999)
                ],
                20
            ),
            [
                "██▓▒▒▒▒▒▒▒▒▒········",
                "S UT",
                "                     TOKENS   SHARE",
                "S  █  system prompt     20k  10.0 %",
                "U  ▓  summary             1  <0.1 %",
                "T  ▒  tool results     100k  50.0 %",
                "   ·  free              80k  40.0 %",
            ]
        );
    }

    #[test]
    fn no_two_categories_of_a_session_share_a_filling() {
        use dormouse_context::category::Category;
        let parts = Category::ALL.len();
        assert!(parts <= PATTERNS.len(), "{parts} categories");
        let distinct: std::collections::BTreeSet<&str> = PATTERNS.into_iter().collect();
        assert_eq!(distinct.len(), PATTERNS.len());
    }

    #[test]
    fn a_full_bar_has_no_room_and_never_overflows() {
        let lines = draw(100, &[("a", 300), ("b", 100)], 8);
        assert_eq!(lines[0], "██████▓▓");
        assert_eq!(lines.len(), 5);
        assert_eq!(draw(0, &[], 4)[0], "····");
        assert_eq!(draw(10, &[("a", 1), ("b", 1), ("c", 8)], 1)[0], "█");
    }
}
