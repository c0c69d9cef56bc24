//! The story of the demonstration: files, prompts, answers, captions. All of it is made up here.
//!
//! Answers wait for the words of their prompt, so that requests of the layers come in between as they
//! like; those that draw memories are answered aside.

use dormouse_sim::{AnswerBlock, FOLDER, SideAnswer, SimAnswer};
use dormouse_tui::{PanelKind, TourAct, TourStep};
use serde_json::{Value, json};

/// Words that only prompts of sub-agents have, and those of the order that is given to one.
const SUB_AGENT: &str = "You are a sub-agent";
const ORDER: &str = "Count the functions in src/store.py.";
/// Words by which the order to draw memories from a turn is known.
const EXTRACTION: &str = "You now keep the memory of this project";
/// Ticks of a quarter of a second that a step stays: short news, a screen of text, a table.
const SHORT: u32 = 12;
const LONG: u32 = 24;
const TABLE: u32 = 40;

const RELEASES: &str = "By the way: releases are tagged on Tuesdays, never on Fridays.";
const LIMIT: &str = "An upload may take 300 seconds, and test_upload_limit fails. Why?";
const TRACE: &str = "Show me the whole trace of that run.";
const MEND: &str = "Mend it in src/upload.py.";
const PARTS: &str = "Read the other parts and check that none has a limit of its own.";
const COUNT: &str = "Let a sub-agent count the functions of the store.";
const LATER: &str = "I am back. Does the queue respect the limit as well?";
const ROUND: &str = "Go through the logs of last week, day by day.";
const WHEN: &str = "When may I tag the release?";

/// Files of the project.
pub(super) fn files() -> Vec<(String, String)> {
    let mut files = vec![
        (
            "src/upload.py".to_owned(),
            "LIMIT = 30  # seconds\n\n\ndef upload(path):\n    return send(path, timeout=LIMIT)\n"
                .to_owned(),
        ),
        (
            "run_tests.sh".to_owned(),
            "seq 1 900 | sed 's/^/test case /; s/$/ ok/'\n\
             echo 'FAILED test_upload_limit: expected 300, got 30 (src/upload.py:1)' >&2\nexit 1\n"
                .to_owned(),
        ),
        (
            "timings.sh".to_owned(),
            "seq 1 250 | sed 's/^/case /; s/$/ took 12 ms/'\n\
             echo 'case test_upload_limit took 30012 ms'\n\
             seq 251 500 | sed 's/^/case /; s/$/ took 12 ms/'\n"
                .to_owned(),
        ),
        (
            "trace.sh".to_owned(),
            "seq 1 9000 | sed 's/^/0x/; s/$/ relay.send frame/'\n".to_owned(),
        ),
    ];
    for part in ["queue", "store", "retry", "index"] {
        let lines = (0..160).map(|line| {
            format!("def {part}_{line}(item):\n    return item.shift({line})  # step {line} of the {part}\n")
        });
        files.push((format!("src/{part}.py"), lines.collect()));
    }
    for day in 1..=5 {
        let lines = (0..300).map(|line| log_line(day, line) + "\n");
        files.push((format!("logs-{day}.txt"), lines.collect()));
    }
    files
}

/// A line in the log of a day.
fn log_line(day: usize, line: usize) -> String {
    let (minute, took) = (line % 60, 40 + line * day);
    format!("2026-01-0{day} 09:{minute:02} relay: upload {line} took {took} ms")
}

fn tool(name: &str, input: Value) -> AnswerBlock {
    AnswerBlock::tool(name, input)
}

fn bash(command: &str) -> AnswerBlock {
    tool("Bash", json!({ "command": command }))
}

fn reads(name: &str) -> AnswerBlock {
    tool("Read", json!({ "file_path": name }))
}

fn says(text: &str) -> AnswerBlock {
    AnswerBlock::text(text)
}

