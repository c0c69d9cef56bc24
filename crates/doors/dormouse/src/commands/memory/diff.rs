//! Differences of texts as lines with `-` and `+`.

use crate::output::{Line, Out, OutResult, Role};
use dormouse_host::FileDiff;
use similar::{ChangeTag, TextDiff};

/// Unchanged lines around a change: two show the place in a memory, which is a page at most.
const AROUND: usize = 2;

/// Shows the change of a file. No text on one side is a file that did not or does not exist.
pub(crate) fn show(out: &mut Out, file: &FileDiff) -> OutResult {
    let (before, after) = (file.before.as_deref(), file.after.as_deref());
    let what = match (before, after) {
        (None, _) => "new",
        (_, None) => "deleted",
        _ => "changed",
    };
    out.line(
        Line::new()
            .role(Role::Strong, &file.path)
            .text("  ")
            .role(Role::Dim, what),
    )?;
    let diff = TextDiff::from_lines(before.unwrap_or_default(), after.unwrap_or_default());
    for (at, group) in diff.grouped_ops(AROUND).iter().enumerate() {
        if at > 0 {
            out.line(Line::new().role(Role::Dim, "  …"))?;
        }
        for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
            let text = change.value().trim_end_matches(['\n', '\r']);
            let line = match change.tag() {
                ChangeTag::Delete => Line::new().role(Role::Error, format!("- {text}")),
                ChangeTag::Insert => Line::new().role(Role::Good, format!("+ {text}")),
                ChangeTag::Equal => Line::new().role(Role::Dim, format!("  {text}")),
            };
            out.line(line)?;
        }
    }
    Ok(())
}
