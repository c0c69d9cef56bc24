//! Random sessions whose rewrites are planned by the layers themselves.
//!
//! [`Step`] is one event; [`Layered`] carries it out as the shell does: it asks the planners,
//! simulates the model and the files, and appends the resulting records. Texts are long here, so
//! that forgetting them pays.

use crate::model_replies::{answer, restored};
use crate::random_log::{Op, Session};
use dormouse_context::breaker::{Allowed, Breaker, ModelPart};
use dormouse_context::clear::{self, ClearInputs, ClearVerdict, Measure, Selection};
use dormouse_context::clearable::ResultIndex;
use dormouse_context::compaction::{
    CompactionJob, CompactionOutcome, Effect, Event, JobContext, Request, Scope,
};
use dormouse_context::conversation::Conversation;
use dormouse_context::economy::Prices;
use dormouse_context::layers::{
    self, Action, LayerInputs, LayerSettings, LayerState, Moment, NotesStatus,
};
use dormouse_context::notes::{Edit, Notes, Template, apply};
use dormouse_context::policy::{Classic, CompactRule, Economic, Policy};
use dormouse_context::segment::SegmentList;
use dormouse_context::target::Target;
use dormouse_context::tokens;
use dormouse_context::window::Thresholds;
use dormouse_core::block::Block;
use dormouse_core::hash::Hash;
use dormouse_core::id::Seq;
use dormouse_core::record::{Body, BoundaryKind, FragmentKind, Notes as NotesRecord, Trigger};
use dormouse_core::settings::CacheTtl;
use dormouse_core::settings::{Settings, WindowSettings};
use dormouse_core::units::Tokens;
use dormouse_core::weight::Weight;
use dormouse_testkit::conversation::prose;
use proptest::prelude::*;

/// Behaviour of the model when it is asked for a summary.
#[derive(Clone, Debug)]
pub(crate) enum Reply {
    Good,
    Huge,
    CutOff,
    Calls,
    NoSections,
    TooLong(Option<u64>),
    Broken,
    Rejected,
    Failed,
}

/// One event of a session.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// An event without the layers.
    Plain(Op),
    Says(usize),
    Remembers(usize),
    /// Results for all open calls.
    Results(usize),
    Clear {
        cold: bool,
        rule: u8,
    },
    Notes {
        back: u8,
    },
    Compact {
        scope: u8,
        at: u8,
        manual: bool,
        allowed: bool,
        policy: u8,
        replies: Vec<Reply>,
    },
    /// All actions that the layers want now, one after the other.
    Tidy {
        economic: bool,
        end: bool,
        cold: bool,
        replies: Vec<Reply>,
    },
}

impl Step {
    /// True if the step may change frozen segments.
    pub(crate) fn is_rewrite(&self) -> bool {
        match self {
            Self::Plain(op) => op.is_rewrite(),
            Self::Clear { .. } | Self::Compact { .. } | Self::Tidy { .. } => true,
            Self::Says(_) | Self::Remembers(_) | Self::Results(_) | Self::Notes { .. } => false,
        }
    }
}

pub(crate) fn replies() -> impl Strategy<Value = Vec<Reply>> {
    let reply = prop_oneof![
        4 => Just(Reply::Good),
        1 => Just(Reply::Huge),
        1 => Just(Reply::CutOff),
        1 => Just(Reply::Calls),
        1 => Just(Reply::NoSections),
        2 => any::<Option<u16>>().prop_map(|gap| Reply::TooLong(gap.map(u64::from))),
        2 => Just(Reply::Broken),
        1 => Just(Reply::Rejected),
        1 => Just(Reply::Failed),
    ];
    prop::collection::vec(reply, 0..8)
}

