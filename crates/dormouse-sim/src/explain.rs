//! Says what is wrong with a body that could not be read.
//!
//! The fast reader only knows *that* a body has the wrong shape. Here the body is read again as a
//! tree, slowly, to name the first place that is wrong. Only bad requests pay for it.

use crate::error::ApiError;
use serde_json::Value;

/// The error for a body the fast reader refused with `error`.
pub(crate) fn body(text: &str, error: &serde_json::Error) -> ApiError {
    let body: Value = match serde_json::from_str(text) {
        Ok(body) => body,
        Err(error) => {
            return ApiError::invalid(format!("The request body is not valid JSON: {error}"));
        }
    };
    let Some(members) = body.as_object() else {
        return ApiError::invalid("The request body should be a JSON object");
    };
    let Some(messages) = members.get("messages") else {
        return ApiError::invalid("messages: Field required");
    };
    let Some(messages) = messages.as_array() else {
        return ApiError::invalid("messages: Input should be a valid list");
    };
    match messages.iter().position(|message| !message.is_object()) {
        Some(at) => ApiError::invalid(format!("messages.{at}: Input should be an object")),
        None => ApiError::invalid(format!("The request body cannot be read: {error}")),
    }
}

/// The error for content that is neither a string nor a list of blocks.
pub(crate) fn content(text: &str, path: &str) -> ApiError {
    let wrong = |path: &str, expected: &str| {
        ApiError::invalid(format!("{path}: Input should be {expected}"))
    };
    match serde_json::from_str(text) {
        Ok(Value::Array(blocks)) => {
            let at = blocks.iter().position(|block| !block.is_object());
            wrong(&format!("{path}.{}", at.unwrap_or_default()), "an object")
        }
        _ => wrong(path, "a valid string or list of content blocks"),
    }
}
