//! Greedy selection of segments within the budget.
//!
//! Each step takes the segment with the highest score after a deduction for what it repeats
//! (maximal marginal relevance), divided by a mild power of its length: two short facts win over a
//! long one of the same score, but fragments do not. Segments outside the graph's pool come last,
//! by score alone. Verbatim repetitions were dropped earlier.

use super::Score;
use super::graph::Graph;

/// Share of a score lost by repeating a picked segment completely; above 1, so that a full
/// repetition ranks below everything with a positive score.
const REPETITION: f32 = 1.2;
/// Exponent of the length that a score is divided by: 0 ignores length, 1 would fill the summary
/// with the shortest fragments.
const LENGTH: f32 = 0.35;
/// Length in units of the budget below which shorter is no advantage: about a short sentence.
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

    /// Indices of the picked segments, in order.
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
        // Room may be left once the pool is exhausted; without this a long text would get a short
        // summary.
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
        // A negative score must not be improved by length.
        if worth > 0.0 {
            worth / self.lengths[place]
        } else {
            worth * self.lengths[place]
        }
    }
}

/// Divisor of the score, for each cost.
#[expect(clippy::cast_precision_loss, reason = "lengths of sentences")]
fn length_factors(costs: &[usize]) -> Vec<f32> {
    let factor = |cost: &usize| ((*cost).max(SHORT) as f32 / SHORT as f32).powf(LENGTH);
    costs.iter().map(factor).collect()
}
