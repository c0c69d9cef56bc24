//! Memory installed in other agents, and taken away again.
//!
//! # Model
//! An installation is planned as values first: files of Dormouse's own, command lines of the client,
//! entries in its settings files. A dry run is that plan. Carrying it out makes a backup of every file
//! that changes and a receipt ([`receipt`]) before the first change; whatever fails takes everything
//! back. Taking it away removes what was added: a file in which nothing else changed gets its old
//! bytes, in others only the entries go.
//!
//! Claude Code gets a plugin, through its own command. Others get an entry for the server of tools,
//! by an edit that leaves every other byte ([`edit`]): their own commands write other servers anew
//! (Codex), add settings (Qwen Code), ask questions (opencode) or do not exist.
//!
//! # Not here
//! The answers of hooks and server: `guest` and `memories`. Printing: the door.

mod clients;
mod edit;
mod plugin;
mod receipt;
mod removal;
mod report;

pub use clients::Client;
pub use report::{
    ClientFile, ClientState, InstallAsk, InstallError, InstallNote, InstallReport, InstallState,
};

use crate::error::HostError;
use crate::host::Host;
use clients::{Folders, NAME, Slot};
use dormouse_system::{Access, End, FileError, OptionalFile as _};
use edit::{EditRefusal, Notation};
use receipt::{ChangedFile, MOST_BYTES, Receipt, missing_folders};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Longest time for a command of a client. They need less than a second; a first start on a slow disk
/// may take some.
const PATIENCE: Duration = Duration::from_mins(1);

/// Steps of an installation, before any is taken.
#[derive(Debug, Default)]
struct Plan {
    own: Vec<(PathBuf, String)>,
    /// Command lines with those that take them back.
    commands: Vec<(Vec<String>, Vec<String>)>,
    slots: Vec<Slot>,
    /// Entries that the client's commands make, in their files.
    by_client: Vec<(PathBuf, Vec<String>)>,
    /// Folders that the client's commands fill.
    copies: Vec<PathBuf>,
    notes: Vec<InstallNote>,
}

impl Host {
    /// Clients that memory can be installed in.
    ///
    /// # Errors
    /// When nothing says where the user's settings lie.
    pub fn clients(&self) -> Result<Vec<ClientState>, HostError> {
        let folders = Folders::of(self.system()).ok_or(InstallError::NoHome)?;
        let states = Client::ALL.into_iter().map(|client| {
            Ok(ClientState {
                client,
                title: client.title(),
                found: self.is_found(client, &folders),
                installed: self.receipt(client)?.is_some(),
            })
        });
        states.collect()
    }

    fn is_found(&self, client: Client, folders: &Folders) -> bool {
        let folder = self.system().files.metadata(&folders.sign(client));
        folder.is_ok() || self.program(client.program()).is_some()
    }

    /// Installs memory in a client.
    ///
    /// # Errors
    /// When a settings file cannot be edited safely, the client's command fails, or a file cannot be
    /// written. Everything is as before then.
    pub fn install(&self, ask: &InstallAsk) -> Result<InstallReport, HostError> {
        let plan = self.plan_install(ask)?;
        let mut report = InstallReport {
            client: ask.client,
            state: InstallState::Installed,
            dry_run: ask.dry_run,
            files: Vec::new(),
            own_files: shown(plan.own.iter().map(|(path, _)| path)),
            commands: plan.commands.iter().map(|(run, _)| line_of(run)).collect(),
            notes: plan.notes.clone(),
        };
        let known = self.receipt(ask.client)?;
        if known.is_some() && self.is_done(&plan)? {
            report.state = InstallState::Unchanged;
            return Ok(report);
        }
        if known.is_some() && !ask.dry_run {
            // From a clean state: the program may have moved, or the plugin has other files now.
            self.uninstall(ask.client, false)?;
        }
        let (receipt, files) = self.prepare(&plan)?;
        report.files = files;
        if ask.dry_run {
            return Ok(report);
        }
        self.back_up(&receipt, &report.files)?;
        self.write_receipt(ask.client, &receipt)?;
        if let Err(error) = self.carry_out(&plan) {
            // The error is the answer; a second one while taking back is found by the next try.
            let _undone = self.uninstall(ask.client, false);
            return Err(error);
        }
        Ok(report)
    }

