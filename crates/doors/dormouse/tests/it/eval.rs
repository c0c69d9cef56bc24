//! `dormouse eval`: fidelity and recall.

use crate::program::Machine;
use pretty_assertions::assert_eq;
use serde_json::Value;

/// Kinds of facts, as the JSON names them.
const KINDS: [&str; 6] = [
    "user_rule",
    "user_number",
    "file_path",
    "command",
    "error_text",
    "decision",
];

fn sum(places: &Value) -> u64 {
    ["in_prompt", "one_call_away", "lost"]
        .iter()
        .map(|place| places[place].as_u64().unwrap())
        .sum()
}

#[test]
fn fidelity_counts_every_fact_once() {
    let machine = Machine::new(&[]);
    let report = machine.json(
        "eval fidelity --generated --steps 40 --policy economic,gemini --compactions 1,2 --missing \
         --json",
    );
    let facts = &report["files"][0]["facts"];
    assert_eq!(report["files"][0]["file"], "generated");
    let rows = report["policies"].as_array().unwrap();
    assert_eq!(rows.len(), 2 * 2 * 2, "policies, compactions, summarisers");
    let mut elsewhere = 0;
    for row in rows {
        let mut all = 0;
        for kind in KINDS {
            let places = &row["kinds"][kind];
            assert_eq!(
                sum(places),
                facts[kind].as_u64().unwrap(),
                "{kind} in {row}"
            );
            all += sum(places);
        }
        assert_eq!(sum(&row["total"]), all);
        elsewhere += all - row["total"]["in_prompt"].as_u64().unwrap();
        assert_eq!(row["compactions"], row["compactions_made"]);
        let users = &row["user_messages"];
        if row["name"] == "economic" {
            assert_eq!(users["lost"], 0);
            let hard: u64 = ["user_number", "file_path", "command"]
                .iter()
                .map(|kind| row["kinds"][kind]["lost"].as_u64().unwrap())
                .sum();
            assert_eq!(hard, 0, "{row}");
        } else {
            assert_eq!(row["total"]["one_call_away"], 0);
            assert!(row["total"]["lost"].as_u64().unwrap() > 0);
        }
    }
    assert_eq!(
        report["missing"].as_array().unwrap().len() as u64,
        elsewhere
    );
    let notes = report["notes"].to_string();
    assert!(
        notes.contains("gemini") && !notes.contains("in economic"),
        "{notes}"
    );
}

#[test]
fn fidelity_shows_shares() {
    let machine = Machine::new(&[]);
    let run = machine.run(
        "eval fidelity --generated --steps 20 --policy classic --compactions 1 --summariser offline",
    );
    let text = run.stdout;
    assert!(run.code == 0 && text.starts_with("generated: "), "{text}");
    assert!(
        text.contains("Summaries: offline") && !text.contains("persona\n"),
        "{text}"
    );
    let row = text
        .lines()
        .find(|line| line.starts_with("classic"))
        .unwrap();
    assert!(
        row.contains("100 / 100") && row.ends_with(", 0, 0"),
        "{row}"
    );
}

