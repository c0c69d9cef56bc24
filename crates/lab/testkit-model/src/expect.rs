//! Expectations of a request.
//!
//! # Not here
//! The order of requests: [`crate::Script`].

use dormouse_model::Request;
use pretty_assertions::StrComparison;
use serde_json::Value;
use std::fmt;
use std::sync::Arc;

type Check = Arc<dyn Fn(&Value) -> Result<(), String> + Send + Sync>;

/// An expectation of a request.
#[derive(Clone)]
pub enum Expect {
    /// Any request will do.
    Anything,
    /// The body is these bytes.
    Bytes(Vec<u8>),
    /// The body is this JSON; white space does not count, the order of members does.
    Json(Value),
    /// The text appears somewhere in the body.
    Contains(String),
    /// The body passes a check.
    Passes(&'static str, Check),
}

impl Expect {
    /// A check of the test's own, with a name for the message when it fails.
    pub fn that(
        name: &'static str,
        check: impl Fn(&Value) -> bool + Send + Sync + 'static,
    ) -> Self {
        Self::Passes(
            name,
            Arc::new(move |body| {
                if check(body) {
                    Ok(())
                } else {
                    Err(format!("the body is\n{}", pretty(body)))
                }
            }),
        )
    }

    /// The fault of a request, if it has one, for the panic message.
    pub(crate) fn verify(&self, request: &Request) -> Result<(), String> {
        let body = || -> Result<Value, String> {
            serde_json::from_slice(&request.body)
                .map_err(|error| format!("the body is not JSON: {error}"))
        };
        match self {
            Self::Anything => Ok(()),
            Self::Bytes(expected) if *expected == request.body => Ok(()),
            Self::Bytes(expected) => {
                let (left, right) = (readable(expected), readable(&request.body));
                // A difference of white space alone would print an empty comparison.
                let difference = if left == right {
                    "the same JSON in other bytes".to_owned()
                } else {
                    StrComparison::new(&left, &right).to_string()
                };
                Err(format!("expected < / received >\n{difference}"))
            }
            Self::Json(expected) => {
                // Printed the same way on both sides, so that only content differs.
                let (left, right) = (pretty(expected), pretty(&body()?));
                if left == right {
                    return Ok(());
                }
                let difference = StrComparison::new(&left, &right);
                Err(format!("expected < / received >\n{difference}"))
            }
            Self::Contains(text) => {
                let received = String::from_utf8_lossy(&request.body);
                if received.contains(text) {
                    return Ok(());
                }
                Err(format!(
                    "`{text}` does not appear in\n{}",
                    readable(&request.body)
                ))
            }
            Self::Passes(name, check) => {
                check(&body()?).map_err(|why| format!("the check `{name}` failed: {why}"))
            }
        }
    }
}

impl fmt::Debug for Expect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Anything => f.write_str("anything"),
            Self::Bytes(bytes) => write!(f, "{}", String::from_utf8_lossy(bytes)),
            Self::Json(value) => write!(f, "{value}"),
            Self::Contains(text) => write!(f, "a body with `{text}`"),
            Self::Passes(name, _) => write!(f, "a body that passes `{name}`"),
        }
    }
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).expect("JSON can be printed")
}

/// One member a line where it is JSON, else the text itself.
fn readable(bytes: &[u8]) -> String {
    serde_json::from_slice(bytes).map_or_else(
        |_| String::from_utf8_lossy(bytes).into_owned(),
        |value: Value| pretty(&value),
    )
}
