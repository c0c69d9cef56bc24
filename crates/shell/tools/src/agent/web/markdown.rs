//! HTML as Markdown.

use htmd::HtmlToMarkdown;
use std::thread;

/// Elements that hold no text for a reader.
const SKIPPED: [&str; 8] = [
    "script", "style", "noscript", "template", "svg", "iframe", "head", "nav",
];
/// Elements that never have an end tag; they open no level.
const VOID: [&str; 14] = [
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source",
    "track", "wbr",
];
/// Levels of elements that are converted. Pages with sloppy paragraphs count some thousand by their
/// tags alone; a page made to exhaust a stack counts a hundred thousand.
const DEEPEST: usize = 8_000;
/// Stack of the converting thread, which descends level by level: 32 KiB for each of them, of which
/// only what is used is taken.
const STACK: usize = DEEPEST * 32 * 1_024;

/// Converts a page.
///
/// # Errors
/// The reason, for people and models.
pub(super) fn from_html(html: &str) -> Result<String, String> {
    if depth(html) > DEEPEST {
        return Err("its elements are nested too deeply".to_owned());
    }
    let html = html.to_owned();
    let convert = move || {
        let converter = HtmlToMarkdown::builder()
            .skip_tags(SKIPPED.to_vec())
            .build();
        converter.convert(&html).map_err(|error| error.to_string())
    };
    let thread = thread::Builder::new()
        .name("markdown".to_owned())
        .stack_size(STACK)
        .spawn(convert)
        .map_err(|error| error.to_string())?;
    let text = thread
        .join()
        .map_err(|_| "the converter failed".to_owned())??;
    Ok(squeezed(&text))
}

/// Deepest level that the tags could open; an upper bound, since a parser closes many by itself.
fn depth(html: &str) -> usize {
    let mut level: usize = 0;
    let mut deepest = 0;
    for tag in html.split('<').skip(1) {
        match tag.as_bytes().first() {
            Some(b'/') => level = level.saturating_sub(1),
            Some(first) if first.is_ascii_alphabetic() => {
                let name = tag.split(|c: char| !c.is_ascii_alphanumeric()).next();
                let name = name.unwrap_or_default().to_ascii_lowercase();
                if !VOID.contains(&name.as_str()) {
                    level += 1;
                    deepest = deepest.max(level);
                }
            }
            _ => {}
        }
    }
    deepest
}

/// Text without runs of empty lines, which skipped elements leave behind.
fn squeezed(text: &str) -> String {
    let mut lines = Vec::new();
    for line in text.lines() {
        let line = line.trim_end();
        // A blank line behind a blank line says nothing.
        if line.is_empty() && lines.last().is_none_or(|last: &&str| last.is_empty()) {
            continue;
        }
        lines.push(line);
    }
    lines.join("\n").trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_becomes_markdown_without_its_scripts() {
        let html = "<html><head><title>T</title><style>x</style></head><body><nav>menu</nav>\
                    <h1>Title</h1><p>Some <b>bold</b> <a href='/x'>link</a>.</p>\
                    <script>alert(1)</script><ul><li>one</li><li>two</li></ul></body></html>";
        let text = from_html(html).unwrap();
        assert!(text.starts_with("# Title"), "{text}");
        assert!(
            text.contains("**bold**") && text.contains("[link](/x)"),
            "{text}"
        );
        assert!(!text.contains("alert") && !text.contains("menu"), "{text}");
    }

    #[test]
    fn hostile_nesting_neither_crashes_nor_hangs() {
        let deep = "<div>".repeat(DEEPEST - 1);
        assert!(from_html(&deep).is_ok());
        let deeper = "<div>".repeat(1_000_000);
        assert_eq!(
            from_html(&deeper),
            Err("its elements are nested too deeply".to_owned())
        );
        // Closed by the parser, thousands deep by the tags alone.
        let sloppy = "<p>text".repeat(DEEPEST - 1);
        assert!(from_html(&sloppy).unwrap().contains("text"));
    }
}
