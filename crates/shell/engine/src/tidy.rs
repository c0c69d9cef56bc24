//! Carrying out what the layers plan, until nothing is left to do.

use crate::error::EngineError;
use crate::notice::Notice;
use crate::session::Session;
use dormouse_context::compaction::{Outcome, Request, Scope};
use dormouse_context::layers::{self, Action, LayersPlan, Moment};
use dormouse_context::window::Relief;
use dormouse_core::record::Body;

/// More steps than this at one moment would be going round in circles.
const MOST_STEPS: usize = 4;

/// What is left to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tidied {
    /// Whether compaction can still make room.
    pub(crate) relief: Relief,
    /// An update of the notes is due.
    pub(crate) notes_due: bool,
}

impl Session {
    /// Asks the layers and does what they say.
    pub(crate) async fn tidy(&mut self, moment: Moment) -> Result<Tidied, EngineError> {
        self.refresh();
        self.collect_notes()?;
        let mut relief = Relief::Available;
        for _ in 0..MOST_STEPS {
            let plan = self.with_inputs(moment, layers::plan);
            relief = plan.relief;
            self.explain(moment, &plan);
            match plan.action {
                None => break,
                Some(Action::Clear(selection)) => {
                    if !self.clear_results(&selection)? {
                        break;
                    }
                }
                Some(Action::OpenBreaker(breaker)) => {
                    self.append(Body::State(breaker.record()))?;
                    self.tell(Notice::CannotCompact {
                        prompt: self.used(),
                        target: breaker.target,
                    });
                    relief = Relief::Exhausted;
                    break;
                }
                Some(Action::Compact {
                    trigger,
                    allowed,
                    keep,
                }) => {
                    let request = Request {
                        trigger,
                        scope: Scope::All,
                        instructions: Vec::new(),
                        allowed,
                    };
                    let outcome = self.run_compaction(request, keep).await?;
                    if !matches!(outcome, Outcome::Compacted { .. }) {
                        break;
                    }
                }
                Some(Action::CompactByProvider { trigger }) => {
                    let outcome = self.compact_by_provider(trigger).await?;
                    if !matches!(outcome, Outcome::Compacted { .. }) {
                        break;
                    }
                }
                Some(Action::UpdateNotes) if moment == Moment::TurnEnd => {
                    self.start_notes();
                    break;
                }
                Some(Action::UpdateNotes) => {
                    return Ok(Tidied {
                        relief,
                        notes_due: true,
                    });
                }
            }
        }
        self.checkpoint_if_due()?;
        Ok(Tidied {
            relief,
            notes_due: false,
        })
    }

    fn explain(&mut self, moment: Moment, plan: &LayersPlan) {
        if !self.config.explain {
            return;
        }
        let arithmetic =
            self.with_inputs(moment, |state, inputs| LayersPlan::explain(state, inputs));
        self.tell(Notice::Considered {
            moment,
            used: self.used(),
            layers: plan.considered.clone(),
            arithmetic,
        });
    }
}
