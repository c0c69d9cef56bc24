//! Planned rewrites against the simulator: it signs the thinking itself, binds it to what stood in
//! front of it, and must accept every prompt that the engine makes after any rewrites.

use dormouse_context::breaker::Allowed;
use dormouse_context::clear::{self, ClearInputs, ClearSettings, ClearVerdict, Measure};
use dormouse_context::clearable::ResultIndex;
use dormouse_context::compaction::{
    CompactSettings, CompactionJob, Effect, Event, JobContext, REQUIRED_SECTIONS, Request, Scope,
    SummaryAnswer as Summary,
};
use dormouse_context::conversation::Conversation;
use dormouse_context::ledger::{Ledger, MarkerTtls};
use dormouse_context::path::{Leaf, path};
use dormouse_context::plan::{RequestInputs, plan_request};
use dormouse_context::policy::{Economic, Policy as _};
use dormouse_context::prefix::{Part, RenderedPrefix};
use dormouse_context::target::Target;
use dormouse_context::tokens;
use dormouse_context::window::{Relief, Thresholds};
use dormouse_core::block::{Block, BlockKind};
use dormouse_core::id::MessageId;
use dormouse_core::json::RawJson;
use dormouse_core::models::ModelTable;
use dormouse_core::record::{Body, Message, Trigger, Ttl};
use dormouse_core::settings::{Settings, WindowSettings};
use dormouse_core::units::{Millis, Tokens};
use dormouse_core::weight::Weight;
use dormouse_sim::{
    AnswerBlock, AnswerConfig, BindingMode, SimAnswer, SimConfig, SimRequest, Simulator, Switches,
};
use dormouse_testkit::LogBuilder;
use dormouse_testkit::conversation::prose;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::sync::Arc;

/// A model that binds thinking to everything in front of it.
const MODEL: &str = "claude-opus-5-5";

#[derive(Clone, Debug)]
enum Step {
    /// A question; the model thinks, calls so many tools, thinks again and answers.
    Turn {
        calls: u8,
        size: usize,
    },
    Clear,
    Compact {
        scope: u8,
        at: u8,
        model: bool,
    },
    Undo,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        6 => (0_u8..4, 100_usize..6_000).prop_map(|(calls, size)| Step::Turn { calls, size }),
        2 => Just(Step::Clear),
        2 => (0_u8..3, any::<u8>(), any::<bool>()).prop_map(|(scope, at, model)| Step::Compact { scope, at, model }),
        1 => Just(Step::Undo),
    ];
    prop::collection::vec(step, 1..25)
}

/// Answers of the model, in order.
fn script(steps: &[Step]) -> Vec<SimAnswer> {
    let mut script = Vec::new();
    for step in steps {
        let Step::Turn { calls, .. } = step else {
            continue;
        };
        let said = |last: AnswerBlock, more: u8| SimAnswer {
            content: [AnswerBlock::thinking("let me think about it")]
                .into_iter()
                .chain((0..more).map(|_| AnswerBlock::tool("Bash", json!({ "command": "ls" }))))
                .chain([last].into_iter().filter(|_| more == 0))
                .collect(),
            ..SimAnswer::default()
        };
        if *calls > 0 {
            script.push(said(AnswerBlock::text(""), *calls));
        }
        script.push(said(AnswerBlock::text("done with it"), 0));
    }
    script
}

struct Session {
    log: LogBuilder,
    simulator: Simulator,
    models: Arc<ModelTable>,
    prefix: Arc<RenderedPrefix>,
    params: RawJson,
    now: i64,
}

impl Session {
    fn new(steps: &[Step]) -> Self {
        let config = SimConfig {
            answers: AnswerConfig {
                script: script(steps),
                ..AnswerConfig::default()
            },
            switches: Switches {
                thinking_binding: BindingMode::Enforce,
                ..Switches::default()
            },
            ..SimConfig::default()
        };
        let tool = json!({ "name": "Bash", "description": "runs a command", "input_schema": { "type": "object" } });
        let system = Part::block("system", &Block::text("You help."));
        Self {
            log: LogBuilder::new(),
            simulator: Simulator::new(config).unwrap(),
            models: Arc::new(ModelTable::builtin().clone()),
            prefix: Arc::new(RenderedPrefix::new(
                vec![Part::tool(&tool).unwrap()],
                vec![system],
                Vec::new(),
            )),
            params: RawJson::from(
                &json!({ "model": MODEL, "max_tokens": 8_000, "thinking": { "type": "adaptive" } }),
            ),
            now: 1_770_000_000_000,
        }
    }

    fn conversation(&self) -> Conversation {
        let target = Target::new(&self.models, MODEL);
        Conversation::fold(&path(self.log.records(), Leaf::Newest), target)
    }

    /// Sends the prompt as it is; the calls of the answer.
    fn send(&mut self) -> Vec<Block> {
        let conversation = self.conversation();
        self.now += 1_000;
        let plan = plan_request(&RequestInputs {
            conversation: &conversation,
            ledger: &Ledger::default(),
            prefix: &self.prefix,
            params: &self.params,
            thresholds: &Thresholds::new(
                Tokens(1_000_000),
                Tokens(8_000),
                &WindowSettings::default(),
            ),
            relief: Relief::Available,
            ttls: MarkerTtls {
                prefix: Ttl::OneHour,
                messages: Ttl::FiveMinutes,
            },
            now: Millis(self.now),
            cached: dormouse_context::plan::CachedPart::Whole,
            ending: dormouse_context::plan::Ending::User,
            distil: &[],
        });
        let body = plan.body();
        let request = SimRequest::post("/v1/messages", body);
        let response = self.simulator.handle(&request, Millis(self.now));
        let bytes = response.bytes();
        assert_eq!(response.status, 200, "{}", String::from_utf8_lossy(&bytes));
        self.log.push(plan.record());
        let answer: Value = serde_json::from_slice(&bytes).unwrap();
        let content = answer["content"].as_array().unwrap();
        let blocks: Vec<Block> = content
            .iter()
            .map(|block| Block::from_value(block).unwrap())
            .collect();
        let id = MessageId::from(answer["id"].as_str().unwrap());
        let mut message = Message::assistant(id, MODEL, blocks.clone());
        message.usage = response.report.map(|report| report.usage);
        self.log.push(Body::Message(message));
        let is_call = |block: &Block| block.kind() == BlockKind::ToolUse;
        blocks.into_iter().filter(is_call).collect()
    }

