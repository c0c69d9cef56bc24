//! What an earlier compaction left, when session notes take the place of the conversation.

use super::frame;
use super::offline;
use super::protocol::JobContext;

/// Notes cover the session from its beginning, so that they replace the notes before them; a
/// summary that a model wrote in between is carried along.
pub(super) fn with_earlier(cx: &JobContext<'_>, summary: String) -> String {
    const EARLIER: &str = "# Earlier summary\n\n";
    let bytes = cx.conversation.bytes_per_token();
    let first_line = summary.lines().next().unwrap_or_default();
    let carried = |text: String| match text.split_once(EARLIER) {
        Some((_, carried)) => Some(carried.to_owned()),
        None => (!text.starts_with(first_line)).then_some(text),
    };
    let earlier = frame::summaries_in(cx.conversation.view().frozen().iter());
    let earlier: Vec<String> = earlier.into_iter().filter_map(carried).collect();
    if earlier.is_empty() {
        return summary;
    }
    let limit = cx.settings.notes.section;
    let condensed = offline::condensed(&earlier.join("\n\n"), limit, bytes);
    format!("{summary}\n\n{EARLIER}{condensed}")
}
