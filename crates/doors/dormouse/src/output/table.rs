//! Aligned tables.
//!
//! Columns are as wide as their widest cell, two spaces apart; numbers stand right. Where the width
//! of the screen is known, columns may be marked to give way, the widest first, and others to be
//! left out where that is not enough; if nothing helps, rows are stacked, a line for each cell. The
//! last column is never padded. A row can be followed by notes, indented lines that belong to it.
//!
//! # Not here
//! Wrapping a cell over several lines: long text is a paragraph or a note.

use super::line::{Paint, Role, painted};
use super::text::{clipped, printable, width};
use std::fmt;

/// Space between columns: one is also found between words, three cost a narrow screen too much.
const GAP: &str = "  ";
/// Columns that a column keeps when it gives way: seven letters and the ellipsis still tell most
/// names apart.
const NARROWEST: usize = 8;

/// Columns of the narrowest screen that rows are stacked for: below it a title and a figure no longer
/// stand on one line.
const STACKED_FROM: usize = 24;

/// A column: title, alignment, and its behaviour on a narrow screen.
#[derive(Clone, Debug)]
pub struct Column {
    title: &'static str,
    align: Align,
    /// Columns to which it shrinks before others are left out; after that it shrinks on to
    /// `NARROWEST`. None keeps its width.
    gives_way: Option<usize>,
    can_go: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Align {
    Left,
    Right,
}

impl Column {
    /// A column of text.
    pub const fn left(title: &'static str) -> Self {
        Self {
            title,
            align: Align::Left,
            gives_way: None,
            can_go: false,
        }
    }

    /// A column of numbers.
    pub const fn right(title: &'static str) -> Self {
        Self {
            align: Align::Right,
            ..Self::left(title)
        }
    }

    /// Cells of this column are cut short if the screen is too narrow.
    #[must_use]
    pub const fn gives_way(self) -> Self {
        self.gives_way_until(NARROWEST)
    }

    /// The same, but columns that can go are left out before this one has less than `least`.
    #[must_use]
    pub const fn gives_way_until(mut self, least: usize) -> Self {
        self.gives_way = Some(least);
        self
    }

    /// This column is left out if the screen is too narrow for all; the last one goes first.
    #[must_use]
    pub const fn can_go(mut self) -> Self {
        self.can_go = true;
        self
    }
}

/// A cell: one line of text and its role.
#[derive(Clone, Debug)]
pub struct Cell {
    text: String,
    role: Role,
}

impl Cell {
    /// A cell of ordinary text.
    pub fn new(text: impl fmt::Display) -> Self {
        Self::with_role(Role::Plain, text)
    }

    /// A cell whose text has a role.
    pub fn with_role(role: Role, text: impl fmt::Display) -> Self {
        let text = printable(&text.to_string()).into_owned();
        Self { text, role }
    }
}

impl<T: fmt::Display> From<T> for Cell {
    fn from(text: T) -> Self {
        Self::new(text)
    }
}

/// A table: its columns, then rows and notes in the order they were added.
#[derive(Clone, Debug)]
pub struct Table {
    columns: Vec<Column>,
    entries: Vec<Entry>,
}

#[derive(Clone, Debug)]
enum Entry {
    Row(Vec<Cell>),
    Note(Cell),
}

impl Table {
    /// A table with these columns. Without any title it has no head.
    pub fn new(columns: impl Into<Vec<Column>>) -> Self {
        Self {
            columns: columns.into(),
            entries: Vec::new(),
        }
    }

    /// Adds a row. Missing cells stay empty.
    pub fn row<const N: usize>(&mut self, cells: [Cell; N]) {
        self.entries.push(Entry::Row(cells.into()));
    }

    /// Adds a row of a table whose columns are known only when it runs.
    pub fn cells(&mut self, cells: Vec<Cell>) {
        self.entries.push(Entry::Row(cells));
    }

    /// Adds a line that belongs to the row above.
    pub fn note(&mut self, text: impl fmt::Display) {
        self.entries
            .push(Entry::Note(Cell::with_role(Role::Dim, text)));
    }

