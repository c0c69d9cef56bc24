//! Picking segments one by one within the budget.
//!
//! Each time the segment is taken that is worth most after what it repeats is taken off (maximal
//! marginal relevance), in relation to a mild power of its length: two short facts beat a long one
//! of the same score, but not at the price of fragments. Segments outside the graph's pool come
//! last, by score alone; what repeats word for word was left out before.

use super::Score;
use super::graph::Graph;

/// How much of a score is lost by repeating a picked segment whole.
const REPETITION: f32 = 1.2;
/// The power of the length that a score is divided by.
const LENGTH: f32 = 0.35;
/// Below this length nothing is gained by being shorter.
const SHORT: usize = 40;

pub(super) struct Selection<'a> {
    scores: &'a [Score],
    costs: &'a [usize],
    lengths: Vec<f32>,
    separator: usize,
    limit: usize,
}

impl<'a> Selection<'a> {
    pub(super) fn new(
        scores: &'a [Score],
        costs: &'a [usize],
        separator: usize,
        limit: usize,
    ) -> Self {
        Self {
            scores,
            costs,
            lengths: length_factors(costs),
            separator,
            limit,
        }
    }

    /// The picked places, in order.
    pub(super) fn choose(&self, pool: &[usize], graph: &Graph) -> Vec<usize> {
        let mut chosen = Vec::new();
        let mut left = self.limit;
        let mut repeats = vec![0.0_f32; pool.len()];
        let mut open = vec![true; pool.len()];
        loop {
            let best = (0..pool.len())
                .filter(|node| open[*node] && self.price(pool[*node], chosen.len()) <= left)
                .map(|node| (node, self.value(pool[node], repeats[node])))
                .max_by(|(a, x), (b, y)| x.total_cmp(y).then(b.cmp(a)));
            let Some((node, _)) = best else { break };
            open[node] = false;
            left -= self.price(pool[node], chosen.len());
            chosen.push(pool[node]);
            for (other, likeness) in graph.neighbours(node) {
                repeats[*other] = repeats[*other].max(*likeness);
            }
        }
        if pool.len() < self.scores.len() {
            self.fill(pool, &mut chosen, left);
        }
        chosen.sort_unstable();
        chosen
    }

    fn fill(&self, pool: &[usize], chosen: &mut Vec<usize>, mut left: usize) {
        let mut rest: Vec<_> = (0..self.scores.len())
            .filter(|place| pool.binary_search(place).is_err())
            .collect();
        rest.sort_by(|a, b| {
            self.value(*b, 0.0)
                .total_cmp(&self.value(*a, 0.0))
                .then(a.cmp(b))
        });
        for place in rest {
            let price = self.price(place, chosen.len());
            if price <= left {
                left -= price;
                chosen.push(place);
            }
        }
    }

    fn price(&self, place: usize, chosen: usize) -> usize {
        let separator = if chosen == 0 { 0 } else { self.separator };
        self.costs[place].saturating_add(separator)
    }

    fn value(&self, place: usize, repeats: f32) -> f32 {
        let score = self.scores[place].total;
        let worth = score - REPETITION * repeats * score.max(0.0);
        // A negative score must not gain from length.
        if worth > 0.0 {
            worth / self.lengths[place]
        } else {
            worth * self.lengths[place]
        }
    }
}

/// What a score is divided by, for each cost.
#[expect(clippy::cast_precision_loss, reason = "lengths of sentences")]
fn length_factors(costs: &[usize]) -> Vec<f32> {
    let factor = |cost: &usize| ((*cost).max(SHORT) as f32 / SHORT as f32).powf(LENGTH);
    costs.iter().map(factor).collect()
}
