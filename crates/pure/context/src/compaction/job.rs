//! The compaction as a state machine without IO.
//!
//! `start` and `handle` return the next effect; the caller carries it out and reports the event.
//! The order: hooks, notes, model (riding the cache, then cold), extract without a model,
//! restoration, boundary. Every failure has a next step and the extract cannot fail, so a job ends
//! in a boundary or in a reason why there is none.
//!
//! Not here: the division of the view (`kept`), the gate for summaries (`gate`), running effects.

use super::cut;
use super::directive::{self, Part};
use super::earlier;
use super::frame::{self, History, Parts};
use super::gate::{self, GateError};
use super::kept::{self, Kept, NothingGoes};
use super::offline;
use super::protocol::{
    Ask, AskFailure, AskForm, CompactionOutcome, Effect, Event, JobContext, Request, Scope,
    SummaryAnswer,
};
use super::restore::{self, RestoredPart};
use super::rounds::Rounds;
use super::transcript::transcript;
use super::{OFFLINE, STREAM_RETRIES, TOO_LONG_DROP, TOO_LONG_TRIES};
use crate::boundary::Compaction;
use crate::breaker::Allowed;
use crate::evidence;
use crate::notes::{self, Notes};
use dormouse_core::block::Block;
use dormouse_core::id::Seq;
use dormouse_core::record::{Boundary, BoundaryKind, Trigger};
use dormouse_core::units::Tokens;
use dormouse_core::weight::Weight;
use std::collections::HashSet;

/// Tokens reserved for stand-ins that the repair may add (an opening turn, missing results); each
/// takes 10 to 20.
const STAND_INS: Tokens = Tokens(64);

/// Divisors of the limits for user messages and evidence, tried in order while the result is not
/// smaller. The first drops only restored files, the second all parts; the last leaves little.
const LESS_ROOM: [u64; 5] = [1, 1, 4, 16, 64];

/// Effect that the job waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Stage {
    Hooks,
    Notes,
    Asking,
    Verifying {
        summary: String,
    },
    Restoring(String, BoundaryKind),
    Committing {
        kind: BoundaryKind,
        before: Tokens,
        after: Tokens,
    },
    Over,
}

/// A compaction in progress.
#[derive(Clone, Debug)]
pub struct CompactionJob {
    request: Request,
    stage: Stage,
    /// Streams that broke; bounded by [`STREAM_RETRIES`].
    broken: u64,
    /// Requests refused as too long; bounded by [`TOO_LONG_TRIES`].
    too_long: u64,
    /// Oldest rounds left out of the request.
    dropped: usize,
    /// Set once the provider rejected the request in the form of a fork.
    cold: bool,
    /// Position from which everything stays, while notes are the summary.
    cut: Option<usize>,
    /// Last failure of the model; reported with the outcome.
    failure: Option<String>,
}

impl CompactionJob {
    /// A job for a request, before its first step.
    pub fn new(request: Request) -> Self {
        Self {
            request,
            stage: Stage::Hooks,
            broken: 0,
            too_long: 0,
            dropped: 0,
            cold: false,
            cut: None,
            failure: None,
        }
    }

    /// First effect: the hooks, unless there is nothing to compact.
    pub fn start(&mut self, cx: &JobContext<'_>) -> Effect {
        match self.kept(cx) {
            Ok(_) => Effect::RunHooks,
            Err(reason) => self.nothing_goes(&reason),
        }
    }

    /// Ends the job because nothing would be removed.
    fn nothing_goes(&mut self, reason: &NothingGoes) -> Effect {
        let why = reason.to_string();
        let asked = self.failure.is_some();
        self.over(match reason {
            // Only "everything has to stay" counts against the breaker; a wrong moment does not.
            NothingGoes::NotNow(_) => CompactionOutcome::Nothing(why),
            NothingGoes::AllStays => CompactionOutcome::NoProgress { why, asked },
        })
    }

