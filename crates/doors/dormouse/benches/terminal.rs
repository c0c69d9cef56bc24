//! Speed of the screen on a pseudo-terminal. `cargo bench -p dormouse --bench terminal`
//! Starts, a session of 5,000 messages, an answer of 10,000 lines at 2,000 tokens a second with keys in
//! between, and a minute without input. The terminal is an emulator in this process, so that its own work
//! is counted in.

#![expect(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a benchmark measures real time, fails by panicking and prints what it found"
)]

use dormouse_testkit_terminal::{Pty, Step};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Starts that are measured.
const STARTS: usize = 20;
/// Messages of the long session.
const MESSAGES: usize = 5_000;
/// Lines of the long answer: code, so that each is coloured; sixteen characters, about six tokens.
const LINES: usize = 10_000;
/// Keys that are typed into the stream.
const KEYS: usize = 120;
/// Time without input in which wake-ups are counted.
const IDLE: Duration = Duration::from_secs(20);
/// End of an update.
const FRAME: &[u8] = b"\x1b[?2026l";

fn main() {
    let folder = tempfile::tempdir().expect("a folder");
    let home = folder.path().canonicalize().expect("a path");
    std::fs::create_dir_all(home.join("project/.git")).expect("a folder");
    let answer: Vec<String> = (0..LINES)
        .map(|line| format!("let l{line:05} = 1;"))
        .collect();
    let answer = format!("```rust\n{}\n```", answer.join("\n"));
    let mut provider = Provider(provider(&home, &answer));
    let url = listening(&mut provider.0);
    let session = long_session(&home);
    let resume = ["--resume", session.as_str()];
    let last = format!("Part {} counts.", MESSAGES - 1);
    let marks = [
        ("first frame, no model", None, &[][..], FRAME),
        ("first frame, with a model", Some(&*url), &[], FRAME),
        ("agent is open", Some(&*url), &[], b"ask mode"),
        ("first frame of 5,000 messages", Some(&*url), &resume, FRAME),
        (
            "their end on the screen",
            Some(&*url),
            &resume,
            last.as_bytes(),
        ),
        ("their session is open", Some(&*url), &resume, b"ask mode"),
    ];
    for (what, url, arguments, mark) in marks {
        let starts = (0..STARTS).map(|_| start(&home, url, arguments, mark));
        report(
            &format!("start to: {what}"),
            &mut starts.collect::<Vec<_>>(),
        );
    }
    stream(&home, &url);
}

/// Provider that ends with the benchmark, also where that fails.
struct Provider(Child);

impl Drop for Provider {
    fn drop(&mut self) {
        // It is gone already if this fails.
        let _killed = self.0.kill();
        let _waited = self.0.wait();
    }
}

fn provider(home: &Path, answer: &str) -> Child {
    let script = json!({ "content": [{ "text": answer }] });
    std::fs::write(home.join("script.jsonl"), script.to_string()).expect("a script");
    // As measured, this comes to about two thousand tokens a second.
    let settings = "piece_chars = 40\npiece_ms = 12\n[answers]\ntool_rounds = 0\n";
    std::fs::write(home.join("sim.toml"), settings).expect("settings");
    Command::new(env!("CARGO_BIN_EXE_dormouse"))
        .args(["sim", "--listen", "127.0.0.1:0", "--json", "--config"])
        .arg(home.join("sim.toml"))
        .arg("--script")
        .arg(home.join("script.jsonl"))
        .env_clear()
        .env("HOME", home)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .expect("a provider")
}

fn listening(provider: &mut Child) -> String {
    let mut line = String::new();
    BufReader::new(provider.stdout.take().expect("its output"))
        .read_line(&mut line)
        .expect("a line");
    let ready: Value = serde_json::from_str(&line).expect("an address");
    ready["listening"].as_str().expect("an address").to_owned()
}

