//! The state of everything that a session needs or could use.
//!
//! # Model
//! Facts, no advice: what was found, and whether a session could start. Doors say what is missing
//! and what it would give. No key is ever part of it, only the setting that has one and its origin.
//! Only loopback is asked for servers, each with a short time limit.
//!
//! # Not here
//! Mending anything.

use crate::error::chain;
use crate::host::{Host, user_home};
use crate::place::Which;
use dormouse_config::SourceState;
use dormouse_core::settings::{Origin, Provider, Settings, Trust, keys};
use dormouse_core::units::Tokens;
use dormouse_keeper::client::{NoModel, Setup, configured, setup};
use dormouse_keeper::providers::{PRESETS, Preset, Wire};
use dormouse_model::{Credential, ListedModel, list_models};
use dormouse_system::{Access, Confinement};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Time for a server on this machine to list its models. A server that runs answers within
/// milliseconds; a port that something else holds must not hold up an answer.
const PATIENCE: Duration = Duration::from_millis(400);
/// Most models of a server that are told.
const MOST_MODELS: usize = 50;
/// Programs that a session uses, and some that make its work easier.
const PROGRAMS: [&str; 4] = ["git", "bash", "sh", "rg"];
/// File by which a folder is tried for writing; removed at once.
const TRIAL: &str = ".doctor-trial";

/// Everything that a session needs or could use.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Diagnosis {
    /// True if a session could start.
    pub ready: bool,
    /// The model of conversations, and those of other tasks.
    pub model: ModelFacts,
    /// Keys that are set, by their settings; never a value.
    pub keys: Vec<KeyFound>,
    /// Servers that run on this machine.
    pub servers: Vec<LocalServer>,
    /// Confinement that commands would get.
    pub sandbox: SandboxFacts,
    /// Programs by name, each with its place if it is there.
    pub programs: Vec<ProgramFound>,
    /// Facts about Dormouse's home folder.
    pub home: HomeFacts,
    /// Facts about the memory directory of this project.
    pub memory: MemoryFacts,
    /// Settings files that exist.
    pub settings: Vec<SettingsFileFacts>,
    /// Faults of settings files, variables and model files.
    pub issues: Vec<String>,
    /// Trust of this folder.
    pub trust: TrustFacts,
}

/// The model of conversations.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ModelFacts {
    /// Name by the setting `model`.
    pub name: Option<String>,
    /// Provider that would be asked.
    pub provider: Option<String>,
    /// Address that would be asked.
    pub url: Option<String>,
    /// True if the request would carry a key.
    pub has_key: bool,
    /// Pitfall of the provider.
    pub quirk: Option<&'static str>,
    /// Window in tokens: the one that is set, else the table's.
    pub window: Option<Tokens>,
    /// True if the table knows the model, so that costs can be told.
    pub known: bool,
    /// Model for small questions, if it is another.
    pub small: Option<String>,
    /// Model that takes over from an overloaded one.
    pub fallback: Option<String>,
    /// Reason why no session could be started with it.
    pub missing: Option<String>,
}

/// A key that is set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct KeyFound {
    /// Key of the setting.
    pub setting: &'static str,
    /// Place that it comes from: a variable or a file.
    pub from: String,
}

/// A server on this machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LocalServer {
    /// Value of the setting `provider` for it.
    pub provider: String,
    /// Name of the server as people know it.
    pub title: &'static str,
    /// Address of its interface.
    pub url: String,
    /// True if it listens where the provider usually does, so that no address has to be set.
    pub usual: bool,
    /// Models that the server offers.
    pub models: Vec<ListedModel>,
    /// Pitfall that a person who uses it should know.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quirk: Option<&'static str>,
}

/// Confinement that commands would get.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SandboxFacts {
    /// `full`, `partial` or `none`.
    pub strength: &'static str,
    /// Part that is missing, or the reason for none.
    pub why: Option<String>,
}

/// A program that was looked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ProgramFound {
    /// Name of the program.
    pub name: &'static str,
    /// Its place; `None` if no folder of the search path has it.
    pub path: Option<String>,
}

/// State of Dormouse's home folder.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct HomeFacts {
    /// Path of the home.
    pub path: String,
    /// True if it exists.
    pub exists: bool,
    /// Reason why it cannot be written to; of one that does not exist, its parent.
    pub unwritable: Option<String>,
}

/// State of a memory directory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct MemoryFacts {
    /// Path of the directory; `None` if memory is off.
    pub directory: Option<String>,
    /// Reason why there is no memory.
    pub off: Option<String>,
    /// Number of memories in the directory.
    pub memories: usize,
    /// Problems that should be mended.
    pub problems: usize,
    /// Reason why it cannot be read.
    pub unreadable: Option<String>,
}

