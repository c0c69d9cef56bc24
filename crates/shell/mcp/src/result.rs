//! Results of servers, as the conversation takes them.
//!
//! # Model
//! Texts stay texts, images become blocks beside them, everything else becomes a line that says what
//! it is. A provider refuses a whole request for one image that it cannot read, and with it every
//! later request of the session: an image is therefore looked at before it is kept.
//!
//! # Not here
//! Long texts: the layer that offloads results.

use crate::clean;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use dormouse_context::offload::ToolOutput;
use dormouse_core::block::Block;
use dormouse_core::id::CallId;
use serde_json::{Value, json};

/// Bytes of text of one result; beyond it a server has lost its way, and disks are finite.
const LONGEST_TEXT: usize = 8 * 1024 * 1024;
/// Bytes of an image as base64, the provider's limit.
const LARGEST_IMAGE: usize = 5_000_000;
/// Images of one result; providers take some more in a whole request.
const MOST_IMAGES: usize = 16;
/// Pixels along one side that providers take.
const LONGEST_SIDE: usize = 8_000;
/// Kinds of images that providers take.
const IMAGES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];
/// Characters of a link or name in a line.
const LONGEST_LINE: usize = 500;

/// Result of a call (`CallToolResult` of the protocol) as the conversation takes it.
pub fn tool_output(call: CallId, result: &Value) -> ToolOutput {
    let mut parts = Parts::default();
    for part in result["content"].as_array().into_iter().flatten() {
        parts.add(part);
    }
    // Structured content repeats the text where there is one.
    let structured = &result["structuredContent"];
    if parts.texts.is_empty() && parts.media.is_empty() && !structured.is_null() {
        parts.say(structured.to_string());
    }
    ToolOutput {
        is_error: result["isError"] == true || result["is_error"] == true,
        media: parts.media,
        ..ToolOutput::text(call, parts.texts.join("\n"))
    }
}

/// A failure of a call, for the model.
pub fn tool_failure(call: CallId, words: impl Into<String>) -> ToolOutput {
    ToolOutput {
        is_error: true,
        ..ToolOutput::text(call, words)
    }
}

#[derive(Default)]
struct Parts {
    texts: Vec<String>,
    bytes: usize,
    media: Vec<Block>,
}

impl Parts {
    fn add(&mut self, part: &Value) {
        let line = |value: &Value| clean::line(value.as_str().unwrap_or("?"), LONGEST_LINE);
        match part["type"].as_str() {
            Some("text") => self.say(part["text"].as_str().unwrap_or_default().to_owned()),
            Some("image") => match self.image(part) {
                Ok(block) => self.media.push(block),
                Err(why) => self.say(format!("[An image is left out: {why}.]")),
            },
            Some("audio") => self.say(format!(
                "[Audio of the type {} is left out.]",
                line(&part["mimeType"])
            )),
            Some("resource_link") => self.say(format!(
                "[Link to {}: {}]",
                line(&part["name"]),
                line(&part["uri"])
            )),
            Some("resource") => self.resource(&part["resource"]),
            // A later kind: the model gets what there is.
            _ => self.say(part.to_string()),
        }
    }

    fn say(&mut self, mut text: String) {
        let room = LONGEST_TEXT.saturating_sub(self.bytes);
        if text.len() > room {
            text.truncate(text.floor_char_boundary(room));
            text.push_str("\n[The rest of the result is left out: it is too long.]");
        }
        self.bytes += text.len();
        if room > 0 {
            self.texts.push(text);
        }
    }

    fn resource(&mut self, resource: &Value) {
        let uri = clean::line(resource["uri"].as_str().unwrap_or("?"), LONGEST_LINE);
        match (resource["text"].as_str(), resource["blob"].as_str()) {
            (Some(text), _) => self.say(format!("{uri}:\n{text}")),
            (None, Some(blob)) => {
                let image = json!({ "mimeType": resource["mimeType"], "data": blob });
                if let Ok(block) = self.image(&image) {
                    self.media.push(block);
                } else {
                    let bytes = blob.len() / 4 * 3;
                    self.say(format!("[{uri}: {bytes} bytes that are no text]"));
                }
            }
            (None, None) => self.say(format!("[{uri}]")),
        }
    }

