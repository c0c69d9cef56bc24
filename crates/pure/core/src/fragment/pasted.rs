//! Shapes of text that people paste: turns, terminals, chats, mails, logs, quotations.
//!
//! Each line is held against signs. A quotation, a fence and the paragraph of a trace have an end
//! of their own; a terminal, a chat, a mail or a turn has none, and reaches to the end of the
//! message.
//!
//! # Not here
//! Sentences that announce a paste, indented code, tables (`dormouse-memory`, extraction).

use super::heads::is_head;
use super::machine::is_printed;
use super::marked::Marked;
use super::neutral::{is_role_line, is_template_mark};
use super::tag::{ends_line, is_hidden};
use super::{is_markup, table};
use std::ops::Range;

/// Extent of a shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// No shape: the user's line.
    Own,
    /// These lines and no others.
    Line,
    /// Lines between a pair of markers that no client is known to write.
    Block,
    /// Everything up to the end of the message.
    End,
}

/// Lines of one reach.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    pub(super) range: Range<usize>,
    pub(super) reach: Reach,
}

/// Beginnings of lines, in small letters, from which on a message was written by others.
const HEADS: &str = "from:|to:|subject:|sent:|date:|cc:|reply-to:|von:|an:|betreff:|diff --git|@@ |+++ |--- |-----|\
    ______|<!doctype|<html|<?xml|# readme|begin forwarded message|forwarded message|original message|in [1]:|begin rsa|\
    q: |bearer ";
/// Beginnings of lines, as tools write them, that a trace or an error continues up to a blank line.
const TRACES: &str = "Traceback (most recent|Exception in thread|thread '|Caused by:|error[|error:|warning:|warning[|panic:|\
    fatal:|goroutine |npm ERR!|npm error|Segmentation fault|Unhandled |Uncaught |stderr:|stdout:|FAILED|FAIL |PASS |● |✓ |✔ |✗ |✘ |✖ |make: ***|--> |##[|::error|::warning|::notice";
/// Levels behind the time of a log line.
const LEVELS: &str = "INFO|WARN|WARNING|ERROR|DEBUG|TRACE|FATAL|NOTICE|info|warn|error|debug|trace";
/// Labels in front of a colon that people write in messages of their own.
const LABELS: &str = "note|notes|nb|fix|bug|todo|rule|rules|reason|reasons|why|how|remember|example|examples|important|\
    warning|hint|info|question|answer|ps|goal|goals|task|tasks|context|update|summary|expected|actual|result|steps|step|\
    idea|problem|issue|solution|first|second|third|also|plan|please|thanks|hello|hi|good morning|one more thing|http|\
    https|before|after|decision|constraint|constraints|requirement|requirements|style|preference|preferences|conclusion|\
    tests|test|docs|code|backend|frontend|api|ui|db|database|commits|commit|naming|format|formatting|language|logging|\
    errors|git|ci|release|releases|deploy|deployment|build|lint|rust|python|typescript|go|testing|security|\
    background|edit|correction|next|then|finally|yes|no|ok|btw|fyi|reminder|merke|regel|hinweis|wichtig|grund|frage|antwort";

