//! What stands in the prompt after a compaction, block by block.

use crate::view::View;
use dormouse_core::block::Block;

const FRAME: &str = include_str!("frame.md");
const OPEN: &str = "<conversation-summary>";
const CLOSE: &str = "</conversation-summary>";

/// The parts of a compacted prompt that are not kept from the conversation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parts {
    /// The summary.
    pub summary: String,
    /// The user's messages, word for word.
    pub user_messages: Option<String>,
    /// The evidence ledger.
    pub evidence: Option<String>,
    /// The file that holds everything, as the model is shown it.
    pub history: String,
}

impl Parts {
    /// The blocks, in order.
    pub fn blocks(&self) -> Vec<Block> {
        let history = format!(
            "The full history is in `{}`, one JSON record a line. To look something up, search \
             that file for a word (for example `grep -n WORD` on it) and read the lines found.",
            self.history
        );
        let frame = FRAME.trim_end().replace("{{history}}", &history).replacen(
            "{{summary}}",
            self.summary
                .replace(CLOSE, "<conversation-summary/>")
                .trim(),
            1,
        );
        let mut blocks = vec![Block::text(&frame)];
        if let Some(messages) = &self.user_messages {
            blocks.push(Block::text(&format!(
                "<user-messages>\n{messages}\n</user-messages>"
            )));
        }
        if let Some(evidence) = &self.evidence {
            blocks.push(Block::text(&format!("<evidence>\n{evidence}\n</evidence>")));
        }
        blocks
    }
}

/// The summary that stands in the view, if there is one: without its frame.
pub fn summary_in(view: &View) -> Option<String> {
    let framed = view
        .frozen()
        .iter()
        .filter(|segment| segment.category == crate::category::Category::Summary)
        .find_map(|segment| segment.block.readable_text())?;
    let Some(start) = framed.find(OPEN) else {
        return Some(framed);
    };
    let body = &framed[start + OPEN.len()..];
    let body = &body[..body.rfind(CLOSE).unwrap_or(body.len())];
    // The first paragraph introduces, the last names the history.
    let body = body.trim();
    let body = body.split_once("\n\n").map_or(body, |(_, rest)| rest);
    let body = body
        .rsplit_once("\n\nThe full history is in")
        .map_or(body, |(rest, _)| rest);
    Some(body.trim().to_owned())
}
