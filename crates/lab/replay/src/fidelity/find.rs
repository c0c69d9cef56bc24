//! Looking for a fact in a prompt or in the result of a search.
//!
//! Values are compared with blanks taken together. A path counts in its relative form, or with the
//! session's folder in front; a number only near words that stood around it; a command only if its
//! line does not contradict its ending.
//!
//! # Not here
//! Mining the facts ([`super::facts`]) and the search itself ([`super::search`]).

use super::facts::{Ending, Fact, FactKind, Facts};
use super::words::{plain, subject_words};
use dormouse_context::segment::SegmentList;
use dormouse_core::block::{Block, BlockKind};
use std::collections::HashSet;

/// Bytes on each side of a number in which its words are looked for: about one sentence.
const NEAR: usize = 100;
/// Words next to a number that are looked for; half of them must be there, since a summary rewords
/// the rest.
const NEAREST_WORDS: usize = 4;

/// A text that facts are looked for in.
#[derive(Debug, Default)]
pub(super) struct Haystack {
    /// Line by line, blanks taken together.
    lines: Vec<Hay>,
    /// All of it on one line, for values that may be broken over several.
    whole: String,
}

#[derive(Debug)]
struct Hay {
    text: String,
    /// True for a call whose result is there too: the model can read its ending.
    answered: bool,
}

impl Haystack {
    /// The texts of a prompt.
    pub(super) fn of_prompt(segments: &SegmentList) -> Self {
        let answered: HashSet<&str> = segments
            .iter()
            .filter(|segment| segment.block.kind() == BlockKind::ToolResult)
            .filter_map(|segment| Some(segment.block.call()?.as_str()))
            .collect();
        let mut haystack = Self::default();
        for segment in segments.iter() {
            let block = &segment.block;
            let has_result = block
                .call()
                .is_some_and(|call| answered.contains(call.as_str()));
            match block.kind() {
                // A call whose result was cleared does not show how it ended.
                BlockKind::ToolUse => haystack.add(&arguments(block), has_result),
                _ => haystack.add(&block.readable_text().unwrap_or_default(), false),
            }
        }
        haystack
    }

    /// A haystack of plain texts, each complete with its ending.
    pub(super) fn of_texts<'a>(texts: impl IntoIterator<Item = &'a str>) -> Self {
        let mut haystack = Self::default();
        for text in texts {
            haystack.add(text, true);
        }
        haystack
    }

    fn add(&mut self, text: &str, answered: bool) {
        for line in text.lines() {
            let text = plain(line);
            if text.is_empty() {
                continue;
            }
            self.whole.push_str(&text);
            self.whole.push(' ');
            self.lines.push(Hay { text, answered });
        }
    }

    /// True if the fact is in it, by the rules of its kind.
    pub(super) fn has(&self, fact: &Fact, facts: &Facts) -> bool {
        match fact.kind {
            FactKind::FilePath => self.has_path(&fact.value, &facts.root),
            FactKind::UserNumber => self.has_number(fact),
            FactKind::Command => self.has_command(fact),
            FactKind::UserRule | FactKind::ErrorText | FactKind::Decision => {
                self.whole.contains(&fact.value)
            }
        }
    }

    fn has_path(&self, path: &str, root: &str) -> bool {
        let in_path = |letter: char| letter.is_alphanumeric() || "/._-~".contains(letter);
        self.whole.match_indices(path).any(|(at, _)| {
            let (before, behind) = (&self.whole[..at], &self.whole[at + path.len()..]);
            // Without this `lib.rs` would be found in `src/lib.rs`, another file.
            let starts = !before.ends_with(in_path)
                || before.ends_with("./")
                || (!root.is_empty() && before.ends_with(&format!("{root}/")));
            let mut next = behind.chars();
            let ends = match next.next() {
                // A full stop may end the sentence and not belong to the path.
                Some('.') => next.next().is_none_or(|next| !next.is_alphanumeric()),
                Some(letter) => !in_path(letter),
                None => true,
            };
            starts && ends
        })
    }

    fn has_number(&self, fact: &Fact) -> bool {
        let number = fact.value.as_str();
        let near = fact.context.iter().take(NEAREST_WORDS);
        let wanted: Vec<&String> = near.collect();
        let digit = |letter: char| letter.is_ascii_digit();
        self.whole.match_indices(number).any(|(at, _)| {
            let (before, behind) = (&self.whole[..at], &self.whole[at + number.len()..]);
            let part = before.ends_with(digit)
                || before.ends_with(|letter: char| letter.is_alphanumeric())
                || behind.starts_with(digit);
            // `20` inside `2024` or `x20` is another number.
            if part {
                return false;
            }
            let around = format!("{} {}", last_bytes(before, NEAR), first_bytes(behind, NEAR));
            let words: HashSet<String> = subject_words(&around).collect();
            let there = wanted.iter().filter(|word| words.contains(**word)).count();
            there * 2 >= wanted.len()
        })
    }

    fn has_command(&self, fact: &Fact) -> bool {
        let command = fact.value.as_str();
        self.lines.iter().any(|line| {
            let Some(at) = line.text.find(command) else {
                return false;
            };
            if line.answered {
                return true;
            }
            let rest = format!("{} {}", &line.text[..at], &line.text[at + command.len()..]);
            states(&rest.to_lowercase(), fact.ending.unwrap_or(Ending::Unknown))
        })
    }
}

