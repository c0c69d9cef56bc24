//! `dormouse sim`, as a process of its own.

use crate::program::Machine;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::time::Duration;

/// The simulator as a process that ends with the test.
pub(crate) struct Running {
    child: Child,
    address: String,
}

impl Running {
    pub(crate) fn new(machine: &Machine, options: &str) -> Self {
        let mut child = machine
            .command(&format!("sim --listen 127.0.0.1:0 --json {options}"))
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        let ready: serde_json::Value = serde_json::from_str(&line).unwrap();
        let address = ready["listening"].as_str().unwrap();
        Self {
            child,
            address: address.trim_start_matches("http://").to_owned(),
        }
    }

    /// Host and port it listens on.
    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    fn ask(&self) -> String {
        let body = r#"{"model":"claude-sonnet-4-6","max_tokens":2000,"messages":[{"role":"user","content":"hi"}]}"#;
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(20)))
            .unwrap();
        write!(
            stream,
            "POST /v1/messages HTTP/1.1\r\nhost: sim\r\nx-api-key: any\r\nanthropic-version: 2023-06-01\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
            body.len()
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

#[test]
fn it_says_where_it_listens_and_answers() {
    let answer = Running::new(&Machine::new(&[]), "").ask();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert!(answer.contains(r#""type":"message""#), "{answer}");
}

#[test]
fn a_script_leaves_the_rest_of_the_configuration_alone() {
    let machine = Machine::new(&[
        ("sim.toml", "[answers]\ntext_chars = 3000\n"),
        (
            "script.jsonl",
            r#"{"content":[{"text":"from the script"}]}"#,
        ),
    ]);
    let home = machine.home();
    let running = Running::new(
        &machine,
        &format!(
            "--config {0}/sim.toml --script {0}/script.jsonl",
            home.display()
        ),
    );
    let first = running.ask();
    assert!(first.contains("from the script"), "{first}");
    // The script has run out; the persona is as talkative as the configuration wants it.
    let second = running.ask();
    assert!(second.len() > 2_500, "{second}");
}

#[test]
fn a_wrong_script_or_port_is_told_apart() {
    let machine = Machine::new(&[("script.jsonl", "not an answer\n")]);
    let script = machine.home().join("script.jsonl");
    let run = machine.run(&format!("sim --script {}", script.display()));
    assert_eq!(run.code, 4, "{run:?}");
    assert!(run.stderr.contains("script.jsonl"), "{run:?}");
    let run = machine.run("sim --listen not-an-address");
    assert_eq!(run.code, 5, "{run:?}");
    assert!(run.stderr.contains("not-an-address"), "{run:?}");
}
