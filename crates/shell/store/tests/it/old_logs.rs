//! Logs that an earlier engine wrote are resumed to the same bytes.
//!
//! Each folder of `tests/data/logs-v1` is the project folder of a session: its log, what belongs to
//! it, and for a fork the parent's log beside its own. `expected.json` has, for each, how it was
//! made and what the engine that wrote it made of it: the prompt block by block, the count of
//! tokens, the money, the state. The logs stay as they are; a figure changes only on purpose, and
//! then the reason stands in the commit that changes it.

use dormouse_context::conversation::Conversation;
use dormouse_context::path::{Leaf, path};
use dormouse_context::target::Target;
use dormouse_core::hash::Hash;
use dormouse_core::models::ModelTable;
use dormouse_core::record::Role;
use dormouse_core::weight::Weight;
use dormouse_store::LogFile;
use dormouse_system::{Files, System};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Bytes above which a part of the state is compared by its hash: the expected file stays readable.
const LONGEST_SHOWN: usize = 160;

/// Members that the folded state got since the logs were written.
const SINCE: [&str; 2] = ["notes_updates", "notes_usage"];

fn folder() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/logs-v1"))
}

/// The fixtures with what is expected of them.
fn expected(files: &dyn Files) -> BTreeMap<String, Value> {
    let bytes = files
        .read(&folder().join("expected.json"), u64::MAX)
        .unwrap();
    serde_json::from_slice(&bytes).unwrap()
}

/// One log, opened as a session opens it.
struct Fixture<'a> {
    files: &'a dyn Files,
    folder: PathBuf,
    log: LogFile,
    target: Target,
}

impl<'a> Fixture<'a> {
    fn open(files: &'a dyn Files, name: &str, expected: &Value) -> Self {
        let folder = folder().join(name);
        let log = folder.join(expected["log"].as_str().unwrap());
        let models = Arc::new(ModelTable::builtin().clone());
        let model = expected["opened_with"]["model"].as_str().unwrap();
        Self {
            log: LogFile::open(files, &log).unwrap(),
            files,
            folder,
            target: Target::new(&models, model),
        }
    }

    /// From the newest record with a manifest on, as a session that is opened again does it.
    fn resumed(&self) -> Value {
        let beside = |name: String| LogFile::open(self.files, &self.folder.join(name)).ok();
        let resumed = self
            .log
            .resume(&|session| beside(format!("{session}.jsonl")))
            .unwrap();
        let kept = resumed
            .kept
            .iter()
            .map(|(session, record)| (session.as_ref(), record));
        let conversation = Conversation::resumed(
            resumed.carrier.as_ref(),
            kept,
            &resumed.tail,
            self.target.clone(),
        );
        figures(&conversation)
    }

    /// From the first record on.
    fn folded(&self) -> Value {
        let records = self.log.read_all().unwrap().records;
        let path = path(&records, Leaf::Newest);
        figures(&Conversation::fold(&path, self.target.clone()))
    }

    fn kinds(&self) -> (usize, Value) {
        let records = self.log.read_all().unwrap().records;
        let mut kinds: BTreeMap<&str, u64> = BTreeMap::new();
        for record in &records {
            *kinds.entry(record.body.kind()).or_default() += 1;
        }
        (records.len(), json!(kinds))
    }
}

/// Figures of a conversation that the expected file pins.
fn figures(conversation: &Conversation) -> Value {
    let view = conversation.view();
    let segments = view.segments();
    let (mut chain, mut bytes) = (Hash::START, Vec::new());
    for segment in segments.iter() {
        let role = match segment.role {
            Role::User => "user",
            Role::Assistant => "assistant",
            Role::System => "system",
        };
        chain = chain.link(role.as_bytes()[0], segment.block.hash());
        bytes.extend_from_slice(role.as_bytes());
        bytes.extend_from_slice(segment.block.bytes());
    }
    let (count, extent) = view.extent();
    json!({
        "segments": segments.len(),
        "chain": chain.to_string(),
        "bytes": bytes.len(),
        "blake3": Hash::of(&bytes).to_string(),
        "extent": [count, extent.to_string()],
        "issues": view.issues().len(),
        "tokens": conversation.count(&Weight::default()).tokens.get(),
        "totals": totals(conversation),
        "state": state(conversation),
    })
}

/// Tokens and money by model.
fn totals(conversation: &Conversation) -> Value {
    let models = &conversation.view().target().models;
    let sums = conversation.state().totals.sums(models);
    let sums = sums.iter().map(|(model, sum)| {
        let figures = json!({
            "responses": sum.responses,
            "input": sum.usage.input.get(),
            "cache_read": sum.usage.cache_read.get(),
            "cache_write_5m": sum.usage.cache_write_5m.get(),
            "cache_write_1h": sum.usage.cache_write_1h.get(),
            "output": sum.usage.output.get(),
            "cost_usd": sum.cost.to_decimal(),
        });
        (model.clone(), figures)
    });
    Value::Object(sums.collect())
}

