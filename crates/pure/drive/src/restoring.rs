//! The way from a summary to its boundary: files that are shown again, and hooks that are told.

use crate::compaction::CompactRun;
use crate::driver::Driver;
use crate::effect::{HookPoint, Work};
use crate::input::EffectOutcome;
use crate::layers::Job;
use crate::outbox::Running;
use dormouse_context::compaction::Event;

impl Driver {
    /// Takes the parts that were read from the disk.
    pub(crate) fn restored(&mut self, outcome: EffectOutcome) {
        let (parts, prefix) = match outcome {
            EffectOutcome::Restored { parts, prefix } => (parts, prefix),
            _ => (Vec::new(), None),
        };
        match self.job.take() {
            Some(Job::Compact(mut run)) => {
                run.parts = parts;
                run.prefix = prefix;
                if run.said_after.is_none() && self.hooks_compaction() {
                    let point = HookPoint::AfterCompaction {
                        trigger: run.trigger,
                        summary: run.summary.clone(),
                    };
                    run.after_hooks = true;
                    self.outbox.start(Running::Hooks, Work::Hooks(point));
                    self.job = Some(Job::Compact(run));
                    return;
                }
                self.restored_all(run);
            }
            other => self.job = other,
        }
    }

    /// Goes on with the parts of the disk and of the hooks.
    pub(crate) fn restored_all(&mut self, mut run: Box<CompactRun>) {
        run.after_hooks = false;
        let mut parts = std::mem::take(&mut run.parts);
        parts.extend(run.said_after.iter().flatten().cloned());
        self.compaction_event(run, Event::Restored(parts));
    }
}
