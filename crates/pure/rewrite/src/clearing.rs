//! Layer 2 for a client's history: old results give way to the path of their text.
//!
//! The arithmetic is that of the policy `economic`: on a lapsed cache everything is written again
//! anyway, so that each old result is weighed by itself; on a warm one everything behind the first
//! cleared result is written again, which hardly ever pays.

use crate::body::Kind;
use crate::line::{Form, Sent};
use crate::plan::Plan;
use crate::results::Weighing;
use crate::rules::Tool;
use dormouse_context::clear::marker;
use dormouse_context::economy::{Clearing, Outlook, clearing_worth, cold_least};
use dormouse_core::units::Tokens;

/// Smallest result that goes: twice the tokens of the path in its place.
const LEAST: Tokens = Tokens(100);

/// Moment at which a clearing is considered.
pub(crate) struct Moment<'a> {
    pub(crate) outlook: &'a Outlook,
    /// Tokens of the prompt.
    pub(crate) used: Tokens,
    /// True if the provider's cache has lapsed.
    pub(crate) cold: bool,
}

impl Weighing<'_> {
    /// Clears old results where that is cheaper than carrying them on.
    pub(crate) fn clear(&self, moment: &Moment<'_>, sent: &mut Sent, plan: &mut Plan) {
        let settings = &self.around.rules.clear;
        let is_on = if moment.cold {
            settings.idle
        } else {
            settings.pressure
        };
        if !is_on || self.around.folder.is_none() {
            return;
        }
        let going = if moment.cold {
            self.on_lapsed_cache(moment, sent)
        } else {
            self.beyond(settings.leave, sent)
        };
        let Some(first) = going.first().copied() else {
            return;
        };
        let size = |at: usize| self.size(at);
        let freed: Tokens = going.iter().map(|at| size(*at)).sum();
        let kept = (first..self.body.len()).filter(|at| !going.contains(at));
        let clearing = Clearing {
            freed: self.line.corrected(freed),
            behind: self.line.corrected(kept.map(size).sum()),
            remaining: moment.outlook.requests_ahead(moment.used),
            cold: moment.cold,
        };
        let decision = clearing_worth(&clearing, &self.rates);
        plan.reason(&format!(
            "clear {} old results: {}",
            going.len(),
            decision.explain()
        ));
        if decision.act {
            for at in going {
                let path = |_: &str, path: &str| marker(path);
                self.put_away(at, Form::Cleared, path, sent, plan);
            }
        }
    }

    /// Old results that cost more to write into a cold cache than to fetch again.
    fn on_lapsed_cache(&self, moment: &Moment<'_>, sent: &Sent) -> Vec<usize> {
        let least = cold_least(moment.outlook, moment.used);
        let mut old = self.old_results(sent);
        let keep = self.around.rules.clear.idle_keep;
        // Results of the newest round count among those that stay.
        let newest = self.open_results(sent).len();
        old.truncate(old.len().saturating_sub(keep.saturating_sub(newest)));
        old.retain(|at| self.line.corrected(self.size(*at)) >= least);
        old
    }

    /// The oldest results, until those that are left take so many tokens.
    fn beyond(&self, leave: Tokens, sent: &Sent) -> Vec<usize> {
        let mut left = Tokens::ZERO;
        let mut old = self.old_results(sent);
        while let Some(at) = old.last().copied() {
            left += self.line.corrected(self.size(at));
            if left > leave {
                break;
            }
            old.pop();
        }
        old
    }

    /// Results in front of the newest answer that are still whole and may go, oldest first.
    fn old_results(&self, sent: &Sent) -> Vec<usize> {
        let old = sent.start..self.body.last_answer();
        let may_go = |at: &usize| {
            self.body
                .parts
                .get(*at)
                .is_some_and(|part| part.kind == Kind::ToolResult)
                && !sent.stand_ins.contains_key(at)
                && self.size(*at) >= LEAST
                && self.is_clearable(*at)
                && !self.is_bound(*at)
        };
        old.filter(may_go).collect()
    }

    fn is_clearable(&self, at: usize) -> bool {
        let name = self.body.call_of(at).and_then(|call| call.tool.as_deref());
        let Some(name) = name else {
            return false;
        };
        let mut listed = self.around.rules.clear.tools.iter();
        // The setting has our own names; other clients have other names for such tools.
        Tool::of(name) != Tool::Other || listed.any(|one| one.eq_ignore_ascii_case(name))
    }

    fn size(&self, at: usize) -> Tokens {
        let part = self.body.parts.get(at);
        part.map_or(Tokens::ZERO, |part| part.tokens(self.measure.bytes))
    }
}
