//! Texts reduced to their words, so that phrases can be looked for.

/// Words in lower case with one blank between them and around all of them. Apostrophes and hyphens
/// inside words stay; everything else that is no letter or digit is gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Phrases(String);

impl Phrases {
    /// Folds a text to its words.
    pub(super) fn of(text: &str) -> Self {
        let mut folded = String::with_capacity(text.len() + 2);
        folded.push(' ');
        let mut letters = text.chars().filter(|c| !is_hidden(*c)).peekable();
        while let Some(letter) = letters.next() {
            // A quote mark at the edge of a word is punctuation; only inside it belongs to the
            // word.
            let inside = folded.ends_with(char::is_alphanumeric)
                && letters.peek().is_some_and(|next| next.is_alphanumeric());
            match letter {
                '\'' | '’' | '‘' | 'ʼ' if inside => folded.push('\''),
                '-' | '‑' if inside => folded.push('-'),
                c if c.is_alphanumeric() => folded.extend(c.to_lowercase()),
                _ if folded.ends_with(' ') => {}
                _ => folded.push(' '),
            }
        }
        if !folded.ends_with(' ') {
            folded.push(' ');
        }
        Self(folded)
    }

    /// True if one of these phrases stands in it, word for word. Lists are one text with `|`
    /// between the phrases, because a long list is easiest to read that way.
    pub(super) fn has(&self, phrases: &str) -> bool {
        phrases
            .split('|')
            .any(|phrase| self.0.contains(&format!(" {phrase} ")))
    }

    /// True if it begins with one of these phrases.
    pub(super) fn starts(&self, phrases: &str) -> bool {
        phrases
            .split('|')
            .any(|phrase| self.0.starts_with(&format!(" {phrase} ")))
    }

    /// True if one of the first words is followed by one of the second within `most` words.
    pub(super) fn near(&self, first: &str, second: &str, most: usize) -> bool {
        let words: Vec<&str> = self.words().collect();
        words.iter().enumerate().any(|(at, word)| {
            let mut behind = words.iter().skip(at + 1).take(most);
            listed(first, word) && behind.any(|other| listed(second, other))
        })
    }

    /// Copy without the listed words.
    pub(super) fn without(&self, list: &str) -> Self {
        let left: Vec<&str> = self.words().filter(|word| !listed(list, word)).collect();
        Self(format!(" {} ", left.join(" ")))
    }

    /// Copy without the listed phrases.
    pub(super) fn without_phrases(&self, list: &str) -> Self {
        let mut left = self.0.clone();
        for phrase in list.split('|') {
            left = left.replace(&format!(" {phrase} "), " ");
        }
        Self(left)
    }

    /// Words in order, without the blanks around them.
    pub(super) fn words(&self) -> impl Iterator<Item = &str> {
        self.0.split(' ').filter(|word| !word.is_empty())
    }

    /// Number of words, hidden characters ignored.
    pub(super) fn count(&self) -> usize {
        self.words().count()
    }

    /// Words with one blank between them, without the blanks at both ends.
    pub(super) fn as_str(&self) -> &str {
        self.0.trim()
    }
}

/// True if a word is in a list.
pub(super) fn listed(list: &str, word: &str) -> bool {
    list.split('|').any(|item| item == word)
}

/// Invisible characters: they join, direct or tag others, or have no width. An attacker can put
/// them inside a word, which then would no longer match a list.
pub(super) fn is_hidden(letter: char) -> bool {
    matches!(u32::from(letter), 0x00AD | 0x180E | 0x200B..=0x200F | 0x202A..=0x202E
        | 0x2060..=0x206F | 0xFE00..=0xFE0F | 0xFEFF | 0xFFF9..=0xFFFB | 0xE0000..=0xE0FFF)
}

/// Text without invisible characters.
pub(super) fn visible(text: &str) -> String {
    text.chars().filter(|letter| !is_hidden(*letter)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phrases_are_whole_words_whatever_stands_between() {
        let text = Phrases::of("Don’t  mock, the\u{200b} DB-layer!");
        assert_eq!(text.as_str(), "don't mock the db-layer");
        assert!(text.has("mock the"));
        assert!(!text.has("moc"));
        assert!(text.starts("don't mock"));
        assert!(text.near("mock", "db-layer", 2));
        assert!(!text.near("mock", "db-layer", 1));
        assert_eq!(text.count(), 4);
    }
}
