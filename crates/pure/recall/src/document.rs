//! What is indexed.

/// A text to be found, with what the caller wants back when it is.
///
/// Only the words are kept, not the text. The caller knows a found document by its payload.
#[derive(Clone, Copy, Debug, Default)]
pub struct Document<'a> {
    /// What it is called: a title, a file name, a folder. Its words count most.
    pub name: &'a str,
    /// What it is about, in a line.
    pub description: &'a str,
    /// The text itself.
    pub body: &'a str,
    /// Bytes of the caller's, given back with a hit. They also decide between equals, so they
    /// should differ between documents.
    pub payload: &'a [u8],
    /// What it is a piece of, such as the session of a turn. Pieces of the same whole that are
    /// `order`ed next to each other are neighbours.
    pub parent: Option<&'a str>,
    /// Its place within the parent.
    pub order: u32,
    /// When it was written, in milliseconds since 1970; 0 if nobody knows.
    pub time: i64,
    /// How much the caller favours it for other reasons than the query (its type, how often it
    /// was of use), from 0 to 1. It decides between documents that fit about equally well.
    pub prior: f32,
}
