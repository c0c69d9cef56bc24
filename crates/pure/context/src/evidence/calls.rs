//! Tool calls and their results as evidence.
//!
//! Tools are known by the names they have in Claude Code; any other tool is classified by the names
//! of its arguments.

use super::note::{At, seen};
use super::{EvidenceLimits, clean, mine};
use dormouse_core::block::Block;
use dormouse_core::fragment::{EXIT_CODE, open};
use dormouse_core::id::Seq;
use dormouse_core::json::Text;
use dormouse_core::record::{
    Act, CallOutcome, Chronicle, CommandFact, Mention, OpenCall, Shelf, Source, Speaker,
};
use dormouse_core::show;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;

/// Beginnings of results that report a refusal by the user. A refusal is no error of the tool.
const REFUSALS: [&str; 4] = [
    "The user doesn't want to",
    "Claude requested permissions",
    "Permission to use",
    "User chose to stay in plan mode",
];

/// Text in front of the user's reason in such a result.
const REASON: &str = "the user said:";

/// Records the subject of a call; its outcome is open until the result arrives.
pub(super) fn opened(chronicle: &mut Chronicle, seq: Seq, block: &Block, limits: &EvidenceLimits) {
    let (Some(tool), Some(id)) = (block.tool(), block.call()) else {
        return;
    };
    let act = act(tool, block, limits);
    let at = At {
        clock: chronicle.clock,
        seq,
    };
    match &act {
        Act::Read(path) => {
            let fact = seen(&mut chronicle.files, path, at, limits.files);
            fact.reads = fact.reads.saturating_add(1);
        }
        Act::Change(path) => {
            seen(&mut chronicle.files, path, at, limits.files);
        }
        Act::Run(text) => {
            seen(&mut chronicle.commands, text, at, limits.commands).outcome = CallOutcome::Open;
        }
        Act::Search(text) => {
            seen(&mut chronicle.searches, text, at, limits.searches).outcome = CallOutcome::Open;
        }
        Act::Fetch(url) => {
            *seen(&mut chronicle.urls, url, at, limits.urls) = Mention {
                by: Speaker::Assistant,
                around: String::new(),
            };
        }
        Act::Ask | Act::Other => {}
    }
    // A log that never answers its calls must not grow the state without bound.
    if chronicle.open_calls.len() >= limits.open_calls.max(1) {
        let oldest = chronicle
            .open_calls
            .iter()
            .min_by_key(|(_, call)| call.since);
        if let Some(id) = oldest.map(|(id, _)| id.clone()) {
            chronicle.open_calls.remove(&id);
        }
    }
    let call = OpenCall {
        tool: clean::line(tool, limits.line_chars),
        act,
        since: chronicle.clock,
    };
    chronicle.open_calls.insert(id.clone(), call);
}

/// Records the outcome of a call, and evidence in its output.
pub(super) fn closed(chronicle: &mut Chronicle, seq: Seq, block: &Block, limits: &EvidenceLimits) {
    let Some(call) = block.call().and_then(|id| chronicle.open_calls.remove(id)) else {
        return;
    };
    // The content of a successful read is no evidence; skip decoding it.
    let is_telling = block.is_error() || matches!(call.act, Act::Run(_) | Act::Ask);
    let text = is_telling.then(|| block.readable_text()).flatten();
    let text = text.unwrap_or_default();
    let outcome = outcome(&call.act, &text, block.is_error());
    let at = At {
        clock: chronicle.clock,
        seq,
    };
    let failed = outcome != CallOutcome::Ok;
    match &call.act {
        Act::Read(path) | Act::Change(path) => {
            if let Some(entry) = chronicle.files.entries.get_mut(path) {
                let fact = entry.change();
                fact.failed = failed;
                if matches!(call.act, Act::Change(_)) && !failed {
                    fact.changes = fact.changes.saturating_add(1);
                }
            }
        }
        Act::Run(command) => settle(&mut chronicle.commands, command, outcome),
        Act::Search(what) => settle(&mut chronicle.searches, what, outcome),
        Act::Ask if !failed => mine::answer(chronicle, at, &text, limits),
        Act::Fetch(_) | Act::Ask | Act::Other => {}
    }
    // The user's reason for a refusal is a decision worth keeping; the text around it is not.
    if outcome == CallOutcome::Refused {
        if let Some((_, reason)) = text.split_once(REASON) {
            mine::answer(chronicle, at, reason, limits);
        }
        return;
    }
    let is_run = matches!(call.act, Act::Run(_));
    if !(failed || is_run) {
        return;
    }
    let text = mine::both_ends(&text);
    // 80 characters name the call; the commands have a section of their own.
    let subject = clean::line(call.act.subject(), 80);
    let source = Source {
        call: format!("{} {subject}", call.tool).trim_end().to_owned(),
    };
    if is_run {
        mine::tests(chronicle, at, &text, &source, limits);
    }
    mine::error(chronicle, at, &text, failed, &source, limits);
}

