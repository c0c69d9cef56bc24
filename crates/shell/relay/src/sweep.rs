//! Removal of files that no conversation needs any more.
//!
//! # Model
//! A text is written before the record that names it, so that a crash in between leaves a file that no
//! record names. Conversations that were silent for longer than the retention go with their files:
//! the next request of one is passed on as it comes.

use crate::lines::Lines;
use dormouse_core::units::Millis;
use dormouse_recognise::Chain;
use dormouse_system::FileError;
use std::collections::HashSet;
use std::path::Path;

/// Age from which a file that no record names is abandoned: no request takes an hour to plan.
const GRACE: i64 = 3_600_000;
/// Milliseconds of a day.
const DAY: i64 = 86_400_000;

/// Files that were removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Swept {
    /// Conversations that went with all their files.
    pub conversations: u64,
    /// Files that no record named.
    pub files: u64,
}

impl Lines {
    /// Removes files that no record names, and conversations that were silent for so many days.
    pub(crate) fn sweep(&self, now: Millis, days: Option<u64>) -> Result<Swept, FileError> {
        let mut swept = Swept::default();
        let oldest = days.map(|days| {
            let days = i64::try_from(days).unwrap_or(i64::MAX);
            now.0.saturating_sub(days.saturating_mul(DAY))
        });
        for name in self.conversations()? {
            // Another name is none of ours.
            let Ok(conversation) = serde_json::from_value::<Chain>(name.into()) else {
                continue;
            };
            let line = self.file(conversation);
            let spoke = self.files.metadata(&line).map(|facts| facts.modified.0);
            let is_over = matches!((&spoke, oldest), (Ok(spoke), Some(oldest)) if *spoke < oldest);
            let named = if is_over {
                HashSet::new()
            } else {
                self.named(conversation)?
            };
            let folder = self.results(conversation);
            // A new one is empty until its first file is written.
            let made = self.files.metadata(&folder).map(|facts| facts.modified.0);
            let is_new = made.is_ok_and(|made| made >= now.0 - GRACE);
            for entry in self.entries(&folder)? {
                let is_old = entry.metadata.modified.0 < now.0 - GRACE;
                let is_named = entry.name.to_str().is_some_and(|name| named.contains(name));
                if is_over || (is_old && !is_named) {
                    self.files.remove_file(&folder.join(&entry.name))?;
                    swept.files += u64::from(!is_over);
                }
            }
            if is_over || !is_new {
                // One that holds files stays.
                drop(self.files.remove_dir(&folder));
            }
            if is_over {
                self.forget(conversation);
                // Most conversations have none.
                drop(self.files.remove_file(&self.transcript(conversation)));
                self.files.remove_file(&line)?;
                swept.conversations += 1;
            }
        }
        Ok(swept)
    }

    /// Names of all conversations that have a line or files.
    fn conversations(&self) -> Result<Vec<String>, FileError> {
        let lines = self.entries(&self.folder.join("lines"))?;
        let results = self.entries(&self.folder.join("results"))?;
        let names = lines.iter().chain(&results);
        let names = names.filter_map(|entry| entry.name.to_str());
        let names: HashSet<String> = names
            .map(|name| name.trim_end_matches(".jsonl").to_owned())
            .collect();
        Ok(names.into_iter().collect())
    }

    fn entries(&self, folder: &Path) -> Result<Vec<dormouse_system::DirEntry>, FileError> {
        match self.files.list(folder) {
            Ok(entries) => Ok(entries),
            Err(error) if error.not_found() => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }
}
