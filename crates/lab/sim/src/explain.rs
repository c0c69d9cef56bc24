//! Names the fault of a body that could not be read.
//!
//! The fast reader only knows *that* a body has the wrong shape. Here the body is read again as a
//! tree, slowly, to name the first place that is wrong. Only bad requests pay for it.
//!
//! # Not here
//! Faults between well-formed parts: [`crate::validate`].

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
    for (at, message) in messages.iter().enumerate() {
        let path = format!("messages.{at}");
        if !message.is_object() {
            return ApiError::invalid(format!("{path}: Input should be an object"));
        }
        match message.get("role") {
            // A missing role is named by the reader of messages, with its own text.
            None | Some(Value::String(_)) => {}
            Some(_) => {
                return ApiError::invalid(format!("{path}.role: Input should be a valid string"));
            }
        }
        match message.get("content") {
            None | Some(Value::String(_)) => {}
            Some(Value::Array(blocks)) if blocks.iter().all(Value::is_object) => {}
            Some(content) => return wrong_content(content, &format!("{path}.content")),
        }
    }
    // The tree reads well, so the fault is one only the fast reader sees, such as a doubled member.
    ApiError::invalid(format!("The request body cannot be read: {error}"))
}

/// The error for content that is neither a string nor a list of blocks.
pub(crate) fn content(text: &str, path: &str) -> ApiError {
    wrong_content(&serde_json::from_str(text).unwrap_or_default(), path)
}

fn wrong_content(content: &Value, path: &str) -> ApiError {
    match content {
        Value::Array(blocks) => {
            let at = blocks.iter().position(|block| !block.is_object());
            // One is wrong, or this would not be called.
            let at = at.unwrap_or_default();
            ApiError::invalid(format!("{path}.{at}: Input should be an object"))
        }
        _ => ApiError::invalid(format!(
            "{path}: Input should be a valid string or list of content blocks"
        )),
    }
}