    /// Takes the outcome of the last effect and returns the next one.
    pub fn handle(&mut self, cx: &JobContext<'_>, event: Event) -> Effect {
        match (self.stage.clone(), event) {
            (
                Stage::Hooks,
                Event::HooksRan {
                    blocked,
                    instructions,
                },
            ) => {
                // A hook blocks automatic compactions only: the user's command takes precedence.
                if let Some(why) = blocked.filter(|_| self.request.trigger != Trigger::Manual) {
                    return self.over(CompactionOutcome::Blocked(why));
                }
                self.request.instructions.extend(instructions);
                self.first(cx)
            }
            (Stage::Notes, Event::NotesRead(notes)) => self.notes(cx, notes),
            (Stage::Asking, Event::Answered(answer)) => self.answered(cx, answer),
            // The check may only improve the summary: if it fails, the first one is used.
            (Stage::Verifying { summary }, Event::Answered(answer)) => {
                let verified = answer.ok().and_then(|answer| gate::accepted(&answer).ok());
                self.restore(cx, verified.unwrap_or(summary), self.kind())
            }
            (Stage::Restoring(summary, kind), Event::Restored(parts)) => {
                self.commit(cx, &summary, kind, &parts)
            }
            (
                Stage::Committing {
                    kind,
                    before,
                    after,
                },
                Event::Committed,
            ) => {
                let model_failed = self.failure.take();
                self.over(CompactionOutcome::Compacted {
                    kind,
                    before,
                    after,
                    model_failed,
                })
            }
            (Stage::Committing { .. }, Event::NotCommitted(why)) => {
                self.over(CompactionOutcome::NotWritten(why))
            }
            // A caller's mistake ends the job instead of leaving it waiting for ever.
            (stage, event) => {
                let why = format!("a compaction in {stage:?} was told {event:?}");
                self.over(CompactionOutcome::NotWritten(why))
            }
        }
    }

    fn over(&mut self, outcome: CompactionOutcome) -> Effect {
        self.stage = Stage::Over;
        Effect::Done(outcome)
    }

    fn kept(&self, cx: &JobContext<'_>) -> Result<Kept, NothingGoes> {
        let view = cx.conversation.view();
        match self.cut {
            Some(cut) => Kept::from(view, cut, cx.measure),
            None => Kept::new(view, self.request.scope, &*cx.rule.keep, cx.measure),
        }
    }

    fn kind(&self) -> BoundaryKind {
        match self.request.scope {
            Scope::All => BoundaryKind::Full,
            Scope::From(_) | Scope::UpTo(_) => BoundaryKind::Partial,
        }
    }

    /// First source of a summary: notes for an automatic compaction of everything, else the model.
    fn first(&mut self, cx: &JobContext<'_>) -> Effect {
        let automatic = self.request.trigger != Trigger::Manual;
        if cx.rule.notes && automatic && self.request.scope == Scope::All {
            self.stage = Stage::Notes;
            return Effect::ReadNotes;
        }
        self.ask_or_extract(cx)
    }

    /// Uses the notes as the summary if they cover enough and the result is below the target.
    fn notes(&mut self, cx: &JobContext<'_>, notes: Option<(Notes, Seq)>) -> Effect {
        let usable = notes.filter(|(notes, _)| !notes.is_blank());
        let Some((notes, last)) = usable else {
            return self.ask_or_extract(cx);
        };
        let segments = cx.conversation.view().segments();
        let tail = cx.settings.notes_tail;
        let Ok(cut) = cut::notes_tail(&segments, last, tail, cx.measure) else {
            return self.ask_or_extract(cx);
        };
        let bytes = cx.conversation.bytes_per_token();
        let summary = notes::as_summary(&notes, cx.settings.notes, bytes);
        let summary = earlier::with_earlier(cx, summary);
        self.cut = Some(cut);
        // The size of the result is known only after composing it.
        match self.compose(cx, &summary, BoundaryKind::Notes, &[], 1) {
            Ok((_, after)) if after < cx.target => self.restore(cx, summary, BoundaryKind::Notes),
            _ => {
                self.cut = None;
                self.ask_or_extract(cx)
            }
        }
    }

    fn ask_or_extract(&mut self, cx: &JobContext<'_>) -> Effect {
        if self.request.allowed == Allowed::Model {
            self.ask(cx)
        } else {
            self.extract(cx)
        }
    }

    fn ask(&mut self, cx: &JobContext<'_>) -> Effect {
        self.stage = Stage::Asking;
        Effect::Ask(Box::new(Ask {
            form: self.form(cx),
            directive: directive::directive(&self.part(cx), &self.request.instructions),
        }))
    }

    fn part(&self, cx: &JobContext<'_>) -> Part {
        let begins = |seq: Seq| kept::beginning(cx.conversation.view(), seq);
        match self.request.scope {
            Scope::All => Part::Whole,
            Scope::From(seq) => Part::FromHere {
                begins: begins(seq),
            },
            Scope::UpTo(seq) => Part::UpToHere {
                begins: begins(seq),
            },
        }
    }

    /// Form of the request, from cheapest to most robust.
    fn form(&self, cx: &JobContext<'_>) -> AskForm {
        let segments = Rounds::of(cx.conversation.view()).without(self.dropped);
        if self.cold || !cx.rule.rides {
            AskForm::Cold(transcript(&segments, cx.rule.clamp))
        } else if self.dropped > 0 {
            AskForm::Shortened(segments)
        } else {
            AskForm::Riding
        }
    }