fn open(home: &Path, url: Option<&str>, arguments: &[&str]) -> Pty {
    let mut variables: Vec<(&str, OsString)> = vec![
        ("HOME", home.as_os_str().to_owned()),
        ("PATH", "/usr/bin:/bin".into()),
        ("TERM", "xterm-256color".into()),
    ];
    if let Some(url) = url {
        variables.push(("ANTHROPIC_BASE_URL", url.into()));
        variables.push(("ANTHROPIC_API_KEY", "any".into()));
        variables.push(("ANTHROPIC_MODEL", "claude-opus-4-6".into()));
    }
    let variables = variables
        .iter()
        .map(|(name, value)| (*name, OsStr::new(value)));
    let program = PathBuf::from(env!("CARGO_BIN_EXE_dormouse"));
    Pty::start(
        &program,
        arguments,
        variables,
        &home.join("project"),
        (100, 30),
    )
}

/// Time from the start of the process until it has written a mark.
fn start(home: &Path, url: Option<&str>, arguments: &[&str], mark: &[u8]) -> Duration {
    let begun = Instant::now();
    let mut pty = open(home, url, arguments);
    while !has(&pty, mark) {
        assert!(begun.elapsed() < Duration::from_secs(30), "{pty:?}");
        thread::sleep(Duration::from_micros(300));
    }
    let took = begun.elapsed();
    pty.send("\u{4}\u{4}");
    pty.ended();
    took
}

fn has(pty: &Pty, part: &[u8]) -> bool {
    let bytes = pty.bytes();
    bytes.windows(part.len()).any(|window| window == part)
}

/// A session of Dormouse's own with many messages, converted from a transcript.
fn long_session(home: &Path) -> String {
    let id = "0199a2b3-0000-7000-8000-000000005000";
    let mut parent = Value::Null;
    let mut lines = String::new();
    for nth in 0..MESSAGES {
        let uuid = format!("00000000-0000-4000-8000-{nth:012}");
        let (role, content) = if nth % 2 == 0 {
            (
                "user",
                json!(format!("Question {nth}: what does part {nth} do?")),
            )
        } else {
            (
                "assistant",
                json!([{ "type": "text", "text": format!("Part {nth} counts.\n\n- one\n- two\n") }]),
            )
        };
        let mut message = json!({ "role": role, "content": content });
        if role == "assistant" {
            message["id"] = json!(format!("msg_{nth}"));
            message["model"] = json!("claude-opus-4-6");
            message["usage"] = json!({ "input_tokens": 10, "output_tokens": 9 });
        }
        let line = json!({
            "type": role, "uuid": uuid, "parentUuid": parent, "sessionId": id, "cwd": home.join("project"),
            "timestamp": "2026-01-05T09:00:00.000Z", "version": "2.0.0", "message": message,
        });
        lines.push_str(&line.to_string());
        lines.push('\n');
        parent = json!(uuid);
    }
    let transcript = home.join(format!("{id}.jsonl"));
    std::fs::write(&transcript, lines).expect("a transcript");
    let converted = Command::new(env!("CARGO_BIN_EXE_dormouse"))
        .arg("convert")
        .arg(&transcript)
        .env_clear()
        .env("HOME", home)
        .current_dir(home.join("project"))
        .output()
        .expect("a conversion");
    assert!(converted.status.success(), "{converted:?}");
    id.to_owned()
}