    /// The image as a block, if a provider takes it.
    fn image(&self, part: &Value) -> Result<Block, &'static str> {
        let data = part["data"].as_str().unwrap_or_default();
        let given = part["mimeType"].as_str().unwrap_or_default();
        if self.media.len() >= MOST_IMAGES {
            return Err("there are too many");
        }
        if data.len() > LARGEST_IMAGE {
            return Err("it is too large");
        }
        let Some(kind) = IMAGES.into_iter().find(|kind| *kind == given) else {
            return Err("its type is not known");
        };
        let bytes = STANDARD.decode(data).map_err(|_| "it is no base64")?;
        let size = imagesize::blob_size(&bytes).map_err(|_| "it is damaged")?;
        let sides = [size.width, size.height];
        if !sides.iter().all(|side| (1..=LONGEST_SIDE).contains(side)) {
            return Err("it has too many pixels, or none");
        }
        // The type that the bytes have: a wrong one is refused by providers.
        let found = match imagesize::image_type(&bytes) {
            Ok(imagesize::ImageType::Png) => "image/png",
            Ok(imagesize::ImageType::Jpeg) => "image/jpeg",
            Ok(imagesize::ImageType::Gif) => "image/gif",
            Ok(imagesize::ImageType::Webp) => "image/webp",
            _ => return Err("its type is not known"),
        };
        if found != kind {
            return Err("it is of another type than the server says");
        }
        let source = json!({ "type": "base64", "media_type": kind, "data": data });
        Block::from_value(&json!({ "type": "image", "source": source }))
            .map_err(|_| "it cannot be written")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    /// A picture of one pixel.
    const PIXEL: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

    fn output(content: &Value) -> ToolOutput {
        tool_output(CallId::new("c1"), &json!({ "content": content }))
    }

    #[test]
    fn every_kind_of_content_has_a_form() {
        let said = output(&json!([
            { "type": "text", "text": "one" },
            { "type": "image", "mimeType": "image/png", "data": PIXEL },
            { "type": "audio", "mimeType": "audio/wav", "data": "AAAA" },
            { "type": "resource_link", "name": "log", "uri": "file:///log" },
            { "type": "resource", "resource": { "uri": "x:1", "text": "inside" } },
            { "type": "resource", "resource": { "uri": "x:2", "blob": "AAAAAAAA" } },
            { "type": "later", "value": 1 },
        ]));
        assert_eq!(said.media.len(), 1);
        let lines: Vec<&str> = said.text.lines().collect();
        let expected = [
            "one",
            "[Audio of the type audio/wav is left out.]",
            "[Link to log: file:///log]",
            "x:1:",
            "inside",
            "[x:2: 6 bytes that are no text]",
            "{\"type\":\"later\",\"value\":1}",
        ];
        assert_eq!(lines, expected);
        let structured = json!({ "structuredContent": { "a": 1 }, "isError": true });
        let said = tool_output(CallId::new("c1"), &structured);
        assert_eq!((said.text.as_str(), said.is_error), ("{\"a\":1}", true));
    }

    #[test]
    fn an_image_that_a_provider_would_refuse_is_left_out() {
        for (kind, data) in [
            ("image/jpeg", PIXEL),
            ("image/svg+xml", PIXEL),
            ("image/png", "no base64!"),
            ("image/png", "AAAA"),
            ("image/png", ""),
        ] {
            let said = output(&json!([{ "type": "image", "mimeType": kind, "data": data }]));
            assert_eq!(said.media.len(), 0, "{kind} {data}");
            assert!(
                said.text.starts_with("[An image is left out"),
                "{}",
                said.text
            );
        }
        let images = vec![json!({ "type": "image", "mimeType": "image/png", "data": PIXEL }); 40];
        assert_eq!(output(&json!(images)).media.len(), MOST_IMAGES);
    }

    #[test]
    fn a_text_without_end_is_cut() {
        let long = "ä".repeat(LONGEST_TEXT);
        let said =
            output(&json!([{ "type": "text", "text": long }, { "type": "text", "text": "b" }]));
        assert!(said.text.len() < LONGEST_TEXT + 200);
        assert!(said.text.ends_with("too long.]"));
    }
}
