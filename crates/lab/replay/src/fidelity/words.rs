//! Texts as the fact miner sees them: words, sentences, and the parts a person typed.
//!
//! Written apart from the engine's own ledger and from the text crate on purpose: the measure must
//! not share the mistakes of the measured.
//!
//! # Not here
//! Numbers and paths: [`super::shapes`].

/// Openings of tags that clients put around their additions to the user's messages.
const CLIENT_TAGS: [&str; 10] = [
    "system-reminder",
    "command-",
    "local-command-",
    "bash-std",
    "ide_",
    "task-notification",
    "user-prompt-submit-hook",
    "post-tool-use-hook",
    "new-diagnostics",
    "persisted-output",
];

/// Client tags around words that a person typed all the same.
const TYPED_TAGS: [&str; 1] = ["command-args"];

/// Words too common to name a subject; in a query they would only add noise.
const EMPTY_WORDS: [&str; 60] = [
    "the", "and", "for", "that", "this", "with", "from", "are", "was", "were", "you", "your",
    "have", "has", "had", "not", "but", "can", "could", "will", "would", "should", "into", "its",
    "it's", "let", "let's", "now", "then", "than", "there", "here", "what", "when", "which", "how",
    "all", "any", "also", "just", "use", "using", "need", "needs", "i'll", "i've", "we'll", "me",
    "my", "our", "their", "them", "they", "about", "some", "out", "see", "look", "please", "one",
];

/// Blanks taken together, signs that stand for others put back.
pub(super) fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !out.is_empty() {
            out.push(' ');
        }
        out.extend(word.chars().filter_map(|letter| match letter {
            // A ledger may break tags with a look-alike.
            '‹' => Some('<'),
            '’' => Some('\''),
            // Terminal colours in output are not part of a value.
            _ if letter.is_control() => None,
            _ => Some(letter),
        }));
    }
    out
}

/// The words of a text that tell its subject, in small letters; no figures among them.
pub(super) fn subject_words(text: &str) -> impl Iterator<Item = String> + '_ {
    text.split(|letter: char| !(letter.is_alphanumeric() || matches!(letter, '_' | '\'')))
        .map(str::to_lowercase)
        .filter(|word| {
            word.chars().count() > 2
                && !word.bytes().any(|byte| byte.is_ascii_digit())
                && !EMPTY_WORDS.contains(&word.as_str())
        })
}

/// Sentences of prose: lines, cut behind full stops. Fenced code has none.
pub(super) fn sentences(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut fenced = false;
    for line in text.lines() {
        // Code between fences has full stops that end no sentence.
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
            continue;
        }
        if fenced {
            continue;
        }
        let mut start = 0;
        let mut letters = line.char_indices().peekable();
        while let Some((at, letter)) = letters.next() {
            let ends = matches!(letter, '.' | '!' | '?')
                && letters.peek().is_none_or(|(_, next)| next.is_whitespace());
            if ends {
                found.push(line[start..=at].trim());
                start = at + 1;
            }
        }
        found.push(line[start..].trim());
    }
    found.retain(|sentence| !sentence.is_empty());
    found
}

/// True if one of the phrases stands in a text as whole words.
pub(super) fn has_phrase(text: &str, phrases: &[&str]) -> bool {
    let mut padded = String::with_capacity(text.len() + 2);
    padded.push(' ');
    for letter in text.chars() {
        match letter {
            // Editors replace the apostrophe; "don’t" and "don't" are the same rule.
            '’' => padded.push('\''),
            '\'' => padded.push(letter),
            _ if letter.is_alphanumeric() => padded.extend(letter.to_lowercase()),
            _ => padded.push(' '),
        }
    }
    padded.push(' ');
    phrases
        .iter()
        .any(|phrase| padded.contains(&format!(" {phrase} ")))
}

/// The pieces of a message that a person typed, without a client's additions.
pub(super) fn typed(text: &str) -> Vec<String> {
    let mut pieces = Vec::new();
    let mut rest = text;
    let mut own = String::new();
    while let Some(at) = rest.find('<') {
        let opened = tag(&rest[at..]);
        // A `<` of the user's own, in code or prose, is text like any other.
        let Some((name, inside, behind)) = opened else {
            own.push_str(&rest[..=at]);
            rest = &rest[at + 1..];
            continue;
        };
        own.push_str(&rest[..at]);
        pieces.push(std::mem::take(&mut own));
        if TYPED_TAGS.contains(&name) {
            pieces.push(inside.to_owned());
        }
        // Text behind a task's notice was not typed either.
        rest = if name == "task-notification" {
            ""
        } else {
            behind
        };
    }
    own.push_str(rest);
    pieces.push(own);
    // A client writes this in the user's name after an interruption.
    let note = |piece: &str| piece.starts_with("[Request interrupted by user");
    pieces
        .into_iter()
        .map(|piece| piece.trim().to_owned())
        .filter(|piece| !piece.is_empty() && !note(piece))
        .collect()
}

/// A client's tag at the beginning of a text: its name, its content and the text behind it.
fn tag(text: &str) -> Option<(&str, &str, &str)> {
    let name = text[1..].split('>').next()?;
    let known = CLIENT_TAGS.iter().any(|start| name.starts_with(start));
    // Tags of the user's own text, such as HTML, stay.
    if !known || name.contains(char::is_whitespace) {
        return None;
    }
    let inside = &text[name.len() + 2..];
    let close = format!("</{name}>");
    let end = inside.find(&close)?;
    Some((name, &inside[..end], &inside[end + close.len()..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_end_at_stops_and_lines_and_skip_code() {
        let text = "Keep v1.2 as is. Never push!\n- one more\n```\nlet x = 1.\n```\nlast";
        let found = sentences(text);
        assert_eq!(
            found,
            ["Keep v1.2 as is.", "Never push!", "- one more", "last"]
        );
    }

    #[test]
    fn phrases_are_whole_words() {
        assert!(has_phrase("We don’t do that", &["don't"]));
        assert!(has_phrase("Never.", &["never"]));
        assert!(!has_phrase("nevertheless", &["never"]));
    }

    #[test]
    fn what_a_client_added_is_not_typed() {
        let text = "<command-name>/x</command-name>\n<command-args>go on</command-args>";
        assert_eq!(typed(text), ["go on"]);
        assert_eq!(typed("a <b> c"), ["a <b> c"]);
        assert_eq!(
            typed("<system-reminder>x</system-reminder>fix <it>\n<ide_selection>y</ide_selection>"),
            ["fix <it>"]
        );
        assert!(typed("[Request interrupted by user for tool use]").is_empty());
        assert!(typed("<task-notification>x</task-notification>\nRead it").is_empty());
    }

    #[test]
    fn subjects_have_no_figures() {
        let words: Vec<String> = subject_words("Keep the port at 8080, and x9 too").collect();
        assert_eq!(words, ["keep", "port", "too"]);
    }
}