/// A settings file that was looked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SettingsFileFacts {
    /// Purpose of the file.
    pub name: String,
    /// Path of the file.
    pub path: String,
    /// False if it cannot be used as a whole.
    pub usable: bool,
}

/// Trust of this folder.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TrustFacts {
    /// Root folder of the project.
    pub folder: String,
    /// True if its settings, hooks and team memory count.
    pub trusted: bool,
    /// Settings that its files give and that do not count.
    pub ignored: Vec<String>,
}

impl Host {
    /// Looks at everything that a session needs or could use. Needs a tokio runtime with time and
    /// network.
    pub async fn diagnose(&self) -> Diagnosis {
        let loaded = self.loaded();
        let settings = &loaded.settings;
        let model = self.model_facts();
        let home = self.home_facts();
        let ignored = settings.iter().filter(|entry| !entry.ignored.is_empty());
        Diagnosis {
            ready: model.missing.is_none() && home.unwritable.is_none(),
            servers: self.local_servers().await,
            model,
            keys: key_origins(settings),
            sandbox: match self.system().commands.confinement() {
                Confinement::Full => SandboxFacts {
                    strength: "full",
                    why: None,
                },
                Confinement::Partial(why) => SandboxFacts {
                    strength: "partial",
                    why: Some(why),
                },
                Confinement::None(why) => SandboxFacts {
                    strength: "none",
                    why: Some(why),
                },
            },
            programs: PROGRAMS
                .map(|name| ProgramFound {
                    name,
                    path: self.program(name).map(|path| path.display().to_string()),
                })
                .to_vec(),
            memory: self.memory_facts(),
            settings: loaded
                .sources
                .iter()
                .filter(|source| source.state != SourceState::Missing)
                .map(|source| SettingsFileFacts {
                    name: source.name.clone(),
                    path: source.path.display().to_string(),
                    usable: source.state == SourceState::Read,
                })
                .collect(),
            issues: loaded.issues.iter().map(|issue| chain(issue)).collect(),
            trust: TrustFacts {
                folder: self.places().project.root.display().to_string(),
                trusted: loaded.trust == Trust::Trusted,
                ignored: ignored.map(|entry| entry.key.clone()).collect(),
            },
            home,
        }
    }

