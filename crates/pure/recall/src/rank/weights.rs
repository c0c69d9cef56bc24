//! What counts how much.
//!
//! # Model
//! Collections differ in *shape*: notes that each stand alone, turns of conversations, whole
//! sessions. What is called context here is the share of documents that have something beside
//! them, another passage of their own or a neighbouring document. Without context the ranker is one
//! for notes; with context everywhere it is the one measured on conversations; between them
//! weights are mixed.

/// The figures of the ranker. `docs/recall.md` says how they were found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Weights {
    /// What a word of the name counts, in words of a body of average length.
    pub name: f32,
    /// The same for a word of the description.
    pub description: f32,
    /// How fast a repeated word stops adding to the score.
    pub saturation: f32,
    /// How much a long document is marked down: 0 not at all, 1 in full proportion.
    pub length: Mixed,
    /// Which power of a word's rarity counts; below 1, common words count for more.
    pub rarity: Mixed,
    /// What a stop word of the query counts.
    pub stop_word: Mixed,
    /// What the best passage adds, in standard deviations.
    pub passage: Mixed,
    /// How much a long passage, or a long whole, is marked down.
    pub passage_length: f32,
    /// What the whole adds that a document is a piece of, in standard deviations.
    pub parent: f32,
    /// What a word written exactly as in the query adds to its stem.
    pub form: f32,
    /// What words standing together as in the query add.
    pub near: f32,
    /// What words count that begin alike, in place of one that is nowhere.
    pub alike: f32,
    /// What a longer or shorter form of a word counts beside it.
    pub variant: f32,
    /// What two words of the query written as one count.
    pub joined: f32,
    /// Whether standing instructions get places among the hits of a request.
    pub rules: bool,
    /// The most that being new adds, in standard deviations.
    pub recency: f32,
    /// The most that the caller's prior adds, in standard deviations.
    pub prior: f32,
}

/// A weight that depends on the shape of the collection.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mixed {
    /// Where documents stand alone.
    pub alone: f32,
    /// Where all have something beside them.
    pub in_context: f32,
}

impl Mixed {
    const fn new(alone: f32, in_context: f32) -> Self {
        Self { alone, in_context }
    }

    /// The weight for a share of documents in context.
    pub(crate) fn at(self, context: f32) -> f32 {
        self.alone + (self.in_context - self.alone) * context
    }
}

impl Default for Weights {
    fn default() -> Self {
        Self {
            name: 3.0,
            description: 2.0,
            saturation: 1.3,
            length: Mixed::new(0.85, 0.4),
            rarity: Mixed::new(0.7, 1.0),
            stop_word: Mixed::new(0.7, 0.1),
            passage: Mixed::new(0.0, 0.5),
            passage_length: 0.4,
            parent: 0.6,
            form: 0.2,
            near: 0.5,
            alike: 0.5,
            variant: 0.2,
            joined: 0.2,
            rules: true,
            recency: 0.05,
            prior: 0.1,
        }
    }
}
