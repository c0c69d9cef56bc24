//! Layer 1: a round that does not fit the window is cut before it is sent.
//!
//! Two moments. Before the layers plan, a round that no compaction could make room for is cut, so
//! that the compaction is possible at all. Before sending, whatever the layers did, the prompt is
//! cut to the limit at which requests stop. Results that a refused request has contained are cut
//! too: no answer depends on them.
//!
//! Not here: the choice of results and their shorter forms (`context/src/offload/fit.rs`).

use crate::config::Role;
use crate::driver::Driver;
use crate::effect::{SaveFile, SavePlace, Work};
use crate::error::DriveError;
use crate::input::EffectOutcome;
use crate::layers::Job;
use crate::notice::Notice;
use crate::outbox::{Running, SaveFor};
use crate::turn::RECOVERED;
use bytes::Bytes;
use dormouse_ask::{Failure, FailureKind};
use dormouse_context::breaker::{Allowed, Breaker};
use dormouse_context::offload::{CutResult, fit};
use dormouse_context::segment::Segment;
use dormouse_core::block::BlockKind;
use dormouse_core::record::{
    Body, ClearedBlock, Clearing, Replacement, ReplacementDecision, Role as Side,
};
use dormouse_core::settings::keys;
use dormouse_core::units::Tokens;
use dormouse_core::weight::Weight;

/// Moment at which a round is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FitMoment {
    /// Before the layers plan.
    BeforeLayers,
    /// Before the request is planned.
    BeforeSending,
}

/// Cut whose texts are being saved.
#[derive(Debug)]
pub(crate) struct FitRun {
    cut: Vec<CutResult>,
    /// Indices of results whose files are being saved, in order.
    unsaved: Vec<usize>,
}

impl Driver {
    /// Cuts the results that wait for an answer if the prompt does not fit; true while files are
    /// being saved.
    pub(crate) fn fit_round(&mut self, moment: FitMoment) -> Result<bool, DriveError> {
        let excess = self.excess(moment);
        // A fork shares its parent's bytes and its results are discarded with it.
        let applies = self.config.role == Role::Main && self.settings.policy.fits_rounds();
        let failed = self.turn.as_ref().is_some_and(|turn| turn.fit_failed);
        if excess == Tokens::ZERO || !applies || failed {
            return Ok(false);
        }
        let cut = self.cut(excess);
        if cut.is_empty() {
            return Ok(false);
        }
        let unsaved = (0..cut.len()).filter(|at| cut[*at].text.is_some());
        let unsaved = unsaved.collect();
        self.save_fit(FitRun { cut, unsaved })
    }

    /// Saves the files that are left, or records the cut when there are none.
    fn save_fit(&mut self, run: FitRun) -> Result<bool, DriveError> {
        let folder = self.config.place.results();
        let files = run.unsaved.iter().filter_map(|at| {
            let one = &run.cut[*at];
            Some(SaveFile {
                place: SavePlace::File(folder.join(one.file.as_ref()?)),
                bytes: Bytes::from(one.text.clone()?),
            })
        });
        let files: Vec<SaveFile> = files.collect();
        if files.is_empty() {
            self.write_fit(run)?;
            return Ok(false);
        }
        self.job = Some(Job::Fit(run));
        self.outbox
            .start(Running::Save(SaveFor::Fit), Work::Save(files));
        Ok(true)
    }

    pub(crate) fn fit_saved(&mut self, outcome: EffectOutcome) {
        let Some(Job::Fit(mut run)) = self.job.take() else {
            return;
        };
        let result = match outcome {
            EffectOutcome::Saved(result) => result,
            _ => Err((0, "the write was ended by the host".to_owned())),
        };
        match result {
            Ok(()) => run.unsaved.clear(),
            Err((failed, why)) => {
                if let Some(turn) = &mut self.turn {
                    turn.fit_failed = true;
                }
                let failed = failed.min(run.unsaved.len().saturating_sub(1));
                let at = run.unsaved[failed];
                // Saving stopped at the failure: files before it were written, those behind it are
                // saved next.
                run.unsaved.drain(..=failed);
                let bytes = self.settings.raw.get(keys::OFFLOAD_PREVIEW);
                let file = run.cut[at].not_saved(&why, bytes).unwrap_or_default();
                let path = self.config.place.results().join(file);
                let path = path.display().to_string();
                self.tell(Notice::NotSaved { path, why });
            }
        }
        if let Err(error) = self.save_fit(run) {
            self.fail_turn(error);
        }
    }

    /// Records the cut: results not sent yet by layer 1's own record, those of a refused request by
    /// a clearing, because only a rewrite may change what a request contained.
    fn write_fit(&mut self, run: FitRun) -> Result<(), DriveError> {
        let folder = self.config.place.results();
        let mut sent = Vec::new();
        for one in run.cut {
            if let Some((file, text)) = one.file.as_ref().zip(one.text.as_ref()) {
                self.tell(Notice::Offloaded {
                    path: folder.join(file).display().to_string(),
                    chars: text.chars().count() as u64,
                });
            }
            if self.conversation.view().was_sent(one.key) {
                sent.push(ClearedBlock {
                    key: one.key,
                    block: one.block,
                });
                continue;
            }
            let decision = ReplacementDecision::Replaced {
                preview: one.block,
                blob: one.content,
                file: one.file,
            };
            let key = one.key;
            self.emit(Body::Replacement(Replacement { key, decision }))?;
        }
        if !sent.is_empty() {
            self.emit(Body::Cleared(Clearing {
                blocks: sent,
                reason: "the round does not fit the window".to_owned(),
                ..Clearing::default()
            }))?;
            self.ledger.announce("a round that did not fit was cut");
        }
        Ok(())
    }

