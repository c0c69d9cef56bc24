//! Layer 1, second form: execution of distilling.
//!
//! The choice is made when a request is planned and stands in its record. It is carried out as soon
//! as the answer is whole, also after a resume: file first, then one record. A result whose answer
//! was cut off stays whole.
//!
//! Not here: the choice, the arithmetic and the text of a distillate (`context/src/distil`).

use crate::config::Role;
use crate::driver::Driver;
use crate::effect::{SaveFile, SavePlace, Work};
use crate::error::DriveError;
use crate::input::EffectOutcome;
use crate::layers::Job;
use crate::notice::Notice;
use crate::outbox::{Running, SaveFor};
use bytes::Bytes;
use dormouse_ask::Caching;
use dormouse_context::bound::{RewriteVerdict, local_rewrite};
use dormouse_context::distil::{DistilPlan, Distillate, Surroundings, distillate, names};
use dormouse_context::layers::{self, Moment};
use dormouse_context::segment::Segment;
use dormouse_core::block::BlockKind;
use dormouse_core::id::{BlockKey, RecordId};
use dormouse_core::record::{Body, Distillation, DistilledBlock, Role as Side};
use dormouse_core::units::Tokens;
use std::sync::Arc;

/// Distillation whose texts are being saved.
#[derive(Debug)]
pub(crate) struct DistilRun {
    distillates: Vec<(BlockKey, Distillate)>,
    freed: Tokens,
    /// Request whose results they are.
    request: Option<RecordId>,
}

impl Driver {
    /// Chooses the waiting results that are to be distilled, and arranges the conversation for it.
    pub(crate) fn plan_distillation(&mut self) -> DistilPlan {
        if self.config.role != Role::Main {
            return DistilPlan::default();
        }
        let folder = self.config.place.results().display().to_string();
        let around = Surroundings {
            automatic: self.config.capabilities.caching == Caching::Automatic,
            minimum: self
                .config
                .models
                .lookup(&self.config.model)
                .info
                .cache_minimum,
            folder: &folder,
        };
        let tools = Arc::clone(&self.config.tools);
        let plan = self.with_inputs(Moment::BeforeRequest, |state, inputs| {
            layers::distil(state, inputs, &around, |tool| {
                tools.traits(tool).reads_files
            })
        });
        Arc::make_mut(&mut self.conversation).arrange(&plan.keys);
        plan
    }

    /// Reports results of the last request that were sent unmarked and stay whole after all.
    pub(crate) fn tell_kept(&mut self) {
        let last = self.conversation.state().last_request.as_ref();
        let results = last.map_or(0, |last| last.distil.len());
        if results > 0 {
            self.tell(Notice::NotDistilled { results });
        }
    }

    /// Starts a distillation that is due; true while its files are being saved.
    pub(crate) fn distil_if_due(&mut self) -> bool {
        let due = self.config.role == Role::Main && !self.conversation.distillable().is_empty();
        let request = self.conversation.state().last_request.as_ref();
        let request = request.map(|last| last.id.clone());
        if !due || self.not_distilled == request || self.journal.failed().is_some() {
            return false;
        }
        let run = self.distillation(request);
        if run.distillates.is_empty() {
            // Nothing became shorter, or thinking is bound to it: the results stay.
            self.not_distilled = run.request;
            return false;
        }
        let folder = self.config.place.results();
        let files = run.distillates.iter().map(|(_, one)| SaveFile {
            place: SavePlace::File(folder.join(&one.file)),
            bytes: Bytes::from(one.text.clone()),
        });
        let files = files.collect();
        self.job = Some(Job::Distil(Box::new(run)));
        self.outbox
            .start(Running::Save(SaveFor::Distil), Work::Save(files));
        true
    }

