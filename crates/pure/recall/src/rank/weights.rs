//! Weights of the ranker's signals.
//!
//! # Model
//! Collections differ in *shape*: notes that each stand alone, turns of conversations, whole
//! sessions. Context is here the share of documents that have something beside them, another
//! passage of their own or a neighbouring document. Without context the ranker is one for notes;
//! with context everywhere it is the one measured on conversations; between them weights are mixed.
//!
//! # Not here
//! The features of confidence (`confidence`).

/// Figures of the ranker. `docs/recall.md` says how they were found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Weights {
    /// Count of a word of the name, in words of a body of average length.
    pub name: f32,
    /// Count of a word of the description, in the same unit.
    pub description: f32,
    /// Speed at which a repeated word stops adding to the score.
    pub saturation: f32,
    /// Penalty for a long document: 0 none, 1 in full proportion.
    pub length: Mixed,
    /// Power of a word's rarity; below 1, common words count for more.
    pub rarity: Mixed,
    /// Factor of a stop word of the query.
    pub stop_word: Mixed,
    /// Weight of the best passage, in standard deviations.
    pub passage: Mixed,
    /// Penalty for a long passage, or a long whole, from 0 to 1.
    pub passage_length: f32,
    /// Weight of the whole that a document is a piece of, in standard deviations.
    pub parent: f32,
    /// Factor of a word written exactly as in the query, beside its stem.
    pub form: f32,
    /// Factor of words that stand together as in the query.
    pub near: f32,
    /// Factor of words that begin alike, in place of one that is nowhere.
    pub alike: f32,
    /// Factor of a longer or shorter form of a word beside it.
    pub variant: f32,
    /// Factor of two words of the query written as one.
    pub joined: f32,
    /// Set if standing instructions get places among the hits of a request.
    pub rules: bool,
    /// Most that being new adds, in standard deviations.
    pub recency: f32,
    /// Most that the caller's prior adds, in standard deviations.
    pub prior: f32,
}

/// Weight that depends on the shape of the collection.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mixed {
    /// Value if all documents stand alone.
    pub alone: f32,
    /// Value if all have something beside them.
    pub in_context: f32,
}

impl Mixed {
    const fn new(alone: f32, in_context: f32) -> Self {
        Self { alone, in_context }
    }

    /// Weight for a share of documents in context, from 0 to 1.
    pub(crate) fn at(self, context: f32) -> f32 {
        // Linear: a collection that grows from notes into conversations changes its ranks without a
        // jump.
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
