//! Errors of the gateway itself, in the shape of the provider's.

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use http::{Response, StatusCode};
use http_body_util::Full;
use serde_json::json;
use std::borrow::Cow;

/// Reason that a request is not passed on, or has no reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// No such path here.
    NotFound,
    /// The credential is no key of this gateway.
    Unknown,
    /// The client's key is good, but the gateway has none for the upstream.
    NoUpstreamKey,
    /// The body could not be read to its end.
    BadBody,
    /// The body did not arrive in time.
    SlowBody,
    /// The body is longer than the limit, in bytes.
    TooLarge(usize),
    /// Too many exchanges at once.
    Busy,
    /// Too many exchanges of this key at once.
    BusyKey,
    /// The upstream cannot be reached, or broke the connection before it answered.
    Unreachable(String),
    /// The upstream did not answer in time.
    Silent,
    /// The gateway is stopping.
    Stopping,
}

impl Refusal {
    fn parts(&self) -> (u16, &'static str, Cow<'static, str>) {
        let text = Cow::Borrowed;
        match self {
            Self::NotFound => (
                404,
                "not_found_error",
                text("No such path at this gateway."),
            ),
            Self::Unknown => (
                401,
                "authentication_error",
                text("The key is none of this gateway's."),
            ),
            Self::NoUpstreamKey => (
                401,
                "authentication_error",
                text(
                    "The gateway has no key for the upstream: set ANTHROPIC_API_KEY where it runs, \
                     or send its key as x-dormouse-key beside your own.",
                ),
            ),
            Self::BadBody => (
                400,
                "invalid_request_error",
                text("The request body could not be read."),
            ),
            Self::SlowBody => (
                408,
                "timeout_error",
                text("The request body did not arrive in time."),
            ),
            Self::TooLarge(limit) => (
                413,
                "request_too_large",
                Cow::Owned(format!(
                    "Request exceeds the maximum size of {limit} bytes of this gateway."
                )),
            ),
            Self::Busy => (
                529,
                "overloaded_error",
                text("The gateway handles as many requests as it may."),
            ),
            Self::BusyKey => (
                429,
                "rate_limit_error",
                text("This key has as many requests under way as it may."),
            ),
            Self::Unreachable(why) => (
                502,
                "api_error",
                Cow::Owned(format!("The gateway got no reply from the upstream: {why}")),
            ),
            Self::Silent => (
                504,
                "timeout_error",
                text("The upstream did not answer in time."),
            ),
            Self::Stopping => (503, "api_error", text("The gateway is stopping.")),
        }
    }

    /// Word for metrics and logs.
    pub(crate) const fn word(&self) -> &'static str {
        match self {
            Self::NotFound => "not_found",
            Self::Unknown => "unknown_key",
            Self::NoUpstreamKey => "no_upstream_key",
            Self::BadBody => "bad_body",
            Self::SlowBody => "slow_body",
            Self::TooLarge(_) => "too_large",
            Self::Busy => "busy",
            Self::BusyKey => "busy_key",
            Self::Unreachable(_) => "unreachable",
            Self::Silent => "silent",
            Self::Stopping => "stopping",
        }
    }

    /// The refusal in the provider's own form of an error, so that clients read it as one.
    pub(crate) fn response(&self, request: &str) -> Response<Full<Bytes>> {
        let (status, kind, message) = self.parts();
        let body = json!({
            "type": "error",
            "error": {"type": kind, "message": message},
            "request_id": request,
        });
        let mut response = Response::new(Full::new(Bytes::from(body.to_string())));
        *response.status_mut() =
            StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Ok(id) = HeaderValue::from_str(request) {
            headers.insert("request-id", id);
        }
        if matches!(self, Self::Busy | Self::BusyKey | Self::Stopping) {
            headers.insert(RETRY_AFTER, HeaderValue::from_static("1"));
        }
        response
    }
}