/// The folded state by its members, long ones by their hash.
fn state(conversation: &Conversation) -> Value {
    let mut state = serde_json::to_value(conversation.state()).unwrap();
    without_new_members(&mut state);
    let members = state.as_object().unwrap().iter().map(|(name, part)| {
        let text = canonical(part);
        let shown = if text.len() <= LONGEST_SHOWN {
            part.clone()
        } else {
            json!(format!("blake3 {}", Hash::of(text.as_bytes())))
        };
        (name.clone(), shown)
    });
    Value::Object(members.collect())
}

/// Takes out of a lineage the members that the folded state got since the logs were written: a
/// lineage is known by its hash, and holds an empty state.
fn without_new_members(state: &mut Value) {
    let inner = state.pointer_mut("/lineage/manifest/state");
    let Some(inner) = inner.and_then(Value::as_object_mut) else {
        return;
    };
    for name in SINCE {
        inner.remove(name);
    }
}

/// JSON with sorted members: the order must not depend on the features of a build.
fn canonical(value: &Value) -> String {
    match value {
        Value::Object(members) => {
            let sorted: BTreeMap<&String, &Value> = members.iter().collect();
            let members = sorted.iter().map(|(name, part)| {
                let name = Value::from(name.as_str());
                format!("{name}:{}", canonical(part))
            });
            format!("{{{}}}", members.collect::<Vec<_>>().join(","))
        }
        Value::Array(parts) => {
            let parts: Vec<String> = parts.iter().map(canonical).collect();
            format!("[{}]", parts.join(","))
        }
        other => other.to_string(),
    }
}

/// Adds a line for every figure that is not as expected. Members that the state got since are no
/// mismatch; members that it lost are.
fn compare(name: &str, expected: &Value, found: &Value, mismatches: &mut Vec<String>) {
    let Value::Object(members) = expected else {
        if expected != found {
            mismatches.push(format!("{name}: expected {expected}, found {found}"));
        }
        return;
    };
    for (member, part) in members {
        let found = found.get(member).unwrap_or(&Value::Null);
        compare(&format!("{name}.{member}"), part, found, mismatches);
    }
}

#[test]
fn old_logs_give_the_same_prompt() {
    let system = System::real();
    let files = &*system.files;
    let expected = expected(files);
    assert!(!expected.is_empty(), "there is nothing to check");
    let mut mismatches = Vec::new();
    for (name, expected) in &expected {
        let fixture = Fixture::open(files, name, expected);
        let (records, kinds) = fixture.kinds();
        let counted = json!({"records": records, "kinds": kinds});
        for part in ["records", "kinds"] {
            let of = format!("{name} {part}");
            compare(&of, &expected[part], &counted[part], &mut mismatches);
        }
        if !expected["resumed"].is_null() {
            let of = format!("{name} resumed");
            compare(
                &of,
                &expected["resumed"],
                &fixture.resumed(),
                &mut mismatches,
            );
        }
        // A fork's own records do not make up its prompt, so it has no fold of its own.
        if !expected["folded"].is_null() {
            let of = format!("{name} folded");
            compare(&of, &expected["folded"], &fixture.folded(), &mut mismatches);
        }
    }
    assert!(mismatches.is_empty(), "{}", mismatches.join("\n"));
}

/// Every folder is named in `expected.json`: a fixture without expectations checks nothing.
#[test]
fn every_old_log_is_checked() {
    let system = System::real();
    let found = system.files.walk(&folder(), &|_| false).unwrap();
    let mut folders: Vec<String> = found
        .iter()
        .filter(|file| file.path.components().count() > 1)
        .filter_map(|file| file.path.components().next())
        .map(|first| Path::new(&first).display().to_string())
        .collect();
    folders.sort();
    folders.dedup();
    assert!(!folders.is_empty(), "there is nothing to check");
    let expected: Vec<String> = expected(&*system.files).into_keys().collect();
    assert_eq!(folders, expected);
}

/// The newest branch alone is resumed. The engine that wrote these logs also showed the abandoned
/// branch and side chains, so the expected figures come from a straight log with the same records.
#[test]
fn a_rewound_log_is_resumed_to_its_newest_branch() {
    let system = System::real();
    let files = &*system.files;
    let mut mismatches = Vec::new();
    let mut branched = 0;
    for (name, expected) in &expected(files) {
        let straight = &expected["resumed_once_branches_are_told_apart"];
        if straight.is_null() {
            continue;
        }
        branched += 1;
        let found = Fixture::open(files, name, expected).resumed();
        for figure in [
            "segments", "chain", "bytes", "blake3", "extent", "tokens", "totals",
        ] {
            let of = format!("{name} resumed.{figure}");
            compare(&of, &straight[figure], &found[figure], &mut mismatches);
        }
    }
    assert!(branched > 0, "no log with branches is there");
    assert!(mismatches.is_empty(), "{}", mismatches.join("\n"));
}
