//! Memory of one session of a guest: texts that it was given and how far it was read.
//!
//! # Model
//! Lines in a file of the session, below the caches of the memory directory; the newest line that says
//! something counts. A hook that is killed while it writes leaves half a line, which is skipped and
//! costs one repetition. A compaction or a new beginning forgets what was given, because the client
//! has.
//!
//! Names of sessions come from the client. Letters and digits are taken as they are, anything else is
//! replaced by a hash, so that no name leads elsewhere.

use super::GuestEvent;
use dormouse_core::hash::Hash;
use dormouse_core::id::Seq;
use dormouse_core::units::Millis;
use dormouse_engine::Seen;
use dormouse_memdir::MemoryDir;
use dormouse_system::{Access, FileResult, LockGuard};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Folder of the files.
const FOLDER: &str = ".cache/guests";
/// Most bytes of a file that are read: a line has some hundred, a session at most some thousand.
const MOST_BYTES: u64 = 4 * 1024 * 1024;
/// Longest name of a session that is taken as it is; ids have 36.
const LONGEST_NAME: usize = 64;
/// Wait for a hook of the same session. Two that run at once would give the same memory twice; a
/// client that waits longer is worse.
const LOCK_WAIT: Duration = Duration::from_millis(250);
/// Age from which a file is removed: a session that is resumed later is given its memories again.
const KEPT: i64 = 30 * 24 * 3_600_000;

/// Line of the file.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Line {
    at: Millis,
    /// Set where the conversation began anew: everything before is gone from the prompt.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    fresh: bool,
    /// Memories that went in, with their bytes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    memories: Vec<(String, u64)>,
    /// Tokens that went in.
    #[serde(skip_serializing_if = "is_zero")]
    tokens: u64,
    /// Set once the user has said not to use memory.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    ignored: bool,
    /// Last record that memories were drawn from.
    #[serde(skip_serializing_if = "Option::is_none")]
    until: Option<Seq>,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde calls it with a reference"
)]
const fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// State of a session.
#[derive(Debug, Default)]
pub(super) struct GivenState {
    /// Memories that the conversation has.
    pub(super) seen: Seen,
    /// True if memory is to be left alone.
    pub(super) ignored: bool,
    /// Tokens of Dormouse's in the conversation.
    pub(super) tokens: u64,
    /// Those among them that no request had read when the session was last studied.
    pub(super) new_tokens: u64,
    /// Last record that memories were drawn from.
    pub(super) until: Option<Seq>,
    /// Time at which they were drawn.
    pub(super) studied: Option<Millis>,
}

/// Files of one session.
pub(super) struct Given<'a> {
    dir: &'a MemoryDir,
    name: String,
}

impl<'a> Given<'a> {
    pub(super) fn of(dir: &'a MemoryDir, event: &GuestEvent) -> Self {
        let session = clean(&event.session_id);
        let name = match &event.agent_id {
            Some(agent) => format!("{session}.{}", clean(agent)),
            None => session,
        };
        Self { dir, name }
    }

    pub(super) fn of_session(dir: &'a MemoryDir, session: &str) -> Self {
        let name = clean(session);
        Self { dir, name }
    }

    /// Keeps other hooks of the session waiting; `None` if it cannot be had, which costs at most a
    /// repetition.
    pub(super) fn lock(&self) -> Option<LockGuard> {
        self.dir.make_cache_folder().ok()?;
        let files = self.dir.handle();
        let folder = Path::new(FOLDER);
        files.create_dir_all(folder, Access::Private).ok()?;
        let path = self.path("jsonl");
        // Mostly free. Waiting lists the folder, which holds files of every session of a month.
        if let Ok(Some(lock)) = files.lock_exclusive(&path) {
            return Some(lock);
        }
        files.lock_waiting(&path, LOCK_WAIT).ok().flatten()
    }

    pub(super) fn read(&self) -> GivenState {
        let bytes = self.dir.handle().read(&self.path("jsonl"), MOST_BYTES);
        let bytes = bytes.unwrap_or_default();
        let mut state = GivenState::default();
        for line in bytes.split(|byte| *byte == b'\n') {
            let Ok(line) = serde_json::from_slice::<Line>(line) else {
                continue;
            };
            if line.fresh {
                state.seen = Seen::default();
                state.tokens = 0;
            }
            state.seen.memories.extend(line.memories);
            state.tokens += line.tokens;
            state.new_tokens += line.tokens;
            state.ignored |= line.ignored;
            if line.until.is_some() {
                state.until = line.until;
                state.studied = Some(line.at);
                state.new_tokens = 0;
            }
        }
        state
    }

    /// Notes the beginning of a conversation, with the text that it was given.
    pub(super) fn begin(&self, tokens: u64, start: Option<&str>, at: Millis) {
        self.add(&Line {
            at,
            fresh: true,
            tokens,
            ..Line::default()
        });
        if let Some(text) = start {
            let _kept = self.replace("start", text);
        }
    }

    pub(super) fn note(&self, memories: Vec<(String, u64)>, tokens: u64, at: Millis) {
        self.add(&Line {
            at,
            memories,
            tokens,
            ..Line::default()
        });
    }

    pub(super) fn ignore(&self, at: Millis) {
        self.add(&Line {
            at,
            ignored: true,
            ..Line::default()
        });
    }

    pub(super) fn studied(&self, until: Seq, at: Millis) {
        self.add(&Line {
            at,
            until: Some(until),
            ..Line::default()
        });
    }

