//! Links of an index, read as Markdown.
//!
//! # Model
//! The text is read by a `CommonMark` parser, so that every way of writing a link counts: inline,
//! by reference, with a title, with `%20`, with an anchor, `[[wiki]]`; and text that only looks like
//! one (in code, in a comment) does not. A link leads to a file of the directory or elsewhere, and
//! only the former is an [`IndexEntry`].
//!
//! # Not here
//! The owner of a line, and mending it (`mend`).

use dormouse_guard::paths::SafePath;
use percent_encoding::percent_decode_str;
use pulldown_cmark::{Event, LinkType, Options, Parser, Tag, TagEnd};
use std::ops::Range;

/// Place of a link in the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// List item that begins with the link and has no other one: a line about this memory.
    Entry,
    /// Link in prose, beside other links, or of an item with items of its own.
    Mention,
}

/// Link to a file of the directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexEntry {
    /// Text of the link, as it is written.
    pub title: String,
    /// File it leads to, relative to the directory; it need not exist.
    pub path: SafePath,
    /// Text behind the link, on one line; empty if there is none.
    pub hook: String,
    /// Bytes of the lines of its list item, or of its line; the last newline included.
    pub range: Range<usize>,
    /// Number of the line it begins on, from 1.
    pub line: usize,
    /// Place of the link: a line of its own, or one among others.
    pub form: Form,
    /// Bytes of the link itself.
    pub(super) link: Range<usize>,
    /// True if `range` is all that hangs on the link: nothing is left over when it goes.
    pub(super) whole: bool,
}

/// Link as the parser found it, before its place is judged.
struct Found {
    link: Range<usize>,
    title: String,
    path: Option<SafePath>,
    item: Option<usize>,
}

/// List item of the text.
struct Item {
    range: Range<usize>,
    /// Number of items around it.
    depth: usize,
    /// True if it has items of its own.
    nested: bool,
    /// Links directly in it, those that lead elsewhere among them.
    links: usize,
}

/// Links to files of the directory, in the order of the text.
pub fn entries(text: &str) -> Vec<IndexEntry> {
    let (mut found, mut items, opaque) = parsed(text);
    found.extend(with_blanks(text, &found, &mut items, &opaque));
    found.sort_by_key(|found| found.link.start);
    let starts: Vec<usize> = line_starts(text);
    let mut entries = Vec::new();
    for found in found {
        let Some(path) = found.path else { continue };
        let line = starts.partition_point(|start| *start <= found.link.start);
        let item = found.item.and_then(|item| items.get(item));
        let simple = item.filter(|item| !item.nested);
        let line_range = lines_around(text, &found.link);
        let range = simple.map_or(line_range, |item| own_lines(text, &item.range));
        let leads = simple.is_some_and(|item| {
            item.links == 1 && is_marker(&text[item.range.start..found.link.start])
        });
        let end = range.end;
        entries.push(IndexEntry {
            title: found.title,
            path,
            hook: hook(&text[found.link.end.min(end)..end]),
            line,
            form: if leads { Form::Entry } else { Form::Mention },
            link: found.link,
            whole: simple.is_some(),
            range,
        });
    }
    entries
}

/// Links, list items and stretches without links (code, HTML) of a text.
fn parsed(text: &str) -> (Vec<Found>, Vec<Item>, Vec<Range<usize>>) {
    let (mut found, mut items, mut opaque) = (Vec::new(), Vec::<Item>::new(), Vec::new());
    let mut open: Vec<usize> = Vec::new();
    for (event, range) in Parser::new_ext(text, Options::ENABLE_WIKILINKS).into_offset_iter() {
        match event {
            Event::Start(Tag::Item) => {
                open.push(items.len());
                items.push(Item {
                    range,
                    depth: open.len() - 1,
                    nested: false,
                    links: 0,
                });
            }
            Event::End(TagEnd::Item) => {
                open.pop();
            }
            Event::Start(Tag::List(_)) => {
                if let Some(item) = open.last().and_then(|item| items.get_mut(*item)) {
                    item.nested = true;
                }
            }
            Event::Start(Tag::Link {
                link_type,
                dest_url,
                ..
            }) => {
                let item = open.last().copied();
                if let Some(item) = item.and_then(|item| items.get_mut(item)) {
                    item.links += 1;
                }
                let wiki = matches!(link_type, LinkType::WikiLink { .. });
                let title = text[range.clone()].trim_start_matches('[');
                let ends: &[char] = if wiki { &['|', ']'] } else { &[']'] };
                let end = title.find(ends).unwrap_or(title.len());
                found.push(Found {
                    title: title[..end].trim().to_owned(),
                    path: target(&dest_url, wiki),
                    link: range,
                    item,
                });
            }
            Event::Start(Tag::CodeBlock(_) | Tag::HtmlBlock | Tag::Image { .. })
            | Event::Code(_)
            | Event::Html(_)
            | Event::InlineHtml(_) => opaque.push(range),
            _ => {}
        }
    }
    (found, items, opaque)
}

