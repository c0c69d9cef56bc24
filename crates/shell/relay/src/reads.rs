//! Texts that a model asks for by our tool.
//!
//! # Model
//! A call names a file of its own conversation, or none to search them all. The folder is entered by its
//! handle, so that no name leads out of it. What is read stays in the prompt until the next compaction:
//! an answer is short and says how to get more.
//!
//! # Not here
//! The tool's definition and the place of a read in the prompt: `dormouse-rewrite`.

use crate::layers::Layers;
use dormouse_core::block::Block;
use dormouse_core::id::CallId;
use dormouse_recognise::Chain;
use dormouse_rewrite::{Aside, FOLDER, Record, is_read, result};
use dormouse_system::Files;
use regex::{Regex, RegexBuilder};
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

/// Bytes of one answer: some six thousand tokens, a quarter of the room that agents give a file.
const LONGEST: usize = 24_000;
/// Lines of one answer without a limit of the caller's: they fill the bytes if they have 24 each.
const LINES: usize = 1_000;
/// Characters of a line that are shown; the rest of a minified file helps nobody.
const LINE: usize = 1_000;
/// Bytes of a text that are read: the largest body that a client may send.
const TEXT: u64 = 64 * 1024 * 1024;
/// Bytes that a pattern may take once it is compiled; the default of ten megabytes is for files of
/// patterns.
const PATTERN: usize = 1024 * 1024;

/// Reads of one reply that are answered; more of them go round in a circle.
pub const MOST_READS: u32 = 12;

/// One call of our tool.
#[derive(Debug, Default)]
struct Question {
    path: Option<String>,
    pattern: Option<String>,
    offset: usize,
    limit: usize,
}

impl Question {
    fn of(call: &Block) -> Self {
        let number = |name| call.input_json(name).and_then(|raw| raw.parse().ok());
        let text = |name| call.input_text(name).filter(|text| !text.is_empty());
        Self {
            path: text("path"),
            pattern: text("pattern"),
            offset: number("offset").unwrap_or(1).max(1),
            limit: number("limit").unwrap_or(LINES).clamp(1, LINES),
        }
    }
}

impl Layers {
    /// Answers the calls of our tool among the blocks of a reply. Reads files, so it belongs on a thread
    /// that may block.
    pub fn read(&self, conversation: Chain, blocks: &[Block], earlier: u32) -> Vec<Block> {
        let folder = self.lines.results(conversation);
        let files = self.lines.files.beneath(&folder).ok();
        let calls = blocks.iter().filter(|block| is_read(block));
        let answers = calls.zip(earlier..).filter_map(|(call, number)| {
            let id: &CallId = call.call()?;
            let read = match &files {
                _ if number >= MOST_READS => {
                    Err("Enough was read for one reply. Go on with what is there.".to_owned())
                }
                Some(files) => answer(files, &Question::of(call)),
                None => Err("This conversation has no such texts yet.".to_owned()),
            };
            let is_error = read.is_err();
            Some(result(id, &read.unwrap_or_else(|why| why), is_error))
        });
        answers.collect()
    }

    /// Makes the reads of a reply part of its conversation; false if the disk took nothing, so that the
    /// next request is sent without them.
    pub fn keep_aside(&self, conversation: Chain, aside: Aside) -> bool {
        self.count_reads(aside.reads);
        let record = Record::Aside(Box::new(aside));
        let slot = self.lines.open(conversation);
        let kept = slot.and_then(|slot| self.keep_record(&slot, record));
        if let Err(error) = &kept {
            self.not_saved(error);
        }
        kept.is_ok()
    }
}

fn answer(files: &Arc<dyn Files>, question: &Question) -> Result<String, String> {
    let pattern = question.pattern.as_deref().map(compiled).transpose()?;
    let name = question.path.as_deref().map(|path| {
        let path = path.strip_prefix(FOLDER).unwrap_or(path);
        path.trim_start_matches('/')
    });
    match (name.filter(|name| !name.is_empty()), pattern) {
        (Some(name), pattern) => {
            let text = text(files, name)?;
            Ok(lines(&text, question, pattern.as_ref()))
        }
        (None, Some(pattern)) => search(files, &pattern, question.limit),
        (None, None) => list(files),
    }
}

fn compiled(pattern: &str) -> Result<Regex, String> {
    let build = |pattern: &str| RegexBuilder::new(pattern).size_limit(PATTERN).build();
    // Many mean the words themselves, brackets and all.
    let literal = |_| build(&regex::escape(pattern));
    let built = build(pattern).or_else(literal);
    built.map_err(|_| "The pattern is too long.".to_owned())
}

fn text(files: &Arc<dyn Files>, name: &str) -> Result<String, String> {
    let read = files.read(Path::new(name), TEXT);
    let bytes = read.map_err(|_| {
        format!("There is no text {FOLDER}/{name}. Without a path and pattern all are listed.")
    })?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Numbered lines of one text, as far as they fit.
fn lines(text: &str, question: &Question, pattern: Option<&Regex>) -> String {
    let all = (1..).zip(text.lines()).skip(question.offset - 1);
    let wanted = all.filter(|(_, line)| pattern.is_none_or(|pattern| pattern.is_match(line)));
    let mut out = String::new();
    let mut next = None;
    for (shown, (number, line)) in wanted.enumerate() {
        if shown >= question.limit || out.len() >= LONGEST {
            next = Some(number);
            break;
        }
        // Writing to a string does not fail.
        let _ = writeln!(out, "{number}\t{}", cut(line));
    }
    if let Some(next) = next {
        let _ = writeln!(out, "[more from offset {next} on]");
    }
    if out.is_empty() {
        let count = text.lines().count();
        let _ = writeln!(out, "[no line matches; the text has {count} lines]");
    }
    out
}

/// Lines of all texts that match, by their names.
fn search(files: &Arc<dyn Files>, pattern: &Regex, limit: usize) -> Result<String, String> {
    let mut out = String::new();
    let mut shown = 0;
    for name in names(files)? {
        let Ok(text) = text(files, &name) else {
            continue;
        };
        for (number, line) in (1..).zip(text.lines()) {
            if !pattern.is_match(line) {
                continue;
            }
            if shown >= limit || out.len() >= LONGEST {
                out.push_str("[more matches: give a path or a narrower pattern]\n");
                return Ok(out);
            }
            shown += 1;
            let _ = writeln!(out, "{FOLDER}/{name}:{number}\t{}", cut(line));
        }
    }
    if out.is_empty() {
        out.push_str("[no line of any text matches]\n");
    }
    Ok(out)
}

fn list(files: &Arc<dyn Files>) -> Result<String, String> {
    let names = names(files)?;
    let paths = names.iter().map(|name| format!("{FOLDER}/{name}\n"));
    let mut out: String = paths.take(LINES).collect();
    if out.is_empty() {
        out.push_str("[no texts]\n");
    }
    Ok(out)
}

fn names(files: &Arc<dyn Files>) -> Result<Vec<String>, String> {
    let listed = files.list(Path::new(""));
    let listed = listed.map_err(|_| "The texts cannot be listed.".to_owned())?;
    let mut names: Vec<String> = listed
        .into_iter()
        .filter_map(|entry| entry.name.into_string().ok())
        .collect();
    names.sort_unstable();
    Ok(names)
}

fn cut(line: &str) -> &str {
    let end = line
        .char_indices()
        .nth(LINE)
        .map_or(line.len(), |(at, _)| at);
    line.get(..end).unwrap_or(line)
}