    /// Text that the session began with.
    pub(super) fn start(&self) -> Option<String> {
        self.text("start")
    }

    /// Evidence of the conversation before its last compaction.
    pub(super) fn evidence(&self) -> Option<String> {
        self.text("evidence")
    }

    pub(super) fn keep_evidence(&self, text: &str) -> FileResult<()> {
        self.replace("evidence", text)
    }

    pub(super) fn drop_evidence(&self) {
        let _gone = self.dir.handle().remove_file(&self.path("evidence"));
    }

    /// Removes files of sessions that are long over.
    pub(super) fn clear(dir: &MemoryDir, now: Millis) {
        let files = dir.handle();
        let listed = files.list(Path::new(FOLDER)).unwrap_or_default();
        for entry in listed {
            if now.0 - entry.metadata.modified.0 > KEPT {
                let _gone = files.remove_file(&Path::new(FOLDER).join(entry.name));
            }
        }
    }

    fn path(&self, end: &str) -> PathBuf {
        Path::new(FOLDER).join(format!("{}.{end}", self.name))
    }

    fn text(&self, end: &str) -> Option<String> {
        let bytes = self.dir.handle().read(&self.path(end), MOST_BYTES).ok()?;
        let text = String::from_utf8(bytes.to_vec()).ok()?;
        (!text.is_empty()).then_some(text)
    }

    fn replace(&self, end: &str, text: &str) -> FileResult<()> {
        let files = self.dir.handle();
        files.create_dir_all(Path::new(FOLDER), Access::Private)?;
        files.replace(&self.path(end), text.as_bytes(), Access::Private)
    }

    /// Appends a line. A disk that takes none costs a repetition.
    fn add(&self, line: &Line) {
        let Ok(mut bytes) = serde_json::to_vec(line) else {
            return;
        };
        // Begins with a newline, too: the line before may be cut off.
        bytes.insert(0, b'\n');
        bytes.push(b'\n');
        let files = self.dir.handle();
        if self.dir.make_cache_folder().is_ok()
            && files
                .create_dir_all(Path::new(FOLDER), Access::Private)
                .is_ok()
        {
            let file = files.append(&self.path("jsonl"), Access::Private);
            let _noted = file.and_then(|mut file| file.append(&bytes));
        }
    }
}

/// Name of a file for an id of the client's.
fn clean(id: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    if !id.is_empty() && id.len() <= LONGEST_NAME && id.bytes().all(plain) {
        return id.to_owned();
    }
    format!("h{}", Hash::of(id.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use dormouse_system::MemorySystem;
    use pretty_assertions::assert_eq;

    fn event(session: &str) -> GuestEvent {
        GuestEvent {
            session_id: session.to_owned(),
            ..GuestEvent::default()
        }
    }

    fn dir(machine: &MemorySystem) -> MemoryDir {
        MemoryDir::open(&machine.system(), Path::new("/memory"), Access::Private).unwrap()
    }

    #[test]
    fn half_a_line_costs_itself_and_no_other() {
        let machine = MemorySystem::new();
        let dir = dir(&machine);
        let given = Given::of(&dir, &event("a"));
        given.note(vec![("/memory/one.md".to_owned(), 10)], 3, Millis(1));
        let file = Path::new("/memory").join(given.path("jsonl"));
        let whole = machine.files.content(&file).unwrap();
        for cut in 0..whole.len() {
            machine.files.put(&file, &whole[..cut]);
            given.note(vec![("/memory/two.md".to_owned(), 20)], 5, Millis(2));
            let seen = given.read().seen.memories;
            assert_eq!(seen.get("/memory/two.md"), Some(&20), "cut at {cut}");
        }
    }

    #[test]
    fn a_new_beginning_forgets_and_studying_counts_anew() {
        let machine = MemorySystem::new();
        let dir = dir(&machine);
        let given = Given::of(&dir, &event("a"));
        given.begin(7, Some("text"), Millis(1));
        given.note(vec![("/memory/one.md".to_owned(), 10)], 3, Millis(2));
        let state = given.read();
        assert_eq!((state.tokens, state.new_tokens), (10, 10));
        given.studied(Seq::new(4), Millis(3));
        assert_eq!(given.read().new_tokens, 0);
        given.begin(2, None, Millis(4));
        let state = given.read();
        assert!(state.seen.memories.is_empty());
        assert_eq!((state.tokens, state.until), (2, Some(Seq::new(4))));
        assert_eq!(given.start().as_deref(), Some("text"));
    }

    #[test]
    fn no_name_of_a_session_leads_out_of_the_folder() {
        for id in [
            "../../x",
            "",
            "a/b",
            "/etc/passwd",
            "a\0b",
            &"x".repeat(100),
            "..",
        ] {
            let name = clean(id);
            assert!(
                name.starts_with('h') && !name.contains(['/', '.']),
                "{id}: {name}"
            );
        }
        assert_eq!(clean("6f0c-A_1"), "6f0c-A_1");
    }

    #[test]
    fn sub_agents_are_given_apart_from_their_session() {
        let machine = MemorySystem::new();
        let dir = dir(&machine);
        let main = Given::of(&dir, &event("a"));
        let sub = GuestEvent {
            agent_id: Some("sub".to_owned()),
            ..event("a")
        };
        main.note(vec![("/memory/one.md".to_owned(), 10)], 3, Millis(1));
        assert!(Given::of(&dir, &sub).read().seen.memories.is_empty());
    }
}