/// A session in which the model writes, at its end, a name that only an early result had.
#[test]
fn values_used_later_are_looked_for_under_every_policy() {
    let mut lines = Vec::new();
    let mut parent = String::new();
    for step in 0..8 {
        let id = format!("msg_{step}");
        let said = match step {
            7 => "The helper is parse_frobnicator_table, as the file said.".to_owned(),
            _ => format!("I look at part {step}."),
        };
        let result = if step == 1 {
            "fn parse_frobnicator_table() {}"
        } else {
            "nothing here"
        };
        let mut content = vec![serde_json::json!({"type": "text", "text": said})];
        if step < 7 {
            content.push(
                serde_json::json!({"type": "tool_use", "id": format!("call_{step}"),
                "name": "Read", "input": {"file_path": format!("/p/{step}")}}),
            );
        }
        let user = if step == 0 {
            serde_json::json!("Please look around.")
        } else {
            serde_json::json!([{"type": "tool_result", "tool_use_id": format!("call_{}", step - 1),
                "content": result}])
        };
        for (uuid, kind, message) in [
            (
                format!("u{step}"),
                "user",
                serde_json::json!({"role": "user", "content": user}),
            ),
            (
                format!("a{step}"),
                "assistant",
                serde_json::json!({"role": "assistant", "id": id, "model": "claude-opus-4-6",
                    "content": content,
                    "usage": {"input_tokens": 500 + step * 50, "output_tokens": 20}}),
            ),
        ] {
            let at = format!("2026-01-01T00:00:{:02}.000Z", step * 2);
            let up = (!parent.is_empty()).then(|| parent.clone());
            lines.push(
                serde_json::json!({"type": kind, "uuid": uuid, "parentUuid": up,
                    "timestamp": at, "sessionId": "s", "message": message})
                .to_string(),
            );
            parent = uuid;
        }
    }
    let machine = Machine::new(&[("project/used.jsonl", &lines.join("\n"))]);
    let line = "eval fidelity used.jsonl --used --policy none,economic --plot needed.svg";
    let report = machine.json(&format!("{line} --json"));
    assert_eq!(report["files"][0]["uses"], 1, "{report}");
    for policy in report["policies"].as_array().unwrap() {
        assert_eq!(policy["total"]["in_prompt"], 1, "{policy}");
        assert_eq!(policy["tools"]["Read"]["in_prompt"], 1, "{policy}");
        assert_eq!(policy["requests"], 8, "{policy}");
        assert!(policy["cost_usd"].as_f64().unwrap() > 0.0);
    }
    let drawing = machine.read("project/needed.svg");
    for policy in ["none", "economic"] {
        assert!(drawing.contains(&format!("data-policy=\"{policy}\"")));
    }
    let screen = machine.stdout(line);
    assert!(screen.contains("By the tool that brought the value"));
    assert_eq!(
        machine.run("eval fidelity --generated --plot a.svg").code,
        2
    );
}

#[test]
fn wrong_arguments_are_told() {
    let machine = Machine::new(&[]);
    let run = machine.run("eval fidelity --generated --policy lazy");
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("no policy `lazy`"), "{}", run.stderr);
    assert_eq!(machine.run("eval fidelity").code, 2);
    assert_eq!(machine.run("eval fidelity /missing.jsonl").code, 3);
}

/// Documents of two groups, so that ranking across them would be seen.
const DOCS: &str = r#"{"id":"D1:1","text":"We adopted a grey cat called Pepper.","group":"a","speaker":"Ann"}
{"id":"D1:2","text":"She sleeps on the piano.","group":"a"}
{"id":"D1:3","text":"The piano was tuned in May.","group":"a"}
{"id":"D2:1","text":"Our car broke down near Lyon.","group":"a"}

{"id":1,"text":"Pepper is my favourite spice.","group":"b"}
{"id":2,"text":"I cook with salt alone.","group":"b"}
"#;

/// Queries with their relevant documents.
const QUERIES: &str = r#"{"query":"What is the cat called?","relevant":["D1:1"],"group":"a","category":"who"}
{"query":"When was the piano tuned?","relevant":["D1:3","D1:2"],"group":"a","category":"when"}
{"query":"Pepper","relevant":[1],"group":"b","category":"who"}
{"query":"Nothing fits","relevant":[],"group":"b"}
"#;

