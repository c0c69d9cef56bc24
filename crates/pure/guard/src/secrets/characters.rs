//! Characters of scripts and quotes, as far as statements need them.

/// True for scripts that put no space between words, and for Hangul, whose particles are attached.
pub(super) fn is_unspaced(character: char) -> bool {
    matches!(character,
        '\u{0e00}'..='\u{0e7f}'       // Thai
        | '\u{1100}'..='\u{11ff}'     // Hangul
        | '\u{3040}'..='\u{30ff}'     // Kana
        | '\u{3400}'..='\u{9fff}'     // Han
        | '\u{ac00}'..='\u{d7af}'     // Hangul
        | '\u{f900}'..='\u{faff}'     // Han
    )
}

/// True for marks that open a quotation, in the languages of the vocabulary.
pub(super) fn opens_quote(character: char) -> bool {
    matches!(
        character,
        '"' | '\'' | '`' | '“' | '”' | '„' | '‚' | '‘' | '«' | '»' | '‹' | '「' | '『'
    )
}

/// True for characters of a value outside quotes: letters and digits of spaced scripts, and the
/// signs that keyboards offer, but for quotes, brackets and separators of lists.
pub(super) fn is_of_value(character: char) -> bool {
    if character.is_ascii() {
        return character.is_ascii_graphic()
            && !matches!(
                character,
                '"' | '\'' | '`' | ',' | ';' | '|' | '<' | '>' | '(' | ')' | '{' | '}' | '[' | ']'
            );
    }
    character.is_alphanumeric() && !is_unspaced(character)
}