/// Links whose target has blanks in it. No Markdown, but people and models write them, and a line
/// that is not understood would get a second one beside it.
fn with_blanks(
    text: &str,
    known: &[Found],
    items: &mut [Item],
    opaque: &[Range<usize>],
) -> Vec<Found> {
    let taken = joined_ranges(known.iter().map(|found| &found.link).chain(opaque));
    let overlaps = |range: &Range<usize>| {
        let next = taken.partition_point(|other| other.end <= range.start);
        taken.get(next).is_some_and(|other| other.start < range.end)
    };
    let mut found = Vec::new();
    for (middle, _) in text.match_indices("](") {
        let rest = &text[middle + 2..];
        let end = rest.find([')', '\n']).unwrap_or(rest.len());
        let dest = &rest[..end];
        let line = text[..middle].rfind('\n').map_or(0, |newline| newline + 1);
        let Some(start) = text[line..middle].rfind('[').map(|at| line + at) else {
            continue;
        };
        let link = start..(middle + 2 + end + 1).min(text.len());
        let markdown = dest.to_ascii_lowercase().ends_with(".md");
        if !dest.contains(' ') || !markdown || !rest[end..].starts_with(')') || overlaps(&link) {
            continue;
        }
        let item = innermost(items, start);
        if let Some(item) = item.and_then(|item| items.get_mut(item)) {
            item.links += 1;
        }
        found.push(Found {
            title: text[start + 1..middle].trim().to_owned(),
            path: target(dest.trim(), false),
            link,
            item,
        });
    }
    found
}

/// Ranges in order, with those that touch or overlap made one.
fn joined_ranges<'a>(ranges: impl Iterator<Item = &'a Range<usize>>) -> Vec<Range<usize>> {
    let mut all: Vec<Range<usize>> = ranges.filter(|range| !range.is_empty()).cloned().collect();
    all.sort_by_key(|range| range.start);
    let mut joined: Vec<Range<usize>> = Vec::new();
    for range in all {
        match joined.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => joined.push(range),
        }
    }
    joined
}

/// Item around a place: of several the one that begins last. Items come in the order of the text.
fn innermost(items: &[Item], place: usize) -> Option<usize> {
    let before = items.partition_point(|item| item.range.start <= place);
    for at in (0..before).rev() {
        if items[at].range.contains(&place) {
            return Some(at);
        }
        // An outermost item that ended before the place: so did all before it.
        if items[at].depth == 0 {
            break;
        }
    }
    None
}

