//! Time for one request whose prompt stays as it is, beside reading and hashing its body once.

#![expect(clippy::unwrap_used, reason = "a benchmark has its own bodies")]

use bytes::Bytes;
use divan::Bencher;
use dormouse_core::hash::Hash;
use dormouse_core::models::ModelTable;
use dormouse_core::settings::Settings;
use dormouse_core::units::Millis;
use dormouse_recognise::Seen;
use dormouse_rewrite::{Body, Line, Rules, Surroundings, compose, plan};
use serde_json::{Value, json};
use std::sync::Arc;

fn main() {
    divan::main();
}

/// A tool loop as agents send it, of about this many bytes.
fn body(size: usize) -> Bytes {
    let mut messages = vec![json!({"role": "user", "content": "Go through all checks."})];
    let mut length = 0;
    while length + 3_000 < size {
        let at = messages.len();
        let id = format!("toolu_{at}");
        let lines = (0..40).map(|n| {
            let hash = (at * 7_919 + n * 104_729) % 0xff_ffff;
            format!("src/part_{n}/file_{hash:06x}.rs:{n}: flushed \"{hash}\" after {n} ms\n")
        });
        let text: String = lines.collect();
        length += text.len() + 100;
        messages.push(json!({"role": "assistant", "content": [{"type": "text", "text": "Next."},
            {"type": "tool_use", "id": id, "name": "Read", "input": {"file_path": format!("/src/{at}")}}]}));
        messages.push(json!({"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": id, "content": text}]}));
    }
    let last = messages.last_mut().unwrap();
    last["content"][0]["cache_control"] = json!({"type": "ephemeral"});
    let body = json!({"model": "claude-sonnet-4-5", "max_tokens": 64, "messages": messages,
        "tools": [{"name": "Read", "input_schema": {"type": "object"}}]});
    body.to_string().into()
}

const SIZES: [usize; 2] = [100_000, 1_000_000];

#[divan::bench(args = SIZES)]
fn parse_to_values_and_hash(bencher: Bencher<'_, '_>, size: usize) {
    let body = body(size);
    bencher.bench(|| {
        let value: Value = serde_json::from_slice(&body).unwrap();
        (value, Hash::of(&body))
    });
}

#[divan::bench(args = SIZES)]
fn parse_and_hash_blocks(bencher: Bencher<'_, '_>, size: usize) {
    let body = body(size);
    bencher.bench(|| Seen::read(&body).unwrap());
}

#[divan::bench(args = SIZES)]
fn parse_hash_and_divide(bencher: Bencher<'_, '_>, size: usize) {
    let body = body(size);
    bencher.bench(|| Body::of(&body, Seen::divide(&body).unwrap()).1.unwrap());
}

#[divan::bench(args = SIZES)]
fn plan_and_compose(bencher: Bencher<'_, '_>, size: usize) {
    let body = body(size);
    let seen = Seen::read(&body).unwrap();
    let body = Body::read(&body).unwrap();
    let (rules, models) = (
        Rules::new(&Settings::default()),
        Arc::new(ModelTable::builtin().clone()),
    );
    let line = Line::default();
    let around = Surroundings {
        rules: &rules,
        models: &models,
        folder: Some("/results"),
        betas: &[],
        now: Millis(0),
        refused: false,
    };
    bencher.bench(|| {
        let planned = plan(&body, &seen, &line, &around);
        let composed = compose(&body, &seen, &line, &planned.due, &around);
        assert!(composed.acts.is_empty());
        composed
    });
}
