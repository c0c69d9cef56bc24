//! History: memories that no longer speak for the user.
//!
//! # Model
//! A memory that was overtaken, is over by the calendar, was called wrong, or is contradicted by one
//! that holds is kept, and is no part of the collection that a prompt is compared with: its words
//! would make those of its successor common, and it would stand beside it as the next hit.
//!
//! # Not here
//! Memories that wait for approval: they are searched, and left out with that reason.

use dormouse_guard::paths::SafePath;
use dormouse_memory::card::Card;
use dormouse_memory::trust::Trust;
use jiff::civil::Date;
use std::collections::BTreeSet;

/// Files among the cards that are history on a day.
pub fn history(cards: &[Card], today: Date) -> BTreeSet<SafePath> {
    let gone = |card: &&Card| {
        card.is_over(today) || cards.iter().any(|other| overrules(other, card, today))
    };
    let gone = cards.iter().filter(gone);
    gone.map(|card| card.path.clone()).collect()
}

/// True if one of two memories says the contrary of the other and holds: the one believed more, or
/// of two words the later. Two contrary memories are never shown side by side.
pub(super) fn overrules(other: &Card, card: &Card, today: Date) -> bool {
    let names = |card: &Card, other: &Card| {
        let path = other.path.as_str();
        card.contradicts.iter().any(|name| name == path)
    };
    // Without a claim it is the user's own.
    let rank = |card: &Card| {
        let said = if card.said.0 > 0 {
            card.said
        } else {
            card.modified
        };
        (card.trust.unwrap_or(Trust::User), said)
    };
    other.path != card.path
        && (names(card, other) || names(other, card))
        && other.is_trusted()
        && !other.is_over(today)
        // Of equals the first by path, so that one of them is shown.
        && (rank(other), std::cmp::Reverse(&other.path)) > (rank(card), std::cmp::Reverse(&card.path))
}

#[cfg(test)]
mod tests {
    use super::*;
    use dormouse_core::units::Millis;
    use jiff::civil::date;

    fn card(path: &str, front: &str, modified: i64) -> Card {
        let path = SafePath::parse(path).unwrap();
        Card::read(path, &format!("---\n{front}\n---\nx\n"), Millis(modified))
    }

    #[test]
    fn history_is_what_was_overtaken_contradicted_or_called_wrong() {
        let cards = [
            card("a.md", "superseded_by: b.md", 1),
            card("b.md", "name: b", 2),
            card("c.md", "valid_until: 2026-01-01", 3),
            card("d.md", "contradicts: [e.md]", 4),
            card("e.md", "name: e", 5),
            card("f.md", "wrong: 1", 6),
            card("g.md", "wrong: 1\nuseful: 1", 7),
            card("h.md", "contradicts: [f.md]", 1),
        ];
        let found = history(&cards, date(2026, 11, 17));
        let found: Vec<&str> = found.iter().map(SafePath::as_str).collect();
        assert_eq!(found, ["a.md", "c.md", "d.md", "f.md"]);
    }
}