/// Answers of the model, in order.
pub(super) fn answers() -> Vec<SimAnswer> {
    let mend = json!({
        "file_path": "src/upload.py",
        "old_string": "LIMIT = 30  # seconds",
        "new_string": "LIMIT = 300  # seconds, as the tests ask for",
    });
    let days = (1..=5).map(|day| vec![reads(&format!("logs-{day}.txt"))]);
    let talk: Vec<(&str, Vec<Vec<AnswerBlock>>)> = vec![
        (
            RELEASES,
            vec![vec![says("Noted: **Tuesdays**, never Fridays.")]],
        ),
        (
            LIMIT,
            vec![
                vec![reads("src/upload.py"), bash("sh run_tests.sh")],
                // Succeeds, other than the tests: results of failed commands stay whole.
                vec![bash("sh timings.sh")],
                vec![says(
                    "`LIMIT` in `src/upload.py` is **30**; the test expects 300 and took 30,012 ms.",
                )],
            ],
        ),
        (
            TRACE,
            vec![
                vec![bash("sh trace.sh")],
                vec![says("9,000 frames; the relay gives up at frame 0x1e.")],
            ],
        ),
        (
            MEND,
            vec![
                vec![tool("Edit", mend)],
                vec![says("Done: the limit is 300 seconds now.")],
            ],
        ),
        (
            PARTS,
            vec![
                vec![reads("src/queue.py"), reads("src/store.py")],
                vec![reads("src/retry.py"), reads("src/index.py")],
                vec![says("None of them has a limit of its own.")],
            ],
        ),
        (
            COUNT,
            vec![
                vec![tool(
                    "Agent",
                    json!({ "description": "count functions", "prompt": ORDER }),
                )],
                vec![says(
                    "The sub-agent counted **160** functions in `src/store.py`.",
                )],
            ],
        ),
        (
            LATER,
            vec![vec![says(
                "Yes: the queue takes its limit from `src/upload.py`.",
            )]],
        ),
        (
            ROUND,
            days.chain([vec![says(
                "Five days, 1,500 uploads; the slowest took 1,535 ms, far below 300 seconds.",
            )]])
            .collect(),
        ),
        (
            WHEN,
            vec![vec![says("On a **Tuesday**; never on a Friday.")]],
        ),
    ];
    let all = talk.into_iter().flat_map(|(words, answers)| {
        let answers = answers.into_iter().enumerate();
        answers.map(move |(nth, content)| SimAnswer {
            content,
            when: Some(match nth {
                // A compaction may have taken the prompt's message meanwhile; the newest log stays.
                1.. if words == ROUND => log_line(nth, 1),
                // As a message of its own: orders that choose or list memories have the words, too.
                _ => format!("\"text\":{}", json!(words)),
            }),
            ..SimAnswer::default()
        })
    });
    all.collect()
}

/// Answers to the orders of layer 5, whenever they come.
pub(super) fn aside() -> Vec<SideAnswer> {
    let fact = "releases are tagged on Tuesdays, never on Fridays";
    let memory = format!(
        "---\nname: release days\ndescription: {fact}\ntype: project\nsource: \"{fact}\"\n---\n\
         Releases are tagged on Tuesdays, never on Fridays.\n"
    );
    let path = format!("{FOLDER}/release-days.md");
    let counts = [
        bash("grep -c '^def ' src/store.py"),
        says("There are 160 functions."),
    ];
    let counts = counts.map(|block| SideAnswer {
        when: vec![SUB_AGENT.to_owned(), ORDER.to_owned()],
        content: vec![block],
    });
    let learns = SideAnswer {
        when: vec![EXTRACTION.to_owned(), RELEASES.to_owned()],
        content: vec![tool(
            "Write",
            json!({ "file_path": path, "content": memory }),
        )],
    };
    counts.into_iter().chain([learns]).collect()
}

/// Memories of an earlier session, two of which say the same.
pub(super) fn memories() -> Vec<(&'static str, String)> {
    let memory = |name: &str, text: &str| {
        format!("---\nname: {name}\ndescription: {text}\ntype: project\n---\n{text}.\n")
    };
    let retries = "Failed frames are sent again three times";
    vec![
        ("frames.md", memory("frames", retries)),
        ("sent-again.md", memory("sent again", retries)),
    ]
}