fn settle(shelf: &mut Shelf<CommandFact>, text: &str, outcome: CallOutcome) {
    if let Some(entry) = shelf.entries.get_mut(text) {
        let fact = entry.change();
        fact.outcome = outcome;
        if outcome != CallOutcome::Ok {
            fact.failures = fact.failures.saturating_add(1);
        }
    }
}

fn outcome(act: &Act, text: &str, is_error: bool) -> CallOutcome {
    let refused = is_error && REFUSALS.iter().any(|start| text.starts_with(start));
    let code = matches!(act, Act::Run(_))
        .then(|| exit_code(text))
        .flatten();
    match code {
        _ if refused => CallOutcome::Refused,
        Some(0) if !is_error => CallOutcome::Ok,
        Some(code) if code != 0 => CallOutcome::Exit(code),
        _ if is_error => CallOutcome::Failed,
        _ => CallOutcome::Ok,
    }
}

/// Exit code that a shell tool prints before or behind the output.
fn exit_code(text: &str) -> Option<i32> {
    let text = text.trim();
    let first = text.lines().next()?;
    let last = text.lines().next_back()?;
    [first, last].into_iter().find_map(|line| {
        // In a long line, or with other words in front, the output itself talks about exit codes.
        let line = show::head(line, 80);
        let mut parts = line.as_bytes().windows(4);
        if !parts.any(|part| part.eq_ignore_ascii_case(b"exit")) {
            return None;
        }
        let line = line.to_ascii_lowercase();
        let tag = open(&EXIT_CODE);
        let starts = ["exit code", "exit status", "exited with code", &tag];
        let spoken = starts.iter().find_map(|start| {
            let (before, behind) = line.split_once(start)?;
            let framed = before.trim().is_empty()
                || before.ends_with('(')
                || before.trim() == "process"
                || before.trim() == "command";
            framed.then_some(behind)
        })?;
        let digits = spoken.trim_start_matches([':', ' ', '=']);
        let end = digits
            .find(|letter: char| !(letter.is_ascii_digit() || letter == '-'))
            .unwrap_or(digits.len());
        digits[..end].parse().ok()
    })
}

/// Arguments that name the subject of a call. Each is decoded on demand and the others not at all,
/// because a call that writes a file carries its whole content.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Input<'a> {
    #[serde(borrow)]
    file_path: Option<&'a RawValue>,
    #[serde(borrow)]
    notebook_path: Option<&'a RawValue>,
    #[serde(borrow)]
    path: Option<&'a RawValue>,
    #[serde(borrow)]
    file: Option<&'a RawValue>,
    #[serde(borrow)]
    command: Option<&'a RawValue>,
    #[serde(borrow)]
    cmd: Option<&'a RawValue>,
    #[serde(borrow)]
    url: Option<&'a RawValue>,
    #[serde(borrow)]
    pattern: Option<&'a RawValue>,
    #[serde(borrow)]
    query: Option<&'a RawValue>,
    #[serde(borrow)]
    glob: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Call<'a> {
    #[serde(default, borrow)]
    input: Input<'a>,
}