/// Divides a text into lines and blocks, each with its reach.
pub(super) fn shapes(text: &str) -> Vec<Shape> {
    let lines: Vec<(usize, &str)> = lines(text);
    let (fences, open_fence) = fences(text);
    let marked = Marked::of(&lines);
    let chat = first_chat_line(&lines).into_iter();
    let chat = chat.chain(first_bare_nick(&lines)).min();
    // A letter is one author's from beginning to end, and has no line to divide it at.
    if is_letter(&lines) {
        return vec![Shape {
            range: 0..text.len(),
            reach: Reach::End,
        }];
    }
    let mut out = Vec::new();
    let mut at = 0;
    // A quotation or a trace goes on until a blank line.
    let mut goes_on = false;
    let mut fences = fences.into_iter().peekable();
    while let Some((start, line)) = lines.get(at).copied() {
        let mut reach = Reach::Own;
        let mut last = at;
        if let Some(fence) = fences.next_if(|fence| fence.start <= start) {
            reach = Reach::Line;
            while lines
                .get(last + 1)
                .is_some_and(|(next, _)| *next < fence.end)
            {
                last += 1;
            }
        } else if open_fence == Some(start) || chat == Some(at) {
            reach = Reach::End;
        } else if line.trim().is_empty() {
            goes_on = false;
        } else if let Some(end) = marked.block(line, at) {
            // A block that is never closed may hide its end on purpose.
            (last, reach) = end.map_or((at, Reach::End), |end| (end, Reach::Block));
        } else if wrote(line) {
            let mut behind = lines[at + 1..]
                .iter()
                .filter(|(_, line)| !line.trim().is_empty());
            // A mail that quotes with `>` ends with the quotation; one without marks has no end.
            let quoted = behind.next().is_some_and(|(_, line)| is_quote(line));
            reach = if quoted { Reach::Line } else { Reach::End };
        } else if reaches_end(line) {
            reach = Reach::End;
        } else if goes_on || is_quote(line) || is_trace(line) {
            goes_on = true;
            reach = Reach::Line;
        } else if is_indented(line) {
            reach = Reach::Line;
        }
        let (last_start, last_line) = lines[last];
        out.push(Shape {
            range: start..last_start + last_line.len(),
            reach,
        });
        at = last + 1;
    }
    out
}

fn lines(text: &str) -> Vec<(usize, &str)> {
    let mut at = 0;
    let mut out = Vec::new();
    for line in text.split_inclusive(ends_line) {
        out.push((at, line));
        at += line.len();
    }
    out
}

/// Fenced blocks that are closed, and the start of one that is not.
pub(super) fn fences(text: &str) -> (Vec<Range<usize>>, Option<usize>) {
    let mut found = Vec::new();
    let mut open: Option<(usize, &str)> = None;
    for (at, line) in lines(text) {
        let start = line.trim_start();
        let mark = ["```", "~~~"]
            .into_iter()
            .find(|mark| start.starts_with(mark));
        match (open, mark) {
            // A fence that is closed on its own line is a piece of code in a sentence.
            (None, Some(mark)) if !start[mark.len()..].contains(mark) => open = Some((at, mark)),
            (Some((from, of)), Some(mark)) if of == mark => {
                found.push(from..at + line.len());
                open = None;
            }
            _ => {}
        }
    }
    (found, open.map(|(at, _)| at))
}

/// True if lines end as letters do: a closing formula and a name under it.
fn is_letter(lines: &[(usize, &str)]) -> bool {
    const FORMULAS: &str = "best regards|kind regards|warm regards|regards|best|best wishes|sincerely|yours sincerely|\
        cheers|many thanks|yours faithfully|yours truly|yours|viele grüße|beste grüße|mit freundlichen grüßen|liebe grüße|cordialement";
    let written = lines
        .iter()
        .rev()
        .map(|(_, line)| line.trim())
        .filter(|line| !line.is_empty());
    let is_formula = |line: &str| {
        let bare = line.trim_end_matches([',', '.', '!']).to_lowercase();
        FORMULAS.split('|').any(|formula| formula == bare)
    };
    // Under it the name, and perhaps a post and an address.
    written.take(4).skip(1).any(is_formula)
}

/// True if a line is indented as code is; items of a list are not.
fn is_indented(line: &str) -> bool {
    let bare = line.trim_start();
    let is_item =
        bare.starts_with(['-', '*', '•', '+']) || bare.starts_with(|c: char| c.is_ascii_digit());
    (line.starts_with("    ") || line.starts_with('\t')) && !is_item
}

/// Line that announces output or words of others: `Output:`, `Selected text from notes.md:`,
/// `The page says: …`.
fn announces(line: &str) -> bool {
    const OTHERS: &str = "output|stdout|stderr|response|selected|selection|message|contents|transcript|excerpt|pasted|\
        clipboard|ausgabe|antwort|log";
    const SAYS: &str =
        "says|said|reads|wrote|writes|states|reported|reports|replied|answered|schreibt|schrieb";
    const OWN: &str = "my|our|i|we|me|remember|rule|rules|please|commit|every|each|always|never";
    let line = line.trim_end();
    let (head, is_end) = match (line.split_once(": "), line.strip_suffix(':')) {
        (Some((head, _)), _) => (head, false),
        (None, Some(head)) => (head, true),
        (None, None) => return false,
    };
    let words: Vec<String> = head
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect();
    let listed = |list: &str, word: &String| list.split('|').any(|known| known == word);
    let has = |list: &str| words.iter().any(|word| listed(list, word));
    let reports = words.last().is_some_and(|word| listed(SAYS, word)) || is_end && has(SAYS);
    // An article makes a sentence of it: "the output:" may be the beginning of a request.
    let is_output = is_end && words.len() <= 6 && has(OTHERS) && !has("the");
    // Longer heads are sentences of the user, and so are those that speak of the user's own rules.
    words.len() <= 8 && (reports || is_output) && !has(OWN)
}

