//! The span of one attempt, for operators.
//!
//! # Model
//! A span `request` of the target `dormouse_model` holds the host, the path, the model, the size of
//! the body, and, as they become known, the status, the provider's id of the request and the
//! duration, also of an attempt that was cancelled. Without a subscriber none of it is computed.
//!
//! # Not here
//! Content, keys, headers, the words of errors: a trace is read by more people than a conversation
//! is. The address stops at the host, because gateways put tokens into paths.

use crate::http::Post;
use serde::Deserializer;
use serde::de::{IgnoredAny, MapAccess, Visitor};
use std::borrow::Cow;
use std::fmt;
use tokio::time::Instant;
use tracing::Span;
use tracing::field::Empty;

/// An attempt that is being traced. Its duration is recorded when it is dropped.
#[derive(Debug)]
pub(crate) struct Trace {
    span: Span,
    start: Instant,
}

impl Trace {
    pub(crate) fn start(host: &str, post: &Post) -> Self {
        let span = tracing::info_span!(
            target: "dormouse_model",
            "request",
            host,
            path = post.path,
            model = Empty,
            body_bytes = post.body.len(),
            status = Empty,
            request_id = Empty,
            duration_ms = Empty,
        );
        // Parsing the body for a name that is not shown would cost time on every request.
        if !span.is_disabled()
            && let Some(model) = model_of(&post.body)
        {
            span.record("model", model);
        }
        Self {
            span,
            start: Instant::now(),
        }
    }

    pub(crate) fn span(&self) -> Span {
        self.span.clone()
    }

    /// Notes status and id from the head of the reply.
    pub(crate) fn replied(&self, status: u16, request_id: Option<&str>) {
        self.span.record("status", status);
        if let Some(id) = request_id {
            self.span.record("request_id", id);
        }
    }
}

impl Drop for Trace {
    fn drop(&mut self) {
        if !self.span.is_disabled() {
            let elapsed = self.start.elapsed().as_millis();
            // In `drop`, so that a cancelled attempt has a duration too.
            let elapsed = u64::try_from(elapsed).unwrap_or(u64::MAX);
            self.span.record("duration_ms", elapsed);
        }
    }
}

/// The member `model` of a body. The search ends there; bodies have it before the prompt.
fn model_of(body: &[u8]) -> Option<String> {
    let mut found = None;
    let mut json = serde_json::Deserializer::from_slice(body);
    // An error means that the search ended early, or that there is no model to be found.
    json.deserialize_map(Search(&mut found)).ok();
    found
}

struct Search<'a>(&'a mut Option<String>);

impl<'de> Visitor<'de> for Search<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the body of a request")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        while let Some(name) = members.next_key::<Cow<'_, str>>()? {
            if name == "model" {
                *self.0 = Some(members.next_value()?);
                return Ok(());
            }
            // Skipped without being built: the prompt may be megabytes.
            members.next_value::<IgnoredAny>()?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_model_is_found_where_it_stands_and_nothing_is_read_beyond_it() {
        let cases = [
            (r#"{"model":"m","messages":[]}"#, Some("m")),
            (r#"{"model":"m", and then nonsense"#, Some("m")),
            (r#"{"a":{"model":"x"},"model":"m\u00e9"}"#, Some("mé")),
            (r#"{"messages":[]}"#, None),
            (r#"{"model":7}"#, None),
            (r#"["model"]"#, None),
            ("", None),
        ];
        for (body, expected) in cases {
            assert_eq!(model_of(body.as_bytes()).as_deref(), expected, "{body}");
        }
    }
}
