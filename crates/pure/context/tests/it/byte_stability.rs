//! Real transcripts, record by record: a prompt sent once is rebuilt byte for byte, after a resume
//! and in a fork too. Skipped where the transcripts are absent.

use crate::material::read;
use crate::view_properties::wire;
use dormouse_context::conversation::Conversation;
use dormouse_context::fork::Fork;
use dormouse_context::ledger::{Ledger, MarkerTtls};
use dormouse_context::path::{Leaf, path};
use dormouse_context::plan::{RequestInputs, plan_request};
use dormouse_context::prefix::RenderedPrefix;
use dormouse_context::target::Target;
use dormouse_context::window::{Relief, Thresholds};
use dormouse_core::id::RecordId;
use dormouse_core::json::RawJson;
use dormouse_core::models::ModelTable;
use dormouse_core::record::{Body, Checkpoint, Record, Role, Ttl};
use dormouse_core::settings::WindowSettings;
use dormouse_core::units::{Millis, Tokens};
use dormouse_testkit::material::transcripts;
use serde_json::json;
use std::sync::Arc;

/// Positions at which each transcript is resumed and forked; each costs a fold of the whole file.
const PLACES: usize = 4;

fn target() -> Target {
    let models = Arc::new(ModelTable::builtin().clone());
    Target::new(&models, "claude-opus-4-6")
}

#[test]
fn what_was_sent_stays_in_front() {
    for file in transcripts() {
        let records = read(&file);
        let mut conversation = Conversation::new(target());
        let mut sent = 0;
        for record in path(&records, Leaf::Newest) {
            let chain = conversation.view().frozen().chain(sent);
            conversation.apply(record);
            let frozen = conversation.view().frozen();
            if !record.body.is_rewrite() {
                assert!(frozen.len() >= sent, "{}: {}", file.display(), record.id);
                assert_eq!(
                    frozen.chain(sent),
                    chain,
                    "{}: {}",
                    file.display(),
                    record.id
                );
            }
            sent = frozen.len();
        }
    }
}

#[test]
fn a_resumed_transcript_goes_on_with_the_same_bytes() {
    for file in transcripts() {
        let records = read(&file);
        let path = path(&records, Leaf::Newest);
        for place in 1..=PLACES {
            let (before, after) = path.split_at(path.len() * place / (PLACES + 1));
            let Some(last) = before.last() else { continue };
            let mut unbroken = Conversation::fold(before, target());
            let manifest = unbroken.manifest();
            let ranges = manifest.ranges.clone();
            let carrier = Record {
                seq: last.seq.next(),
                offset: last.offset + 1,
                id: RecordId::new("checkpoint"),
                body: Body::Checkpoint(Box::new(Checkpoint { manifest })),
                ..(*last).clone()
            };
            let in_ranges = |record: &&Record| {
                let mut ranges = ranges.iter();
                ranges.any(|range| (range.first..=range.last).contains(&record.seq))
            };
            let kept = records
                .iter()
                .filter(in_ranges)
                .map(|record| (None, record));
            let mut resumed = Conversation::resume(&carrier, kept, target());
            let where_ = format!("{} behind {}", file.display(), last.id);
            assert_eq!(resumed.view().issues(), [], "{where_}");
            same(&resumed, &unbroken, &where_);
            for record in after {
                unbroken.apply(record);
                resumed.apply(record);
            }
            same(&resumed, &unbroken, &where_);
        }
    }
}

fn same(resumed: &Conversation, unbroken: &Conversation, where_: &str) {
    let (a, b) = (resumed.view().segments(), unbroken.view().segments());
    assert!(wire(&a) == wire(&b), "{where_}: other bytes");
    assert_eq!(resumed.state(), unbroken.state(), "{where_}");
    assert_eq!(resumed.economy(), unbroken.economy(), "{where_}");
}

#[test]
fn a_fork_of_a_transcript_begins_with_the_same_bytes() {
    let prefix = Arc::new(RenderedPrefix::new(Vec::new(), Vec::new(), Vec::new()));
    let params = RawJson::from(&json!({ "model": "claude-opus-4-6", "max_tokens": 1_000 }));
    let (now, ledger) = (Millis(1_770_000_000_000), Ledger::default());
    let ttls = MarkerTtls {
        prefix: Ttl::OneHour,
        messages: Ttl::FiveMinutes,
    };
    let thresholds = Thresholds::new(
        Tokens(1_000_000),
        Tokens(64_000),
        &WindowSettings::default(),
    );
    for file in transcripts() {
        let records = read(&file);
        let path = path(&records, Leaf::Newest);
        for place in 1..=PLACES {
            let before = &path[..path.len() * place / (PLACES + 1)];
            let conversation = Conversation::fold(before, target());
            let list = conversation.view().segments();
            // A prompt that ends with the assistant cannot be sent, so it is not forked.
            if list.last().is_none_or(|last| last.role != Role::User) {
                continue;
            }
            let fork = Fork::new(
                &conversation,
                &ledger,
                &prefix,
                &params,
                "take notes",
                (now, ttls),
            );
            let mut of_fork = wire(fork.segments());
            assert_eq!(of_fork.len(), fork.shared() + 1);
            of_fork.pop();
            assert!(of_fork == wire(&list), "{}", file.display());
            let plan = plan_request(&RequestInputs {
                conversation: &conversation,
                ledger: &ledger,
                prefix: &prefix,
                params: &params,
                thresholds: &thresholds,
                relief: Relief::Available,
                ttls,
                now,
                cached: dormouse_context::plan::CachedPart::Whole,
                ending: dormouse_context::plan::Ending::User,
                distil: &[],
            });
            let (parent, fork) = (plan.body(), fork.body());
            // Everything but the brackets that close the last message and the body.
            let open = parent.strip_suffix(b"]}]}").expect("messages stand last");
            assert!(fork.starts_with(open), "{}", file.display());
        }
    }
}