fn is_quote(line: &str) -> bool {
    let line = line.trim_start();
    // Three signs and a blank are Python's prompt.
    line.starts_with(['>', '|', '│', '┃']) && !line.starts_with(">>> ")
}

/// A line in front of a quoted mail: `On … wrote:`, `Am … schrieb …:`.
fn wrote(line: &str) -> bool {
    let line = line.trim();
    let begins = ["On ", "Am ", "Le ", "El "]
        .iter()
        .any(|word| line.starts_with(word));
    let writes = ["wrote:", " schrieb", "écrit", "escribió"]
        .iter()
        .any(|word| line.contains(word));
    begins && writes && line.ends_with(':')
}

fn is_trace(line: &str) -> bool {
    let bare = line.trim_start();
    let indented = bare.len() < line.len();
    let frame = indented && bare.starts_with("at ") && bare.contains('(');
    // The gutter of a compiler's message: a number, a bar.
    let gutter = bare
        .trim_start_matches(|c: char| c.is_ascii_digit())
        .trim_start()
        .starts_with('|')
        && bare.starts_with(|c: char| c.is_ascii_digit());
    let first = bare.split(' ').next().unwrap_or_default();
    // Output of several containers: a name with a number, a bar.
    let container = first.contains(['_', '-'])
        && first.ends_with(|c: char| c.is_ascii_digit())
        && bare[first.len()..].trim_start().starts_with('|');
    let member = bare.strip_prefix('"').and_then(|rest| rest.split_once('"'));
    let json = bare.starts_with("{\"")
        || bare.starts_with("[{")
        || bare.trim_end() == "{"
        || member.is_some_and(|(_, rest)| rest.starts_with(':'));
    frame || gutter || container || json || TRACES.split('|').any(|start| bare.starts_with(start))
}

/// True if everything from this line on was written by others.
fn reaches_end(line: &str) -> bool {
    let bare = line.trim_start_matches(|c: char| c.is_whitespace() || is_hidden(c));
    let lower = bare.to_lowercase();
    let dashed = lower.trim_start_matches(['-', '=', '_', ' ']);
    is_role_line(line)
        || is_template_mark(bare)
        || has_json_role(&lower)
        || HEADS.split('|').any(|head| lower.starts_with(head))
        || [
            "original message",
            "forwarded message",
            "ursprüngliche nachricht",
        ]
        .iter()
        .any(|head| dashed.starts_with(head))
        || lower.trim() == "---"
        || is_prompt(bare)
        || is_stamped(bare)
        || is_irc(bare)
        || is_comment_head(bare)
        || announces(bare)
        || is_printed(line)
        || is_head(line)
}

/// Line over a comment or a turn on a page: `tomek commented 2 days ago`, `You said:`.
fn is_comment_head(line: &str) -> bool {
    let line = line.trim_end();
    let words = line.split_whitespace().count();
    let posted = [" commented", " replied", " posted"]
        .iter()
        .any(|word| line.contains(word));
    let dated = line.ends_with("ago") || line.ends_with(':') || line.contains(" on ");
    (posted && words <= 8 && dated) || (words <= 4 && line.ends_with(" said:"))
}

/// True for `"role": "user"` and the like.
fn has_json_role(lower: &str) -> bool {
    let quoted = |key: &str| {
        lower.match_indices(key).any(|(at, _)| {
            let value = lower[at + key.len()..].trim_start();
            let value = value.strip_prefix(':').map(str::trim_start);
            let value = value.and_then(|value| value.strip_prefix(['"', '\'', '\\']));
            value.is_some_and(|value| {
                let name = value.trim_start_matches(['"', '\\']);
                table::ROLES.iter().any(|(role, _)| name.starts_with(role))
            })
        })
    };
    [
        "\"role\"",
        "'role'",
        "\\\"role\\\"",
        "\"speaker\"",
        "\"author\"",
    ]
    .into_iter()
    .any(quoted)
}

