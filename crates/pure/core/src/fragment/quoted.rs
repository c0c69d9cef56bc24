//! Quotations inside a sentence that reports what others said.

use std::ops::Range;

/// Words in front of a quotation that make it the words of another.
const REPORTING: &str = "says|said|saying|reads|wrote|writes|states|claims|claimed|told|asks|printed|prints|\
    sagt|schreibt|behauptet";

/// Quotations of a line that report the words of others, quotation marks included. A rule in quotes
/// without a reporting word may be the user's own.
pub fn reported(line: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(quotation) = quotation(&line[from..]) {
        let (start, end) = (from + quotation.start, from + quotation.end);
        let mut words = line[from..start].split(|c: char| !c.is_alphanumeric());
        if words.any(|word| {
            REPORTING
                .split('|')
                .any(|known| word.eq_ignore_ascii_case(known))
        }) {
            found.push(start..end);
        }
        // Words before a quotation speak for that one only.
        from = end;
    }
    found
}

/// The first quotation: double quotes of any sort.
fn quotation(text: &str) -> Option<Range<usize>> {
    const MARKS: [char; 7] = ['"', '“', '”', '„', '«', '»', '‟'];
    let (start, open) = text.char_indices().find(|(_, c)| MARKS.contains(c))?;
    let inside = start + open.len_utf8();
    let (length, close) = text[inside..]
        .char_indices()
        .find(|(_, c)| MARKS.contains(c))?;
    Some(start..inside + length + close.len_utf8())
}
