//! Third step: from an outcome to the bytes of a response. Needs no state.
//!
//! # Not here
//! Events of a stream ([`crate::sse`]) and the OpenAI face ([`crate::openai_write`]).

use crate::error::ApiError;
use crate::http::{Body, SimResponse};
use crate::openai_write;
use crate::read::{CountJob, Face, Rules};
use crate::simulator::{Handled, Report, Settled, SettledMessage};
use crate::sse;
use dormouse_core::usage::TokenUsage;
use serde_json::{Map, Value, json};
use std::borrow::Cow;

/// The response to an outcome.
pub(crate) fn response(rules: &Rules, outcome: Handled) -> SimResponse {
    let mut response = match &outcome.result {
        Err(error) => refused(&outcome, error),
        Ok(Settled::Head) => SimResponse::json(200, Vec::new()),
        Ok(Settled::Plain(value)) => SimResponse::json(200, to_vec(value)),
        Ok(Settled::Message(settled)) => message(rules, settled),
        Ok(Settled::Chat(settled)) => openai_write::response(rules, settled, outcome.now),
    };
    // A refusal has no body to spoil; the fault that caused it is the refusal itself.
    if outcome.result.is_ok()
        && let Some(fault) = &outcome.fault
    {
        fault.spoil(&mut response);
    }
    let id = match outcome.face {
        Face::Anthropic => "request-id",
        Face::OpenAi => "x-request-id",
    };
    response
        .headers
        .push((Cow::Borrowed(id), outcome.request_id));
    if outcome.face == Face::Anthropic {
        response.headers.push((
            Cow::Borrowed("anthropic-organization-id"),
            outcome.organisation,
        ));
    }
    response.headers.extend(outcome.limit_headers);
    response
}

fn refused(outcome: &Handled, error: &ApiError) -> SimResponse {
    let body = match outcome.face {
        Face::Anthropic => error.body(&outcome.request_id),
        Face::OpenAi => openai_write::error(error),
    };
    let mut response = SimResponse::json(error.kind.status(), body);
    if let Some(seconds) = error.retry_after {
        let header = (Cow::Borrowed("retry-after"), seconds.to_string());
        response.headers.push(header);
    }
    response
}

pub(crate) fn to_vec(value: &Value) -> Vec<u8> {
    serde_json::to_vec(value).unwrap_or_default()
}

/// The answer to a request to count.
pub(crate) fn count(job: &CountJob) -> Value {
    match job.original {
        None => json!({"input_tokens": job.tokens}),
        // Only where edits were asked for: other clients do not expect the member.
        Some(original) => json!({
            "input_tokens": job.tokens,
            "context_management": {"original_input_tokens": original},
        }),
    }
}

fn message(rules: &Rules, settled: &SettledMessage) -> SimResponse {
    // A compaction on the way is billed, but stands only among the iterations.
    let iterations = settled.iterations();
    let mut reported = iterations
        .iter()
        .filter(|(kind, _)| *kind == "message")
        .map(|(_, usage)| usage)
        .sum();
    // Only the reported figures: the report of the simulator keeps the counted ones.
    if let Some(figures) = &settled.job.usage {
        figures.apply(&mut reported);
    }
    let mut response = if settled.job.stream {
        SimResponse::stream(sse::frames(&rules.config, settled, &reported))
    } else {
        SimResponse::json(200, to_vec(&whole(settled, &reported)))
    };
    // A whole answer keeps its client waiting as long as a stream's first byte.
    if let Body::Whole { after, .. } = &mut response.body {
        *after = rules.config.first_byte_ms;
    }
    let report = Report::of(settled);
    if let Some(cost) = report.cost {
        let header = (Cow::Borrowed("x-sim-cost-usd"), cost.to_decimal());
        response.headers.push(header);
    }
    response.report = Some(Box::new(report));
    response
}

/// The members every message has, with content and ending as given.
pub(crate) fn head(settled: &SettledMessage, usage: Value) -> Map<String, Value> {
    let mut message = Map::new();
    message.insert("id".to_owned(), json!(settled.id));
    message.insert("type".to_owned(), json!("message"));
    message.insert("role".to_owned(), json!("assistant"));
    message.insert("model".to_owned(), json!(settled.job.model_name));
    message.insert("content".to_owned(), json!([]));
    message.insert("stop_reason".to_owned(), Value::Null);
    message.insert("stop_sequence".to_owned(), Value::Null);
    message.insert("stop_details".to_owned(), Value::Null);
    message.insert("container".to_owned(), Value::Null);
    if let Some(diagnostics) = &settled.diagnostics {
        message.insert("diagnostics".to_owned(), diagnostics.clone());
    }
    if let Some(dropped) = &settled.job.dropped {
        message.insert("input_transformations".to_owned(), json!(dropped));
    }
    message.insert("usage".to_owned(), usage);
    message
}

fn whole(settled: &SettledMessage, usage: &TokenUsage) -> Value {
    let spoken = &settled.spoken;
    let mut message = head(settled, final_usage(settled, usage));
    message.insert("content".to_owned(), Value::Array(spoken.blocks.clone()));
    message.insert("stop_reason".to_owned(), json!(spoken.stop_reason.name()));
    message.insert("stop_sequence".to_owned(), json!(spoken.stop_sequence));
    if let Some(management) = context_management(settled) {
        message.insert("context_management".to_owned(), management);
    }
    Value::Object(message)
}

/// The record of applied edits, where edits were asked for.
pub(crate) fn context_management(settled: &SettledMessage) -> Option<Value> {
    let applied = settled.job.applied_edits.as_ref()?;
    Some(json!({"applied_edits": applied}))
}

/// The usage of a finished message: with its iterations, where there was more than the answer.
pub(crate) fn final_usage(settled: &SettledMessage, counted: &TokenUsage) -> Value {
    let mut value = usage(counted, settled.spoken.thinking_tokens);
    // Clients that do not know iterations must find the usual members alone.
    if settled.job.compacted.is_some() {
        let iterations = settled.iterations();
        let iterations = iterations.iter().map(|(kind, usage)| {
            json!({
                "type": kind,
                "model": settled.job.model_name,
                "input_tokens": usage.input,
                "output_tokens": usage.output,
                "cache_read_input_tokens": usage.cache_read,
                "cache_creation_input_tokens": usage.cache_write_5m + usage.cache_write_1h,
            })
        });
        value["iterations"] = iterations.collect();
    }
    value
}

/// The input side and the output of a usage.
pub(crate) fn usage(usage: &TokenUsage, thinking_tokens: u64) -> Value {
    json!({
        "input_tokens": usage.input,
        "cache_creation_input_tokens": usage.cache_write_5m + usage.cache_write_1h,
        "cache_read_input_tokens": usage.cache_read,
        "cache_creation": {
            "ephemeral_5m_input_tokens": usage.cache_write_5m,
            "ephemeral_1h_input_tokens": usage.cache_write_1h,
        },
        "output_tokens": usage.output,
        "output_tokens_details": {"thinking_tokens": thinking_tokens},
        "server_tool_use": null,
        "service_tier": "standard",
    })
}
