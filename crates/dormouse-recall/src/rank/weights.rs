//! What counts how much.

/// The figures of the ranker. `docs/recall.md` says how they were found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Weights {
    /// What a word of the name counts, in words of the body.
    pub name: f32,
    /// What a word of the description counts, in words of the body.
    pub description: f32,
    /// How fast a repeated word stops adding to the score.
    pub saturation: f32,
    /// How much a long document is marked down: 0 not at all, 1 in full proportion.
    pub length: f64,
    /// The same for the whole that documents are pieces of.
    pub parent_length: f64,
    /// The same for a unit with its neighbours.
    pub passage_length: f64,
    /// What a stop word of the query counts.
    pub stop_word: f32,
    /// What words next to each other as in the query add.
    pub near: f32,
    /// What the best passage adds, when there are passages.
    pub passage: f32,
    /// What the document's whole adds, when it is a piece of one.
    pub parent: f32,
    /// What a word that begins alike counts in place of one that is nowhere.
    pub alike: f32,
    /// What two words of the query written as one count.
    pub joined: f32,
    /// The most that recency adds, in standard deviations of the score.
    pub recency: f32,
    /// The most that the caller's prior adds, in standard deviations of the score.
    pub prior: f32,
}

impl Default for Weights {
    fn default() -> Self {
        Self {
            name: 2.0,
            description: 1.5,
            saturation: 1.2,
            length: 0.4,
            parent_length: 0.4,
            passage_length: 0.4,
            stop_word: 0.3,
            near: 0.3,
            passage: 0.5,
            parent: 0.6,
            alike: 0.5,
            joined: 0.7,
            recency: 0.05,
            prior: 0.1,
        }
    }
}
