//! Sessions since the last dream.

use crate::keeper::Keeper;
use dormouse_core::units::Millis;

/// Ids of sessions whose logs were touched after a time, without one. One listing a folder; no log
/// is opened. A folder that cannot be listed has none.
pub(super) fn touched(keeper: &Keeper, since: Option<Millis>, without: &str) -> Vec<String> {
    let mut found = Vec::new();
    for folder in &keeper.places.transcripts {
        for entry in keeper.system.files.list(folder).unwrap_or_default() {
            let name = entry.name.to_string_lossy();
            let Some(id) = name.strip_suffix(".jsonl") else {
                continue;
            };
            let newer = since.is_none_or(|since| entry.metadata.modified > since);
            if newer && id != without {
                found.push(id.to_owned());
            }
        }
    }
    // A session may have a log in two folders; it counts once.
    found.sort();
    found.dedup();
    found
}
