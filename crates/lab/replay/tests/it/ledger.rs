//! The engine's cache ledger against the simulator's cache.
//!
//! The two know the same rules and share no code. Over random sessions the ledger must predict the
//! very position that the simulator finds, and the simulator must accept every request.

use dormouse_context::conversation::Conversation;
use dormouse_context::ledger::{Ledger, MarkerTtls};
use dormouse_context::path::{Leaf, path};
use dormouse_context::plan::{RequestInputs, SendVerdict, plan_request};
use dormouse_context::prefix::{Part, RenderedPrefix};
use dormouse_context::target::Target;
use dormouse_context::window::{Relief, Thresholds};
use dormouse_core::block::Block;
use dormouse_core::hash::Hash;
use dormouse_core::id::BlockKey;
use dormouse_core::json::RawJson;
use dormouse_core::models::ModelTable;
use dormouse_core::record::{Body, ClearedBlock, Clearing, Distillation, DistilledBlock, Ttl};
use dormouse_core::settings::WindowSettings;
use dormouse_core::units::{Millis, Tokens};
use dormouse_sim::{SimConfig, SimRequest, Simulator};
use dormouse_testkit::LogBuilder;
use dormouse_testkit::blocks::{call, result};
use proptest::prelude::*;
use serde_json::json;
use std::sync::Arc;

const MODEL: &str = "claude-sonnet-4-6";
/// Milliseconds of a minute.
const MINUTE: i64 = 60_000;

/// Event before a request.
#[derive(Clone, Debug)]
enum Step {
    /// The user says something.
    Say,
    /// The model calls this many tools in one answer, and all answer.
    Tools(u8),
    /// As many tools, of whose results the first so many are distilled once they are answered.
    Distil(u8, u8),
    /// The first result is cleared: the prompt changes in the middle.
    Clear,
    /// The system prompt changes.
    System,
    /// A parameter of the cache key changes.
    Thinking,
}

fn steps() -> impl Strategy<Value = Vec<(Step, u16)>> {
    let step = prop_oneof![
        4 => Just(Step::Say),
        4 => (1_u8..30).prop_map(Step::Tools),
        3 => (1_u8..25, 1_u8..4).prop_map(|(tools, count)| Step::Distil(tools, count)),
        1 => Just(Step::Clear),
        1 => Just(Step::System),
        1 => Just(Step::Thinking),
    ];
    // Pauses in minutes: mostly short, sometimes beyond five, sometimes beyond sixty.
    let pause = prop_oneof![6 => 0_u16..4, 2 => 4_u16..8, 1 => 50_u16..70];
    prop::collection::vec((step, pause), 1..25)
}

struct Session {
    log: LogBuilder,
    ledger: Ledger,
    simulator: Simulator,
    system: u32,
    budget: u32,
    calls: u32,
    responses: u32,
    now: i64,
    /// Results of the next request that are to be distilled.
    distil: Vec<BlockKey>,
}

impl Session {
    fn new() -> Self {
        let mut log = LogBuilder::new();
        log.user(&"The beginning. ".repeat(300));
        Self {
            log,
            ledger: Ledger::default(),
            simulator: Simulator::new(SimConfig::default()).unwrap(),
            system: 0,
            budget: 1_024,
            calls: 0,
            responses: 0,
            now: 1_770_000_000_000,
            distil: Vec::new(),
        }
    }

    fn apply(&mut self, step: &Step) {
        match step {
            Step::Say => {
                let text = format!("word {} ", self.responses).repeat(100);
                self.log.user(&text);
            }
            Step::Tools(count) | Step::Distil(count, _) => {
                let ids: Vec<String> = (0..*count)
                    .map(|n| format!("toolu_{}", self.calls + u32::from(n)))
                    .collect();
                self.calls += u32::from(*count);
                let calls = ids
                    .iter()
                    .map(|id| call(id, "Bash", &json!({ "command": "ls" })));
                self.responses += 1;
                self.log
                    .assistant(&format!("msg_{}", self.responses), calls.collect());
                let results = ids
                    .iter()
                    .map(|id| result(id, &format!("out of {id}\n").repeat(20)));
                let results = self.log.user_blocks(results.collect());
                if let Step::Distil(_, distilled) = step {
                    let keys = (0..u32::from(*distilled).min(u32::from(*count)))
                        .map(|index| BlockKey::new(results.seq, index));
                    self.distil = keys.collect();
                }
            }
            Step::Clear => {
                let first = self.log.records().iter().find_map(|record| {
                    let blocks = record.body.blocks();
                    let block = blocks.first()?;
                    let is_result = block.tool().is_none() && block.call().is_some();
                    is_result.then(|| (record.seq, block.call().cloned()))
                });
                if let Some((seq, Some(call))) = first {
                    let block = Block::tool_result(&call, "[cleared]", false);
                    let key = BlockKey::new(seq, 0);
                    let blocks = vec![ClearedBlock { key, block }];
                    self.log.push(Body::Cleared(Clearing {
                        blocks,
                        ..Clearing::default()
                    }));
                }
                self.log.user("after the clearing");
            }
            Step::System => {
                self.system += 1;
                self.log.user("after the system changed");
            }
            Step::Thinking => {
                self.budget += 1;
                self.log.user("after thinking changed");
            }
        }
    }

