//! The summary of an earlier compaction, when session notes serve as the new one.

use super::frame;
use super::offline;
use super::protocol::JobContext;

/// Appends the earlier summary to the notes. Notes cover the session from its beginning and replace
/// earlier notes; a summary that a model wrote in between would be lost and is carried along,
/// condensed.
pub(super) fn with_earlier(cx: &JobContext<'_>, summary: String) -> String {
    /// Heading that separates the carried summary from the notes, and by which it is found again.
    const EARLIER: &str = "# Earlier summary\n\n";
    let bytes = cx.conversation.bytes_per_token();
    // Notes begin with the same title line every time: an earlier summary with it was notes.
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
