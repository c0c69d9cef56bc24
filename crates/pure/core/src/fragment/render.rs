//! Fragments as they are written into a prompt.
//!
//! # Not here
//! Reading them back: `recognise`. Caps: rows of the table.

use super::Wrapper;
use super::tag::tags;

/// Line behind content that was cut; tells the model that more existed.
const CUT: &str = "\n[… cut here]";

/// The opening tag of a wrapper.
pub fn open(wrapper: &Wrapper) -> String {
    format!("<{}>", wrapper.tag)
}

/// The closing tag of a wrapper.
pub fn close(wrapper: &Wrapper) -> String {
    format!("</{}>", wrapper.tag)
}

/// A fragment: the content between the tags, each on lines of its own. Tags of the same name inside
/// are defused and the content is cut at the wrapper's cap, so that [`recognise`](super::recognise)
/// gives the whole fragment back, whatever the content is.
pub fn render(wrapper: &Wrapper, content: &str) -> String {
    let mut shown = defuse(wrapper, content);
    if shown.len() > wrapper.cap {
        let mut end = wrapper.cap.saturating_sub(CUT.len());
        while !shown.is_char_boundary(end) {
            // A cut inside a character would not be text any more.
            end -= 1;
        }
        shown.truncate(end);
        shown.push_str(CUT);
    }
    format!("{}\n{shown}\n{}", open(wrapper), close(wrapper))
}

/// The text with every tag of a wrapper's name broken in one visible character.
pub fn defuse(wrapper: &Wrapper, text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    for tag in tags(text) {
        if tag.name.eq_ignore_ascii_case(wrapper.tag) {
            out.push_str(&text[from..tag.range.start]);
            out.push('‹');
            let letter = text[tag.range.start..].chars().next();
            from = tag.range.start + letter.map_or(0, char::len_utf8);
        }
    }
    out.push_str(&text[from..]);
    out
}