    /// Sends the session; the positions that ledger and simulator name.
    fn send(&mut self) -> (Option<u64>, Option<u64>) {
        let models = Arc::new(ModelTable::builtin().clone());
        let mut conversation = Conversation::fold(
            &path(self.log.records(), Leaf::Newest),
            Target::new(&models, MODEL),
        );
        let distil = std::mem::take(&mut self.distil);
        conversation.arrange(&distil);
        let tool = json!({ "name": "Bash", "description": "runs a command ".repeat(200), "input_schema": { "type": "object" } });
        let system = Block::text(&format!("System prompt number {}. ", self.system).repeat(300));
        let prefix = Arc::new(RenderedPrefix::new(
            vec![Part::tool(&tool).unwrap()],
            vec![Part::block("system", &system)],
            Vec::new(),
        ));
        let thinking = json!({ "type": "enabled", "budget_tokens": self.budget });
        let params =
            RawJson::from(&json!({ "model": MODEL, "max_tokens": 32_000, "thinking": thinking }));
        let plan = plan_request(&RequestInputs {
            conversation: &conversation,
            ledger: &self.ledger,
            prefix: &prefix,
            params: &params,
            thresholds: &Thresholds::new(
                Tokens(1_000_000),
                Tokens(64_000),
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
            distil: &distil,
        });
        assert_eq!(plan.verdict, SendVerdict::Send);
        let body = plan.body();
        let response = self
            .simulator
            .handle(&SimRequest::post("/v1/messages", body), Millis(self.now));
        assert_eq!(
            response.status,
            200,
            "{}",
            String::from_utf8_lossy(&response.bytes())
        );
        let report = response.report.unwrap();
        self.log.push(plan.record());
        let markers = plan.markers.clone();
        let predicted = self
            .ledger
            .sent(plan.into_shape(), markers, Millis(self.now));
        self.ledger.responded(&report.usage);
        self.responses += 1;
        self.log.assistant(
            &format!("msg_{}", self.responses),
            vec![Block::text("noted")],
        );
        let distilled = distil.iter().map(|key| {
            let record = self.log.records().iter().find(|one| one.seq == key.record);
            let blocks = record
                .map(|record| record.body.blocks())
                .unwrap_or_default();
            let call = blocks[key.index as usize].call().cloned().unwrap();
            DistilledBlock {
                key: *key,
                block: Block::tool_result(&call, "[distilled]", false),
                blob: Hash::of(b"whole"),
                file: None,
            }
        });
        let blocks: Vec<DistilledBlock> = distilled.collect();
        if !blocks.is_empty() {
            self.log.push(Body::Distilled(Box::new(Distillation {
                blocks,
                ..Distillation::default()
            })));
        }
        (predicted.hit, report.billing.hit.map(|hit| hit as u64))
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn the_ledger_predicts_what_the_simulator_finds(steps in steps()) {
        let mut session = Session::new();
        session.send();
        session.log.user("go on");
        for (step, pause) in &steps {
            session.now += i64::from(*pause) * MINUTE + 1_000;
            session.apply(step);
            let (predicted, found) = session.send();
            prop_assert_eq!(predicted, found, "after {:?} and {} minutes", step, pause);
            session.log.user("go on");
        }
    }
}

#[test]
fn both_hit_miss_and_bridge_long_turns() {
    let mut session = Session::new();
    let mut hits = Vec::new();
    session.send();
    session.log.user("go on");
    let long_turn = Step::Tools(29);
    let steps = [
        (Step::Say, 1),
        (long_turn, 1),
        (Step::Clear, 1),
        (Step::Say, 6),
        (Step::System, 1),
    ];
    for (step, pause) in steps {
        session.now += pause * MINUTE;
        session.apply(&step);
        let (predicted, found) = session.send();
        assert_eq!(predicted, found);
        session.log.user("go on");
        hits.push(found);
    }
    // Ordinary turn and long turn continue; a clearing and a pause leave the prefix; a new system
    // prompt leaves the tools.
    assert_eq!(hits, [Some(2), Some(5), Some(1), Some(1), Some(0)]);
}
