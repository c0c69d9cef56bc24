//! Cells: finished parts of the conversation. They know no width; the screen lays them out once, when
//! they go into the scrollback.

use crate::line::{Line, Role, Span};
use crate::markdown::Block;
use crate::text::{clean_lines, clip_line, width, wrap};

/// Finished part of the conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cell {
    /// Words of the user.
    User(String),
    /// Part of an answer; a later part of the same answer follows without a gap.
    Answer {
        /// True for the first part.
        begins: bool,
        /// Blocks of the part.
        blocks: Vec<Block>,
    },
    /// Tool call with its result.
    Tool {
        /// Name of the tool.
        tool: String,
        /// Path, pattern or command.
        subject: String,
        /// True if it failed.
        failed: bool,
        /// Head of the result.
        result: Vec<String>,
        /// Lines of the result that are left out.
        more: usize,
    },
    /// Question about a call, with the change it would make.
    Asked {
        /// Words of the question, as they were shown.
        question: String,
        /// Change as a diff; empty if there is none.
        diff: Vec<Line>,
    },
    /// A quiet line: a layer that acted, a notice.
    Note(String),
    /// A line that people should not miss.
    Warning(String),
    /// Text that a command of the person printed.
    Output {
        /// Command line as the person typed it.
        title: String,
        /// Text that the command printed.
        text: String,
        /// True if it failed.
        failed: bool,
    },
    /// Explanation in a tour.
    Caption {
        /// Number of the step among all.
        at: String,
        /// Text of the explanation.
        text: String,
    },
    /// Lines at the top of a new screen: program, folder, model.
    Banner(Vec<Line>),
}

impl Cell {
    /// True if an empty line stands above the cell.
    const fn is_apart(&self) -> bool {
        !matches!(self, Self::Note(_) | Self::Answer { begins: false, .. })
    }

    /// Lines of the cell at a width, with the empty line above it.
    pub fn lines(&self, columns: usize) -> Vec<Line> {
        let mut lines = Vec::new();
        if self.is_apart() {
            lines.push(Line::default());
        }
        match self {
            Self::User(text) => {
                for (nth, line) in clean_lines(text).enumerate() {
                    let sign = if nth == 0 { "› " } else { "  " };
                    let spans = [Span::new(sign, Role::Accent), Span::new(line, Role::Strong)];
                    lines.extend(wrap(&spans, columns, 2));
                }
            }
            Self::Answer { blocks, .. } => {
                lines.extend(blocks.iter().flat_map(|block| block.lines(columns)));
            }
            Self::Tool {
                tool,
                subject,
                failed,
                result,
                more,
            } => {
                let sign = if *failed { Role::Bad } else { Role::Good };
                let mark = if *failed { "✗ " } else { "● " };
                let spans = [
                    Span::new(mark, sign),
                    Span::new(tool.clone(), Role::Strong),
                    Span::plain(format!(" {subject}")),
                ];
                lines.extend(wrap(&spans, columns, 4));
                let role = if *failed { Role::Bad } else { Role::Dim };
                for (nth, line) in result.iter().enumerate() {
                    let lead = if nth == 0 { "  └ " } else { "    " };
                    let line = Line::of(lead, Role::Dim).with(line.clone(), role);
                    lines.push(clip_line(line, columns));
                }
                if *more > 0 {
                    let more = Line::of(format!("    … {more} more lines"), Role::Dim);
                    lines.push(clip_line(more, columns));
                }
            }
            Self::Asked { question, diff } => {
                let spans = [
                    Span::new("? ", Role::Warning),
                    Span::new(question.clone(), Role::Strong),
                ];
                lines.extend(wrap(&spans, columns, 2));
                for line in diff {
                    lines.extend(wrap(&line.spans, columns, 8));
                }
            }
            Self::Note(text) => lines.extend(wrap(
                &[Span::new(format!("◦ {text}"), Role::Dim)],
                columns,
                2,
            )),
            Self::Warning(text) => lines.extend(wrap(
                &[Span::new(format!("! {text}"), Role::Warning)],
                columns,
                2,
            )),
            Self::Output {
                title,
                text,
                failed,
            } => {
                lines.push(clip_line(Line::of(title.clone(), Role::Accent), columns));
                let role = if *failed { Role::Bad } else { Role::Plain };
                for line in clean_lines(text) {
                    let hang = second_column(&line).filter(|at| *at * 2 <= columns);
                    lines.extend(wrap(&[Span::new(line, role)], columns, hang.unwrap_or(0)));
                }
            }
            Self::Caption { at, text } => {
                let spans = [
                    Span::new(format!("▌ {at} "), Role::Heading),
                    Span::new(text.clone(), Role::Strong),
                ];
                let rows = wrap(&spans, columns, 2).into_iter().enumerate();
                lines.extend(rows.map(|(nth, row)| {
                    if nth == 0 {
                        return row;
                    }
                    // The mark goes down along the whole explanation.
                    let mut line = Line::of("▌ ", Role::Heading);
                    let text = row.text();
                    line = line.with(text.trim_start().to_owned(), Role::Strong);
                    line
                }));
            }
            Self::Banner(banner) => {
                for line in banner {
                    lines.extend(wrap(&line.spans, columns, 2));
                }
            }
        }
        lines
    }
}

/// Column at which the second part of a line begins, behind two blanks or more: a line of a table goes on
/// below it. None for text that begins with blanks or has no second part.
fn second_column(line: &str) -> Option<usize> {
    let gap = line.find("  ").filter(|gap| *gap > 0)?;
    let rest = line[gap..].trim_start();
    let at = line.len() - rest.len();
    (!rest.is_empty()).then(|| width(&line[..at]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_of_a_table_goes_on_below_its_second_column() {
        let cell = Cell::Output {
            title: "/help".to_owned(),
            text: "/undo     Undo the last rewrite\nwords alone go on at the left".to_owned(),
            failed: false,
        };
        let lines: Vec<String> = cell.lines(24).iter().map(Line::text).collect();
        let rows = [
            "",
            "/help",
            "/undo     Undo the last",
            "          rewrite",
            "words alone go on at the",
            "left",
        ];
        assert_eq!(lines, rows);
    }

    #[test]
    fn no_cell_is_wider_than_the_screen() {
        let text = "日本語 and a very-long-path/with/many/parts.rs\u{1b}[2J and\nmore".to_owned();
        let cells = [
            Cell::User(text.clone()),
            Cell::Tool {
                tool: "Bash".to_owned(),
                subject: text.replace('\n', " "),
                failed: true,
                result: vec!["日本語".repeat(30)],
                more: 3,
            },
            Cell::Asked {
                question: "May it?".to_owned(),
                diff: vec![Line::of("    1 ", Role::Dim).with("+ 日本語 ".repeat(9), Role::Good)],
            },
            Cell::Note("n ".repeat(50)),
            Cell::Output {
                title: "!ls".repeat(30),
                text,
                failed: false,
            },
        ];
        for columns in 8..70 {
            for line in cells.iter().flat_map(|cell| cell.lines(columns)) {
                assert!(width(&line.text()) <= columns, "{line:?} at {columns}");
            }
        }
    }
}