    fn distillation(&self, request: Option<RecordId>) -> DistilRun {
        let conversation = &self.conversation;
        let view = conversation.view();
        let keys = conversation.distillable();
        let measure = self.measure();
        let limit = self.settings.layers.distil.limit;
        let folder = self.config.place.results().display().to_string();
        let frozen = view.frozen();
        let mut run = DistilRun {
            distillates: Vec::new(),
            freed: Tokens::ZERO,
            request,
        };
        // The turn's results stand at the end; the response behind them is in the tail.
        let turn = (0..frozen.len()).rev();
        let turn = turn.map_while(|at| Some((at, frozen.get(at)?)));
        let turn = turn.take_while(|(_, segment)| segment.role != Side::Assistant);
        let results: Vec<(usize, &Segment)> = turn
            .filter(|(_, one)| keys.contains(&one.origin) && !one.is_rewritten())
            .collect();
        let Some((first, _)) = results.last() else {
            return run;
        };
        // Signed thinking in the answer is bound to the whole result.
        let free = RewriteVerdict::Allowed {
            thinking: Vec::new(),
        };
        if local_rewrite(view, *first) != free {
            return run;
        }
        let named = names(self.words_in_use().iter().map(String::as_str));
        for (_, segment) in results.into_iter().rev() {
            let Some(one) = distillate(&segment.block, &named, &folder, (limit, measure)) else {
                continue;
            };
            run.freed += measure.tokens(segment.block.weight());
            run.freed = run.freed - measure.tokens(one.block.weight());
            run.distillates.push((segment.origin, one));
        }
        run
    }

    /// Texts that tell what of a result is in use: the answer to it, its calls, and the user's last
    /// words.
    fn words_in_use(&self) -> Vec<String> {
        let view = self.conversation.view();
        let said = |segment: &Segment| match segment.block.kind() {
            BlockKind::ToolUse => {
                let call = segment.block.bytes();
                Some(String::from_utf8_lossy(call).replace(['"', '\\', ','], " "))
            }
            BlockKind::Text => segment.block.readable_text(),
            _ => None,
        };
        let answer = view.tail().response().iter().filter_map(said);
        let mut earlier = view.frozen().iter().rev();
        let is_words = |segment: &&Segment| {
            segment.role == Side::User && segment.block.kind() == BlockKind::Text
        };
        let words = earlier.find(is_words).and_then(said);
        answer.chain(words).collect()
    }

    /// Records a distillation after its files were saved. If one could not be written, the results
    /// stay whole: a distillate would name a file that does not exist.
    pub(crate) fn distil_saved(&mut self, outcome: EffectOutcome) {
        let Some(Job::Distil(run)) = self.job.take() else {
            return;
        };
        let failed = match outcome {
            EffectOutcome::Saved(Ok(())) => None,
            EffectOutcome::Saved(Err(failed)) => Some(failed),
            _ => Some((0, "the write was ended by the host".to_owned())),
        };
        if let Some((at, why)) = failed {
            let file = run.distillates.get(at).map(|(_, one)| one.file.as_str());
            let path = self.config.place.results().join(file.unwrap_or_default());
            let path = path.display().to_string();
            self.tell(Notice::NotSaved { path, why });
            self.not_distilled = run.request;
            return;
        }
        if let Err(error) = self.write_distillation(*run) {
            self.fail_turn(error);
        }
    }

    fn write_distillation(&mut self, run: DistilRun) -> Result<(), DriveError> {
        let results = run.distillates.len();
        let freed = run.freed;
        let blocks = run
            .distillates
            .into_iter()
            .map(|(key, one)| DistilledBlock {
                key,
                block: one.block,
                blob: one.content,
                file: Some(one.file),
            });
        self.emit(Body::Distilled(Box::new(Distillation {
            blocks: blocks.collect(),
            thinking: Vec::new(),
            reason: "answered, and as the request decided".to_owned(),
            freed,
        })))?;
        self.tell(Notice::Distilled { results, freed });
        // Notes are written from the distilled form.
        self.turn_began();
        Ok(())
    }

    /// True if the request under way holds results that will be distilled: forks wait for that.
    pub(crate) fn will_distil(&self) -> bool {
        let last = self.conversation.state().last_request.as_ref();
        last.is_some_and(|last| {
            !last.distil.is_empty() && self.not_distilled.as_ref() != Some(&last.id)
        })
    }
}
