//! The blocks that a boundary puts into the prompt: frame and summary, user messages, evidence.

use crate::category::Category;
use crate::segment::Segment;
use dormouse_core::block::Block;
use dormouse_core::fragment::{
    CONVERSATION_SUMMARY, EVIDENCE, USER_MESSAGES, close, defuse, open, render,
};

/// Prompt text around a summary, with a placeholder each for summary and history.
const FRAME: &str = include_str!("frame.md");

/// Texts of a compacted prompt that are not kept from the conversation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parts {
    /// Summary, without its frame.
    pub summary: String,
    /// Section of the user's messages, word for word or referenced.
    pub user_messages: Option<String>,
    /// Evidence ledger as text.
    pub evidence: Option<String>,
    /// Place of the whole conversation.
    pub history: History,
}

/// Place of the whole conversation, as the model is shown it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum History {
    /// Path of a log.
    Log(String),
    /// Folder of texts; `None` if the model cannot read one.
    Folder(Option<String>),
}

impl Default for History {
    fn default() -> Self {
        Self::Folder(None)
    }
}

impl History {
    /// Sentences that name the place; empty without one.
    fn words(&self) -> String {
        match self {
            Self::Log(path) => format!(
                "The full history is in `{path}`, one JSON record a line. To look something up, \
                 search that file for a word (for example `grep -n WORD` on it) and read the lines \
                 found."
            ),
            Self::Folder(Some(path)) => format!(
                "The full history is in the folder `{path}`, as text. To look something up, search \
                 it for a word (for example `grep -rn WORD {path}`)."
            ),
            Self::Folder(None) => String::new(),
        }
    }
}

impl Parts {
    /// Blocks in prompt order.
    pub fn blocks(&self) -> Vec<Block> {
        let history = self.history.words();
        // History first, then the summary, once: a summary that contains a placeholder is not
        // expanded.
        let frame = FRAME.trim_end().replace("{{history}}", &history).replacen(
            "{{summary}}",
            // A closing tag inside the summary would end the frame early.
            defuse(&CONVERSATION_SUMMARY, &self.summary).trim(),
            1,
        );
        let mut blocks = vec![Block::text(&frame)];
        if let Some(messages) = &self.user_messages {
            // Exact, fenced by their section: `render` would change a message that quotes the tag.
            let (open, close) = (open(&USER_MESSAGES), close(&USER_MESSAGES));
            blocks.push(Block::text(&format!("{open}\n{messages}\n{close}")));
        }
        if let Some(evidence) = &self.evidence {
            blocks.push(Block::text(&render(&EVIDENCE, evidence)));
        }
        blocks
    }
}

/// Summaries among some segments, in order and without their frames. User messages and evidence
/// beside them are left out, because every compaction writes them anew.
pub fn summaries_in<'a>(segments: impl IntoIterator<Item = &'a Segment>) -> Vec<String> {
    // By the tag of `frame.md` a summary is found again in the prompt.
    let tag = open(&CONVERSATION_SUMMARY);
    segments
        .into_iter()
        .filter(|segment| segment.category == Category::Summary)
        .filter_map(|segment| segment.block.readable_text())
        .filter_map(|text| match text.find(&tag) {
            Some(start) => Some(unframed(&text[start + tag.len()..]).to_owned()),
            // Blocks that begin with a tag are the engine's own sections or restored parts.
            None => (!text.starts_with('<')).then_some(text),
        })
        .collect()
}

/// Text between the introduction, the first paragraph, and the paragraph that names the history.
fn unframed(framed: &str) -> &str {
    let body = &framed[..framed
        .rfind(&close(&CONVERSATION_SUMMARY))
        .unwrap_or(framed.len())];
    let body = body.trim();
    let body = body.split_once("\n\n").map_or(body, |(_, rest)| rest);
    let body = body
        .rsplit_once("\n\nThe full history is in")
        .map_or(body, |(rest, _)| rest);
    body.trim()
}
