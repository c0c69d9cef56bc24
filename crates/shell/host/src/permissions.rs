//! Whether a tool call may run here: the rules of all settings files, for doors and agents.
//!
//! Rules come from Dormouse's settings and from those of Claude Code, whose users have written
//! theirs there. A project that is not trusted may refuse and ask; what it allows is left out.
//!
//! # Not here
//! The verdict itself (`dormouse-permit`) and the question to a person.

mod foreign;
mod input;

pub use input::CallText;

use crate::host::{Host, user_home};
use crate::remark::Remark;
use dormouse_core::settings::{self, FileLayer, LayerKind, Trust, Value, keys};
use dormouse_permit::{Action, Behaviour, Call, Ground, Mode, Origin, Rule, Rules, Verdict, judge};
use dormouse_system::{Files, secret_places};
use foreign::ForeignRules;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Rules and folders of a session, as the files say now.
#[derive(Clone, Debug)]
pub struct Permissions {
    /// Every rule that counts.
    pub rules: Rules,
    /// Folders by which paths are judged.
    pub ground: Ground,
    files: Arc<dyn Files>,
}

/// A call with its verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judged {
    /// Answer with its reason.
    pub verdict: Verdict,
    /// Call as a person would name it: `Bash: cargo test`.
    pub call: String,
}

impl Host {
    /// Files and folders with keys, which a confined command may not read: well-known ones of the
    /// user's home, and Dormouse's own settings there. They need not exist.
    pub fn secret_places(&self) -> Vec<PathBuf> {
        let mut places = secret_places(user_home(self.system()).as_deref());
        let own = self.places().settings_files().into_iter();
        // Those of the project belong to it, and programs of the project may read them.
        let own = own.filter(|(layer, _)| matches!(layer, FileLayer::Managed | FileLayer::User));
        places.extend(own.map(|(_, file)| file));
        places
    }

    /// Rules and folders in force in the working directory.
    pub fn permissions(&self) -> Permissions {
        let places = self.places();
        let home = user_home(self.system());
        let files = Arc::clone(&self.system().files);
        let mut collected = Collected {
            host: self,
            trusted: self.loaded().trust == Trust::Trusted,
            rules: Rules::default(),
            folders: Vec::new(),
        };
        collected.own();
        // Claude Code's own order: the user's, the project's, those of this checkout.
        let user = self.claude_home().map(|home| home.join("settings.json"));
        let project = places.project.root.join(".claude");
        collected.foreign(user, home.as_deref(), true);
        for name in ["settings.json", "settings.local.json"] {
            let file = project.join(name);
            collected.foreign(Some(file), Some(&places.project.root), collected.trusted);
        }
        let folder = places.current_dir.clone();
        let real = |path: &Path| files.real_path(path).ok();
        // A folder behind a link has two names, and tools print either.
        let mut further: Vec<PathBuf> = real(&folder).into_iter().collect();
        for named in &collected.folders {
            further.push(named.clone());
            further.extend(real(named));
        }
        further.retain(|path| *path != folder);
        further.dedup();
        Permissions {
            rules: collected.rules,
            ground: Ground {
                further,
                home,
                trusted: collected.trusted,
                sandbox: self.confines(),
                ..Ground::new(folder, None)
            },
            files,
        }
    }
}

/// Rules on their way from the files.
struct Collected<'a> {
    host: &'a Host,
    trusted: bool,
    rules: Rules,
    folders: Vec<PathBuf>,
}