/// File of the directory that a destination means; `None` if it leads elsewhere.
fn target(dest: &str, wiki: bool) -> Option<SafePath> {
    let dest = dest.split('#').next().unwrap_or_default();
    // Absolute paths, home directories and addresses lead out of the directory.
    if dest.is_empty() || dest.starts_with(['/', '~']) || dest.contains("://") {
        return None;
    }
    let decoded = percent_decode_str(dest).decode_utf8().ok()?;
    let mut parts: Vec<&str> = Vec::new();
    for part in decoded.trim().split('/') {
        match part {
            "" | "." => {}
            // One `..` too many leads out.
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    let mut path = parts.join("/");
    // A wiki names pages without their ending.
    if wiki && !path.to_ascii_lowercase().ends_with(".md") {
        path.push_str(".md");
    }
    SafePath::parse(&path).ok()
}

/// True for the beginning of an item before its text: bullet or number, a box, emphasis.
fn is_marker(text: &str) -> bool {
    let text = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let Some(rest) = text.strip_prefix(['-', '*', '+', '.', ')']) else {
        return false;
    };
    let rest = rest.trim_start();
    let boxed = ["[ ]", "[x]", "[X]"]
        .into_iter()
        .find_map(|mark| rest.strip_prefix(mark));
    boxed
        .unwrap_or(rest)
        .trim_matches([' ', '\t', '*', '_', '~'])
        .is_empty()
}

/// Text behind a link, without the separators of many hands.
fn hook(rest: &str) -> String {
    let rest: Vec<&str> = rest.split_whitespace().collect();
    rest.join(" ")
        .trim_start_matches(['*', '_', '~'])
        .trim_start()
        .trim_start_matches(['—', '–', '-', ':'])
        .trim()
        .to_owned()
}

/// Lines of an item: its first, and those that are indented below it. Markdown counts a plain line
/// below an item as part of it, but people write remarks there, which are no part of the entry.
fn own_lines(text: &str, item: &Range<usize>) -> Range<usize> {
    let mut range = lines_around(text, &(item.start..item.start));
    let mut at = range.end;
    for line in text[at.min(item.end)..item.end].split_inclusive('\n') {
        let start = at;
        at += line.len();
        if line.trim().is_empty() {
            continue;
        }
        if !line.starts_with([' ', '\t']) {
            break;
        }
        range.end = lines_around(text, &(start..start)).end;
    }
    range
}

/// Whole lines that a range lies in, the last newline included.
fn lines_around(text: &str, range: &Range<usize>) -> Range<usize> {
    let start = text[..range.start]
        .rfind('\n')
        .map_or(0, |newline| newline + 1);
    let end = text[range.end..]
        .find('\n')
        .map_or(text.len(), |newline| range.end + newline + 1);
    start..end
}

fn line_starts(text: &str) -> Vec<usize> {
    let newlines = text.match_indices('\n').map(|(at, _)| at + 1);
    std::iter::once(0).chain(newlines).collect()
}

/// Index in which every link to one file leads to another; all other bytes stay. A link whose
/// destination cannot be found in the text stays as it is.
pub(crate) fn retargeted(text: &str, from: &SafePath, to: &SafePath) -> String {
    let mut out = text.to_owned();
    let mut places: Vec<Range<usize>> = definitions(text)
        .into_iter()
        .filter(|(path, _)| path == from)
        .map(|(_, span)| span)
        .collect();
    let links = entries(text)
        .into_iter()
        .filter(|entry| entry.path == *from);
    places.extend(links.map(|entry| entry.link));
    // From the end, so that earlier ranges stay right.
    places.sort_by_key(|place| std::cmp::Reverse(place.start));
    for place in places {
        let source = &text[place.clone()];
        let bare = from.as_str().strip_suffix(".md").unwrap_or(from.as_str());
        let wiki = source.starts_with("[[");
        let old = [
            from.as_str().to_owned(),
            from.as_str().replace(' ', "%20"),
            bare.to_owned(),
        ];
        let olds = if wiki { &old[..] } else { &old[..2] };
        let found = olds
            .iter()
            .find_map(|old| Some((source.rfind(old.as_str())?, old)));
        let Some((at, old)) = found else { continue };
        let new = if old == bare && wiki {
            to.as_str().strip_suffix(".md").unwrap_or(to.as_str())
        } else {
            to.as_str()
        };
        let new = if old.contains("%20") {
            new.replace(' ', "%20")
        } else {
            new.to_owned()
        };
        let start = place.start + at;
        out.replace_range(start..start + old.len(), &new);
    }
    out
}

/// Definitions of references to files of the directory, `[label]: file.md`, with their bytes.
fn definitions(text: &str) -> Vec<(SafePath, Range<usize>)> {
    let parser = Parser::new_ext(text, Options::ENABLE_WIKILINKS);
    let all = parser.reference_definitions().iter();
    all.filter_map(|(_, definition)| {
        Some((target(&definition.dest, false)?, definition.span.clone()))
    })
    .collect()
}
