//! Setting one value in a settings file, and whether it counts.
//!
//! # Not here
//! Editing the file: `dormouse-config`. Trusting a folder: `host`.

use crate::error::HostError;
use crate::host::Host;
use dormouse_config::set_setting;
use dormouse_core::settings::{FileLayer, Origin, ResolvedSetting};
use serde::Serialize;

/// A setting that was written or taken away.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SettingWritten {
    /// Key of the setting.
    pub key: String,
    /// Path of the file.
    pub file: String,
    /// True if it was written, false if it was taken away.
    pub set: bool,
    /// Unset if the file said so already.
    pub changed: bool,
    /// Value in force now, as it is shown.
    pub value: String,
    /// Place that the value in force comes from.
    pub from: String,
    /// Reason that the file's value does not count, as for a project that is not trusted.
    pub ignored_because: Option<String>,
}

impl Host {
    /// Sets a setting in the file of a layer; `None` takes it away.
    ///
    /// # Errors
    /// When the key or the value is wrong, or the file cannot be changed.
    pub fn set_setting(
        &self,
        layer: FileLayer,
        key: &str,
        text: Option<&str>,
    ) -> Result<SettingWritten, HostError> {
        let done = set_setting(&*self.system().files, self.places(), layer, key, text)?;
        // Loaded again at once: another layer may win over the file, and the answer says so.
        let after = self.reload();
        let file = done.path.to_string_lossy().into_owned();
        let key = key.strip_suffix(".enabled").unwrap_or(key);
        let entry = after.settings.entry(key);
        let ignored = entry.iter().flat_map(|entry| &entry.ignored);
        let mut ours = ignored.filter(|ignored| match &ignored.given.origin {
            Origin::File { path, .. } => *path == file,
            _ => false,
        });
        Ok(SettingWritten {
            key: key.to_owned(),
            set: text.is_some(),
            changed: done.changed,
            value: entry.map(ResolvedSetting::shown).unwrap_or_default(),
            from: entry
                .map(|entry| entry.origin.to_string())
                .unwrap_or_default(),
            ignored_because: ours.next_back().map(|ignored| ignored.reason.to_string()),
            file,
        })
    }
}