    /// True if every file and entry of the plan is there.
    fn is_done(&self, plan: &Plan) -> Result<bool, HostError> {
        for (path, content) in &plan.own {
            if self.text(path)?.as_ref() != Some(content) {
                return Ok(false);
            }
        }
        for slot in &plan.slots {
            let text = self.text(&slot.file)?.unwrap_or_default();
            let there = edit::get(slot.notation, &text, &slot.keys).unwrap_or_default();
            if there.as_ref() != Some(&slot.value) {
                return Ok(false);
            }
        }
        for (file, keys) in &plan.by_client {
            let text = self.text(file)?.unwrap_or_default();
            let there = edit::get(Notation::Json, &text, keys).unwrap_or_default();
            if there.is_none() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn plan_install(&self, ask: &InstallAsk) -> Result<Plan, HostError> {
        let folders = Folders::of(self.system()).ok_or(InstallError::NoHome)?;
        let program = ask.program.to_str();
        let program = program.ok_or_else(|| InstallError::NotUnicode(ask.program.clone()))?;
        // The variable that switches Claude Code's own memory off does so with ours, and hooks and
        // server inherit it.
        let stays = ask.instead.then(|| "memory=true".to_owned());
        let given: Vec<String> = ask
            .settings
            .iter()
            .chain(&stays)
            .flat_map(|setting| ["--set".to_owned(), setting.clone()])
            .collect();
        let words = |words: &[&str]| -> Vec<String> {
            let words = words.iter().map(|word| (*word).to_owned());
            std::iter::once(program.to_owned())
                .chain(words)
                .chain(given.iter().cloned())
                .collect()
        };
        let mut plan = Plan::default();
        if !self.is_found(ask.client, &folders) {
            plan.notes.push(InstallNote::ClientNotFound);
        }
        if ask.client == Client::Pi {
            plan.notes.push(InstallNote::NeedsAdapter("pi-mcp-adapter"));
        }
        let server = words(&["mcp"]);
        match folders.slot(ask.client, &server, &*self.system().files) {
            Some(slot) => plan.slots.push(slot),
            None => self.plan_plugin(ask, &folders, &words, &mut plan)?,
        }
        Ok(plan)
    }

    fn plan_plugin(
        &self,
        ask: &InstallAsk,
        folders: &Folders,
        words: &dyn Fn(&[&str]) -> Vec<String>,
        plan: &mut Plan,
    ) -> Result<(), HostError> {
        let client = self.program(ask.client.program());
        let client = client.ok_or(InstallError::NoProgram(ask.client.program()))?;
        let client = client.to_string_lossy().into_owned();
        let folder = self.clients_folder().join(ask.client.name());
        let line = |more: &[&str]| line_of(&words(more));
        let files = plugin::files(env!("CARGO_PKG_VERSION"), &line, &words(&["mcp"]));
        let own = files
            .into_iter()
            .map(|(path, text)| (folder.join(path), text));
        plan.own = own.collect();
        let plugin = format!("{NAME}@{NAME}");
        let market = folder.to_string_lossy().into_owned();
        let run = |words: &[&str]| -> Vec<String> {
            let words = std::iter::once(client.as_str()).chain(words.iter().copied());
            words.map(str::to_owned).collect()
        };
        plan.commands = vec![
            (
                run(&["plugin", "marketplace", "add", &market]),
                run(&["plugin", "marketplace", "remove", NAME]),
            ),
            (
                run(&["plugin", "install", &plugin]),
                run(&["plugin", "uninstall", &plugin]),
            ),
        ];
        let claude = folders.claude();
        let settings = claude.join("settings.json");
        let keys = |keys: &[&str]| keys.iter().map(|key| (*key).to_owned()).collect();
        plan.by_client = vec![
            (settings.clone(), keys(&["extraKnownMarketplaces", NAME])),
            (settings.clone(), keys(&["enabledPlugins", &plugin])),
            (
                claude.join("plugins/installed_plugins.json"),
                keys(&["plugins", &plugin]),
            ),
            (
                claude.join("plugins/known_marketplaces.json"),
                keys(&[NAME]),
            ),
        ];
        plan.copies = vec![
            claude.join("plugins/cache").join(NAME),
            claude.join("plugins/data").join(format!("{NAME}-{NAME}")),
        ];
        let slot = |keys: Vec<String>, value| Slot {
            file: settings.clone(),
            notation: Notation::Json,
            keys,
            value,
        };
        let status = slot(
            keys(&["statusLine"]),
            json!({ "type": "command", "command": line(&["top", "--line"]) }),
        );
        let text = self.text(&settings)?.unwrap_or_default();
        match edit::get(Notation::Json, &text, &status.keys) {
            Ok(Some(theirs)) if theirs != status.value => {
                plan.notes.push(InstallNote::StatusLineKept);
            }
            _ => plan.slots.push(status),
        }
        if ask.instead {
            let keys = keys(&["env", "CLAUDE_CODE_DISABLE_AUTO_MEMORY"]);
            plan.slots.push(slot(keys, json!("1")));
        }
        Ok(())
    }

    /// The receipt of a plan, and the files as they are and will be.
    fn prepare(&self, plan: &Plan) -> Result<(Receipt, Vec<ClientFile>), HostError> {
        let files = &*self.system().files;
        let mut receipt = Receipt {
            own: plan.own.iter().map(|(path, _)| path.clone()).collect(),
            undo: plan
                .commands
                .iter()
                .rev()
                .map(|(_, undo)| undo.clone())
                .collect(),
            copies: plan.copies.clone(),
            ..Receipt::default()
        };
        receipt
            .copies
            .retain(|folder| files.metadata(folder).is_err());
        let mut shown: Vec<ClientFile> = Vec::new();
        let slots = plan
            .slots
            .iter()
            .map(|slot| (&slot.file, &slot.keys, Some(slot)));
        let theirs = plan.by_client.iter().map(|(file, keys)| (file, keys, None));
        for (file, keys, slot) in theirs.chain(slots) {
            // A link is followed once and then replaced by nothing: its target is the file.
            let path = files.real_path(file).unwrap_or_else(|_| file.clone());
            let notation = slot.map_or(Notation::Json, |slot| slot.notation);
            let known = receipt.files.iter().position(|known| known.path == path);
            let at = known.unwrap_or(receipt.files.len());
            if known.is_none() {
                let before = self.text(&path)?;
                let backup = before.as_ref().map(|_| self.backup_of(&path));
                shown.push(ClientFile {
                    path: path.display().to_string(),
                    backup: backup.as_ref().map(|path| path.display().to_string()),
                    restored: false,
                    after: before.clone(),
                    before,
                });
                receipt.folders.extend(missing_folders(files, &path));
                receipt.files.push(ChangedFile {
                    path: path.clone(),
                    toml: notation == Notation::Toml,
                    backup,
                    entries: Vec::new(),
                    made: Vec::new(),
                    by_client: false,
                });
            }
            let (changed, shown) = (&mut receipt.files[at], &mut shown[at]);
            let refused = |refusal: EditRefusal| InstallError::Refused {
                file: file.clone(),
                why: refusal.to_string(),
            };
            let before = shown.before.as_deref().unwrap_or_default();
            if let Some(there) = edit::get(notation, before, keys).map_err(refused)? {
                match slot {
                    // Made by hand, and right: it stays when the installation goes.
                    Some(slot) if there == slot.value => continue,
                    _ => {
                        return Err(InstallError::Taken {
                            file: file.clone(),
                            key: keys.join("."),
                        }
                        .into());
                    }
                }
            }
            for depth in 1..keys.len() {
                let outer = keys[..depth].to_vec();
                let there = edit::get(notation, before, &outer).map_err(refused)?;
                if there.is_none() && !changed.made.contains(&outer) {
                    changed.made.push(outer);
                }
            }
            changed.entries.push(keys.clone());
            changed.by_client |= slot.is_none();
            if let Some(slot) = slot {
                let text = shown.after.as_deref().unwrap_or_default();
                let added = edit::add(notation, text, keys, &slot.value).map_err(refused)?;
                shown.after = Some(added.text);
            }
        }
        receipt
            .folders
            .sort_by_key(|folder| std::cmp::Reverse(folder.components().count()));
        receipt.folders.dedup();
        Ok((receipt, shown))
    }

    /// Name of the copy of a file, beside it, with the time.
    fn backup_of(&self, path: &Path) -> PathBuf {
        let at = jiff::Timestamp::from_millisecond(self.now().0).unwrap_or_default();
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(format!(".{NAME}-{}.bak", at.strftime("%Y%m%dT%H%M%SZ")));
        path.with_file_name(name)
    }

    fn back_up(&self, receipt: &Receipt, shown: &[ClientFile]) -> Result<(), HostError> {
        for (changed, shown) in receipt.files.iter().zip(shown) {
            if let (Some(backup), Some(before)) = (&changed.backup, &shown.before) {
                let files = &self.system().files;
                files.replace(backup, before.as_bytes(), Access::Private)?;
            }
        }
        Ok(())
    }

    fn carry_out(&self, plan: &Plan) -> Result<(), HostError> {
        let files = &self.system().files;
        for (path, content) in &plan.own {
            if let Some(folder) = path.parent() {
                files.create_dir_all(folder, Access::Private)?;
            }
            files.replace(path, content.as_bytes(), Access::Private)?;
        }
        for (run, _) in &plan.commands {
            self.run_client(run)?;
        }
        for slot in &plan.slots {
            let path = files
                .real_path(&slot.file)
                .unwrap_or_else(|_| slot.file.clone());
            // Read again: the client's commands may have changed it.
            let text = self.text(&path)?.unwrap_or_default();
            let refused = |refusal: EditRefusal| InstallError::Refused {
                file: slot.file.clone(),
                why: refusal.to_string(),
            };
            let there = edit::get(slot.notation, &text, &slot.keys).map_err(refused)?;
            if there.as_ref() == Some(&slot.value) {
                continue;
            }
            let added = edit::add(slot.notation, &text, &slot.keys, &slot.value);
            let added = added.map_err(refused)?;
            if let Some(folder) = path.parent() {
                files.create_dir_all(folder, Access::Private)?;
            }
            files.replace(&path, added.text.as_bytes(), Access::Private)?;
        }
        Ok(())
    }

    fn run_client(&self, words: &[String]) -> Result<(), HostError> {
        let line = line_of(words);
        let failed = |output: String| InstallError::Command {
            line: line.clone(),
            output,
        };
        let here = &self.places().current_dir;
        let commands = &self.system().commands;
        let ended = commands.capture(&format!("{line} 2>&1"), here, PATIENCE);
        match ended {
            Ok(Some((End::Exit(0), _))) => Ok(()),
            Ok(Some((_, output))) => {
                let text = String::from_utf8_lossy(&output);
                let last = text.lines().rev().find(|line| !line.trim().is_empty());
                Err(failed(last.unwrap_or("no reason was given").to_owned()).into())
            }
            Ok(None) => Err(failed("it took too long".to_owned()).into()),
            Err(error) => Err(failed(error.to_string()).into()),
        }
    }

    /// Text of a file; `None` if there is none.
    fn text(&self, path: &Path) -> Result<Option<String>, HostError> {
        let bytes = self.system().files.read(path, MOST_BYTES);
        let Some(bytes) = bytes.optional().map_err(|error: FileError| error)? else {
            return Ok(None);
        };
        let text = String::from_utf8(bytes.to_vec());
        let refused = |_| InstallError::Refused {
            file: path.to_owned(),
            why: "it is not UTF-8 text".to_owned(),
        };
        Ok(Some(text.map_err(refused)?))
    }
}

/// A command line for the shell.
fn line_of(words: &[String]) -> String {
    let words = words.iter().map(String::as_str);
    // Only a zero byte cannot be quoted, and no path or setting holds one.
    shlex::try_join(words).unwrap_or_default()
}

fn shown<'a>(paths: impl Iterator<Item = &'a PathBuf>) -> Vec<String> {
    paths.map(|path| path.display().to_string()).collect()
}
