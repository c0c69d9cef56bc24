//! The session list and its cache: reads are counted, not timed.

use dormouse_host::{Host, SessionList, Transcripts};
use dormouse_store::{LogFile, summarise};
use dormouse_system::{Fault, MemorySystem, Operation};
use pretty_assertions::assert_eq;
use std::fmt::Write as _;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

struct Machine {
    memory: MemorySystem,
    folder: PathBuf,
    cache: PathBuf,
}

impl Machine {
    fn new() -> Self {
        let memory = MemorySystem::new();
        let folder = host(&memory).sessions_folder();
        let cache = folder.with_file_name("sessions-cache.json");
        let machine = Self {
            memory,
            folder,
            cache,
        };
        for name in ["a", "b", "c"] {
            machine.put(name, 400, name);
        }
        machine
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.join("p").join(format!("{name}.jsonl"))
    }

    /// Writes a session of so many turns, at a later time than anything before.
    fn put(&self, name: &str, turns: usize, word: &str) {
        self.memory.clock.advance(Duration::from_secs(10));
        self.memory.files.put(self.path(name), session(turns, word));
    }

    fn list(&self) -> SessionList {
        host(&self.memory).sessions(None).unwrap()
    }

    /// Lists, and counts how often each session was read from.
    fn reads(&self) -> (SessionList, Vec<usize>) {
        let before = self.memory.files.performed().len();
        let list = self.list();
        let performed = self.memory.files.performed().split_off(before);
        let reads = ["a", "b", "c"].map(|name| {
            let path = self.path(name);
            let is_read = |it: &&dormouse_system::Performed| {
                it.operation == Operation::ReadAt && it.path == path
            };
            performed.iter().filter(is_read).count()
        });
        (list, reads.to_vec())
    }
}

fn host(memory: &MemorySystem) -> Host {
    Host::open_with(&memory.system(), "/managed.toml".as_ref(), Vec::new()).unwrap()
}

fn session(turns: usize, word: &str) -> String {
    let mut text = String::new();
    let mut parent = "null".to_owned();
    for turn in 0..turns {
        let (user, answer) = (format!("{word}-u{turn}"), format!("{word}-a{turn}"));
        let asked = format!(
            r#"{{"parentUuid":{parent},"type":"user","uuid":"{user}","sessionId":"s","timestamp":"2026-01-01T00:00:00Z","message":{{"role":"user","content":"{word} {turn}"}}}}"#
        );
        let answered = format!(
            r#"{{"parentUuid":"{user}","type":"assistant","uuid":"{answer}","sessionId":"s","timestamp":"2026-01-01T00:00:01Z","message":{{"role":"assistant","id":"m-{answer}","model":"claude-sonnet-4-5","content":[{{"type":"text","text":"{}"}}],"usage":{{"input_tokens":100,"output_tokens":50}}}}}}"#,
            "answer ".repeat(40)
        );
        text.extend([asked.as_str(), "\n", answered.as_str(), "\n"]);
        parent = format!("\"{answer}\"");
    }
    text
}

/// Reads of a session whose row is known: its two ends.
const ENDS: usize = 2;

/// Reads of one file while some work is done.
fn reads_of(memory: &MemorySystem, path: &Path, work: impl FnOnce()) -> usize {
    let before = memory.files.performed().len();
    work();
    let performed = memory.files.performed().split_off(before);
    let read =
        |it: &&dormouse_system::Performed| it.operation == Operation::ReadAt && it.path == *path;
    performed.iter().filter(read).count()
}

/// A session that is listed for the first time is scanned once, searched for a boundary once and
/// parsed once; before, its live part was parsed twice.
#[test]
fn a_new_session_is_parsed_once() {
    let memory = MemorySystem::new();
    let path = host(&memory).sessions_folder().join("p/a.jsonl");
    memory.files.put(&path, session(8_000, "a"));
    let log = || LogFile::open(&memory.files, &path).unwrap();
    let scan = reads_of(&memory, &path, || drop(summarise(&log()).unwrap()));
    let search = reads_of(&memory, &path, || {
        drop(log().live_start(&|_| None).unwrap());
    });
    let parse = reads_of(&memory, &path, || {
        let len = log().len().unwrap();
        log().for_each_in(0..len, |_| {}).unwrap();
    });
    assert!(parse > 10, "{parse} reads: a second parse would not show");
    let list = reads_of(&memory, &path, || {
        let list = host(&memory).sessions(None).unwrap();
        assert_eq!(
            (list.sessions.len(), list.sessions[0].messages),
            (1, 16_000)
        );
        assert!(list.sessions[0].tokens > 0);
    });
    // The ends for the cache, the length and the first lines, which tell the format.
    let few = ENDS + 6;
    assert!(
        list <= scan + search + parse + few,
        "{list} reads; one scan {scan}, one search {search}, one parse {parse}"
    );
}