    /// Takes the model's answer: use the summary, retry in another form, or extract.
    fn answered(
        &mut self,
        cx: &JobContext<'_>,
        answer: Result<SummaryAnswer, AskFailure>,
    ) -> Effect {
        let failure = match answer {
            Ok(answer) => match gate::accepted(&answer) {
                Ok(summary) => return self.summarised(cx, summary),
                Err(error) => AskFailure::Failed(error.to_string()),
            },
            Err(failure) => failure,
        };
        match failure {
            // A broken stream is transient: same request again.
            AskFailure::Broken(why) => {
                self.failure = Some(why);
                self.broken += 1;
                if self.broken <= STREAM_RETRIES {
                    return self.ask(cx);
                }
            }
            AskFailure::TooLong { gap } => {
                // Retrying the same request would fail the same way, so rounds are dropped first.
                self.failure = Some("the request for the summary is too long".to_owned());
                self.too_long += 1;
                if self.too_long <= TOO_LONG_TRIES && self.drop_rounds(cx, gap) {
                    return self.ask(cx);
                }
            }
            AskFailure::Rejected(why) => {
                // Some providers reject the fork's form (tools, thinking): ask once more as plain
                // text.
                self.failure = Some(why);
                if cx.rule.rides && !std::mem::replace(&mut self.cold, true) {
                    return self.ask(cx);
                }
            }
            AskFailure::Failed(why) => self.failure = Some(why),
        }
        self.extract(cx)
    }

    /// Drops the oldest rounds until the gap is covered. Returns whether a shorter request exists.
    fn drop_rounds(&mut self, cx: &JobContext<'_>, gap: Option<Tokens>) -> bool {
        let share = TOO_LONG_DROP;
        let next = Rounds::of(cx.conversation.view()).drop(self.dropped, gap, share, cx.measure);
        self.dropped = next.unwrap_or(self.dropped);
        next.is_some()
    }

    fn summarised(&mut self, cx: &JobContext<'_>, summary: String) -> Effect {
        // An earlier failure no longer counts: the breaker must not count a success as one.
        self.failure = None;
        let Some(check) = cx.rule.check else {
            return self.restore(cx, summary, self.kind());
        };
        let ask = Ask {
            form: self.form(cx),
            directive: format!(
                "{}\n\n{check}\n\n{summary}",
                directive::directive(&self.part(cx), &self.request.instructions)
            ),
        };
        self.stage = Stage::Verifying { summary };
        Effect::Ask(Box::new(ask))
    }

    /// Summary without a model: the most telling sentences of what is removed.
    fn extract(&mut self, cx: &JobContext<'_>) -> Effect {
        let bytes = cx.conversation.bytes_per_token();
        let kept = match self.kept(cx) {
            Ok(kept) => kept,
            Err(reason) => return self.nothing_goes(&reason),
        };
        // At most a quarter of what it replaces, so that even an extract makes clear progress.
        let budget = OFFLINE.min(Tokens(kept.replaced.get() / 4));
        let earlier = frame::summaries_in(kept.going()).join("\n\n");
        let extract = offline::extract(kept.going(), Some(&earlier), budget, bytes);
        let summary = format!(
            "An extract made without a model, in the order of the conversation:\n\n{extract}"
        );
        self.restore(cx, summary, BoundaryKind::Offline)
    }

    /// Requests the files to restore and keeps the summary meanwhile.
    fn restore(&mut self, cx: &JobContext<'_>, summary: String, kind: BoundaryKind) -> Effect {
        let most = cx.rule.restore.files;
        let files = evidence::recent_files(&cx.conversation.state().chronicle, cx.history, most);
        let kept = summary.clone();
        self.stage = Stage::Restoring(kept, kind);
        Effect::Restore { files, summary }
    }

    fn commit(
        &mut self,
        cx: &JobContext<'_>,
        summary: &str,
        kind: BoundaryKind,
        parts: &[RestoredPart],
    ) -> Effect {
        // If the result is not smaller, or above the target and so in need of the next compaction at
        // once, restored files are dropped first; then user messages and evidence get less room.
        let mut composed = self.compose(cx, summary, kind, parts, 1);
        let mut others = restore::without_files(parts);
        for part in LESS_ROOM {
            match &composed {
                Ok((_, after)) if *after > cx.target => {}
                Err(GateError::NotSmaller { .. }) => {}
                Ok(_) | Err(_) => break,
            }
            let shorter = self.compose(cx, summary, kind, &std::mem::take(&mut others), part);
            if composed.is_err() || matches!(&shorter, Ok((_, after)) if *after <= cx.target) {
                composed = shorter;
            }
        }
        match composed {
            Ok((boundary, after)) => {
                let before = boundary.pre_tokens.unwrap_or_default();
                self.stage = Stage::Committing {
                    kind,
                    before,
                    after,
                };
                Effect::Commit(Box::new(boundary))
            }
            // The last resort gained nothing: the breaker has to know.
            Err(error) if kind == BoundaryKind::Offline => {
                let asked = self.failure.is_some();
                let why = error.to_string();
                self.over(CompactionOutcome::NoProgress { why, asked })
            }
            // The model's summary or the notes do not fit: extract, with the policy's own division.
            Err(error) => {
                self.failure = Some(error.to_string());
                self.cut = None;
                self.extract(cx)
            }
        }
    }

