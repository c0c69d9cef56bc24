//! A single question outside any conversation: a system prompt, a text, an answer.
//!
//! Small models are asked this way (for example: which of these memories help?). The prompt is
//! never repeated, so there are no segments, cache markers or records.

use dormouse_core::json::RawJson;
use serde_json::{Map, Value, json};

/// Body of a request with these parameters.
///
/// # Errors
/// When the parameters are not a JSON object.
pub fn body(params: &RawJson, system: &str, text: &str) -> Result<Vec<u8>, serde_json::Error> {
    let mut body: Map<String, Value> = serde_json::from_slice(params.bytes())?;
    body.insert("system".to_owned(), json!(system));
    body.insert(
        "messages".to_owned(),
        json!([{"role": "user", "content": [{"type": "text", "text": text}]}]),
    );
    serde_json::to_vec(&body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_question_stands_behind_the_parameters() {
        let params = RawJson::from_value(&json!({"model": "m", "max_tokens": 256})).unwrap();
        let body = String::from_utf8(body(&params, "be brief", "why?").unwrap()).unwrap();
        let expected = r#"{"model":"m","max_tokens":256,"system":"be brief","messages":[{"role":"user","content":[{"type":"text","text":"why?"}]}]}"#;
        assert_eq!(body, expected);
    }
}
