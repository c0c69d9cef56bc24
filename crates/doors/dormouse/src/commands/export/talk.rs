//! A conversation for people, as Markdown or as a page, from lines of a transcript.

use serde_json::Value;
use std::fmt::Write as _;

/// Lines of a tool's result that are shown; the rest is counted.
const RESULT_LINES: usize = 20;

/// A conversation, part by part.
#[derive(Debug, Default)]
pub(super) struct Talk {
    parts: Vec<Part>,
}

#[derive(Debug, PartialEq, Eq)]
enum Part {
    /// Words of the user.
    User(String),
    /// Words of the model, as Markdown.
    Model(String),
    /// A tool's name and the subject of its call.
    Call(String, String),
    /// Result of a call; true if it failed.
    Result(String, bool),
}

impl Talk {
    /// Takes a line of a transcript in. Lines that are no messages say nothing here.
    pub(super) fn take(&mut self, line: &[u8]) {
        let Ok(line) = serde_json::from_slice::<Value>(line) else {
            return;
        };
        let hidden = line["isMeta"] == true || line["isSidechain"] == true;
        if hidden {
            return;
        }
        let message = &line["message"];
        let by_model = message["role"] == "assistant";
        if let Some(text) = message["content"].as_str() {
            self.text(by_model, text);
        }
        for block in message["content"].as_array().into_iter().flatten() {
            match block["type"].as_str() {
                Some("text") => self.text(by_model, block["text"].as_str().unwrap_or_default()),
                Some("tool_use") => {
                    let name = block["name"].as_str().unwrap_or_default();
                    self.parts
                        .push(Part::Call(name.to_owned(), subject(&block["input"])));
                }
                Some("tool_result") => {
                    let failed = block["is_error"] == true;
                    self.parts
                        .push(Part::Result(result(&block["content"]), failed));
                }
                _ => {}
            }
        }
    }

    fn text(&mut self, by_model: bool, text: &str) {
        // Wrappers that a host put around the words are for the model.
        let text = if by_model {
            text.to_owned()
        } else {
            dormouse_core::fragment::sent(text)
        };
        if text.trim().is_empty() {
            return;
        }
        self.parts.push(if by_model {
            Part::Model(text)
        } else {
            Part::User(text)
        });
    }

    /// The conversation as Markdown.
    pub(super) fn markdown(&self) -> String {
        let mut out = String::from("# Conversation\n");
        for part in &self.parts {
            // Writing to a string cannot fail.
            let _infallible = match part {
                Part::User(text) => writeln!(out, "\n## You\n\n{}", text.trim()),
                Part::Model(text) => writeln!(out, "\n{}", text.trim()),
                Part::Call(tool, subject) => {
                    writeln!(out, "\n**{tool}** `{}`", subject.replace('`', "'"))
                }
                Part::Result(text, failed) => {
                    let fence = fence(text);
                    let word = if *failed { " (failed)" } else { "" };
                    writeln!(out, "\nResult{word}:\n\n{fence}text\n{text}\n{fence}")
                }
            };
        }
        out
    }

    /// The conversation as a page of its own, without scripts.
    pub(super) fn html(&self) -> String {
        let mut out = String::from(
            "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>Conversation</title>\n<style>\
             body{font:16px/1.5 system-ui,sans-serif;max-width:50rem;margin:2rem auto;padding:0 1rem}\
             pre{white-space:pre-wrap;overflow-wrap:anywhere}\
             .user{border-left:4px solid #2b7a8c;padding-left:1rem;font-weight:600}\
             .call{font-family:monospace;color:#555}.result{color:#555;font-size:.9em}.failed{color:#a33}\
             @media(prefers-color-scheme:dark){body{background:#16191f;color:#d7dae0}.call,.result{color:#8b93a1}}\
             </style>\n<body>\n",
        );
        for part in &self.parts {
            let _infallible = match part {
                Part::User(text) => {
                    writeln!(out, "<pre class=\"user\">{}</pre>", escaped(text.trim()))
                }
                Part::Model(text) => writeln!(out, "<pre>{}</pre>", escaped(text.trim())),
                Part::Call(tool, subject) => writeln!(
                    out,
                    "<p class=\"call\"><b>{}</b> {}</p>",
                    escaped(tool),
                    escaped(subject)
                ),
                Part::Result(text, failed) => {
                    let class = if *failed { "result failed" } else { "result" };
                    writeln!(out, "<pre class=\"{class}\">{}</pre>", escaped(text))
                }
            };
        }
        out.push_str("</body></html>\n");
        out
    }
}

/// Path, pattern or command of a call.
fn subject(input: &Value) -> String {
    let names = [
        "file_path",
        "command",
        "pattern",
        "path",
        "url",
        "query",
        "prompt",
    ];
    let found = names.iter().find_map(|name| input[*name].as_str());
    let text = found.map_or_else(|| input.to_string(), str::to_owned);
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Beginning of a result.
fn result(content: &Value) -> String {
    let text = content.as_str().map_or_else(
        || {
            let blocks = content.as_array().into_iter().flatten();
            let texts: Vec<&str> = blocks.filter_map(|block| block["text"].as_str()).collect();
            texts.join("\n")
        },
        str::to_owned,
    );
    let count = text.lines().count();
    let mut shown: Vec<&str> = text.lines().take(RESULT_LINES).collect();
    let more = format!("… {} more lines", count.saturating_sub(RESULT_LINES));
    if count > RESULT_LINES {
        shown.push(&more);
    }
    shown.join("\n")
}

/// A fence that the text does not have.
fn fence(text: &str) -> String {
    let mut fence = "```".to_owned();
    while text.contains(&fence) {
        fence.push('`');
    }
    fence
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_conversation_is_readable_in_both_forms() {
        let mut talk = Talk::default();
        for line in [
            json!({ "message": { "role": "user", "content": "Why <b>?" } }),
            json!({ "message": { "role": "assistant", "content": [
                { "type": "text", "text": "Let me **look**." },
                { "type": "tool_use", "name": "Bash", "input": { "command": "ls\n-l" } },
            ] } }),
            json!({ "message": { "role": "user", "content": [
                { "type": "tool_result", "content": "```\na", "is_error": true },
            ] } }),
            json!({ "isMeta": true, "message": { "role": "user", "content": "hidden" } }),
        ] {
            talk.take(line.to_string().as_bytes());
        }
        let expected = "# Conversation\n\n## You\n\nWhy <b>?\n\nLet me **look**.\n\n**Bash** `ls -l`\n\n\
                        Result (failed):\n\n````text\n```\na\n````\n";
        assert_eq!(talk.markdown(), expected);
        let page = talk.html();
        assert!(
            page.contains("<pre class=\"user\">Why &lt;b&gt;?</pre>"),
            "{page}"
        );
        assert!(!page.contains("hidden"));
    }
}
