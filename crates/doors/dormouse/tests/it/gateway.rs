//! `dormouse gateway` as a process of its own, in front of the simulator.

use crate::program::Machine;
use crate::simulator::Running;
use dormouse_system::{Files as _, RealFiles};
use dormouse_testkit::processes::until;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// A gateway that ends with the test.
pub(crate) struct Gateway {
    child: Child,
    pub(crate) address: String,
}

impl Gateway {
    fn start(machine: &Machine, upstream: &str) -> Self {
        Self::start_with(machine, upstream, "")
    }

    pub(crate) fn start_with(machine: &Machine, upstream: &str, options: &str) -> Self {
        let line =
            format!("gateway --listen 127.0.0.1:0 --upstream http://{upstream} --json {options}");
        let mut child = machine
            .command(&line)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        output.read_line(&mut line).unwrap();
        let ready: Value = serde_json::from_str(&line).unwrap();
        let address = ready["listening"].as_str().unwrap();
        let address = address.trim_start_matches("http://").to_owned();
        Self { child, address }
    }

    fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Result of a turn: every third one is longer than a shell's may be.
fn result(turn: usize) -> String {
    let lines = if turn % 3 == 1 { 2_500 } else { 2 };
    format!("a line of turn {turn}\n").repeat(lines)
}

/// Sends one turn of a conversation; the status line, or none if the connection broke.
fn ask(address: &str, conversation: usize, turns: usize) -> Option<String> {
    let mut messages = vec![json!({"role": "user", "content": format!("begin {conversation}")})];
    for turn in 0..turns {
        let id = format!("toolu_{conversation}_{turn}");
        messages.push(json!({"role": "assistant", "content": [
            {"type": "tool_use", "id": id, "name": "Bash", "input": {}}]}));
        messages.push(json!({"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": id, "content": result(turn)}]}));
    }
    let body = json!({"model": "claude-sonnet-4-6", "max_tokens": 200, "stream": true,
        "messages": messages, "tools": [{"name": "Bash", "input_schema": {"type": "object"}}]});
    let body = body.to_string();
    let mut stream = TcpStream::connect(address).ok()?;
    let limit = Some(Duration::from_secs(20));
    stream.set_read_timeout(limit).unwrap();
    let head = format!(
        "POST /v1/messages HTTP/1.1\r\nhost: x\r\nx-api-key: sk-of-a-user-0123456789\r\n\
         anthropic-version: 2023-06-01\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(format!("{head}{body}").as_bytes()).ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    // Whole only with the end of its chunks: a cut answer ends anywhere.
    answer
        .ends_with("0\r\n\r\n")
        .then(|| answer.lines().next().unwrap_or_default().to_owned())
}

#[test]
fn figures_of_conversations_survive_a_kill_under_load() {
    let machine = Machine::new(&[]);
    let sim = Running::new(&machine, "");
    let mut gateway = Gateway::start(&machine, sim.address());
    assert_eq!(
        machine.stdout("stats --gateway"),
        "No request has passed through the gateway yet.\n"
    );
    let done: [AtomicUsize; 4] = std::array::from_fn(|_| AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for (conversation, done) in done.iter().enumerate() {
            let address = gateway.address.clone();
            scope.spawn(move || {
                // Until the gateway is gone.
                while ask(&address, conversation, done.load(Ordering::SeqCst)).is_some() {
                    done.fetch_add(1, Ordering::SeqCst);
                }
            });
        }
        let all_begun = || done.iter().all(|done| done.load(Ordering::SeqCst) >= 5);
        until(all_begun, "the load does not get through");
        gateway.kill();
    });
    let gateway = Gateway::start(&machine, sim.address());
    for (conversation, done) in done.iter().enumerate() {
        // The turn that was cut off is asked for again, then the conversation goes on.
        for more in 0..2 {
            let turns = done.load(Ordering::SeqCst) + more;
            let status = ask(&gateway.address, conversation, turns);
            assert_eq!(status.as_deref(), Some("HTTP/1.1 200 OK"), "{conversation}");
        }
    }
    let figures = || machine.json("stats --gateway --json");
    // The last exchange is booked a moment after its last byte.
    let booked = || figures()["relations"]["continues"].as_u64() >= Some(20);
    until(booked, "the book lacks requests");
    let report = figures();
    assert_eq!(report["conversation_count"], 4, "{report}");
    assert_eq!(report["relations"]["new"], 4, "{report}");
    assert!(report["skipped_lines"].as_u64() <= Some(1), "{report}");
    assert_eq!(rewrites(&machine), 4, "{report}");
    let cost: f64 = report["cost_usd"].as_str().unwrap().parse().unwrap();
    assert!(cost > 0.0, "{report}");
    let screen = machine.stdout("stats --gateway");
    assert!(screen.contains("claude-sonnet-4-6"), "{screen}");
    let second = machine.run(&format!(
        "gateway --listen 127.0.0.1:0 --upstream http://{}",
        sim.address()
    ));
    assert_eq!(second.code, 5, "{second:?}");
}

