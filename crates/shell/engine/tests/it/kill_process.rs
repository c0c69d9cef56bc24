//! A real process on a real disk, killed without warning.
//!
//! The test starts its own binary again with a variable that makes one test, which otherwise does
//! nothing, work on a session and say so line by line. It is killed after some line; then the
//! session is opened here.

use crate::broken_summaries::summary;
use crate::kit::{Kit, check, prompt, prose, turn};
use crate::provider::Answer;
use dormouse_context::conversation::Conversation;
use dormouse_context::path::{Leaf, path};
use dormouse_core::record::Record;
use dormouse_engine::{CompactWish, Purpose, Session};
use dormouse_system::System;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

const VARIABLE: &str = "DORMOUSE_TEST_WORK_IN";

async fn open(kit: &Kit, home: &Path) -> Session {
    kit.open_on(System::real(), home).await
}

/// Works on the session until it is killed: talks, calls tools, clears, compacts.
#[tokio::test]
async fn the_one_that_is_killed() {
    let Some(home) = System::real().env.var(VARIABLE) else {
        return;
    };
    let kit = Kit::new();
    kit.set(&["notes=off", "microcompact.idle.keep=1"]);
    kit.tools.returns("Bash", prose(1, 40_000));
    kit.tools.returns("Grep", prose(2, 4_000));
    kit.provider
        .always(Purpose::Compaction, Answer::text(&summary(40)));
    let mut session = open(&kit, home.as_ref()).await;
    for step in 0.. {
        let mut out = std::io::stdout().lock();
        writeln!(out, "step {step}").unwrap();
        out.flush().unwrap();
        drop(out);
        match step % 4 {
            0 => kit.work(&mut session, &["Bash", "Grep", "Grep"]).await,
            1 => turn(&mut session, &prose(step, 2_000)).await,
            2 => {
                kit.wait(Duration::from_hours(2));
                turn(&mut session, "Back again.").await;
            }
            _ => drop(session.compact(CompactWish::default()).await.unwrap()),
        }
    }
}

#[tokio::test]
async fn whatever_moment_it_is_killed_at_the_session_is_whole() {
    let home = tempfile::tempdir().unwrap();
    let mut seen = 0;
    for killed_at in [1, 3, 4, 6, 7, 8, 11, 13] {
        let mut worker = Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "kill_process::the_one_that_is_killed",
                "--nocapture",
            ])
            .env(VARIABLE, home.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(worker.stdout.take().unwrap()).lines();
        let steps = lines
            .map(Result::unwrap)
            .filter(|line| line.starts_with("step "));
        steps.take(killed_at).for_each(drop);
        worker.kill().unwrap();
        worker.wait().unwrap();

        let kit = Kit::new();
        let mut session = open(&kit, home.path()).await;
        check(&session);
        // A resume from the end of the file gives the same as all records together.
        let records = session.records().await.unwrap();
        assert!(records.len() > seen, "nothing was written");
        seen = records.len();
        let whole: Vec<&Record> = path(&records, Leaf::Newest);
        let target = session.conversation().view().target().clone();
        let folded = Conversation::fold(&whole, target);
        let folded = folded.view().segments();
        let folded = folded.iter().map(|s| (s.role, s.block.bytes().clone()));
        assert!(prompt(&session) == folded.collect::<Vec<_>>());
        turn(&mut session, "Still here?").await;
    }
}