/// True if the rest of a line fits the ending of a command.
fn states(rest: &str, ending: Ending) -> bool {
    let failure = ["failed", "exit ", "error", "refused"]
        .iter()
        .any(|word| rest.contains(word));
    match ending {
        Ending::Unknown => true,
        // A line may name an error in passing; an `ok` beside it settles the ending.
        Ending::Ok => rest.contains("ok") || !failure,
        Ending::Failed => failure,
        Ending::Exit(code) => {
            // Both wordings occur: clients write one, summaries the other.
            rest.contains(&format!("exit {code}")) || rest.contains(&format!("exit code {code}"))
        }
    }
}

/// The arguments of a call as text, one a line.
pub(super) fn arguments(block: &Block) -> String {
    let call: serde_json::Value = serde_json::from_slice(block.bytes()).unwrap_or_default();
    let mut text = block.tool().unwrap_or_default().to_owned();
    let mut waiting = vec![&call["input"]];
    while let Some(value) = waiting.pop() {
        match value {
            serde_json::Value::String(argument) => {
                text.push('\n');
                text.push_str(argument);
            }
            serde_json::Value::Array(values) => waiting.extend(values.iter().rev()),
            serde_json::Value::Object(members) => {
                // Popped last first, so the shortest come first: they name the subject of the call.
                let mut values: Vec<_> = members.values().collect();
                values.sort_by_key(|value| std::cmp::Reverse(value.as_str().map_or(0, str::len)));
                waiting.extend(values);
            }
            _ => {}
        }
    }
    text
}

fn first_bytes(text: &str, most: usize) -> &str {
    &text[..text.floor_char_boundary(most)]
}

fn last_bytes(text: &str, most: usize) -> &str {
    &text[text.ceil_char_boundary(text.len().saturating_sub(most))..]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fact(kind: FactKind, value: &str, context: &[&str]) -> Fact {
        Fact {
            kind,
            value: value.to_owned(),
            ending: None,
            context: context.iter().map(|word| (*word).to_owned()).collect(),
            step: 1,
        }
    }

    fn said(text: &str, ending: Ending, command: &str) -> bool {
        let mut haystack = Haystack::default();
        haystack.add(text, false);
        let mut fact = fact(FactKind::Command, command, &[]);
        fact.ending = Some(ending);
        haystack.has(&fact, &Facts::default())
    }

    #[test]
    fn paths_are_whole_and_below_the_folder() {
        let facts = Facts {
            root: "/w/p".to_owned(),
            ..Facts::default()
        };
        let has = |text: &str| {
            Haystack::of_texts([text]).has(&fact(FactKind::FilePath, "src/a.rs", &[]), &facts)
        };
        assert!(has("- src/a.rs (read)") && has("see /w/p/src/a.rs.") && has("`./src/a.rs`"));
        assert!(!has("/other/src/a.rs") && !has("src/a.rs.bak") && !has("xsrc/a.rs"));
    }

    #[test]
    fn numbers_need_their_words() {
        let number = fact(FactKind::UserNumber, "80", &["entries", "most"]);
        let has = |text: &str| Haystack::of_texts([text]).has(&number, &Facts::default());
        assert!(has("at most 80 entries") && has("80: … keep entries"));
        assert!(!has("port 8080 entries") && !has("line 80 of it"));
    }

    #[test]
    fn a_command_needs_its_outcome() {
        let line = "- exit 2 3×: cargo test";
        assert!(said(line, Ending::Exit(2), "cargo test"));
        assert!(!said(line, Ending::Ok, "cargo test"));
        assert!(!said("we ran cargo test", Ending::Exit(2), "cargo test"));
        assert!(said(
            "- ok (failed 1×): cargo test",
            Ending::Ok,
            "cargo test"
        ));
        assert!(said("- failed: make", Ending::Failed, "make"));
    }

    #[test]
    fn sentences_may_be_broken_over_lines() {
        let rule = fact(FactKind::UserRule, "never push to main", &[]);
        let has = |text: &str| Haystack::of_texts([text]).has(&rule, &Facts::default());
        assert!(has("> never push\n  to main") && !has("never push"));
    }
}