/// Steps of a session; with `branches`, it may also be rewound.
pub(crate) fn steps(most: usize, branches: bool) -> impl Strategy<Value = Vec<Step>> {
    let size = || prop_oneof![Just(0_usize), 1_usize..200, 200_usize..9_000];
    let step = prop_oneof![
        4 => size().prop_map(Step::Says),
        1 => size().prop_map(Step::Remembers),
        8 => (0_u8..4, 0_u8..4, any::<bool>(), any::<Option<u8>>()).prop_map(|(calls, think, text, usage)| {
            Step::Plain(Op::Assistant { calls, think, text, same: false, usage })
        }),
        8 => size().prop_map(Step::Results),
        1 => (0_u8..5).prop_map(|back| Step::Plain(Op::Result { back, extra: true })),
        1 => Just(Step::Plain(Op::Fragment)),
        8 => Just(Step::Plain(Op::Request)),
        1 => (0_u8..3).prop_map(|older| Step::Plain(Op::UndoNewest { older })),
        1 => Just(Step::Plain(Op::Checkpoint)),
        1 => Just(Step::Plain(if branches { Op::Rewind { back: 4 } } else { Op::Fragment })),
        2 => (any::<bool>(), 0_u8..4).prop_map(|(cold, rule)| Step::Clear { cold, rule }),
        1 => (0_u8..6).prop_map(|back| Step::Notes { back }),
        2 => (0_u8..4, any::<u8>(), any::<bool>(), any::<bool>(), 0_u8..2, replies()).prop_map(
            |(scope, at, manual, allowed, policy, replies)| Step::Compact { scope, at, manual, allowed, policy, replies }
        ),
        2 => (any::<bool>(), any::<bool>(), any::<bool>(), replies())
            .prop_map(|(economic, end, cold, replies)| Step::Tidy { economic, end, cold, replies }),
    ];
    prop::collection::vec(step, 0..most)
}

/// A session together with its layers.
pub(crate) struct Layered {
    pub(crate) session: Session,
    pub(crate) settings: LayerSettings,
    state: LayerState,
    notes: Option<(Notes, Seq)>,
    /// Requests for a summary made by the last compaction.
    pub(crate) asked: usize,
}

impl Layered {
    pub(crate) fn new(target: Target) -> Self {
        let mut settings = LayerSettings::new(&Settings::default());
        // Sessions are short here: the limits are a twentieth of the defaults.
        settings.clear.pressure_held = Tokens(2_000);
        settings.clear.pressure_freed = Tokens(1_000);
        settings.clear.leave = Tokens(1_000);
        settings.notes.rule.start = Tokens(500);
        settings.notes.rule.growth = Tokens(250);
        settings.compact.notes_tail.tokens = Tokens(500);
        settings.compact.notes_tail.limit = Tokens(2_000);
        settings.compact.user_messages = Tokens(1_000);
        settings.compact.evidence = Tokens(500);
        Self {
            session: Session::new(target),
            settings,
            state: LayerState::default(),
            notes: None,
            asked: 0,
        }
    }

    pub(crate) fn conversation(&self) -> Conversation {
        self.session.conversation()
    }

    /// Carries out a step; false if it has no meaning in this state.
    pub(crate) fn step(&mut self, step: &Step) -> bool {
        match step {
            Step::Plain(op) => self.session.step(op),
            Step::Says(size) => {
                let text = prose(self.session.log.records().len(), *size);
                self.session.step(&Op::UserText(text))
            }
            Step::Remembers(size) => {
                let text = prose(7, *size + 10);
                self.session.log.fragment(FragmentKind::Memory, &text);
                true
            }
            Step::Results(size) => self.results(*size),
            Step::Clear { cold, rule } => self.clear(*cold, *rule),
            Step::Notes { back } => self.take_notes(*back),
            Step::Compact { .. } => {
                let outcome = self.compact(step);
                matches!(outcome, Some(CompactionOutcome::Compacted { .. }))
            }
            Step::Tidy { .. } => self.tidy(step),
        }
    }

