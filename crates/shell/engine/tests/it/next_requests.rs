//! A session that an earlier engine wrote goes on with the very request that engine would have
//! sent.
//!
//! Each log of the store's `tests/data/logs-v1` is put on a disk in memory and opened with the
//! model, window, settings, prefix and features it was written with; the clock stands half a minute
//! behind the newest record. Told "Go on.", the session sends one request: its body is known.

use crate::clearing::thinking_kit;
use crate::kit::{Kit, prefix};
use crate::provider::Answer;
use dormouse_core::block::Block;
use dormouse_core::hash::Hash;
use dormouse_core::units::{Millis, Tokens};
use dormouse_engine::Purpose;
use dormouse_model::Feature;
use dormouse_sim::SimConfig;
use dormouse_system::{SequentialIds, System};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const HOME: &str = "/home/dormouse";
const PROJECT: &str = "/home/dormouse/projects/p";

/// The folder of the fixtures, which the store's tests read too.
const DATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../store/tests/data/logs-v1");

fn feature(name: &str) -> Feature {
    match name {
        "ServerCompaction" => Feature::ServerCompaction,
        "ContextEditing" => Feature::ContextEditing,
        "CacheEdits" => Feature::CacheEdits,
        other => panic!("no fixture was written with {other}"),
    }
}

/// A kit that is set up as the fixture says.
fn kit(opened_with: &Value) -> Kit {
    let model = opened_with["model"].as_str().unwrap();
    let mut kit = if opened_with["thinking"] == true {
        thinking_kit(model)
    } else {
        Kit::with(model, SimConfig::default())
    };
    kit.config.window = opened_with["window"].as_u64().map(Tokens);
    kit.config.prefix = Arc::new(prefix(opened_with["system"].as_str().unwrap()));
    let settings = opened_with["settings"].as_array().unwrap().iter();
    let settings: Vec<&str> = settings.filter_map(Value::as_str).collect();
    kit.set(&settings);
    let features = opened_with["features"].as_array().unwrap().iter();
    let features: Vec<Feature> = features.filter_map(Value::as_str).map(feature).collect();
    kit.provider.can(&features);
    if features.contains(&Feature::CacheEdits) {
        kit.provider.lenient();
    }
    kit.provider.always(Purpose::Turn, Answer::text("Done."));
    kit
}

/// The first request of a session that is opened again.
async fn next_request(name: &str, expected: &Value) -> Vec<u8> {
    let mut kit = kit(&expected["opened_with"]);
    let (real, folder) = (System::real(), PathBuf::from(DATA).join(name));
    for file in real.files.walk(&folder, &|_| false).unwrap() {
        let content = real.files.read(&folder.join(&file.path), u64::MAX).unwrap();
        kit.machine
            .files
            .put(Path::new(PROJECT).join(&file.path), &content);
    }
    let next = &expected["next_request"];
    kit.machine.clock.set(Millis(next["at"].as_i64().unwrap()));
    // The sequence of the log's own ids starts anew in a new machine.
    kit.machine.ids = SequentialIds::new(7);
    let session = expected["log"].as_str().unwrap().trim_end_matches(".jsonl");
    let mut session = kit
        .open_as(kit.machine.system(), HOME.as_ref(), session)
        .await;
    let said = next["said"].as_str().unwrap();
    session.turn(vec![Block::text(said)]).await.unwrap();
    let sent = kit.provider.sent();
    assert_eq!(
        sent[0].purpose,
        Purpose::Turn,
        "{name}: something else came first"
    );
    sent[0].body.clone()
}

/// The mismatches of the fixtures that `wanted` picks, and how many it picked.
async fn mismatches(wanted: impl Fn(&Value) -> bool) -> (Vec<String>, usize) {
    let path = Path::new(DATA).join("expected.json");
    let bytes = System::real().files.read(&path, u64::MAX).unwrap();
    let expected: BTreeMap<String, Value> = serde_json::from_slice(&bytes).unwrap();
    let (mut mismatches, mut checked) = (Vec::new(), 0);
    for (name, expected) in expected.iter().filter(|(_, expected)| wanted(expected)) {
        checked += 1;
        let body = next_request(name, expected).await;
        let next = &expected["next_request"];
        if next["blake3"] == Hash::of(&body).to_string() {
            continue;
        }
        let (wanted, found) = (&next["bytes"], body.len());
        mismatches.push(format!("{name}: {found} other bytes instead of {wanted}"));
        if let Some(whole) = next["body"].as_str() {
            let whole = Path::new(DATA).join(name).join(whole);
            let whole = System::real().files.read(&whole, u64::MAX).unwrap();
            let same = whole.iter().zip(&body).take_while(|(a, b)| a == b).count();
            let around = |bytes: &[u8]| {
                let (from, to) = (same.saturating_sub(60), bytes.len().min(same + 60));
                String::from_utf8_lossy(&bytes[from..to]).into_owned()
            };
            let (expected, found) = (around(&whole), around(&body));
            mismatches.push(format!(
                "  at byte {same}: expected {expected:?}, found {found:?}"
            ));
        }
    }
    (mismatches, checked)
}

fn branched(expected: &Value) -> bool {
    !expected["resumed_once_branches_are_told_apart"].is_null()
}

#[tokio::test]
async fn old_logs_go_on_with_the_same_request() {
    let (mismatches, checked) = mismatches(|expected| !branched(expected)).await;
    assert!(checked > 0, "there is nothing to check");
    assert!(mismatches.is_empty(), "{}", mismatches.join("\n"));
}

/// The engine that wrote these logs showed the abandoned branch too, so the expected bodies are
/// those of a straight log with the same records.
#[tokio::test]
async fn rewound_logs_go_on_with_the_request_of_their_newest_branch() {
    let (mismatches, checked) = mismatches(branched).await;
    assert!(checked > 0, "no log with branches is there");
    assert!(mismatches.is_empty(), "{}", mismatches.join("\n"));
}
