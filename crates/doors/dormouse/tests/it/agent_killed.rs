//! An agent that is killed: nothing that it or its sub-agents started goes on.

use crate::agent::Scene;
use crate::headless::{Piped, STREAMS, user};
use dormouse_testkit::processes::{await_end, runs, until};
use serde_json::{Value, json};

#[test]
fn no_process_of_its_sub_agents_outlives_an_agent_that_is_killed() {
    let task = json!({ "tool": "Agent", "input": { "description": "wait", "prompt": "Wait." } });
    // One works in a group of its own, as servers do that detach themselves.
    let waits = |line: &str| {
        let input = json!({ "command": line });
        json!({ "content": [{ "tool": "Bash", "input": input }] })
    };
    let script: [Value; 3] = [
        json!({ "content": [task, task] }),
        waits("echo $$ >> pids; sleep 1000"),
        waits("setsid sh -c 'echo $$ >> pids; sleep 1000 & sleep 1000'; sleep 1000"),
    ];
    let scene = Scene::new(&script, &[]);
    let arguments = [&STREAMS[..], &["--bare", "--mode", "all"]].concat();
    let mut agent = Piped::new(&scene, &arguments);
    agent.send(&user("go"));
    let file = scene.machine.home().join("project/pids");
    let pids = || {
        let there = file.exists().then(|| scene.machine.read("project/pids"));
        let lines = there.unwrap_or_default();
        lines.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    until(|| pids().len() == 2, "the sub-agents do not work");
    let pids = pids();
    assert!(pids.iter().all(|pid| runs(pid)), "{pids:?}");
    agent.child.kill().unwrap();
    agent.child.wait().unwrap();
    for pid in &pids {
        await_end(pid);
    }
}