    fn results(&mut self, size: usize) -> bool {
        let view = self.session.view();
        let results: Vec<Block> = view
            .tail()
            .open_calls()
            .filter_map(|call| call.block.call())
            .map(|call| Block::tool_result(call, &format!("{call} {}", prose(3, size)), false))
            .collect();
        let any = !results.is_empty();
        if any {
            self.session.log.user_blocks(results);
        }
        any
    }

    fn measure(conversation: &Conversation) -> Measure {
        let model = &conversation.view().target().model;
        Measure {
            bytes: conversation.bytes_per_token(),
            calibration: tokens::calibration(conversation.state(), model),
        }
    }

    fn clear(&mut self, cold: bool, rule: u8) -> bool {
        let conversation = self.conversation();
        let mut index = ResultIndex::default();
        index.update(
            conversation.view(),
            &self.settings.clear.tools,
            conversation.bytes_per_token(),
        );
        let inputs = ClearInputs {
            view: conversation.view(),
            index: &index,
            settings: &self.settings.clear,
            measure: Self::measure(&conversation),
            used: Tokens(1_000_000),
            warning: Tokens(0),
            cold,
        };
        let verdict = match rule {
            0 => clear::classic(&inputs),
            1 => clear::economic(&inputs, || Tokens(200), |_, _| Ok("it pays".to_owned())),
            2 => inputs.clear(inputs.worthwhile(inputs.old())),
            _ => inputs.clear(inputs.all_but(2)),
        };
        match verdict {
            ClearVerdict::Clear(selection) => {
                self.carry_out(&conversation, &selection);
                true
            }
            ClearVerdict::Leave { .. } => false,
        }
    }

    fn carry_out(&mut self, conversation: &Conversation, selection: &Selection) {
        let composed = clear::compose(conversation.view(), selection, "/s/tool-results");
        self.session.log.push(Body::Cleared(composed.clearing));
    }

    fn take_notes(&mut self, back: u8) -> bool {
        let conversation = self.conversation();
        let messages = conversation.view().messages();
        let Some(last) = messages.iter().rev().nth(usize::from(back)) else {
            return false;
        };
        let edit = Edit::Section {
            title: "Worklog".to_owned(),
            body: format!("- covered up to {last}"),
        };
        let notes = apply(&Notes::blank(&Template::builtin()), &[edit]).expect("a good edit");
        let size = Self::measure(&conversation).tokens(&conversation.weight());
        self.session.log.push(Body::Notes(NotesRecord {
            last_summarised: *last,
            tokens: Tokens(100),
            blob: Hash::of(notes.text().as_bytes()),
            conversation: size,
            sent: Tokens(150),
            edits: Tokens(30),
        }));
        self.notes = Some((notes, *last));
        true
    }

    fn compact(&mut self, step: &Step) -> Option<CompactionOutcome> {
        let Step::Compact {
            scope,
            at,
            manual,
            allowed,
            policy,
            replies,
        } = step
        else {
            return None;
        };
        let messages = self.session.view().messages();
        let at = messages.get(usize::from(*at) % messages.len().max(1));
        let scope = match (scope, at) {
            (2, Some(at)) => Scope::From(*at),
            (3, Some(at)) => Scope::UpTo(*at),
            _ => Scope::All,
        };
        let request = Request {
            trigger: if *manual {
                Trigger::Manual
            } else {
                Trigger::Auto
            },
            scope,
            instructions: vec!["keep the ports".to_owned()],
            allowed: if *allowed {
                Allowed::Model
            } else {
                Allowed::Offline
            },
        };
        let policy: &dyn Policy = match policy {
            0 => &Classic,
            _ => &Economic,
        };
        let rule = policy.compaction(&self.settings.compact, None);
        Some(self.run(request, &rule, replies))
    }