/// Classifies a call by its tool and arguments.
fn act(tool: &str, block: &Block, limits: &EvidenceLimits) -> Act {
    let input = serde_json::from_slice::<Call<'_>>(block.bytes())
        .map(|call| call.input)
        .unwrap_or_default();
    let path = [input.file_path, input.notebook_path, input.path, input.file]
        .into_iter()
        .find_map(text_of)
        .map(|path| clean::line(&path, limits.path_chars));
    let command = [input.command, input.cmd]
        .into_iter()
        .find_map(text_of)
        .map(|text| clean::command(&text, limits.command_chars));
    let url = text_of(input.url).map(|url| clean::line(&url, limits.path_chars));
    let search = [input.pattern, input.query]
        .into_iter()
        .find_map(text_of)
        .map(|what| {
            let glob = || text_of(input.glob).map(Cow::into_owned);
            let within = path.clone().or_else(glob);
            let within = within.map(|within| format!(" in {within}"));
            let text = format!("{tool} {what}{}", within.unwrap_or_default());
            clean::line(&text, limits.line_chars)
        });
    let changes = || match tool {
        "Edit" | "Write" | "MultiEdit" | "NotebookEdit" => true,
        "Read" => false,
        _ => changes_by_name(tool),
    };
    // Order matters: shell tools may also carry a path, and searches a directory.
    match (tool, command, url, search, path) {
        ("AskUserQuestion", ..) => Act::Ask,
        (_, Some(command), ..) if !command.is_empty() => Act::Run(command),
        (_, _, Some(url), ..) if !url.is_empty() => Act::Fetch(url),
        (_, _, _, Some(search), _) => Act::Search(search),
        (_, _, _, _, Some(path)) if !path.is_empty() && changes() => Act::Change(path),
        (_, _, _, _, Some(path)) if !path.is_empty() => Act::Read(path),
        _ => Act::Other,
    }
}

/// True if the name of an unknown tool suggests that it changes files.
fn changes_by_name(tool: &str) -> bool {
    let name = tool.to_ascii_lowercase();
    // MCP tools are named `mcp__server__tool`; only the last part describes the action.
    let name = name.rsplit("__").next().unwrap_or_default();
    [
        "edit", "write", "create", "replace", "patch", "delete", "insert",
    ]
    .iter()
    .any(|verb| name.split(['_', '-']).any(|word| word.starts_with(verb)))
}

/// A string, or the words of a command given as a list.
fn text_of(value: Option<&RawValue>) -> Option<Cow<'_, str>> {
    let json = value?.get();
    match json.as_bytes().first() {
        Some(b'"') => serde_json::from_str::<Text<'_>>(json).ok()?.0,
        Some(b'[') => {
            let words: Vec<Text<'_>> = serde_json::from_str(json).ok()?;
            let words: Vec<_> = words.into_iter().filter_map(|word| word.0).collect();
            (!words.is_empty()).then(|| Cow::Owned(words.join(" ")))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{changes_by_name, exit_code};

    #[test]
    fn exit_codes_are_found_where_tools_put_them() {
        let cases = [
            ("Exit code 1\nError: no", Some(1)),
            ("Error: Command failed (exit code: 2)\nls: x", Some(2)),
            ("output\nProcess exited with code 137", Some(137)),
            ("exit status 3", Some(3)),
            ("it says that exit code 4 means a leak", None),
            ("all good", None),
            ("", None),
        ];
        for (text, code) in cases {
            assert_eq!(exit_code(text), code, "{text:?}");
        }
    }

    #[test]
    fn unknown_tools_are_judged_by_their_names() {
        assert!(changes_by_name("mcp__files__write_file"));
        assert!(changes_by_name("str_replace_editor"));
        assert!(!changes_by_name("mcp__files__read_file"));
        assert!(!changes_by_name("LS"));
    }
}
