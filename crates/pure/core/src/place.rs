//! Line and column of a byte offset, for error messages about text files.

/// One-based line and column (in characters) of a byte offset. Offsets past the end or inside a
/// character are moved back, because parsers report either.
pub(crate) fn line_column(text: &str, offset: usize) -> (usize, usize) {
    let mut offset = offset.min(text.len());
    while !text.is_char_boundary(offset) {
        offset -= 1;
    }
    let before = &text[..offset];
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
    (line, before[line_start..].chars().count() + 1)
}

#[cfg(test)]
mod tests {
    use super::line_column;

    #[test]
    fn counts_from_one_and_in_characters() {
        let text = "ab\nçd\n";
        assert_eq!(line_column(text, 0), (1, 1));
        assert_eq!(line_column(text, 2), (1, 3));
        assert_eq!(line_column(text, 3), (2, 1));
        assert_eq!(
            line_column(text, 4),
            (2, 1),
            "inside a character: its start"
        );
        assert_eq!(line_column(text, 5), (2, 2));
        assert_eq!(line_column(text, 99), (3, 1));
    }
}