/// Conversations with results that became files. Every record has its file, whole, and none is made
/// twice.
fn rewrites(machine: &Machine) -> usize {
    let folder = machine.home().join(".dormouse/gateway");
    let lines = RealFiles.list(&folder.join("lines")).unwrap();
    let mut conversations = 0;
    for line in lines {
        let name = line.name.to_string_lossy().into_owned();
        let text = machine.read(&format!(".dormouse/gateway/lines/{name}"));
        let records = text
            .lines()
            .filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let replaced = records.filter_map(|record| record.get("replaced").cloned());
        let mut places = std::collections::BTreeSet::new();
        for one in replaced {
            let conversation = name.trim_end_matches(".jsonl");
            let file = one["file"].as_str().unwrap();
            let whole = machine.read(&format!(".dormouse/gateway/results/{conversation}/{file}"));
            assert!(whole.lines().count() == 2_500, "{one}");
            assert!(places.insert(one["at"].as_u64()), "{one}");
        }
        conversations += usize::from(!places.is_empty());
    }
    conversations
}

/// A figure of a process in bytes and the number of its open files, as Linux tells them.
#[expect(clippy::disallowed_methods, reason = "a test asks the system")]
fn process(id: u32) -> Option<(usize, usize)> {
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS"))?;
    let kilobytes: usize = line.split_whitespace().nth(1)?.parse().ok()?;
    let files = std::fs::read_dir(format!("/proc/{id}/fd")).ok()?.count();
    Some((kilobytes * 1024, files))
}

#[test]
fn two_thousand_idle_conversations_behind_layers_fit_a_small_process() {
    // 200 messages are 100 requests.
    const CONVERSATIONS: u128 = 2_000;
    const REQUESTS: u128 = 100;
    // More than the lines that are held in memory.
    const SPEAKING: usize = 100;
    let machine = Machine::new(&[]);
    let mut book = String::new();
    for at in 0..CONVERSATIONS * REQUESTS {
        let spread = 0x9E37_79B9_7F4A_7C15_F39C_C060_5CED_C835;
        let chain = |nth: u128| (at * 4 + nth).wrapping_mul(spread);
        let conversation = (at / REQUESTS + 1).wrapping_mul(spread);
        // Writing to a string cannot fail.
        let _ = writeln!(
            book,
            r#"{{"v":1,"at":1767225600000,"request":"req_{at}","client":"0badcafe","conversation":"{conversation:032x}","tip":"{:032x}","bare":"{:032x}","session":"{conversation:032x}","reply":"{:032x}","relation":"continues","known":100,"blocks":102,"model":"claude-sonnet-4-5","status":200,"ended":"whole","ms":900,"sent":100000,"received":2000}}"#,
            chain(1),
            chain(2),
            chain(3)
        );
    }
    machine.write(".dormouse/gateway/requests-2026-01-01.jsonl", &book);
    drop(book);
    let sim = Running::new(&machine, "");
    let gateway = Gateway::start(&machine, sim.address());
    for conversation in 0..SPEAKING {
        let status = ask(&gateway.address, conversation, 2);
        assert_eq!(status.as_deref(), Some("HTTP/1.1 200 OK"), "{conversation}");
    }
    let Some((bytes, files)) = process(gateway.child.id()) else {
        println!("skipped: this system does not tell a process's memory");
        return;
    };
    println!("{} MB, {files} files", bytes / 1_000_000);
    assert_eq!(rewrites(&machine), SPEAKING);
    assert!(bytes <= 100 * 1024 * 1024, "{bytes} bytes");
    assert!(files <= 64, "{files} open files");
}

#[test]
fn an_address_that_others_reach_needs_keys() {
    let machine = Machine::new(&[("keys.txt", "short\n")]);
    let run = machine.run("gateway --listen 0.0.0.0:0 --upstream http://127.0.0.1:9");
    assert_eq!(run.code, 5, "{run:?}");
    assert!(run.stderr.contains("--client-keys"), "{run:?}");
    let keys = machine.home().join("keys.txt");
    let run = machine.run(&format!(
        "gateway --listen 127.0.0.1:0 --client-keys {}",
        keys.display()
    ));
    assert_eq!(run.code, 4, "{run:?}");
    assert!(run.stderr.contains("line 1"), "{run:?}");
    let run = machine.run("gateway --listen 127.0.0.1:0 --upstream ftp://x");
    assert_eq!(run.code, 4, "{run:?}");
}