/// Prompt of a shell or an interpreter, with a command behind it.
fn is_prompt(line: &str) -> bool {
    let signs = ["$ ", "% ", "❯ ", "❯\u{a0}", "➜ ", "λ ", ">>> ", "PS> "];
    if signs.iter().any(|sign| line.starts_with(sign)) {
        // A sign alone is a price, a percentage or a decoration.
        return line.len() > 3;
    }
    // Prompts are short; a long line is looked at only in part, to keep the cost bounded.
    let head: String = line.chars().take(120).collect();
    let windows = head.starts_with("PS ") && head.contains('>')
        || head.get(1..3) == Some(":\\") && head.contains('>');
    let first = head.split(' ').next().unwrap_or_default();
    let named = first.len() > 1
        && first.ends_with(['$', '%'])
        // An address may end in such a sign.
        && !first.contains("://")
        && first.starts_with(|c: char| c.is_alphanumeric() || "[(~/".contains(c))
        && head[first.len()..]
            .trim_start()
            .starts_with(|c: char| c.is_ascii_lowercase() || "./~".contains(c));
    let at_host = (first.contains('@') || first.starts_with('[') && head.contains('@'))
        && ["$ ", "# ", "% ", "> "]
            .iter()
            .any(|sign| head.contains(sign));
    let venv = head.starts_with('(') && head.contains(") $ ");
    // An interpreter's name and a greater-than sign: `sqlite> `, `irb(main):001> `.
    let interpreter = first.len() > 2
        && first.ends_with(['>', '#'])
        && first.starts_with(|c: char| c.is_ascii_alphanumeric())
        && head.len() > first.len();
    let themed = ["❯ ", "➜ ", "❱ "].iter().any(|sign| head.contains(sign))
        || first.starts_with(['~', '/']) && head.contains("$ ");
    windows || named || at_host || venv || interpreter || themed || is_traced(line)
}

/// Command as a shell prints it before it runs it: `+ cat notes.txt`.
fn is_traced(line: &str) -> bool {
    let Some(command) = line.strip_prefix("+ ") else {
        return false;
    };
    let mut words = command.split_whitespace();
    let is_program = |word: &str| {
        word.chars()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit())
    };
    let is_argument = |word: &str| {
        let inner = word.trim_end_matches(['.', ',']);
        word.starts_with(['-', '\'', '"', '/', '$']) || inner.contains(['/', '.', '='])
    };
    words.next().is_some_and(is_program) && words.next().is_some_and(is_argument)
}

/// Line of a chat or a log that begins with a time, or the line over a message: `Name  10:41 AM`.
fn is_stamped(line: &str) -> bool {
    const MONTHS: &str = "Jan |Feb |Mar |Apr |May |Jun |Jul |Aug |Sep |Oct |Nov |Dec ";
    let stamp = line
        .find(|c: char| !(c.is_ascii_digit() || "[]():/.-, TZ+apmAPM".contains(c)))
        .unwrap_or(line.len());
    let (time, rest) = line.split_at(stamp);
    if has_time(time) && rest.trim().is_empty() {
        return true;
    }
    if has_time(time) {
        let rest = rest.trim_start_matches(['-', '–', '<', '*', ' ']);
        let level = rest
            .split(|c: char| !c.is_alphanumeric())
            .next()
            .unwrap_or_default();
        let head: String = rest.chars().take(40).collect();
        return LEVELS.split('|').any(|known| known == level)
            || head.contains(": ")
            || head.trim_end().ends_with(':')
            || head.contains("> ");
    }
    if MONTHS.split('|').any(|month| line.starts_with(month)) {
        let head: String = line.chars().take(16).collect();
        return has_time(&head);
    }
    let bracketed = line.trim_end().strip_suffix([']', ')']);
    let bracketed = bracketed.and_then(|line| line.rsplit_once(['[', '(']));
    if bracketed.is_some_and(|(name, time)| {
        has_time(time) && name.split_whitespace().count() <= 3 && time.len() <= 24
    }) {
        return true;
    }
    if has_time(line) && (line.contains(" Today at ") || line.contains(" Yesterday at ")) {
        return true;
    }
    let line = line.trim_end();
    let bare = line.trim_end_matches(|c: char| c.is_ascii_digit() || ": apmAPM".contains(c));
    let (name, time) = line.split_at(bare.len());
    let name = name
        .trim_end_matches(" Today at")
        .trim_end_matches(" Yesterday at");
    let set_apart =
        time.starts_with("  ") || time.to_lowercase().ends_with('m') || name.len() < bare.len();
    let capital = |word: &str| word.starts_with(|c: char| c.is_uppercase() || "—-|·(".contains(c));
    let words = name.split_whitespace();
    has_time(time)
        && set_apart
        && !name.is_empty()
        && words.clone().count() <= 4
        && words.into_iter().all(capital)
}