/// The long answer, with keys in between, and the silence behind it.
fn stream(home: &Path, url: &str) {
    let mut pty = open(home, Some(url), &[]);
    pty.shows("ask mode");
    pty.send("tell me\r");
    pty.wrote("l00010");
    let (begun, before) = (Instant::now(), frames(&pty));
    let mut echoes = Vec::new();
    let mut typed = String::from("› ");
    for nth in 0..KEYS {
        let letter = ["a", "b", "c", "d", "e"][nth % 5];
        typed.push_str(letter);
        let pressed = Instant::now();
        pty.send(letter);
        while !pty.screen().contains(&typed) {
            assert!(pressed.elapsed() < Duration::from_secs(10), "{pty:?}");
            thread::sleep(Duration::from_micros(300));
        }
        echoes.push(pressed.elapsed());
        thread::sleep(Duration::from_millis(20));
        if typed.len() > 60 {
            // A line of its own, so that the composer stays short.
            pty.send("\u{15}");
            typed = String::from("› ");
            while pty.screen().contains("› abc") {
                thread::sleep(Duration::from_micros(300));
            }
        }
    }
    report("echo of a key in mid-stream", &mut echoes);
    let last = format!("l{:05}", LINES - 1);
    while !has(&pty, last.as_bytes()) {
        assert!(begun.elapsed() < Duration::from_mins(3), "{pty:?}");
        thread::sleep(Duration::from_millis(20));
    }
    let seconds = begun.elapsed().as_secs_f64();
    #[expect(clippy::cast_precision_loss, reason = "a rate")]
    let rate = (frames(&pty) - before) as f64 / seconds;
    println!(
        "frames while an answer of {LINES} lines streams: {rate:.0} a second for {seconds:.1} s"
    );
    pty.send("\u{15}");
    // The cost of the answer, which is there when it has ended.
    pty.shows(" · $");
    thread::sleep(Duration::from_secs(3));
    println!("most memory: {} MB", memory_mb(pty.process()));
    let (begun, before) = (Instant::now(), wake_ups(pty.process()));
    thread::sleep(IDLE);
    let mut woken = (0, 0);
    for (thread, (watches, count)) in wake_ups(pty.process()) {
        // A thread that began meanwhile was woken by something.
        let more = count - before.get(&thread).map_or(0, |(_, before)| *before);
        if watches {
            woken.1 += more;
        } else {
            woken.0 += more;
        }
    }
    println!(
        "wake-ups in {:.0} s without input: {} of the screen and the agent, {} of the watch over settings files, which \
         other programs wake by opening files in /etc",
        begun.elapsed().as_secs_f64(),
        woken.0,
        woken.1
    );
    pty.send("\u{4}\u{4}");
    let (_, recording, lines) = pty.ended();
    let kept = lines
        .iter()
        .filter(|line| line.starts_with("  let l"))
        .count();
    let steps = recording.steps.iter();
    let bytes: usize = steps
        .map(|step| match step {
            Step::Bytes(bytes) => bytes.len(),
            Step::Size(..) => 0,
        })
        .sum();
    println!("lines in the scrollback: {kept}; bytes written: {bytes}");
}

fn frames(pty: &Pty) -> usize {
    let bytes = pty.bytes();
    bytes
        .windows(FRAME.len())
        .filter(|part| *part == FRAME)
        .count()
}

/// Voluntary context switches by thread, and whether it watches settings files.
fn wake_ups(process: u32) -> BTreeMap<OsString, (bool, u64)> {
    let tasks = std::fs::read_dir(format!("/proc/{process}/task")).expect("its threads");
    let counted = tasks.filter_map(Result::ok).map(|task| {
        let read = |name: &str| std::fs::read_to_string(task.path().join(name)).unwrap_or_default();
        let count = figure(&read("status"), "voluntary_ctxt_switches:");
        let name = read("comm");
        let watches = name.starts_with("notify") || name.starts_with("settings");
        (task.file_name(), (watches, count))
    });
    counted.collect()
}

fn memory_mb(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).expect("its status");
    figure(&status, "VmHWM:") / 1_024
}

fn figure(status: &str, name: &str) -> u64 {
    let line = status.lines().find(|line| line.starts_with(name));
    let word = line.and_then(|line| line.split_whitespace().nth(1));
    word.and_then(|word| word.parse().ok()).unwrap_or_default()
}

fn report(what: &str, times: &mut [Duration]) {
    times.sort_unstable();
    let at = |percent: usize| {
        let last = times.len().saturating_sub(1);
        let nth = (times.len() * percent / 100).min(last);
        times
            .get(nth)
            .map_or(0.0, |time| time.as_secs_f64() * 1_000.0)
    };
    println!(
        "{what}: median {:.1} ms, p99 {:.1} ms ({} times)",
        at(50),
        at(99),
        times.len()
    );
}
