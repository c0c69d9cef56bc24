//! How sure it is that a hit helps.

use super::near::Look;
use super::plan::Plan;
use crate::searcher::Searcher;

pub(super) struct Evidence {
    whole: f32,
    unit: f32,
}

impl Evidence {
    pub(super) fn new(searcher: &Searcher, plan: &Plan) -> Self {
        let speaking = plan.words.iter().filter(|word| !word.stop_word);
        Self {
            whole: speaking.map(|word| word.rarity).sum(),
            unit: searcher.rarity(1),
        }
    }

    pub(super) fn confidence(&self, score: f32, look: Look) -> f32 {
        if std::env::var("FEAT").is_ok() { eprintln!("FEAT {} {} {} {}", look.covered / self.whole.max(0.001), look.covered / self.unit, look.near / self.unit, score / self.unit); }
        0.0
    }
}