    /// Runs a compaction to its end and checks the boundary it commits.
    pub(crate) fn run(
        &mut self,
        request: Request,
        rule: &CompactRule,
        replies: &[Reply],
    ) -> CompactionOutcome {
        let conversation = self.conversation();
        let (seq, id) = (self.session.log.next_seq(), self.session.log.next_id());
        let cx = JobContext {
            conversation: &conversation,
            prefix: &Weight::default(),
            measure: Self::measure(&conversation),
            settings: &self.settings.compact,
            rule,
            target: Tokens(4_000),
            history: "/s/log.jsonl",
            seq,
            id: &id,
        };
        let mut replies = replies.iter();
        let mut job = CompactionJob::new(request);
        let mut effect = job.start(&cx);
        self.asked = 0;
        for _ in 0..40 {
            let event = match effect {
                Effect::Done(outcome) => return outcome,
                Effect::RunHooks => Event::HooksRan {
                    instructions: vec!["a hook's wish".to_owned()],
                    blocked: None,
                },
                Effect::ReadNotes => Event::NotesRead(self.notes.clone()),
                Effect::Ask(_) => {
                    self.asked += 1;
                    Event::Answered(answer(replies.next().unwrap_or(&Reply::Failed)))
                }
                Effect::Restore { files, .. } => Event::Restored(restored(&files)),
                Effect::Commit(boundary) => {
                    assert!(boundary.post_tokens <= boundary.pre_tokens);
                    self.session.log.push(Body::Boundary(boundary));
                    // The boundary's figures build on measured counts; weights are exact.
                    let size = |list: SegmentList| cx.measure.tokens(&list.weight(list.len()));
                    let before = size(conversation.view().segments());
                    let after = size(self.session.view().segments());
                    assert!(after <= before, "{after} is not smaller than {before}");
                    Event::Committed
                }
            };
            effect = job.handle(&cx, event);
        }
        panic!("a compaction without an end");
    }

    fn tidy(&mut self, step: &Step) -> bool {
        let Step::Tidy {
            economic,
            end,
            cold,
            replies,
        } = step
        else {
            return false;
        };
        let policy: &dyn Policy = if *economic { &Economic } else { &Classic };
        let thresholds = Thresholds::new(Tokens(8_000), Tokens(2_000), &WindowSettings::default());
        let rates = Prices::USUAL.rates(CacheTtl::OneHour, CacheTtl::FiveMinutes);
        let mut rewritten = false;
        for _ in 0..4 {
            let conversation = self.conversation();
            let inputs = LayerInputs {
                conversation: &conversation,
                prefix: &Weight::default(),
                policy,
                settings: &self.settings,
                thresholds: &thresholds,
                rates: &rates,
                notes: NotesStatus::default(),
                moment: if *end {
                    Moment::TurnEnd
                } else {
                    Moment::BeforeRequest
                },
                cold: *cold,
                provider_compacts: false,
            };
            let plan = layers::plan(&mut self.state, &inputs);
            assert_eq!(plan.considered.len(), 3);
            match plan.action {
                None => break,
                Some(Action::Clear(selection)) => {
                    self.carry_out(&conversation, &selection);
                    rewritten = true;
                }
                Some(Action::CompactByProvider { .. }) => panic!("no provider is there"),
                Some(Action::OpenBreaker(breaker)) => {
                    self.session.log.push(Body::State(breaker.record()));
                    break;
                }
                Some(Action::UpdateNotes) => {
                    self.take_notes(0);
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
                    let rule = policy.compaction(&self.settings.compact, keep);
                    let outcome = self.run(request, &rule, replies);
                    let CompactionOutcome::Compacted {
                        kind, model_failed, ..
                    } = outcome
                    else {
                        break;
                    };
                    let model = match (kind, model_failed) {
                        (_, Some(_)) => ModelPart::Failed,
                        (BoundaryKind::Full, None) => ModelPart::Summarised,
                        _ => ModelPart::NotAsked,
                    };
                    rewritten = true;
                    let breaker = Breaker::of(self.conversation().state());
                    let breaker = breaker.compacted(false, model);
                    self.session.log.push(Body::State(breaker.record()));
                }
            }
        }
        rewritten
    }
}