    fn apply(&mut self, step: &Step) {
        match step {
            Step::Turn { size, .. } => {
                let n = self.log.records().len();
                self.log.user(&prose(n, size / 10));
                let calls = self.send();
                if !calls.is_empty() {
                    let results = calls.iter().filter_map(Block::call);
                    let results =
                        results.map(|call| Block::tool_result(call, &prose(n, *size), false));
                    self.log.user_blocks(results.collect());
                    self.send();
                }
            }
            Step::Clear => self.clear(),
            Step::Compact { scope, at, model } => self.compact(*scope, *at, *model),
            Step::Undo => {
                let records = path(self.log.records(), Leaf::Newest);
                let undo = self
                    .conversation()
                    .plan_undo(&records, None, Tokens(u64::MAX));
                if let Ok(undo) = undo {
                    self.log.push(Body::Undo(Box::new(undo)));
                }
            }
        }
    }

    fn measure(conversation: &Conversation) -> Measure {
        Measure {
            bytes: conversation.bytes_per_token(),
            calibration: tokens::calibration(conversation.state(), MODEL),
        }
    }

    fn clear(&mut self) {
        let conversation = self.conversation();
        let settings = ClearSettings::new(&Settings::default());
        let mut index = ResultIndex::default();
        let view = conversation.view();
        index.update(view, &settings.tools, conversation.bytes_per_token());
        let inputs = ClearInputs {
            view,
            index: &index,
            settings: &settings,
            measure: Self::measure(&conversation),
            used: Tokens::ZERO,
            warning: Tokens::ZERO,
            cold: false,
        };
        if let ClearVerdict::Clear(selection) = inputs.clear(inputs.all_but(1)) {
            let composed = clear::compose(view, &selection, "/s/tool-results");
            self.log.push(Body::Cleared(composed.clearing));
        }
    }

    fn compact(&mut self, scope: u8, at: u8, model: bool) {
        let conversation = self.conversation();
        let messages = conversation.view().messages();
        let at = messages.get(usize::from(at) % messages.len().max(1));
        let scope = match (scope, at) {
            (1, Some(at)) => Scope::From(*at),
            (2, Some(at)) => Scope::UpTo(*at),
            _ => Scope::All,
        };
        let id = self.log.next_id();
        let settings = CompactSettings::new(&Settings::default());
        let rule = Economic.compaction(&settings, None);
        let cx = JobContext {
            conversation: &conversation,
            prefix: &Weight::default(),
            measure: Self::measure(&conversation),
            settings: &settings,
            rule: &rule,
            target: Tokens(100_000),
            history: "/s/log.jsonl",
            seq: self.log.next_seq(),
            id: &id,
        };
        let allowed = if model {
            Allowed::Model
        } else {
            Allowed::Offline
        };
        let mut job = CompactionJob::new(Request {
            trigger: Trigger::Manual,
            scope,
            instructions: Vec::new(),
            allowed,
        });
        let mut effect = job.start(&cx);
        loop {
            let event = match effect {
                Effect::Done(_) => return,
                Effect::RunHooks => Event::HooksRan {
                    instructions: Vec::new(),
                    blocked: None,
                },
                Effect::ReadNotes => Event::NotesRead(None),
                Effect::Ask(_) => Event::Answered(Ok(Summary {
                    blocks: vec![Block::text(&REQUIRED_SECTIONS.join("\n"))],
                    cut_off: false,
                })),
                Effect::Restore { .. } => Event::Restored(Vec::new()),
                Effect::Commit(boundary) => {
                    self.log.push(Body::Boundary(boundary));
                    Event::Committed
                }
            };
            effect = job.handle(&cx, event);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn the_simulator_accepts_every_prompt_after_any_rewrites(steps in steps()) {
        let mut session = Session::new(&steps);
        for step in &steps {
            session.apply(step);
        }
    }
}

#[test]
fn thinking_is_signed_and_rewrites_happen() {
    let turn = || Step::Turn {
        calls: 2,
        size: 4_000,
    };
    let all = Step::Compact {
        scope: 0,
        at: 0,
        model: true,
    };
    let steps = [
        turn(),
        turn(),
        turn(),
        Step::Clear,
        turn(),
        all,
        turn(),
        Step::Undo,
        turn(),
    ];
    let mut session = Session::new(&steps);
    for step in &steps {
        session.apply(step);
    }
    let count = |is: fn(&Body) -> bool| {
        session
            .log
            .records()
            .iter()
            .filter(|record| is(&record.body))
            .count()
    };
    assert_eq!(count(|body| matches!(body, Body::Cleared(_))), 1);
    assert_eq!(count(|body| matches!(body, Body::Boundary(_))), 1);
    assert_eq!(count(|body| matches!(body, Body::Undo(_))), 1);
    let thinking = session.conversation();
    let thinking = thinking.view().segments();
    let signed = thinking
        .iter()
        .filter(|segment| segment.block.kind().is_thinking());
    assert!(signed.count() > 0, "no thinking is left to be checked");
}