#[test]
fn recall_ranks_each_query_within_its_group() {
    let machine = Machine::new(&[
        ("project/docs.jsonl", DOCS),
        ("project/queries.jsonl", QUERIES),
    ]);
    let run = machine.run("eval recall --docs docs.jsonl --queries queries.jsonl --json --misses");
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(
        run.stderr.contains("nothing is relevant to them: 1"),
        "{}",
        run.stderr
    );
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(report["documents"], 6);
    assert_eq!(report["groups"], 2);
    assert_eq!(report["queries"], 3);
    assert_eq!(report["without_answer"], 1);
    assert_eq!(report["r@1"], 0.8333, "one of three has two answers");
    assert_eq!(report["any@1"], 1.0);
    assert_eq!(report["all@1"], 0.6667);
    assert_eq!(report["all@5"], 1.0);
    assert_eq!(report["mrr"], 1.0);
    assert!(report["p50_ms"].is_number() && report["p99_ms"].is_number());
    assert_eq!(report["rows"][1]["name"], "who");
    assert_eq!(report["rows"][1]["queries"], 2);
    assert_eq!(report["misses"], serde_json::json!([]));
    let text = machine
        .run("eval recall --docs docs.jsonl --queries queries.jsonl")
        .stdout;
    assert!(
        text.starts_with("3 queries, 6 documents in 2 groups"),
        "{text}"
    );
    assert!(text.lines().any(|line| line.starts_with("all ")), "{text}");
}

#[test]
fn recall_takes_titles_of_notes_as_queries() {
    let machine = Machine::new(&[
        (
            "project/notes/git/undo.md",
            "# Undo a commit\n\nReset moves the branch back by one commit.\n",
        ),
        (
            "project/notes/vim/save.md",
            "# Write the buffer\n\nSave what is in the buffer with `:w`.\n",
        ),
        ("project/notes/vim/untitled.md", "no title here\n"),
        ("project/notes/README.md", "# Notes\n\nAll notes.\n"),
        ("project/notes/.git/x.md", "# Hidden\n\nNot a note.\n"),
    ]);
    let run = machine.run("eval recall --dir notes --json");
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(report["documents"], 2);
    assert_eq!(report["r@1"], 1.0);
    assert!(run.stderr.contains("no title"), "{}", run.stderr);
}

#[test]
fn recall_names_the_line_that_is_wrong() {
    let check = |docs: &str, queries: &str, message: &str| {
        let machine = Machine::new(&[
            ("project/docs.jsonl", docs),
            ("project/queries.jsonl", queries),
        ]);
        let run = machine.run("eval recall --docs docs.jsonl --queries queries.jsonl");
        assert_eq!(run.code, 4, "{}", run.stderr);
        assert!(run.stderr.contains(message), "{}", run.stderr);
    };
    check(
        "{\"id\":1,\"text\":\"x\"}\nnonsense\n",
        QUERIES,
        "docs.jsonl`, line 2: no JSON",
    );
    check("{\"id\":1}\n", QUERIES, "docs.jsonl`, line 1: no `text`");
    check(
        "{\"text\":\"x\"}\n",
        QUERIES,
        "docs.jsonl`, line 1: no `id`",
    );
    let twice = "{\"id\":1,\"text\":\"x\"}\n{\"id\":1,\"text\":\"y\"}\n";
    check(twice, QUERIES, "line 2: a second document `1`");
    check(DOCS, "[]\n", "queries.jsonl`, line 1: no JSON object");
    check(DOCS, "{\"query\":\"x\"}\n", "line 1: no list `relevant`");
    let unknown = "{\"query\":\"x\",\"relevant\":[\"D9:9\"],\"group\":\"a\"}\n";
    check(
        DOCS,
        unknown,
        "line 1: no document of the group `a` has the id `D9:9`",
    );
    check(
        DOCS,
        "{\"query\":\"x\",\"relevant\":[]}\n",
        "no query with a relevant document",
    );
    let machine = Machine::new(&[("project/docs.jsonl", DOCS)]);
    assert_eq!(machine.run("eval recall --docs docs.jsonl").code, 2);
    assert_eq!(
        machine
            .run("eval recall --docs docs.jsonl --queries none.jsonl")
            .code,
        3
    );
    assert_eq!(machine.run("eval recall --dir nowhere").code, 3);
}
