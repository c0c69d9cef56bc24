//! Servers that are processes.

use crate::kit::{SOON, calculator, call, connected, ended, run, start};
use dormouse_mcp::Status;
use dormouse_testkit::processes::runs;
use pretty_assertions::assert_eq;
use serde_json::json;
use std::time::Duration;

#[tokio::test]
async fn tools_are_listed_called_and_bad_names_left_out() {
    let (servers, told) = connected().await;
    let names: Vec<String> = servers
        .tools()
        .into_iter()
        .map(|tool| tool.own_name)
        .collect();
    assert_eq!(names, ["add", "die", "fail", "pid", "wait"]);
    assert_eq!(servers.faults(), ["calc: `bad name` is no name of a tool"]);
    assert_eq!(
        servers.instructions(),
        [("calc".to_owned(), "Add with add.".to_owned())]
    );
    let sum = run(&servers, "add", &json!({ "a": 2, "b": 40 })).await;
    assert_eq!((sum.text.as_str(), sum.is_error), ("42", false));
    let failed = run(&servers, "fail", &json!({})).await;
    assert!(
        failed.is_error && failed.text.contains("it never works"),
        "{}",
        failed.text
    );
    let unknown = run(&servers, "none", &json!({})).await;
    assert!(
        unknown.is_error && unknown.text.contains("no tool"),
        "{}",
        unknown.text
    );
    servers.close().await;
    assert_eq!(told.lock().unwrap()[0].status, Status::Connected);
}

#[tokio::test]
async fn a_server_of_the_older_protocol_is_understood() {
    let old = json!({ "calc": { "command": calculator(), "args": ["old"] } });
    let (servers, _) = start(&old, SOON);
    servers.settled(SOON).await;
    let sum = run(&servers, "add", &json!({ "a": 2, "b": 40 })).await;
    assert_eq!((sum.text.as_str(), sum.is_error), ("42", false));
    servers.close().await;
}

#[tokio::test]
async fn a_server_that_dies_is_reported_and_comes_back() {
    let (servers, _) = connected().await;
    let first = run(&servers, "pid", &json!({})).await.text;
    let died = run(&servers, "die", &json!({})).await;
    assert!(
        died.is_error && died.text.contains("went away during the call"),
        "{}",
        died.text
    );
    assert!(matches!(servers.states()[0].status, Status::Failed(_)));
    // Its tools stay known, and the next call starts it again.
    assert_eq!(servers.tools().len(), 5);
    let sum = run(&servers, "add", &json!({ "a": 1, "b": 2 })).await;
    assert_eq!((sum.text.as_str(), sum.is_error), ("3", false));
    let second = run(&servers, "pid", &json!({})).await.text;
    assert!(first != second && runs(&second));
    ended(&first).await;
    servers.close().await;
    ended(&second).await;
}

#[tokio::test]
async fn a_server_killed_from_outside_comes_back_with_the_next_call() {
    let (servers, _) = connected().await;
    let pid = run(&servers, "pid", &json!({})).await.text;
    let killed = std::process::Command::new("kill")
        .args(["-9", &pid])
        .status();
    assert!(killed.unwrap().success());
    ended(&pid).await;
    let mut sum = run(&servers, "add", &json!({ "a": 1, "b": 2 })).await;
    // The call may have left before the end of the stream was seen.
    if sum.is_error {
        assert!(sum.text.contains("went away"), "{}", sum.text);
        sum = run(&servers, "add", &json!({ "a": 1, "b": 2 })).await;
    }
    assert_eq!((sum.text.as_str(), sum.is_error), ("3", false));
    servers.close().await;
}

#[tokio::test]
async fn a_server_that_dies_again_and_again_gets_a_pause() {
    let (servers, told) = connected().await;
    for _ in 0..2 {
        let died = run(&servers, "die", &json!({})).await;
        assert!(died.text.contains("went away"), "{}", died.text);
    }
    let refused = run(&servers, "add", &json!({})).await;
    assert!(refused.is_error, "{}", refused.text);
    assert!(
        refused.text.contains("the next attempt is possible in"),
        "{}",
        refused.text
    );
    // Connected twice and lost twice: the third call started nothing.
    assert_eq!(told.lock().unwrap().len(), 4);
    servers.close().await;
}

#[tokio::test]
async fn a_mute_server_delays_nothing_and_ends_with_the_session() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pid");
    let line = format!("echo $$ > '{}'; exec sleep 1000", file.display());
    let both = json!({
        "mute": { "command": "/bin/sh", "args": ["-c", line] },
        "calc": { "command": calculator() },
    });
    let (servers, _) = start(&both, SOON);
    // The other server is of use while the first still waits for its greeting.
    let sum = run(&servers, "add", &json!({ "a": 1, "b": 1 })).await;
    assert_eq!(sum.text, "2");
    let states: Vec<Status> = servers
        .states()
        .into_iter()
        .map(|state| state.status)
        .collect();
    assert_eq!(states, [Status::Pending, Status::Connected]);
    let written = || std::fs::read_to_string(&file).unwrap_or_default();
    while !written().ends_with('\n') {
        tokio::task::yield_now().await;
    }
    let pid = written().trim().to_owned();
    servers.close().await;
    ended(&pid).await;
}

#[tokio::test]
async fn a_call_that_is_dropped_is_cancelled_at_the_server() {
    let (servers, _) = connected().await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("heard");
    let waiting = servers.run(call("wait", &json!({ "file": file })));
    let dropped = tokio::time::timeout(Duration::from_millis(50), waiting).await;
    assert!(dropped.is_err());
    let heard = async {
        while !file.exists() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(SOON, heard).await.unwrap();
    // The connection is as good as before.
    assert_eq!(
        run(&servers, "add", &json!({ "a": 1, "b": 1 })).await.text,
        "2"
    );
    servers.close().await;
}

#[tokio::test]
async fn a_call_has_a_time_limit() {
    let calc = json!({ "calc": { "command": calculator() } });
    let (servers, _) = start(&calc, Duration::from_millis(50));
    servers.settled(SOON).await;
    let late = run(&servers, "wait", &json!({})).await;
    assert!(
        late.is_error && late.text.contains("did not answer within"),
        "{}",
        late.text
    );
    servers.close().await;
}

#[tokio::test]
async fn a_program_that_is_missing_or_no_server_is_named_with_its_words() {
    let bad = json!({
        "missing": { "command": "/nowhere/to/be/found" },
        "shell": { "command": "/bin/sh", "args": ["-c", "echo the key is missing >&2; exit 4"] },
    });
    let (servers, _) = start(&bad, SOON);
    servers.settled(SOON).await;
    let why = |at: usize| match servers.states()[at].status.clone() {
        Status::Failed(why) => why,
        other => panic!("{other:?}"),
    };
    assert!(why(0).contains("/nowhere/to/be/found"), "{}", why(0));
    assert!(why(1).contains("the key is missing"), "{}", why(1));
    assert_eq!(servers.tools(), []);
}

#[tokio::test]
async fn processes_end_when_the_servers_are_dropped() {
    let (servers, _) = connected().await;
    let pid = run(&servers, "pid", &json!({})).await.text;
    assert!(runs(&pid));
    drop(servers);
    ended(&pid).await;
}
