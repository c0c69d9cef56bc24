//! Text to be indexed.

/// Text to be found, with bytes that the caller gets back for a hit.
///
/// Only the words are kept, not the text. The caller knows a found document by its payload.
#[derive(Clone, Copy, Debug, Default)]
pub struct Document<'a> {
    /// Title, file name or folder. Its words count most.
    pub name: &'a str,
    /// Summary in a line.
    pub description: &'a str,
    /// Full text; a long one is cut into passages.
    pub body: &'a str,
    /// Bytes of the caller's, given back with a hit. They also decide between equals, so they
    /// should differ between documents.
    pub payload: &'a [u8],
    /// Whole that it is a piece of, such as the session of a turn. Pieces of the same whole that
    /// are `order`ed next to each other are neighbours.
    pub parent: Option<&'a str>,
    /// Place within the parent; neighbours differ by one.
    pub order: u32,
    /// Time of writing, in milliseconds since 1970; 0 if unknown.
    pub time: i64,
    /// Favour of the caller for other reasons than the query (its type, earlier use), from 0 to 1.
    /// It decides between documents that fit about equally well.
    pub prior: f32,
}