    fn cut(&self, excess: Tokens) -> Vec<CutResult> {
        let folder = self.config.place.results().display().to_string();
        let bytes = self.settings.raw.get(keys::OFFLOAD_PREVIEW);
        let pending = self.conversation.view().pending();
        fit(pending, excess, self.measure(), (&folder, bytes))
    }

    /// Tokens by which the prompt, or the round alone, is too long.
    fn excess(&self, moment: FitMoment) -> Tokens {
        let used = self.used();
        let limit = self.fitting_limit();
        if used <= limit {
            return Tokens::ZERO;
        }
        match moment {
            FitMoment::BeforeSending => used - limit,
            FitMoment::BeforeLayers if !self.may_compact() => Tokens::ZERO,
            FitMoment::BeforeLayers => {
                let target = self.settings.thresholds.autocompact_target.min(limit);
                let room = target - self.measure().tokens(self.config.prefix.weight());
                let pending = weigh(self.conversation.view().pending());
                // A quarter is left to the summary and everything beside it. Where that takes more,
                // the check before sending cuts again.
                self.measure().tokens(&pending) - Tokens(room.get() / 4 * 3)
            }
        }
    }

    /// Longest prompt that is sent: the limit at which requests stop, or less after the provider
    /// has refused one as too long.
    fn fitting_limit(&self) -> Tokens {
        let facts = &self.conversation.state().facts;
        let known = facts.get(RECOVERED).and_then(serde_json::Value::as_u64);
        let limit = self.settings.thresholds.blocking_limit;
        known.map_or(limit, |known| limit.min(Tokens(known)))
    }

    /// True if a compaction could remove history now.
    fn may_compact(&self) -> bool {
        let breaker = Breaker::of(self.conversation.state());
        self.settings.policy.recovers()
            && self.settings.thresholds.auto_compact
            && breaker.allows(self.settings.layers.compact.breaker) != Allowed::Nothing
    }

    /// Size in our own estimate at which a refused prompt would have been accepted.
    pub(crate) fn accepted_size(&self, refused: Option<&Failure>) -> Tokens {
        let used = self.used();
        let gap = refused.and_then(|failure| match failure.kind {
            FailureKind::TooLong { gap } => gap,
            _ => None,
        });
        // The estimate was off once, so the gap gets an eighth on top; an unknown one is taken for a
        // fifth of the prompt.
        gap.map_or(Tokens(used.get() / 5 * 4), |gap| {
            used - gap - Tokens(gap.get() / 8)
        })
    }

    /// Ends a turn whose prompt was refused and could not be compacted, unless a cut makes it fit.
    pub(crate) fn refused(&mut self, failure: Box<Failure>) {
        let excess = self.excess(FitMoment::BeforeSending);
        let helps = self.settings.policy.fits_rounds() && !self.cut(excess).is_empty();
        if failure.is_too_long() && excess > Tokens::ZERO && helps {
            self.set_phase(crate::turn::Phase::Sending);
            return;
        }
        let error = self.too_long_message();
        self.fail_turn(error.unwrap_or(DriveError::Model(failure)));
    }

    /// Error for a prompt that one message of the user alone makes too long.
    pub(crate) fn too_long_message(&self) -> Option<DriveError> {
        if !self.settings.policy.fits_rounds() {
            return None;
        }
        let measure = self.measure();
        let limit = self.fitting_limit();
        let fixed = measure.tokens(self.config.prefix.weight());
        let words = self.conversation.view().pending().filter(|segment| {
            segment.role == Side::User && segment.block.kind() != BlockKind::ToolResult
        });
        let mut messages: Vec<(dormouse_core::id::Seq, Weight)> = Vec::new();
        for segment in words {
            let weight = *segment.block.weight();
            match messages.last_mut() {
                Some((seq, sum)) if *seq == segment.origin.record => *sum += weight,
                _ => messages.push((segment.origin.record, weight)),
            }
        }
        let sizes = messages
            .into_iter()
            .map(|(seq, weight)| (measure.tokens(&weight), seq));
        let (tokens, message) = sizes.max()?;
        // A prefix that leaves no room at all is no fault of the message.
        let culprit = fixed < limit && tokens + fixed > limit;
        culprit.then_some(DriveError::MessageTooLong {
            message,
            tokens,
            room: limit - fixed,
        })
    }
}

fn weigh<'a>(segments: impl Iterator<Item = &'a Segment>) -> Weight {
    segments.fold(Weight::default(), |sum, segment| {
        sum + *segment.block.weight()
    })
}
