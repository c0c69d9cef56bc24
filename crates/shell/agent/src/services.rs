//! Services of the tools beyond files and commands: network, memory, search.

use crate::question::UserAnswers;
use dormouse_core::record::Windows;
use dormouse_core::settings::{Settings, keys};
use dormouse_core::units::Tokens;
use dormouse_engine::Recorder;
use dormouse_host::{Host, HostError, Overwrite, PageQuestion, SessionMatch, Which};
use dormouse_model::web::SystemNetwork;
use dormouse_tools::{MemoryDesk, PageReader, SearchBy, Services, Toolset};
use serde_json::Value;
use std::fmt::Write as _;
use std::sync::{Arc, OnceLock};

/// Window below which prompt and tools are cut down, in tokens.
const SMALL_WINDOW: Tokens = Tokens(32_000);
/// Memories that a search shows; their lines are short.
const MOST_MEMORIES: usize = 8;
/// Bytes of the lines of sessions that a search shows: about two thousand tokens, with which an
/// answer was found to bring back nearly all that sessions use later.
const MOST_BYTES: usize = 7_000;
/// Host of Anthropic's own interface: gateways in front of it may not know its tools.
const ANTHROPIC_HOST: &str = "api.anthropic.com";

/// Services for a session of this host.
pub(crate) fn services(
    host: &Arc<Host>,
    memory: bool,
    answers: &UserAnswers,
    reader: &Arc<SmallReader>,
) -> Services {
    Services {
        people: Arc::new(answers.clone()),
        reader: Some(Arc::clone(reader) as _),
        network: Some(Arc::new(SystemNetwork)),
        memory: memory.then(|| Arc::new(Desk(Arc::clone(host))) as _),
        search_command: host.settings().get(keys::WEB_SEARCH_COMMAND),
    }
}

/// Tools for a session of this host.
pub(crate) fn toolset(host: &Host, memory: bool) -> Toolset {
    let settings = host.settings();
    let settings = &*settings;
    let model = settings.get(keys::MODEL).unwrap_or_default();
    let (window, _) = host.window_for(&model, &Windows::default());
    let search = if settings.get(keys::WEB_SEARCH_COMMAND).is_some() {
        SearchBy::Command
    } else if settings.get(keys::WEB_PROVIDER_SEARCH) && asks_anthropic(settings) {
        SearchBy::Provider
    } else {
        SearchBy::Nothing
    };
    Toolset {
        memory,
        search,
        lean: window < SMALL_WINDOW,
    }
}

/// True if requests go to Anthropic itself.
fn asks_anthropic(settings: &Settings) -> bool {
    let credential = settings.get(keys::ANTHROPIC_AUTH_TOKEN).is_some()
        || settings.get(keys::ANTHROPIC_API_KEY).is_some();
    let url = settings.get(keys::ANTHROPIC_BASE_URL);
    let own = url.is_none_or(|url| {
        let rest = url.trim().strip_prefix("https://").unwrap_or_default();
        rest.split(['/', ':']).next() == Some(ANTHROPIC_HOST)
    });
    credential && own
}

/// The small model as a reader of pages. Its usage goes into the log of the session.
#[derive(Debug)]
pub(crate) struct SmallReader {
    host: Arc<Host>,
    recorder: OnceLock<Recorder>,
}

impl SmallReader {
    pub(crate) fn new(host: &Arc<Host>) -> Arc<Self> {
        Arc::new(Self {
            host: Arc::clone(host),
            recorder: OnceLock::new(),
        })
    }

    /// Names the log, which is open only after the tools are made.
    pub(crate) fn attach(&self, recorder: Recorder) {
        let _before = self.recorder.set(recorder);
    }
}

impl PageReader for SmallReader {
    fn read(&self, url: &str, page: &str, question: &str) -> Result<Option<String>, String> {
        let said = |error: &dyn std::error::Error| dormouse_core::show::chain(error);
        let asked = PageQuestion {
            url,
            page,
            question,
        };
        let Some(answer) = self.host.read_page(asked).map_err(|error| said(&error))? else {
            return Ok(None);
        };
        let (answer, usage) = answer.map_err(|error| said(&error))?;
        if let Some(recorder) = self.recorder.get() {
            recorder.account(vec![usage]);
        }
        Ok(Some(answer))
    }
}

/// Memory and sessions of the project.
#[derive(Debug)]
struct Desk(Arc<Host>);

impl MemoryDesk for Desk {
    fn command(&self, input: &Value) -> Result<String, String> {
        let answer = self.0.memory_tool(&Which::Private, input, Overwrite::Allow);
        match answer {
            Ok(answer) if answer.is_error => Err(answer.content),
            Ok(answer) => Ok(answer.content),
            Err(error) => Err(error.to_string()),
        }
    }

    fn search(&self, words: &str, most: usize) -> Result<String, String> {
        let said = |error: HostError| error.to_string();
        let mut text = String::new();
        let memories = self.0.search_memories(words, MOST_MEMORIES).map_err(said)?;
        for memory in &memories {
            let gone = if memory.over { ", overtaken" } else { "" };
            let _always = writeln!(text, "memory `{}`{gone}: {}", memory.path, memory.says());
        }
        let search = self.0.search_sessions(words, &[]).map_err(said)?;
        let found = search.map(|search| search.within(&self.0, MOST_BYTES.min(most)));
        let passages = found.map(|found| found.matches).unwrap_or_default();
        list(&mut text, &passages);
        if memories.is_empty() && passages.is_empty() {
            return Ok("Nothing has these words. Try fewer or other ones.".to_owned());
        }
        Ok(text)
    }
}

/// Writes passages, those of one file together: its path is longer than most lines.
fn list(text: &mut String, passages: &[SessionMatch]) {
    let mut files: Vec<(&str, Vec<&SessionMatch>)> = Vec::new();
    for passage in passages {
        match files.iter_mut().find(|(file, _)| *file == passage.file) {
            Some((_, known)) => known.push(passage),
            None => files.push((&passage.file, vec![passage])),
        }
    }
    for (file, passages) in files {
        let session = passages.first().map_or("", |first| &first.session);
        let session: String = session.chars().take(8).collect();
        let _always = writeln!(text, "\nsession {session}, {file}:");
        for passage in passages {
            // To the minute, which is enough to tell passages apart.
            let time = passage.time.as_deref().and_then(|time| time.get(..16));
            let time = time.unwrap_or_default();
            let _always = writeln!(text, "[{} {time}]\n{}", passage.role, passage.snippet);
        }
    }
}
