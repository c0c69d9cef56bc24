//! Blocks between lines that mark their beginning and end, in whatever notation.
//!
//! # Model
//! `[hook]` and `[/hook]`, `=== BEGIN x ===` and `=== END x ===`, `{% x %}` and `{% endx %}`,
//! `@@x-begin@@` and `@@x-end@@`: a decorated line with a name, and a later one that names the same
//! thing and says that it ends. Markup comments and sections end with signs of their own. No client
//! is known to write these; in doubt words between them are not the user's.

use std::collections::HashMap;

/// Signs that lines of this sort are decorated with.
const SIGNS: &str = "[]{}@\\%*=#~<>|:+-_$!()";

/// Ends of the blocks in some lines.
pub(super) struct Marked {
    /// Last line that ends each name.
    ends: HashMap<String, usize>,
    /// Last lines that end a comment, a section and an instruction of markup.
    markup: [Option<usize>; 3],
}

impl Marked {
    pub(super) fn of(lines: &[(usize, &str)]) -> Self {
        let mut ends = HashMap::new();
        for (at, (_, line)) in lines.iter().enumerate() {
            if let Some(Marker::Close(name)) = marker(line) {
                ends.insert(name, at);
            }
        }
        let last = |end| lines.iter().rposition(|(_, line)| line.contains(end));
        Self {
            ends,
            markup: ["-->", "]]>", "?>"].map(last),
        }
    }

    /// The last line of the block that a line begins; the inner `None` if nothing ends it.
    #[expect(
        clippy::option_option,
        reason = "the outer one tells whether a block begins, the inner one whether it ends"
    )]
    pub(super) fn block(&self, line: &str, at: usize) -> Option<Option<usize>> {
        let bare = line.trim_start();
        let markup = [("<!--", 0), ("<![", 1), ("<?", 2)];
        if let Some((_, which)) = markup.into_iter().find(|(sign, _)| bare.starts_with(sign)) {
            return Some(self.markup[which].filter(|end| *end >= at));
        }
        let (name, is_explicit) = match marker(line)? {
            Marker::Open(name) => (name, false),
            Marker::Begin(name) => (name, true),
            Marker::Close(_) => return None,
        };
        let end = self.ends.get(&name).copied().filter(|end| *end > at);
        // A word in brackets is common; only its end makes it a marker.
        (end.is_some() || is_explicit).then_some(end)
    }
}

enum Marker {
    /// Name alone, as in `[hook]`.
    Open(String),
    /// Name with a word that says that something begins, behind three signs or more.
    Begin(String),
    /// Name with a sign or a word that says that it ends.
    Close(String),
}

fn marker(line: &str) -> Option<Marker> {
    let line = line.trim();
    if let Some(name) = line.strip_prefix(":::") {
        let name_is_missing = name.trim().is_empty();
        return Some(if name_is_missing {
            Marker::Close(String::new())
        } else {
            Marker::Open(String::new())
        });
    }
    let is_sign = |c: char| SIGNS.contains(c);
    let bare = line.trim_start_matches(is_sign);
    let signs = line.len() - bare.len();
    // A tag is no marker, nor is an item of a list or a heading.
    let is_other = signs == 1 && (line.starts_with('<') || bare.starts_with(' '));
    // Markers are short lines; a longer one is a sentence with signs around it.
    if signs == 0 || is_other || line.len() > 80 || !(line.ends_with(is_sign) || signs > 2) {
        return None;
    }
    let bare = bare.trim_end_matches(is_sign).trim().to_lowercase();
    let (closes, bare) = match bare.strip_prefix('/') {
        Some(rest) => (true, rest.trim()),
        None => (false, bare.as_str()),
    };
    let is_name = |c: char| c.is_alphanumeric() || " -_:{}./".contains(c);
    // More than six words are a sentence in brackets.
    if bare.is_empty() || bare.split_whitespace().count() > 6 || !bare.chars().all(is_name) {
        return None;
    }
    let parts = bare
        .split(|c: char| !c.is_alphanumeric())
        .filter(|part| !part.is_empty());
    let (mut begins, mut ends) = (false, closes);
    let mut name = Vec::new();
    for part in parts {
        match part {
            "begin" | "start" => begins = true,
            "end" | "stop" => ends = true,
            // Only templates glue the word to the name: `{% endfor %}`; elsewhere "ending" is a
            // word.
            _ => match part.strip_prefix("end").filter(|_| line.starts_with("{%")) {
                Some(rest) => {
                    ends = true;
                    name.push(rest);
                }
                None => name.push(part),
            },
        }
    }
    let name = name.join(" ");
    Some(match (begins, ends) {
        (_, true) => Marker::Close(name),
        (true, false) if signs > 2 => Marker::Begin(name),
        _ => Marker::Open(name),
    })
}