    /// True if nothing was added; a head alone is not worth printing.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The lines of the table, at most `limit` columns wide if a column gives way.
    pub(super) fn render(&self, limit: Option<usize>, paint: Paint) -> Vec<String> {
        let (shown, widths) = self.layout(limit);
        let total = shown
            .iter()
            .map(|at| widths[*at] + GAP.len())
            .sum::<usize>();
        if let Some(limit) = limit.filter(|limit| *limit >= STACKED_FROM)
            && total > limit + GAP.len()
        {
            return self.stacked(&shown, limit, paint);
        }
        let mut lines = Vec::new();
        if self.columns.iter().any(|column| !column.title.is_empty()) {
            let head = self.columns.iter();
            let head: Vec<Cell> = head
                .map(|column| Cell::with_role(Role::Dim, column.title))
                .collect();
            lines.push(self.render_row(&head, &shown, &widths, paint));
        }
        lines.extend(self.entries.iter().map(|entry| match entry {
            Entry::Row(cells) => self.render_row(cells, &shown, &widths, paint),
            // Notes are not cut to the width: they hold reasons, which lose their sense without an
            // end.
            Entry::Note(note) => format!("    {}", painted(note.role, &note.text, paint)),
        }));
        lines
    }

    /// Rows as blocks: the first cell, and below it every other with its title.
    fn stacked(&self, shown: &[usize], limit: usize, paint: Paint) -> Vec<String> {
        let titles = shown
            .iter()
            .skip(1)
            .map(|at| width(self.columns[*at].title));
        let widest = titles.max().unwrap_or(0);
        let mut lines = Vec::new();
        for entry in &self.entries {
            let cells = match entry {
                Entry::Row(cells) => cells,
                Entry::Note(note) => {
                    lines.push(format!("    {}", painted(note.role, &note.text, paint)));
                    continue;
                }
            };
            for (nth, at) in shown.iter().copied().enumerate() {
                let Some(cell) = cells.get(at).filter(|cell| !cell.text.is_empty()) else {
                    continue;
                };
                if nth == 0 {
                    lines.push(painted(cell.role, &clipped(&cell.text, limit), paint));
                    continue;
                }
                let title = self.columns[at].title;
                let padding = " ".repeat(widest - width(title));
                let room = limit.saturating_sub(widest + 2 * GAP.len());
                lines.push(format!(
                    "{GAP}{}{padding}{GAP}{}",
                    painted(Role::Dim, title, paint),
                    painted(cell.role, &clipped(&cell.text, room), paint)
                ));
            }
        }
        lines
    }

    /// The columns that are shown, and the width of each column.
    fn layout(&self, limit: Option<usize>) -> (Vec<usize>, Vec<usize>) {
        let mut widths: Vec<usize> = self
            .columns
            .iter()
            .map(|column| width(column.title))
            .collect();
        for entry in &self.entries {
            if let Entry::Row(cells) = entry {
                for (widest, cell) in widths.iter_mut().zip(cells) {
                    *widest = (*widest).max(width(&cell.text));
                }
            }
        }
        let mut shown: Vec<usize> = (0..widths.len()).collect();
        let Some(limit) = limit else {
            return (shown, widths);
        };
        loop {
            let gaps = GAP.len() * shown.len().saturating_sub(1);
            let total = shown.iter().map(|at| widths[*at]).sum::<usize>() + gaps;
            let over = total.saturating_sub(limit);
            let slack: usize = shown
                .iter()
                .filter_map(|at| Some(widths[*at].saturating_sub(self.columns[*at].gives_way?)))
                .sum();
            let expendable = shown.iter().rposition(|at| self.columns[*at].can_go);
            // Leaving out comes first only where shrinking alone would not be enough.
            match expendable {
                Some(at) if over > slack => {
                    shown.remove(at);
                }
                _ => {
                    self.narrow(&shown, &mut widths, over);
                    return (shown, widths);
                }
            }
        }
    }

    /// Takes `over` from the columns that give way, each time from the widest of them.
    fn narrow(&self, shown: &[usize], widths: &mut [usize], over: usize) {
        for _ in 0..over {
            // One column at a time: the widest changes as columns shrink.
            let flexible = shown
                .iter()
                .copied()
                // Below the minimum the row is wider than the screen: the terminal wraps it, and it
                // stays legible.
                .filter(|at| self.columns[*at].gives_way.is_some() && widths[*at] > NARROWEST);
            let Some(widest) = flexible.max_by_key(|at| widths[*at]) else {
                return;
            };
            widths[widest] -= 1;
        }
    }

