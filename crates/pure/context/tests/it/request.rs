//! Requests: planned, assembled, recorded, rebuilt.

use bytes::Bytes;
use dormouse_context::conversation::Conversation;
use dormouse_context::ledger::{Ledger, MarkerTtls};
use dormouse_context::path::{Leaf, path};
use dormouse_context::plan::{RequestInputs, RequestPlan, SendVerdict, plan_request, rebuild};
use dormouse_context::prefix::{Part, RenderedPrefix};
use dormouse_context::target::Target;
use dormouse_context::undo;
use dormouse_context::window::{Relief, Thresholds};
use dormouse_core::block::Block;
use dormouse_core::hash::Hash;
use dormouse_core::json::RawJson;
use dormouse_core::models::ModelTable;
use dormouse_core::record::{Body, FragmentKind, MarkerPlace, Ttl};
use dormouse_core::settings::WindowSettings;
use dormouse_core::units::{Millis, Tokens};
use dormouse_testkit::LogBuilder;
use dormouse_testkit::blocks::{call, result};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::Arc;

/// A model with prices and a cache minimum in the table.
const MODEL: &str = "claude-opus-4-6";

struct Fixture {
    log: LogBuilder,
    ledger: Ledger,
    prefix: Arc<RenderedPrefix>,
    params: RawJson,
}

impl Fixture {
    fn new(log: LogBuilder) -> Self {
        let tool =
            json!({ "name": "Bash", "description": "runs", "input_schema": { "type": "object" } });
        let fragment = Part::block("AGENTS.md", &Block::text("house rules"));
        let prefix = RenderedPrefix::new(
            vec![Part::tool(&tool).unwrap()],
            vec![Part::block("system", &Block::text("be good"))],
            vec![fragment],
        );
        let params = json!({ "model": MODEL, "max_tokens": 100 });
        Self {
            log,
            ledger: Ledger::default(),
            prefix: Arc::new(prefix),
            params: RawJson::from_value(&params).unwrap(),
        }
    }

    fn target() -> Target {
        Target::new(&Arc::new(ModelTable::builtin().clone()), MODEL)
    }

    fn conversation(&self) -> Conversation {
        Conversation::fold(&path(self.log.records(), Leaf::Newest), Self::target())
    }

    fn plan(&self) -> RequestPlan {
        plan_request(&RequestInputs {
            conversation: &self.conversation(),
            ledger: &self.ledger,
            prefix: &self.prefix,
            params: &self.params,
            thresholds: &Thresholds::new(
                Tokens(200_000),
                Tokens(64_000),
                &WindowSettings::default(),
            ),
            relief: Relief::Available,
            ttls: MarkerTtls {
                prefix: Ttl::OneHour,
                messages: Ttl::FiveMinutes,
            },
            now: Millis(1_770_000_000_000),
            cached: dormouse_context::plan::CachedPart::Whole,
            ending: dormouse_context::plan::Ending::User,
            distil: &[],
        })
    }

    /// Sends: appends repairs and request to the log, and returns the bytes.
    fn send(&mut self) -> Vec<u8> {
        let plan = self.plan();
        assert_eq!(plan.verdict, SendVerdict::Send);
        assert_eq!(plan.head.as_ref(), self.log.head());
        let body = plan.body();
        if let Some(repair) = plan.repairs.clone() {
            self.log.push(Body::Message(repair));
        }
        self.log.push(plan.record());
        let markers = plan.markers.clone();
        self.ledger
            .sent(plan.into_shape(), markers, Millis(1_770_000_000_000));
        body
    }
}

fn conversation() -> LogBuilder {
    let mut log = LogBuilder::new();
    log.user("go");
    log.assistant(
        "m1",
        vec![
            Block::text("on it"),
            call("c1", "Bash", &json!({ "command": "ls" })),
        ],
    );
    log.user_blocks(vec![result("c1", "a.rs")]);
    log.fragment(FragmentKind::Status, "it is Tuesday");
    log
}

#[test]
fn a_body_holds_everything_in_its_place() {
    let fixture = Fixture::new(conversation());
    let body = fixture.plan().body();
    let body: Value = serde_json::from_slice(&body).unwrap();
    let one_hour = json!({ "type": "ephemeral", "ttl": "1h" });
    assert_eq!(
        body,
        json!({
            "model": MODEL,
            "max_tokens": 100,
            "tools": [{
                "name": "Bash", "description": "runs", "input_schema": { "type": "object" },
                "cache_control": one_hour,
            }],
            "system": [{ "type": "text", "text": "be good", "cache_control": one_hour }],
            "messages": [
                { "role": "user", "content": [
                    { "type": "text", "text": "house rules", "cache_control": one_hour },
                    { "type": "text", "text": "go" },
                ] },
                { "role": "assistant", "content": [
                    { "type": "text", "text": "on it" },
                    { "type": "tool_use", "id": "c1", "name": "Bash", "input": { "command": "ls" } },
                ] },
                { "role": "user", "content": [
                    { "type": "tool_result", "tool_use_id": "c1", "content": "a.rs" },
                    { "type": "text", "text": "it is Tuesday", "cache_control": { "type": "ephemeral" } },
                ] },
            ],
        })
    );
}