    /// Composes the boundary and checks that it is smaller and loses no user message.
    fn compose(
        &self,
        cx: &JobContext<'_>,
        summary: &str,
        kind: BoundaryKind,
        parts: &[RestoredPart],
        part_of_room: u64,
    ) -> Result<(Boundary, Tokens), GateError> {
        let conversation = cx.conversation;
        let bytes = conversation.bytes_per_token();
        let kept = self.kept(cx).map_err(|_| GateError::Empty)?;
        let chronicle = &conversation.state().chronicle;
        let staying = kept.records();
        let stays = |seq: Seq| staying.contains(&seq);
        let room = |limit: Tokens| Tokens(limit.get() / part_of_room);
        let carry = cx.rule.carry;
        let section = carry
            .user_messages
            .map(|limit| evidence::user_messages(chronicle, room(limit), bytes, stays));
        // The ledger quotes only user messages that stand nowhere else word for word.
        let ledger = carry.evidence.map(|limit| {
            let exact = section.iter().flat_map(|section| &section.accounted);
            let exact = exact.filter(|message| message.form == evidence::Form::Exact);
            let exact: HashSet<Seq> = exact.map(|message| message.seq).collect();
            let quoted = |seq: Seq| stays(seq) || exact.contains(&seq);
            evidence::render_beside(chronicle, room(limit), bytes, quoted)
        });
        let framed = Parts {
            summary: summary.to_owned(),
            user_messages: section
                .map(|section| section.text)
                .filter(|text| !text.is_empty()),
            evidence: ledger.filter(|text| !text.is_empty()),
            history: History::Log(cx.history.to_owned()),
        };
        // Only summaries written by a model teach the estimate of their size; notes and extracts
        // have other sizes.
        let by_model = matches!(kind, BoundaryKind::Full | BoundaryKind::Partial);
        let written = by_model.then(|| cx.measure.tokens(Block::text(summary).weight()));
        let mut blocks = framed.blocks();
        blocks.extend(restore::blocks(parts, &cx.rule.restore, bytes));
        let weights = blocks.iter().map(|block| *block.weight());
        let added = weights.fold(Weight::default(), std::ops::Add::add);
        let added = cx.measure.tokens(&added);
        if added + STAND_INS >= kept.replaced {
            return Err(GateError::NotSmaller {
                result: added,
                replaced: kept.replaced,
            });
        }
        // Checked against the text that becomes the prompt, not against the plan for it.
        if carry.accounts_for_all {
            let section = framed.user_messages.as_deref().unwrap_or_default();
            if let Err(missing) = evidence::accounts_for_all(chronicle, section, stays) {
                return Err(GateError::UserMessages(missing.len()));
            }
        }
        let spliced = conversation.view().spliced(cx.seq, &blocks);
        let manifest = conversation.compacted(&Compaction {
            seq: cx.seq,
            id: cx.id.clone(),
            summary: &blocks,
            restored: &[],
            spliced: &spliced.blocks,
            keep: &kept.ranges(),
            place: kept.place,
        });
        let unsent = conversation.view().unsent();
        let unsent = unsent.map(|part| cx.measure.tokens(part.block.weight()));
        let fixed = cx.measure.tokens(cx.prefix) + unsent.sum();
        let before = conversation.count(cx.prefix).tokens;
        // Add first: an estimate may exceed the measured count, and token subtraction saturates.
        let after = before + added - kept.replaced;
        Ok((
            Boundary {
                trigger: self.request.trigger,
                kind,
                pre_tokens: Some(before),
                post_tokens: Some(after),
                fixed_tokens: Some(fixed),
                summary_tokens: written,
                summary: spliced.whole,
                restored: Vec::new(),
                text: spliced.text,
                spliced: spliced.blocks,
                previous: conversation.state().boundary.clone(),
                manifest: Some(manifest),
                preserved: None,
            },
            after,
        ))
    }
}