    fn render_row(
        &self,
        cells: &[Cell],
        shown: &[usize],
        widths: &[usize],
        paint: Paint,
    ) -> String {
        let mut line = String::new();
        // Spaces are owed until something follows, so that no line ends in them.
        let mut owed = 0;
        for at in shown.iter().copied() {
            // A row may be shorter than the head; the rest of it is empty.
            let Some(cell) = cells.get(at) else {
                break;
            };
            let text = clipped(&cell.text, widths[at]);
            let padding = widths[at].saturating_sub(width(&text));
            let (before, after) = match self.columns[at].align {
                Align::Left => (0, padding),
                Align::Right => (padding, 0),
            };
            let first = shown.first() == Some(&at);
            owed += before + if first { 0 } else { GAP.len() };
            if !text.is_empty() {
                line.push_str(&" ".repeat(owed));
                line.push_str(&painted(cell.role, &text, paint));
                owed = 0;
            }
            owed += after;
        }
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn table() -> Table {
        let mut table = Table::new([
            Column::left("NAME").gives_way(),
            Column::right("TOKENS"),
            Column::left("NOTE"),
        ]);
        table.row(["dormouse".into(), "1,234".into(), "sleeps".into()]);
        table.row(["睡鼠".into(), "5".into(), "".into()]);
        table.note("all winter");
        table
    }

    #[test]
    fn columns_line_up_by_width_and_numbers_stand_right() {
        assert_eq!(
            table().render(None, Paint::Off),
            [
                "NAME      TOKENS  NOTE",
                "dormouse   1,234  sleeps",
                "睡鼠           5",
                "    all winter",
            ]
        );
    }

    #[test]
    fn one_column_gives_way_but_not_all_of_it() {
        let mut table = table();
        table.row(["a rather long name".into(), "1".into(), "".into()]);
        let narrow = table.render(Some(30), Paint::Off);
        assert_eq!(narrow[1], "dormouse         1,234  sleeps");
        assert_eq!(narrow[4], "a rather long…       1");
        assert_eq!(table.render(Some(5), Paint::Off)[4], "a rathe…       1");
    }

    #[test]
    fn of_several_columns_the_widest_gives_way_first() {
        let mut table = Table::new([
            Column::left("FILE").gives_way(),
            Column::right("N"),
            Column::left("TEXT").gives_way(),
        ]);
        table.row(["abcdefghijkl".into(), 1.into(), "x".repeat(40).into()]);
        let row = |limit| table.render(Some(limit), Paint::Off)[1].clone();
        assert_eq!(row(30), "abcdefghijkl  1  xxxxxxxxxxxx…");
        assert_eq!(row(25), "abcdefghi…  1  xxxxxxxxx…");
        assert_eq!(row(10), "abcdefg…  1  xxxxxxx…");

        let mut table = Table::new([
            Column::left("FILE").gives_way_until(12),
            Column::right("NUMBER").can_go(),
        ]);
        table.row(["abcdefghijkl".into(), 1.into()]);
        let row = |limit| table.render(Some(limit), Paint::Off)[1].clone();
        assert_eq!(row(20), "abcdefghijkl       1");
        assert_eq!(row(19), "abcdefghijkl");
        assert_eq!(row(10), "abcdefghi…");
    }

    #[test]
    fn columns_that_can_go_are_left_out_from_the_right() {
        let mut table = Table::new([
            Column::left("NAME"),
            Column::right("ONE").can_go(),
            Column::right("COST"),
            Column::right("TWO").can_go(),
        ]);
        table.row(["a".into(), 1.into(), 2.into(), 3.into()]);
        let head = |limit| table.render(limit, Paint::Off)[0].clone();
        assert_eq!(head(None), "NAME  ONE  COST  TWO");
        assert_eq!(head(Some(20)), "NAME  ONE  COST  TWO");
        assert_eq!(head(Some(19)), "NAME  ONE  COST");
        assert_eq!(head(Some(12)), "NAME  COST");
        assert_eq!(head(Some(1)), "NAME  COST");
    }

    #[test]
    fn rows_are_stacked_where_nothing_else_helps() {
        let mut table = Table::new([
            Column::left("POLICY"),
            Column::right("COMPACTIONS"),
            Column::right("PEAK").can_go(),
            Column::right("HIT RATE"),
        ]);
        table.row(["classic".into(), "12 full".into(), 1.into(), "95 %".into()]);
        table.note("a note");
        table.row([
            "none".into(),
            "".into(),
            2.into(),
            "a very long cell of text".into(),
        ]);
        assert_eq!(
            table.render(Some(30), Paint::Off),
            [
                "classic",
                "  COMPACTIONS  12 full",
                "  HIT RATE     95 %",
                "    a note",
                "none",
                "  HIT RATE     a very long ce…",
            ]
        );
        assert!(table.render(Some(60), Paint::Off)[0].starts_with("POLICY"));
    }

    #[test]
    fn colour_does_not_count_as_width() {
        let mut table = Table::new([Column::left(""), Column::left("")]);
        table.row([Cell::with_role(Role::Good, "on"), "a".into()]);
        table.row(["off".into(), "b".into()]);
        assert_eq!(
            table.render(None, Paint::On),
            ["\u{1b}[32mon\u{1b}[0m   a", "off  b"]
        );
    }
}