#[test]
fn without_a_prefix_and_parameters_a_body_is_still_json() {
    let mut fixture = Fixture::new(conversation());
    fixture.prefix = Arc::new(RenderedPrefix::default());
    fixture.params = RawJson::from_value(&json!({})).unwrap();
    let body = fixture.plan().body();
    let body: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(
        body.as_object()
            .map(|body| body.keys().cloned().collect::<Vec<_>>()),
        Some(vec!["messages".to_owned()])
    );
}

#[test]
fn every_request_is_rebuilt_byte_for_byte() {
    let mut fixture = Fixture::new(conversation());
    let mut sent = vec![fixture.send()];
    for turn in 2..40 {
        let id = format!("c{turn}");
        fixture.log.assistant(
            &format!("m{turn}"),
            vec![call(&id, "Bash", &json!({ "n": turn }))],
        );
        if turn % 3 != 0 {
            fixture
                .log
                .user_blocks(vec![result(&id, &"out\n".repeat(turn))]);
        }
        fixture.log.user(&format!("and {turn}"));
        sent.push(fixture.send());
    }
    let blobs: HashMap<Hash, Bytes> = fixture
        .prefix
        .blobs()
        .map(|(hash, bytes)| (hash, bytes.clone()))
        .collect();
    let recorded = fixture.prefix.to_record();
    let prefix = RenderedPrefix::from_record(&recorded, |hash| blobs.get(hash).cloned()).unwrap();
    let requests = fixture
        .log
        .records()
        .iter()
        .filter_map(|record| match &record.body {
            Body::Request(request) => Some((record, request)),
            _ => None,
        });
    let rebuilt: Vec<Vec<u8>> = requests
        .map(|(record, request)| {
            let view = undo::fold_path(
                &path(fixture.log.records(), Leaf::Record(&record.id)),
                Fixture::target(),
            );
            assert!(view.issues().is_empty(), "{:?}", view.issues());
            rebuild(&view, request, &prefix)
        })
        .collect();
    assert_eq!(rebuilt.len(), sent.len());
    for (rebuilt, sent) in rebuilt.iter().zip(&sent) {
        assert_eq!(
            String::from_utf8_lossy(rebuilt),
            String::from_utf8_lossy(sent)
        );
    }
}

#[test]
fn a_missing_blob_is_named() {
    let fixture = Fixture::new(conversation());
    let error = RenderedPrefix::from_record(&fixture.prefix.to_record(), |_| None).unwrap_err();
    assert_eq!(error.name, "Bash");
}

#[test]
fn unanswered_calls_are_answered_before_sending() {
    let mut log = LogBuilder::new();
    log.user("go");
    log.assistant("m1", vec![call("c1", "Bash", &json!({}))]);
    log.user("stop");
    let mut fixture = Fixture::new(log);
    let plan = fixture.plan();
    assert_eq!(
        plan.repairs.as_ref().map(|repair| repair.content.len()),
        Some(1)
    );
    let body = fixture.send();
    let head = fixture.log.head().unwrap();
    let view = undo::fold_path(
        &path(fixture.log.records(), Leaf::Record(head)),
        Fixture::target(),
    );
    assert!(
        view.issues().is_empty(),
        "the appended repair gives the bytes that were planned"
    );
    assert!(String::from_utf8_lossy(&body).contains(dormouse_context::MISSING_RESULT));
}

#[test]
fn a_plan_says_why_nothing_can_be_sent() {
    let mut log = LogBuilder::new();
    let verdict = |log: &LogBuilder| Fixture::new(log.clone()).plan().verdict;
    assert_eq!(verdict(&log), SendVerdict::NothingToSend);
    log.user("go");
    assert_eq!(verdict(&log), SendVerdict::Send);
    log.assistant("m1", vec![Block::text("done")]);
    assert_eq!(verdict(&log), SendVerdict::NothingToSend);
    let mut fixture = Fixture::new({
        log.user("again");
        log
    });
    fixture.send();
    assert_eq!(fixture.plan().verdict, SendVerdict::InFlight);
    fixture.log.user(&"word ".repeat(200_000));
    assert_eq!(fixture.plan().verdict, SendVerdict::CompactFirst);
}

#[test]
fn the_second_request_reads_what_the_first_wrote() {
    let mut fixture = Fixture::new(conversation());
    fixture.log.user(&"context ".repeat(5_000));
    fixture.send();
    fixture.log.assistant("m9", vec![Block::text("ok")]);
    fixture.log.user("next");
    let plan = fixture.plan();
    assert!(
        plan.prediction.tokens > Tokens(9_000),
        "{:?}",
        plan.prediction
    );
    assert!(
        plan.markers
            .iter()
            .any(|marker| marker.place == MarkerPlace::Segment(5)),
        "{:?}",
        plan.markers
    );
    assert!(plan.count.tokens - plan.prediction.tokens < Tokens(5_000));
}
