//! Help, laid out for the screen it is printed on.
//!
//! The texts in the sources are broken where the source ends; [`fitted`] breaks them anew, once,
//! for the width at hand, so that the parser finds nothing left to wrap. Paragraphs flow; lines
//! that stand in (examples, JSON, tables) keep their place and hang where they are too long. The
//! commands are listed by what a person wants to do ([`GROUPS`]).
//!
//! # Not here
//! The words: beside each command. The list that a bare `dormouse` shows: `commands::welcome`.

use crate::output::{width, wrapped};
use clap::Command;
use clap::builder::StyledStr;
use std::fmt::Write as _;

/// The commands by what they are for, in the order in which a new user meets them.
pub const GROUPS: [(&str, &[&str]); 4] = [
    (
        "Look",
        &[
            "demo", "sessions", "top", "context", "usage", "stats", "view", "log", "rewind",
            "export", "convert",
        ],
    ),
    (
        "Remember",
        &["memory", "search", "recall", "extract", "dream"],
    ),
    ("Study", &["replay", "eval", "sim", "guard"]),
    (
        "Set up",
        &[
            "doctor",
            "config",
            "install",
            "uninstall",
            "gateway",
            "acp",
            "hook",
            "mcp",
            "gc",
            "completions",
        ],
    ),
];

/// Columns by which the rest of a line that is too long hangs behind its beginning.
const HANG: usize = 4;

/// The command line's definition with all help broken for `columns`.
pub fn fitted(command: Command, columns: usize) -> Command {
    let groups = groups(&command, columns);
    // Headings in the parser's own style: bold and underlined where the screen has colours.
    let heading = command.get_styles().get_header();
    let template = format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{groups}{heading}Options:{heading:#}\n{{options}}{{after-help}}"
    );
    texts_fitted(command, columns)
        .term_width(columns)
        .help_template(template)
}

fn texts_fitted(mut command: Command, columns: usize) -> Command {
    let fit = |text: Option<&StyledStr>| text.map(|text| flowed(&text.to_string(), columns));
    if let Some(text) = fit(command.get_after_help()) {
        command = command.after_help(text);
    }
    if let Some(text) = fit(command.get_after_long_help()) {
        command = command.after_long_help(text);
    }
    command.mut_subcommands(|inner| texts_fitted(inner, columns))
}

/// The commands under their headings, each with its line.
fn groups(command: &Command, columns: usize) -> String {
    let heading = command.get_styles().get_header();
    let literal = command.get_styles().get_literal();
    let names = GROUPS.iter().flat_map(|(_, names)| names.iter());
    let longest = names.map(|name| name.len()).max().unwrap_or_default();
    let mut text = String::new();
    for (title, names) in GROUPS {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{heading}{title}:{heading:#}");
        for name in names {
            let about = command.find_subcommand(name).and_then(Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            // Two columns before the name and two behind the longest.
            let room = columns.saturating_sub(longest + 4);
            let mut lines = wrapped(&about, room).into_iter();
            let first = lines.next().unwrap_or_default();
            let _ = writeln!(text, "  {literal}{name:longest$}{literal:#}  {first}");
            for line in lines {
                let _ = writeln!(text, "    {:longest$}{line}", "");
            }
        }
        text.push('\n');
    }
    text
}

/// A text whose paragraphs fill `columns`; lines that stand in are kept, or hang.
fn flowed(text: &str, columns: usize) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut paragraph = String::new();
    for line in text.lines() {
        let stands_in = line.starts_with(' ');
        if stands_in || line.is_empty() {
            lines.extend(wrapped(&std::mem::take(&mut paragraph), columns));
            match line {
                "" => lines.push(String::new()),
                line => lines.extend(hung(line, columns)),
            }
            continue;
        }
        if !paragraph.is_empty() {
            paragraph.push(' ');
        }
        paragraph.push_str(line);
    }
    lines.extend(wrapped(&paragraph, columns));
    lines.join("\n")
}

/// A line that stands in, as it is or in pieces: a remark behind a gap of spaces goes below its
/// example first, since commands should stay in one piece.
fn hung(line: &str, columns: usize) -> Vec<String> {
    if width(line) <= columns {
        return vec![line.to_owned()];
    }
    let text = line.trim_start();
    let indent = line.len() - text.len();
    let below = " ".repeat(indent + HANG);
    let (head, remark) = match text.split_once("   ") {
        Some((head, remark)) => (head, remark.trim_start()),
        None => (text, ""),
    };
    let mut lines = Vec::new();
    let pieces = wrapped(head, columns.saturating_sub(indent + HANG));
    for (nth, piece) in pieces.into_iter().enumerate() {
        let before = if nth == 0 {
            " ".repeat(indent)
        } else {
            below.clone()
        };
        lines.push(format!("{before}{piece}"));
    }
    let room = columns.saturating_sub(indent + HANG);
    lines.extend(
        wrapped(remark, room)
            .iter()
            .map(|piece| format!("{below}{piece}")),
    );
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::Cli;
    use clap::CommandFactory as _;
    use pretty_assertions::assert_eq;

    #[test]
    fn every_command_is_in_one_group() {
        let command = Cli::command();
        let mut defined: Vec<&str> = command.get_subcommands().map(Command::get_name).collect();
        let mut grouped: Vec<&str> = GROUPS
            .iter()
            .flat_map(|(_, names)| names.iter().copied())
            .collect();
        defined.sort_unstable();
        grouped.sort_unstable();
        assert_eq!(grouped, defined);
    }

    #[test]
    fn paragraphs_flow_and_lines_that_stand_in_keep_their_place() {
        let text = "\
A sentence that was broken
where the source ends. Another.

Examples:
  run --fast     Quickly
  run --with-many words in its long line     And a remark

JSON: {}";
        assert_eq!(
            flowed(text, 30),
            "\
A sentence that was broken
where the source ends.
Another.

Examples:
  run --fast     Quickly
  run --with-many words in
      its long line
      And a remark

JSON: {}"
        );
    }

    #[test]
    fn nothing_is_left_for_the_parser_to_wrap_on_a_screen_of_forty_columns() {
        fn look(command: &Command) {
            for text in [command.get_after_help(), command.get_after_long_help()] {
                for line in text.map(ToString::to_string).unwrap_or_default().lines() {
                    // A single word may be longer than the screen; it cannot be broken.
                    let words = line.split_whitespace().count();
                    assert!(
                        width(line) <= 40 || words == 1,
                        "{}: {line}",
                        command.get_name()
                    );
                }
            }
            command.get_subcommands().for_each(look);
        }
        look(&fitted(Cli::command(), 40));
    }
}
