//! List of memories, as a prompt shows it.

use crate::card::Card;
use crate::topic::Kind;
use std::fmt::Write as _;

/// Most lines of a manifest: as many as the index may have by default. Recall ranks all memories,
/// whether listed here or not.
pub(crate) const MOST_LINES: usize = 200;

/// List, newest first, with a last line that counts the memories left out.
pub fn render(mut cards: Vec<Card>) -> String {
    cards.sort_by(|a, b| {
        b.modified
            .cmp(&a.modified)
            // Files written in one transaction share a time; the path keeps their order stable.
            .then_with(|| a.path.cmp(&b.path))
    });
    let more = cards.len().saturating_sub(MOST_LINES);
    let mut text = String::new();
    for card in cards.iter().take(MOST_LINES) {
        text.push_str(&render_line(card));
        text.push('\n');
    }
    if more > 0 {
        let _ = writeln!(
            text,
            "({more} older memories are not listed; search finds them.)"
        );
    }
    text
}

/// One line, `- [type] file.md (time): description`.
pub fn render_line(card: &Card) -> String {
    let kind = card.kind.map_or("untyped", Kind::name);
    let at = jiff::Timestamp::from_millisecond(card.modified.0)
        .map(|at| at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string())
        // A time out of range leaves the brackets empty; the memory must still be listed.
        .unwrap_or_default();
    let text = format!("- [{kind}] {} ({at}): {}", card.path, card.description);
    // Without a description the line would end in a bare colon.
    text.trim_end_matches([' ', ':']).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use dormouse_core::units::Millis;
    use dormouse_guard::paths::SafePath;
    use pretty_assertions::assert_eq;

    fn line(name: &str, at: i64) -> Card {
        let text = "---\ntype: feedback\ndescription: how to test\n---\n";
        Card::read(SafePath::parse(name).unwrap(), text, Millis(at))
    }

    #[test]
    fn a_line_has_type_file_time_and_description() {
        let text = render_line(&line("a.md", 1_774_872_000_000));
        assert_eq!(
            text,
            "- [feedback] a.md (2026-03-30T12:00:00Z): how to test"
        );
    }

    #[test]
    fn the_newest_come_first_and_the_rest_is_counted() {
        let lines = (0..205).map(|at| line(&format!("f{at}.md"), at)).collect();
        let text = render(lines);
        assert!(text.starts_with("- [feedback] f204.md"));
        assert!(text.ends_with("(5 older memories are not listed; search finds them.)\n"));
        assert_eq!(text.lines().count(), MOST_LINES + 1);
    }
}