/// True if a text has a time of day in it.
pub(super) fn has_time(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.windows(4).any(|four| {
        four[0].is_ascii_digit()
            && four[1] == b':'
            && four[2].is_ascii_digit()
            && four[3].is_ascii_digit()
    })
}

/// True for `<nick> words`, as some chats print them.
fn is_irc(line: &str) -> bool {
    let Some((nick, rest)) = line
        .strip_prefix('<')
        .and_then(|rest| rest.split_once("> "))
    else {
        return false;
    };
    let nick = nick.trim_start_matches(['@', '+', ' ']);
    let is_nick = |nick: &str| {
        (2..=30).contains(&nick.len())
            && nick
                .chars()
                .all(|c| c.is_alphanumeric() || "_-.[]|".contains(c))
    };
    is_nick(nick)
        && !is_markup(&nick.to_lowercase())
        && !super::recognise::mentions(&format!(" {rest}"))
}

/// The first of the lines that begin with a speaker's name, if there are two of them or the name is
/// a nick: a word with a capital is how people label what they say.
fn first_chat_line(lines: &[(usize, &str)]) -> Option<usize> {
    let mut spoken = lines
        .iter()
        .enumerate()
        .filter(|(_, (_, line))| names_speaker(line))
        .map(|(at, _)| at);
    let first = spoken.next()?;
    let line = lines[first].1.trim_start_matches(['*', '_', ' ', '@']);
    let nick = line.split(':').next().unwrap_or_default();
    let is_nick = nick.starts_with(char::is_lowercase)
        && nick
            .chars()
            .all(|c| c.is_alphanumeric() || "-_.".contains(c));
    (is_nick || spoken.next().is_some()).then_some(first)
}

/// The first of two and more lines that are nothing but a nick and a colon, with words below them.
fn first_bare_nick(lines: &[(usize, &str)]) -> Option<usize> {
    let mut nicks = lines.iter().enumerate().filter(|(at, (_, line))| {
        let Some(nick) = line.trim().strip_suffix(':') else {
            return false;
        };
        let is_nick = (2..=24).contains(&nick.len())
            && nick.starts_with(char::is_lowercase)
            && nick
                .chars()
                .all(|c| c.is_alphanumeric() || "-_.".contains(c))
            && !LABELS.split('|').any(|label| label == nick);
        let spoken = lines
            .get(at + 1)
            .is_some_and(|(_, line)| !line.trim().is_empty());
        is_nick && spoken
    });
    let first = nicks.next().map(|(at, _)| at)?;
    nicks.next().map(|_| first)
}

fn names_speaker(line: &str) -> bool {
    let bare = line.trim_start_matches(['*', '_', ' ', '@']);
    let Some((name, words)) = bare.split_once(':') else {
        return false;
    };
    let name = name.trim_matches(['*', '_', ' ', '[', ']', '(', ')']);
    let behind = words.trim_start_matches(['*', '_']);
    // Longer names are sentences before a colon.
    let is_name = (1..=24).contains(&name.len())
        && name.split(' ').count() <= 3
        && name.starts_with(char::is_alphabetic)
        && name
            .chars()
            .all(|c| c.is_alphanumeric() || " -_.()".contains(c));
    is_name
        && behind.starts_with(' ')
        && !behind.trim().is_empty()
        && !LABELS.split('|').any(|label| label == name.to_lowercase())
}