fn step(name: &str, caption: &str, act: TourAct, pause: u32) -> TourStep {
    TourStep {
        name: name.to_owned(),
        caption: caption.to_owned(),
        act,
        pause,
    }
}

fn say(words: &str) -> TourAct {
    TourAct::Say(words.to_owned())
}

/// Steps of the tour.
pub(super) fn steps() -> Vec<TourStep> {
    let mut steps = in_one_window();
    steps.extend(over_sessions());
    steps
}

/// Steps about the window: work fills it, and layers make room.
fn in_one_window() -> Vec<TourStep> {
    vec![
        step(
            "begin",
            "The real agent, in its own screen. The provider is the built-in simulator: no key, no network. \
             The window has only 40,000 tokens, so that it fills while you watch.",
            TourAct::Look,
            LONG,
        ),
        step(
            "learn",
            "You mention a rule in passing. After the turn, layer 5 draws a memory from it.",
            say(RELEASES),
            LONG,
        ),
        step(
            "work",
            "Work: tools run for real, in a temporary folder. Once 500 lines of timings are answered, layer 1 \
             distils them: the ends, the lines that were used, and the way to the whole.",
            say(LIMIT),
            LONG,
        ),
        step(
            "offload",
            "Layer 1: 9,000 lines of output go to a file; the prompt keeps the beginning and the way to it.",
            say(TRACE),
            LONG,
        ),
        step(
            "edit",
            "A change asks first, with its diff in sight. The tour says yes.",
            say(MEND),
            SHORT,
        ),
        step(
            "fill",
            "Four files more. Watch the window in the status line, and what the layers do about it.",
            say(PARTS),
            LONG,
        ),
        step(
            "agent",
            "Layer 7: a sub-agent works in a conversation of its own; only its answer comes back.",
            say(COUNT),
            SHORT,
        ),
        step(
            "wait",
            "Seventy minutes pass, and the provider's cache with them.",
            TourAct::Later(70),
            SHORT,
        ),
        step(
            "clear",
            "Layer 2: the cache is gone, so the whole prompt has to be written again: the moment at which \
             old results can go for nothing.",
            say(LATER),
            LONG,
        ),
        step(
            "next",
            "One key (Ctrl+O) and a tab: what the next compaction would drop, and its price.",
            TourAct::Show(PanelKind::Next),
            LONG,
        ),
        step(
            "compact",
            "Five days of logs do not fit. Layers 3 and 4: session notes and a compaction, when it pays; \
             your own words stay.",
            say(ROUND),
            LONG,
        ),
    ]
}

/// Steps about figures, and about memory from one session to the next.
fn over_sessions() -> Vec<TourStep> {
    vec![
        step(
            "forgotten",
            "What was forgotten, when, why, for how much. u takes it back.",
            TourAct::Show(PanelKind::Forgotten),
            LONG,
        ),
        step(
            "replay",
            "The same session under other policies, played by the same engine: what would it have cost?",
            say("/replay --policy none,classic,economic,codex,opencode"),
            TABLE,
        ),
        step(
            "anew",
            "A new session: nothing of this conversation is in it.",
            say("/clear"),
            SHORT,
        ),
        step(
            "recall",
            "Layer 5 again: the rule comes back because the question fits it.",
            say(WHEN),
            LONG,
        ),
        step(
            "recalled",
            "What was recalled, for which words, and why. e edits it, f forgets it.",
            TourAct::Show(PanelKind::Recalled),
            LONG,
        ),
        step(
            "dream",
            "Layer 6: two memories of an earlier session say the same. A dream merges them, checks its own \
             result, and can be undone.",
            say("/dream --now --offline"),
            LONG,
        ),
        step(
            "changes",
            "Every change of the memory, with its diff. u takes it back.",
            TourAct::Show(PanelKind::Changes),
            LONG,
        ),
        step(
            "end",
            "That was all of it: `dormouse` opens this screen on your own work.",
            TourAct::Look,
            SHORT,
        ),
    ]
}
