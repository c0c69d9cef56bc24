//! The end of an installation.
//!
//! # Not here
//! The text of a file without its entries (`receipt`, `edit`).

use super::clients::{Client, Folders, is_ours};
use super::edit::{self, EditRefusal};
use super::receipt::{ChangedFile, Receipt, Settled, remove_tree};
use super::{ClientFile, InstallError, InstallNote, InstallReport, InstallState, line_of, shown};
use crate::error::HostError;
use crate::host::Host;
use dormouse_system::{Access, OptionalFile as _};

impl Host {
    /// Takes memory out of a client: exactly what was added, as far as it is still there.
    ///
    /// # Errors
    /// When nothing is installed, or a settings file cannot be edited safely.
    pub fn uninstall(&self, client: Client, dry_run: bool) -> Result<InstallReport, HostError> {
        let known = self.receipt(client)?;
        let by_hand = known.is_none();
        let receipt = match known {
            Some(receipt) => receipt,
            None => self.by_command(client)?,
        };
        let mut report = InstallReport {
            client,
            state: InstallState::Removed,
            dry_run,
            files: Vec::new(),
            own_files: shown(receipt.own.iter()),
            commands: receipt.undo.iter().map(|undo| line_of(undo)).collect(),
            notes: Vec::new(),
        };
        if !dry_run {
            for undo in &receipt.undo {
                // A client that is gone or has forgotten the plugin leaves entries, which go below.
                let _run = self.run_client(undo);
            }
        }
        // All are settled before the first is written: a refusal leaves everything as it is.
        let mut settled = Vec::new();
        for changed in &receipt.files {
            settled.push((changed, self.settle(changed, &mut report)?));
        }
        if dry_run {
            return Ok(report);
        }
        let files = &*self.system().files;
        for changed in receipt.files.iter().filter(|_| by_hand) {
            if let (Some(backup), Some(text)) = (&changed.backup, self.text(&changed.path)?) {
                files.replace(backup, text.as_bytes(), Access::Private)?;
            }
        }
        for (changed, text) in settled {
            match text {
                None => {}
                Some(Settled::Gone) => {
                    files.remove_file(&changed.path).optional()?;
                }
                Some(Settled::Restored(text)) => {
                    files.replace(&changed.path, text.as_bytes(), Access::Private)?;
                    if let Some(backup) = &changed.backup {
                        files.remove_file(backup).optional()?;
                    }
                }
                Some(Settled::Cleaned(text)) => {
                    files.replace(&changed.path, text.as_bytes(), Access::Private)?;
                }
            }
        }
        for copy in &receipt.copies {
            remove_tree(files, copy)?;
            // Its parent is the client's, and goes only if the client left nothing in it.
            if let Some(parent) = copy.parent() {
                let _kept = files.remove_dir(parent);
            }
        }
        for own in &receipt.own {
            files.remove_file(own).optional()?;
        }
        if !receipt.own.is_empty() {
            remove_tree(files, &self.clients_folder().join(client.name()))?;
        }
        for folder in &receipt.folders {
            // Not empty any more: something else lives there now.
            let _kept = files.remove_dir(folder);
        }
        self.drop_receipt(client)?;
        Ok(report)
    }

    /// The text of a file without the entries; `None` if the file is gone.
    fn settle(
        &self,
        changed: &ChangedFile,
        report: &mut InstallReport,
    ) -> Result<Option<Settled>, HostError> {
        let Some(current) = self.text(&changed.path)? else {
            return Ok(None);
        };
        let before = match &changed.backup {
            Some(backup) => self.text(backup)?,
            None => None,
        };
        let refused = |refusal: EditRefusal| InstallError::Refused {
            file: changed.path.clone(),
            why: refusal.to_string(),
        };
        let mut settled = changed
            .settled(&current, before.as_deref())
            .map_err(refused)?;
        // A lost backup must not make the user's file one of ours.
        if changed.backup.is_some() && before.is_none() && settled == Settled::Gone {
            settled = Settled::Cleaned("{}\n".to_owned());
        }
        let path = changed.path.display().to_string();
        let (after, restored) = match &settled {
            Settled::Gone => (None, true),
            Settled::Restored(text) => (Some(text.clone()), true),
            Settled::Cleaned(text) => (Some(text.clone()), false),
        };
        if !restored {
            report.notes.push(InstallNote::ChangedSince(path.clone()));
        }
        let backup = changed.backup.as_ref().filter(|_| !restored);
        report.files.push(ClientFile {
            path,
            backup: backup.map(|path| path.display().to_string()),
            restored,
            before: Some(current),
            after,
        });
        Ok(Some(settled))
    }

    /// A receipt for an entry that was made by hand, or whose receipt is lost.
    fn by_command(&self, client: Client) -> Result<Receipt, HostError> {
        let folders = Folders::of(self.system()).ok_or(InstallError::NoHome)?;
        let files = &*self.system().files;
        // Only its place is asked for.
        let slot = folders.slot(client, &[String::new()], files);
        let slot = slot.ok_or(InstallError::NotInstalled(client))?;
        let path = files.real_path(&slot.file).unwrap_or(slot.file);
        let text = self.text(&path)?.unwrap_or_default();
        let refused = |refusal: EditRefusal| InstallError::Refused {
            file: path.clone(),
            why: refusal.to_string(),
        };
        let there = edit::get(slot.notation, &text, &slot.keys).map_err(refused)?;
        if !there.is_some_and(|entry| is_ours(&entry)) {
            return Err(InstallError::NotInstalled(client).into());
        }
        let backup = self.backup_of(&path);
        Ok(Receipt {
            files: vec![ChangedFile {
                path,
                toml: slot.notation == edit::Notation::Toml,
                backup: Some(backup),
                entries: vec![slot.keys],
                made: Vec::new(),
                by_client: false,
            }],
            ..Receipt::default()
        })
    }
}