    /// Servers that run on this machine: at the ports where providers usually listen, and at
    /// `local.base_url` if that is on this machine.
    pub async fn local_servers(&self) -> Vec<LocalServer> {
        let settings = self.settings();
        let key = settings.get(keys::LOCAL_API_KEY);
        let credential = key.map_or(Credential::None, Credential::Key);
        let mut places: Vec<(Option<&'static Preset>, String)> = PRESETS
            .iter()
            .filter(|preset| preset.port.is_some())
            .map(|preset| (Some(preset), preset.url.to_owned()))
            .collect();
        let own = settings.get(keys::LOCAL_BASE_URL);
        places.extend(own.filter(|url| is_loopback(url)).map(|url| (None, url)));
        let mut asked = tokio::task::JoinSet::new();
        for (number, (preset, url)) in places.into_iter().enumerate() {
            let credential = credential.clone();
            asked.spawn(async move {
                let listed = tokio::time::timeout(PATIENCE, list_models(&url, &credential)).await;
                let models = listed.ok()?.ok()?;
                Some((number, server(preset, url, models)))
            });
        }
        let mut found = Vec::new();
        while let Some(answer) = asked.join_next().await {
            found.extend(answer.ok().flatten());
        }
        // In the order of the presets, whichever answered first.
        found.sort_by_key(|(number, _)| *number);
        found.into_iter().map(|(_, server)| server).collect()
    }

    fn model_facts(&self) -> ModelFacts {
        let (settings, models) = (self.settings(), self.models());
        let name = settings.get(keys::MODEL);
        let wanted = setup(self.system(), settings.get(keys::PROVIDER), &settings);
        let missing: Option<NoModel> = configured(self.system(), &settings, &models).err();
        let (provider, url, has_key, quirk) = match &wanted {
            Ok(Setup {
                preset,
                url,
                credential,
                ..
            }) => (
                Some(preset.provider.to_string()),
                Some(url.clone()),
                !matches!(credential, Credential::None),
                preset.quirk,
            ),
            Err(_) => (None, None, false, None),
        };
        let found = name.as_deref().map(|name| models.lookup(name));
        let set = settings.get(keys::CONTEXT_WINDOW);
        ModelFacts {
            provider,
            url,
            has_key,
            quirk,
            window: set.or_else(|| found.as_ref().map(|found| found.info.window)),
            known: found.is_some_and(|found| found.is_known()),
            small: settings.get(keys::SMALL_MODEL),
            fallback: settings.get(keys::FALLBACK_MODEL),
            missing: missing.map(|why| chain(&why)),
            name,
        }
    }

    /// The first file of this name in the folders of the search path.
    pub(crate) fn program(&self, name: &str) -> Option<PathBuf> {
        let folders = self.system().env.var("PATH")?;
        let mut places = std::env::split_paths(&folders).map(|folder| folder.join(name));
        let runs = |path: &PathBuf| {
            let facts = self.system().files.metadata(path);
            // Any of the three bits: the kernel decides which one counts for this user.
            facts.is_ok_and(|facts| facts.mode.is_none_or(|mode| mode & 0o111 != 0))
        };
        places.find(runs)
    }

    fn home_facts(&self) -> HomeFacts {
        let files = &self.system().files;
        let home = &self.places().home;
        let exists = files.metadata(home).is_ok();
        // A home that is not there yet is made in its parent; asking must not make it.
        let parent = home.parent().unwrap_or_else(|| Path::new("/"));
        let trial = if exists { home.as_path() } else { parent }.join(TRIAL);
        let tried = files
            .replace(&trial, b"", Access::Private)
            .and_then(|()| files.remove_file(&trial));
        HomeFacts {
            path: home.display().to_string(),
            exists,
            unwritable: tried.err().map(|error| chain(&error)),
        }
    }

    fn memory_facts(&self) -> MemoryFacts {
        let mut facts = MemoryFacts::default();
        match self.check(&Which::Private) {
            Ok(check) => {
                facts.directory = Some(check.directory);
                facts.memories = check.memories;
                facts.problems = check.problems.len();
            }
            Err(error) if error.is_off() => facts.off = Some(chain(&error)),
            Err(error) => facts.unreadable = Some(chain(&error)),
        }
        facts
    }

    /// Path with the user's home as `~`, as a person writes it.
    pub fn shown_path(&self, path: &str) -> String {
        let home = user_home(self.system());
        let below = home.as_deref().and_then(|home| {
            let rest = Path::new(path).strip_prefix(home).ok()?;
            Some(format!("~/{}", rest.display()))
        });
        below.unwrap_or_else(|| path.to_owned())
    }
}

fn server(
    preset: Option<&'static Preset>,
    url: String,
    mut models: Vec<ListedModel>,
) -> LocalServer {
    models.truncate(MOST_MODELS);
    let owner = models.iter().find_map(|model| model.owner.as_deref());
    let by_owner = match owner {
        Some("llamacpp") => Provider::LlamaCpp,
        Some("library") => Provider::Ollama,
        Some("organization_owner") => Provider::LmStudio,
        // Any server of this wire can be asked as vLLM is.
        _ => Provider::Vllm,
    };
    let guessed = || PRESETS.iter().find(|known| known.provider == by_owner);
    let of = preset.or_else(guessed);
    LocalServer {
        provider: of.map_or(by_owner, |of| of.provider).to_string(),
        title: of.map_or("server", |of| of.title),
        usual: preset.is_some(),
        url,
        models,
        quirk: of.and_then(|of| of.quirk),
    }
}

/// True for an address on this machine: nothing else is asked without being told to.
fn is_loopback(url: &str) -> bool {
    let host = url.split_once("://").map_or(url, |(_, rest)| rest);
    let host = host.split(['/', '?']).next().unwrap_or_default();
    let host = match host.strip_prefix('[') {
        Some(six) => six.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    let address = host.parse::<std::net::IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

/// Keys that are set, with their origins.
fn key_origins(settings: &Settings) -> Vec<KeyFound> {
    let token = (keys::ANTHROPIC_AUTH_TOKEN.name(), Wire::Messages);
    let of_presets = PRESETS
        .iter()
        .map(|preset| (preset.key_setting.name(), preset.wire));
    let mut found: Vec<KeyFound> = Vec::new();
    for (setting, _) in std::iter::once(token).chain(of_presets) {
        let Some(entry) = settings.entry(setting) else {
            continue;
        };
        if entry.value.is_some() && found.iter().all(|known| known.setting != setting) {
            let from = match &entry.origin {
                Origin::BuiltIn => "built-in".to_owned(),
                origin => origin.to_string(),
            };
            found.push(KeyFound { setting, from });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_is_loopback() {
        for url in [
            "http://127.0.0.1:11434/v1",
            "http://localhost:8000",
            "http://[::1]:8080/v1",
            "http://127.8.8.8",
        ] {
            assert!(is_loopback(url), "{url}");
        }
        for url in [
            "http://192.168.0.2:8000/v1",
            "https://localhost.example.com/v1",
            "http://127.0.0.1.example.com",
            "http://[2001:db8::1]/",
            "",
        ] {
            assert!(!is_loopback(url), "{url}");
        }
    }
}