impl Collected<'_> {
    /// Rules of Dormouse's own settings; the layers have dropped what a project may not set.
    fn own(&mut self) {
        let settings = self.host.settings();
        for (key, behaviour) in [
            (keys::PERMISSIONS_ALLOW, Behaviour::Allow),
            (keys::PERMISSIONS_ASK, Behaviour::Ask),
            (keys::PERMISSIONS_DENY, Behaviour::Deny),
        ] {
            // Marks the setting as read; the parts below keep the place of each rule.
            settings.get(key);
            let parts = settings.entry(key.name()).map(|entry| entry.parts.clone());
            for part in parts.into_iter().flatten() {
                let origin = self.origin(&part.origin);
                if let Value::List(texts) = &part.value {
                    self.add(behaviour, texts, &origin);
                }
            }
        }
        let folders = settings.get(keys::PERMISSIONS_FOLDERS);
        self.add_folders(&folders);
    }

    /// Name of a layer for people, and the folder its patterns start from.
    fn origin(&self, origin: &settings::Origin) -> Origin {
        let places = self.host.places();
        let root = match origin.kind() {
            LayerKind::User => places.home.clone(),
            LayerKind::Project | LayerKind::ProjectLocal => places.project.root.clone(),
            LayerKind::BuiltIn | LayerKind::Managed => PathBuf::from("/"),
            LayerKind::Environment | LayerKind::Flags => places.current_dir.clone(),
        };
        Origin::new(origin.to_string(), root)
    }

    /// Rules of a settings file of Claude Code.
    fn foreign(&mut self, file: Option<PathBuf>, root: Option<&Path>, trusted: bool) {
        let (Some(file), Some(root)) = (file, root) else {
            return;
        };
        let found = match ForeignRules::read(&*self.host.system().files, &file) {
            Ok(Some(found)) => found,
            Ok(None) => return,
            Err(why) => {
                self.host.remark_once(Remark::LeftOut { why });
                return;
            }
        };
        let origin = Origin::new(format!("`{}`", file.display()), root);
        self.add(Behaviour::Deny, &found.deny, &origin);
        self.add(Behaviour::Ask, &found.ask, &origin);
        let count = found.allow.len() + found.folders.len();
        if trusted {
            self.add(Behaviour::Allow, &found.allow, &origin);
            self.add_folders(&found.folders);
        } else if count > 0 {
            self.host
                .remark_once(Remark::RulesUntrusted { file, count });
        }
    }

    fn add(&mut self, behaviour: Behaviour, texts: &[String], origin: &Origin) {
        for text in texts {
            match Rule::parse(text, origin) {
                Ok(rule) => self.rules.add(behaviour, rule),
                Err(error) => self.host.remark_once(Remark::RuleUnread {
                    why: error.to_string(),
                    origin: origin.name.clone(),
                }),
            }
        }
    }

    fn add_folders(&mut self, texts: &[String]) {
        let places = self.host.places();
        let home = user_home(self.host.system());
        self.folders.extend(
            texts
                .iter()
                .map(|text| match (text.strip_prefix("~/"), &home) {
                    (Some(rest), Some(home)) => home.join(rest),
                    _ => places.project.root.join(text),
                }),
        );
    }
}

impl Permissions {
    /// Judges a call. A path is judged as it is named and as links lead it.
    pub fn judge(&self, call: &CallText, mode: Mode) -> Judged {
        let action = call.action(&self.ground, &|path| self.real(path));
        let shown = match &action {
            Action::Shell { line, .. } => Some((*line).to_owned()),
            Action::Read { path, .. } | Action::Edit { path, .. } => {
                Some(path.display().to_string())
            }
            Action::Fetch { host } => Some((*host).to_owned()),
            Action::Harmless | Action::Other => None,
        };
        let verdict = judge(
            &Call::new(&call.tool, action),
            &self.rules,
            mode,
            &self.ground,
        );
        Judged {
            verdict,
            call: match shown {
                Some(text) => format!("{}: {text}", call.tool),
                None => call.tool.clone(),
            },
        }
    }

    /// Path behind links: that of the nearest folder that exists, with the rest behind it.
    fn real(&self, path: &Path) -> Option<PathBuf> {
        let mut below = PathBuf::new();
        for folder in path.ancestors() {
            if let Ok(real) = self.files.real_path(folder) {
                let real = if below.as_os_str().is_empty() {
                    real
                } else {
                    real.join(&below)
                };
                return Some(real).filter(|real| real != path);
            }
            // A dangling link leads somewhere all the same; without its target nothing is known.
            below = Path::new(folder.file_name()?).join(below);
        }
        None
    }
}
