//! Standing instructions, told by the way they are said.

/// How much a text sounds like a standing instruction or a preference, from 0 to 1.
pub(crate) fn standing(_text: &str) -> f32 {
    0.0
}
