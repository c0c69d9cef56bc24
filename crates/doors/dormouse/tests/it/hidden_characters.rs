//! Text that steers a terminal or hides in it: no command sends it on, and JSON parses to it.

use crate::program::{Machine, Run};
use dormouse_testkit::material;
use serde_json::{Value, json};

/// Strings in one session or one folder of memories: as few runs as possible, each with many.
const MOST_STRINGS: usize = 600;
/// Generated strings beside those of the lists.
const GENERATED: u64 = 120;

/// Characters that must not reach a screen, apart from the line breaks of the output itself.
fn is_hidden(character: char) -> bool {
    character != '\n'
        && (character.is_control()
            || matches!(u32::from(character),
                0xad | 0x34f | 0x61c | 0x180b..=0x180f | 0x200b | 0x200c | 0x200e | 0x200f
                | 0x2028..=0x202e | 0x2060..=0x206f | 0xfeff | 0xfff9..=0xfffb | 0xe_0000..=0xe_0fff))
}

/// Strings of the lists, then generated ones that mix letters with every kind of hidden character.
fn strings() -> Vec<String> {
    let kinds = [
        '\u{1b}',
        '\u{7f}',
        '\u{85}',
        '\u{9b}',
        '\u{200b}',
        '\u{200d}',
        '\u{200f}',
        '\u{202e}',
        '\u{2028}',
        '\u{2066}',
        '\u{feff}',
        '\u{ad}',
        '\u{e0041}',
        '\r',
        '\u{8}',
        'a',
        'é',
        '睡',
    ];
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut next = move |end: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state % 1_000_003).unwrap() % end
    };
    let generated = (0..GENERATED).map(|_| {
        let letters = (0..12).map(|_| kinds[next(kinds.len())]);
        "x".chars().chain(letters).chain("y".chars()).collect()
    });
    let mut strings: Vec<String> = generated.collect();
    strings.extend(material::naughty_strings().into_iter().take(MOST_STRINGS));
    strings
}

fn session(strings: &[String]) -> String {
    let mut lines = String::new();
    for (at, text) in strings.iter().enumerate() {
        let parent = at.checked_sub(1).map(|above| format!("u{above}"));
        let line = json!({
            "type": "user", "uuid": format!("u{at}"), "parentUuid": parent, "sessionId": "s1",
            "timestamp": "2026-03-01T10:00:00Z", "message": {"role": "user", "content": text},
        });
        lines.push_str(&line.to_string());
        lines.push('\n');
    }
    lines
}

fn check(line: &str, run: &Run) {
    for (name, text) in [("stdout", &run.stdout), ("stderr", &run.stderr)] {
        let hidden = text.chars().find(|character| is_hidden(*character));
        assert_eq!(hidden, None, "{line}: {name}");
    }
}

/// All strings in a JSON value.
fn texts(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::String(text) => found.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| texts(item, found)),
        Value::Object(members) => members.values().for_each(|item| texts(item, found)),
        _ => {}
    }
}

#[test]
fn no_command_on_a_session_sends_hidden_characters() {
    let machine = Machine::new(&[("s.jsonl", &session(&strings()))]);
    let file = machine.home().join("s.jsonl").display().to_string();
    for line in [
        "view FILE",
        "log FILE",
        "context FILE",
        "usage FILE",
        "log FILE --issues",
    ] {
        let line = line.replace("FILE", &file);
        check(&line, &machine.run(&line));
        check(&line, &machine.run(&format!("{line} --json")));
    }
}

#[test]
fn json_parses_to_the_text_that_was_stored() {
    let machine = Machine::new(&[]);
    let dir = machine.home().join("notes").display().to_string();
    for (at, text) in strings().iter().enumerate().take(20) {
        machine.write(
            &format!("notes/n{at}.md"),
            &format!("before {text} after\n"),
        );
        let name = format!("n{at}.md");
        let run = machine.run_of(&["memory", "show", &name, "--dir", &dir, "--json"]);
        check(&name, &run);
        let mut found = Vec::new();
        texts(&serde_json::from_str(&run.stdout).unwrap(), &mut found);
        let same = |shown: &String| shown.contains(text.as_str());
        assert!(
            text.chars().any(is_hidden) && found.iter().any(same),
            "{name}: {found:?}"
        );
    }
}

#[test]
fn no_command_on_memories_sends_hidden_characters() {
    let machine = Machine::new(&[]);
    let folder = machine.home().join("notes");
    for (at, text) in strings().iter().enumerate().take(200) {
        let line: String = text.replace(['\n', '"', '\\'], " ");
        let memory = format!(
            "---\nname: \"{line}\"\ndescription: \"about {line}\"\ntype: project\n---\n{text}\n"
        );
        machine.write(&format!("notes/n{at}.md"), &memory);
    }
    let dir = folder.display().to_string();
    for arguments in [
        vec!["memory", "list"],
        vec!["memory", "show", "n3.md"],
        vec!["memory", "check"],
        vec!["memory", "status"],
        vec!["recall", "about é 睡"],
    ] {
        for json in [false, true] {
            let mut all = arguments.clone();
            all.extend(["--dir", &dir]);
            if json {
                all.push("--json");
            }
            let run = machine.run_of(&all);
            check(&all.join(" "), &run);
            assert!(!run.stderr.contains("unexpected argument"), "{run:?}");
        }
    }
}

#[test]
fn arguments_are_repeated_harmlessly() {
    let machine = Machine::new(&[]);
    for text in strings()
        .iter()
        .filter(|text| !text.contains('\0'))
        .take(40)
    {
        for arguments in [
            vec!["usage", text.as_str()],
            vec!["memory", "show", text],
            vec![text.as_str()],
            vec!["config", "get", text, "--json"],
            vec!["--color", text],
        ] {
            check(&arguments.join(" "), &machine.run_of(&arguments));
        }
    }
}
