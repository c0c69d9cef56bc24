//! Twenty agents in processes of their own, five hundred letters each, while some are killed.
//!
//! # Model
//! Each agent is this test binary again, started with [`agent`] as its only test. It sends its
//! letters in order, to every other agent in turn, and notes each in a file of its own once sending
//! has returned; between two letters it reads its inbox and notes what came, with the cursor, in one
//! write. Both files are to it what the log of a conversation is to an agent: after a kill it goes
//! on where they end. It prints a line for each letter, and the parent kills it at chosen lines, so
//! that no clock decides where a kill falls.

use crate::kit::{letter, name, team};
use dormouse_mail::{Address, Cursor};
use dormouse_system::System;
use std::collections::HashMap;
use std::fs::{self, OpenOptions};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;

const AGENTS: usize = 20;
const LETTERS: usize = 500;
const ROLE: &str = "DORMOUSE_MAIL_AGENT";

/// Whole lines of a file; a torn one at the end is cut off, so that the next line is its own.
fn whole_lines(path: &Path) -> Vec<String> {
    let text = fs::read_to_string(path).unwrap_or_default();
    let whole = text.rfind('\n').map_or(0, |at| at + 1);
    fs::write(path, &text[..whole]).unwrap();
    text[..whole].lines().map(str::to_owned).collect()
}

fn note(path: &Path) -> fs::File {
    OpenOptions::new()
        .create(true)
        .append(true)
        .open(path)
        .unwrap()
}

/// One agent; does nothing unless a parent gave it a role.
#[test]
#[ignore = "a process of the test below"]
fn agent() {
    let Ok(role) = std::env::var(ROLE) else {
        return;
    };
    let (home, number) = role.split_once('|').unwrap();
    let (home, number) = (PathBuf::from(home), number.parse::<usize>().unwrap());
    let me = format!("agent-{number}");
    let crew = team(&System::real(), &home);
    let inbox = crew.join(&name(&me)).unwrap();
    let (sent, got) = (
        home.join(format!("{me}.sent")),
        home.join(format!("{me}.got")),
    );
    let first = whole_lines(&sent).len();
    let last = whole_lines(&got).pop();
    let mut cursor = last.map_or_else(Cursor::default, |line| {
        serde_json::from_str(line.split_once(' ').unwrap().1).unwrap()
    });
    let (mut sent, mut got) = (note(&sent), note(&got));
    let mut take = || {
        loop {
            let batch = inbox.read(cursor).unwrap();
            for (letter, place) in &batch.letters {
                let place = serde_json::to_string(place).unwrap();
                got.write_all(format!("{} {place}\n", letter.id).as_bytes())
                    .unwrap();
            }
            if batch.next == cursor {
                return;
            }
            cursor = batch.next;
        }
    };
    for nth in first..LETTERS {
        let id = format!("{number}-{nth}");
        let to = (number + 1 + nth % (AGENTS - 1)) % AGENTS;
        let to = Address::Agent(name(&format!("agent-{to}")));
        crew.send(&letter(&id, &me, "work"), &to).unwrap();
        sent.write_all(format!("{nth}\n").as_bytes()).unwrap();
        println!("{nth}");
        if nth % 25 == 0 {
            take();
        }
    }
    println!("done");
    // The parent closes the pipe when all have sent; what is in the inbox then is all there is.
    let _ended = std::io::stdin().read_to_end(&mut Vec::new());
    take();
}

fn start(home: &Path, number: usize) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "processes::agent", "--nocapture"])
        .env(ROLE, format!("{}|{number}", home.display()))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Runs an agent to the end of its letters and kills it at the lines given; the last child waits for
/// the end of its input.
fn drive(home: &Path, number: usize, kills: &[usize]) -> Child {
    for kill in kills {
        let mut child = start(home, number);
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut lines = lines.map_while(Result::ok);
        assert!(
            lines.any(|line| line == kill.to_string()),
            "agent {number} ended before letter {kill}"
        );
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let mut child = start(home, number);
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    while line.trim() != "done" {
        line.clear();
        assert!(
            out.read_line(&mut line).unwrap() > 0,
            "agent {number} failed"
        );
    }
    // Kept open, or the child's last words would kill it.
    thread::spawn(move || std::io::copy(&mut out, &mut std::io::sink()));
    child
}

#[test]
fn no_letter_is_lost_doubled_or_overtaken() {
    let home = tempfile::tempdir().unwrap();
    let crew = team(&System::real(), home.path());
    for number in 0..AGENTS {
        crew.join(&name(&format!("agent-{number}"))).unwrap();
    }
    let home = home.path();
    let children: Vec<Child> = thread::scope(|scope| {
        let drivers: Vec<_> = (0..AGENTS)
            .map(|number| {
                // Every third agent is killed three times, at other letters than its fellows.
                let kills = [37 + number, 180 + 2 * number, 420 + number];
                let kills = if number % 3 == 0 {
                    kills.to_vec()
                } else {
                    Vec::new()
                };
                scope.spawn(move || drive(home, number, &kills))
            })
            .collect();
        drivers
            .into_iter()
            .map(|driver| driver.join().unwrap())
            .collect()
    });
    // All have sent: they may read to the end and stop.
    for mut child in children {
        drop(child.stdin.take());
        assert!(child.wait().unwrap().success());
    }
    let mut total = 0;
    for number in 0..AGENTS {
        let got = whole_lines(&home.join(format!("agent-{number}.got")));
        let mut last: HashMap<usize, usize> = HashMap::new();
        for line in &got {
            let id = line.split_once(' ').unwrap().0;
            let (from, nth) = id.split_once('-').unwrap();
            let (from, nth) = (from.parse().unwrap(), nth.parse().unwrap());
            let before = last.insert(from, nth);
            assert!(
                before.is_none_or(|before| before < nth),
                "agent-{number} has letter {nth} of {from} behind {before:?}"
            );
        }
        total += got.len();
    }
    assert_eq!(total, AGENTS * LETTERS, "letters that were read");
}