/// The row of a session is the same whether its live part is short enough to be held or not.
#[test]
fn a_session_with_an_abandoned_branch_has_the_figures_of_its_path() {
    let memory = MemorySystem::new();
    let path = host(&memory).sessions_folder().join("p/a.jsonl");
    let sound = session(40, "a");
    // The last question hangs on the first answer: everything between is abandoned.
    let again = sound.replace(r#""parentUuid":"a-a38""#, r#""parentUuid":"a-a0""#);
    assert_ne!(again, sound);
    memory.files.put(&path, again);
    let short = host(&memory).sessions(None).unwrap().sessions.remove(0);
    let live = Transcripts::new(&memory.system(), host(&memory).models())
        .live(&path)
        .unwrap();
    assert_eq!(live.conversation.view().segments().len(), 4);
    assert_eq!(short.messages, 80);
    assert_eq!(
        short.tokens,
        live.conversation.count(&live.prefix_weight()).tokens.get()
    );
}

/// A transcript of another tool is read whole, and once.
#[test]
fn a_session_of_another_tool_is_read_once() {
    let memory = MemorySystem::new();
    let path = host(&memory).sessions_folder().join("p/rollout-a.jsonl");
    let head = r#"{"timestamp":"2026-01-01T00:00:00Z","type":"session_meta","payload":{"id":"0199a213-81c0-7800-8aa1-bbab2a035a53","cwd":"/p","originator":"codex","cli_version":"0.1"}}"#;
    let mut text = format!("{head}\n");
    for turn in 0..8_000 {
        for (role, kind) in [("user", "input_text"), ("assistant", "output_text")] {
            writeln!(
                text,
                r#"{{"timestamp":"2026-01-01T00:00:01Z","type":"response_item","payload":{{"type":"message","role":"{role}","content":[{{"type":"{kind}","text":"{role} {turn} {}"}}]}}}}"#,
                "word ".repeat(60)
            )
            .unwrap();
        }
    }
    memory.files.put(&path, text);
    let once = reads_of(&memory, &path, || {
        let log = LogFile::open(&memory.files, &path).unwrap();
        assert!(log.read_foreign().unwrap().is_some());
    });
    let list = reads_of(&memory, &path, || {
        assert_eq!(host(&memory).sessions(None).unwrap().sessions.len(), 1);
    });
    assert!(once > 5, "{once} reads: a second reading would not show");
    assert!(
        list <= once + ENDS + 3,
        "{list} reads; reading it once takes {once}"
    );
}

#[test]
fn an_unchanged_session_is_read_at_its_ends_only() {
    let machine = Machine::new();
    let (first, cold) = machine.reads();
    assert_eq!(first.sessions.len(), 3);
    assert!(cold.iter().all(|reads| *reads > ENDS), "{cold:?}");
    let (second, warm) = machine.reads();
    assert_eq!((second, warm), (first, vec![ENDS; 3]));
}

#[test]
fn a_session_that_changed_is_read_again_and_the_others_are_not() {
    type Change = fn(&Machine);
    let cases: [(&str, Change); 4] = [
        ("appended", |it| it.put("b", 401, "b")),
        ("truncated", |it| it.put("b", 3, "b")),
        ("replaced", |it| it.put("b", 400, "z")),
        ("given a sub-agent", |it| {
            let agent = it.folder.join("p/b/subagents/agent-x.jsonl");
            it.memory.files.put(agent, session(2, "agent"));
        }),
    ];
    for (what, change) in cases {
        let machine = Machine::new();
        let before = machine.list();
        change(&machine);
        let (after, reads) = machine.reads();
        assert!(reads[1] > ENDS, "{what}: {reads:?}");
        assert_eq!((reads[0], reads[2]), (ENDS, ENDS), "{what}");
        assert_ne!(after, before, "{what}");
        machine.memory.files.put(&machine.cache, "");
        assert_eq!(machine.list(), after, "{what}: as without a cache");
    }
}

#[test]
fn a_cache_that_cannot_be_used_is_none() {
    for damage in ["", "{", "[]", "\0\0", r#"{"version":999}"#] {
        let machine = Machine::new();
        let expected = machine.list();
        machine.memory.files.put(&machine.cache, damage);
        assert_eq!(machine.list(), expected, "{damage}");
        let (_, reads) = machine.reads();
        assert_eq!(reads, [ENDS; 3], "{damage}: written anew");
    }
    let machine = Machine::new();
    let expected = machine.list();
    let content = machine.memory.files.content(&machine.cache).unwrap();
    let other = String::from_utf8(content.to_vec()).unwrap();
    let other = other.replacen("\"version\":1", "\"version\":0", 1);
    machine.memory.files.put(&machine.cache, other);
    let (list, reads) = machine.reads();
    assert_eq!(list, expected);
    assert!(reads.iter().all(|reads| *reads > ENDS), "{reads:?}");
}

#[test]
fn a_home_that_cannot_be_written_to_gives_the_same_list() {
    let machine = Machine::new();
    let expected = Machine::new().list();
    for operation in [Operation::CreateFile, Operation::Write, Operation::Rename] {
        machine
            .memory
            .files
            .inject(Fault::fail(ErrorKind::PermissionDenied).on(operation));
        assert_eq!(machine.list(), expected);
        machine.memory.files.clear_faults();
    }
}

#[test]
fn sessions_that_are_gone_leave_the_cache() {
    let machine = Machine::new();
    machine.list();
    dormouse_system::Files::remove_file(&machine.memory.files, &machine.path("b")).unwrap();
    assert_eq!(machine.list().sessions.len(), 2);
    let content = machine.memory.files.content(&machine.cache).unwrap();
    assert!(
        !String::from_utf8(content.to_vec())
            .unwrap()
            .contains("b.jsonl")
    );
}

/// Sessions of another agent are listed where Dormouse was never used: no home is made, and the
/// second list reads their ends only.
#[test]
fn without_a_home_the_cache_lies_among_the_users_caches() {
    let list = |memory: &MemorySystem, path: &PathBuf| {
        let before = memory.files.performed().len();
        let host = host(memory);
        let list = host.sessions(Some("/other".as_ref())).unwrap();
        let performed = memory.files.performed().split_off(before);
        let reads = performed
            .iter()
            .filter(|it| it.operation == Operation::ReadAt && it.path == *path);
        assert!(dormouse_system::Files::metadata(&memory.files, &host.places().home).is_err());
        (list, reads.count())
    };
    let path = PathBuf::from("/other/p/a.jsonl");
    let caches = "/caches/dormouse/sessions-cache.json";
    for (variable, file) in [
        (Some("/caches"), caches.to_owned()),
        (Some("relative"), String::new()),
        (None, String::new()),
    ] {
        let memory = MemorySystem::new();
        memory.files.put(&path, session(400, "a"));
        if let Some(folder) = variable {
            memory.env.set("XDG_CACHE_HOME", folder);
        }
        let (first, cold) = list(&memory, &path);
        let (second, warm) = list(&memory, &path);
        assert!(cold > ENDS, "{variable:?}: {cold}");
        assert_eq!((second, warm), (first, ENDS), "{variable:?}");
        assert_eq!(
            memory
                .files
                .content(caches.as_ref() as &std::path::Path)
                .is_some(),
            !file.is_empty()
        );
    }
    // A user without any home gets the list, and nothing is kept for him.
    let memory = MemorySystem::new();
    memory.files.put(&path, session(400, "a"));
    memory.env.set_home(None);
    memory.env.set("DORMOUSE_HOME", "/nowhere");
    assert!(list(&memory, &path).1 > ENDS && list(&memory, &path).1 > ENDS);
}
