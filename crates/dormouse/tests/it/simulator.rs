//! `dormouse sim`, as a process of its own.

use crate::program::Machine;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::Stdio;
use std::time::Duration;

#[test]
fn it_says_where_it_listens_and_answers() {
    let machine = Machine::new(&[]);
    let mut child = machine
        .command("sim --listen 127.0.0.1:0 --json")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    let ready: serde_json::Value = serde_json::from_str(&line).unwrap();
    let address = ready["listening"]
        .as_str()
        .unwrap()
        .trim_start_matches("http://");

    let body = r#"{"model":"claude-sonnet-4-6","max_tokens":20,"messages":[{"role":"user","content":"hi"}]}"#;
    let mut stream = TcpStream::connect(address).unwrap();
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
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert!(answer.contains(r#""type":"message""#), "{answer}");
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
