//! Words of the user and answers of the model in the long session.
//!
//! Every prompt ends with a mark. The simulator's script waits for the marks, so that calls of the
//! layers come in between as they like; those get answers of their own, whenever they come.

use crate::extensions;
use dormouse_sim::{AnswerBlock, FOLDER, SideAnswer, SimAnswer};
use serde_json::{Value, json};
use std::path::Path;

/// Turns of the session.
pub(crate) const TURNS: usize = 300;
/// Short sessions beside it, as many as a dream wants to have been since the last one.
pub(crate) const SHORT: usize = 5;
/// Words by which the order to draw memories from a turn is known.
const EXTRACTION: &str = "You now keep the memory of this project";
/// Words by which a dream is known.
const DREAM: &str = "You tidy a memory directory between sessions";

pub(crate) fn mark(turn: usize) -> String {
    format!("[turn {turn}]")
}

/// Prompt of a short session.
pub(crate) fn short(number: usize) -> String {
    format!("Which port does service {number} use? [short {number}]")
}

pub(crate) fn tool(tool: &str, input: Value) -> AnswerBlock {
    AnswerBlock::tool(tool, input)
}

fn bash(command: impl Into<String>) -> AnswerBlock {
    let command: String = command.into();
    tool("Bash", json!({ "command": command }))
}

/// Fact that the user states in a turn; every second one is drawn from the conversation by layer
/// 5, the others are said to be remembered.
fn fact(number: usize) -> String {
    format!(
        "service {number} listens on port {} and is deployed by team otter",
        8_000 + number
    )
}

fn is_stated(number: usize) -> bool {
    number % 20 == 6
}

/// The user's words and the model's answers of a turn. `log` is the day's log in the memory folder.
pub(crate) fn turn(number: usize, log: &Path) -> (String, Vec<Vec<AnswerBlock>>) {
    let file = format!("src/part{}.py", number % 7);
    let (words, mut answers) =
        extensions::turn(number).unwrap_or_else(|| ordinary(number, &file, log));
    answers.push(vec![AnswerBlock::text(&format!(
        "Step {number} is done: {file} holds, the relay keeps its limit of {}.",
        1_000 + number
    ))]);
    (format!("{words} {}", mark(number)), answers)
}

/// Work on a file: reading, editing, commands, facts to remember.
fn ordinary(number: usize, file: &str, log: &Path) -> (String, Vec<Vec<AnswerBlock>>) {
    let part = number % 7;
    let read = || tool("Read", json!({ "file_path": file }));
    match number % 10 {
        0 => (
            format!("Give {file} a limit of {}.", 1_000 + number),
            vec![
                vec![read()],
                vec![bash(format!(
                    "echo 'LIMIT_{number} = {}' >> {file}",
                    1_000 + number
                ))],
            ],
        ),
        1 => (
            "Run the tests.".to_owned(),
            // They fail, as they should.
            vec![vec![bash(format!("sh run_tests.sh {number}"))]],
        ),
        2 => (
            "Show the whole trace.".to_owned(),
            // About 200 KB.
            vec![vec![bash(format!("seq {number} 36000"))]],
        ),
        3 => (
            format!("Look at {file} and at the tests."),
            vec![vec![read(), tool("Grep", json!({ "pattern": "LIMIT_" }))]],
        ),
        4 => {
            let line = number / 10;
            let old = format!("def f{part}_{line}(x): return x + {line}");
            (
                format!("Let f{part}_{line} add {number} more."),
                vec![
                    vec![read()],
                    vec![tool(
                        "Edit",
                        json!({ "file_path": file, "old_string": format!("{old}\n"),
                            "new_string": format!("{old} + {number}\n") }),
                    )],
                ],
            )
        }
        5 => (
            "How long is the build log?".to_owned(),
            vec![vec![bash(format!("seq {number} 4000"))]],
        ),
        6 if is_stated(number) => (format!("By the way, {}.", fact(number)), Vec::new()),
        6 => (format!("Remember that {}.", fact(number)), Vec::new()),
        7 => (
            "Which files changed?".to_owned(),
            vec![
                vec![bash("git status --short")],
                vec![bash("git log --oneline")],
            ],
        ),
        8 => (
            "Commit it and push it.".to_owned(),
            vec![
                vec![bash(format!(
                    "git add -A && git commit -q -m 'step {number}'"
                ))],
                // A hook of the user refuses it.
                vec![bash("git push origin main")],
            ],
        ),
        _ => {
            let log = log.display();
            let folder = Path::new(&log.to_string()).parent().map(Path::to_owned);
            let folder = folder.unwrap_or_default().display().to_string();
            (
                format!("The review of step {number} is on Friday. What is left?"),
                // As the prompt of the daily log asks for.
                vec![vec![bash(format!(
                    "mkdir -p '{folder}' && echo '- The review of step {number} is on Friday.' >> '{log}'"
                ))]],
            )
        }
    }
}

/// A message as it stands in a request.
fn message(words: &str) -> String {
    format!("\"text\":{}", json!(words))
}

/// Answers to the turns in order, with the short sessions before the turn of the first restart.
pub(crate) fn script(log: &Path, first_restart: usize) -> Vec<SimAnswer> {
    let mut all = Vec::new();
    for number in 1..=TURNS {
        if number == first_restart {
            all.extend((1..=SHORT).map(|number| SimAnswer {
                content: vec![AnswerBlock::text("It is in the notes of the project.")],
                when: Some(message(&short(number))),
                ..SimAnswer::default()
            }));
        }
        let (words, answers) = turn(number, log);
        all.extend(answers.into_iter().map(|content| SimAnswer {
            content,
            // As a message of its own: side calls that choose or list memories have the words, too.
            when: Some(message(&words)),
            ..SimAnswer::default()
        }));
    }
    all
}

/// Answers to the calls of layers 5 and 6.
pub(crate) fn side(log: &str) -> Vec<SideAnswer> {
    let stated = (1..=TURNS).filter(|number| is_stated(*number));
    let drawn = stated.map(|number| {
        let fact = fact(number);
        let content = format!(
            "---\nname: service {number}\ndescription: {fact}\ntype: project\nsource: \"{fact}\"\n---\n\
             {fact}.\n"
        );
        let input = json!({ "file_path": format!("{FOLDER}/service-{number}.md"), "content": content });
        SideAnswer {
            when: vec![EXTRACTION.to_owned(), mark(number)],
            content: vec![tool("Write", input)],
        }
    });
    let read = json!({ "file_path": format!("{FOLDER}/{log}") });
    let memory = "---\nname: reviews\ndescription: The review of step 9 is on Friday\ntype: project\n---\n\
                  The review of step 9 is on Friday.\n";
    let report = format!("## Merged\n- reviews.md: {log} - said in the log of the day\n");
    let write = |name: &str, content: &str| {
        let path = format!("{FOLDER}/{name}");
        tool("Write", json!({ "file_path": path, "content": content }))
    };
    let dream = [
        vec![tool("Read", read)],
        vec![
            write("reviews.md", memory),
            write("DREAM_REPORT.md", &report),
        ],
    ];
    let dream = dream.into_iter().map(|content| SideAnswer {
        when: vec![DREAM.to_owned()],
        content,
    });
    drawn.chain(dream).chain(extensions::side()).collect()
}
