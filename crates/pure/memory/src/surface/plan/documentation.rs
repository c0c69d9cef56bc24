//! Memories that explain a tool which is in use anyway.
//!
//! # Model
//! Whoever is using a tool does not need its manual, so a how-to about it is left out; what warns
//! of it is needed exactly then and stays. Rules and facts about the user are never manuals.

use super::Entry;
use crate::surface::work::Work;
use crate::topic::Topic;
use dormouse_guard::paths::SafePath;

/// Words of a manual.
const MANUAL: [&str; 22] = [
    "usage",
    "howto",
    "how-to",
    "cheatsheet",
    "cheat-sheet",
    "cheat",
    "manual",
    "documentation",
    "docs",
    "guide",
    "tutorial",
    "basics",
    "introduction",
    "commands",
    "flags",
    "options",
    "syntax",
    "anleitung",
    "handbuch",
    "doku",
    "dokumentation",
    "befehle",
];

/// Words of a warning.
const WARNING: [&str; 40] = [
    "gotcha",
    "gotchas",
    "never",
    "careful",
    "carefully",
    "caution",
    "caveat",
    "caveats",
    "fails",
    "fail",
    "failed",
    "failing",
    "failure",
    "bug",
    "bugs",
    "buggy",
    "broken",
    "breaks",
    "break",
    "warning",
    "warns",
    "beware",
    "pitfall",
    "pitfalls",
    "trap",
    "avoid",
    "don't",
    "mustn't",
    "workaround",
    "crash",
    "crashes",
    "hangs",
    "danger",
    "dangerous",
    "achtung",
    "vorsicht",
    "niemals",
    "fehler",
    "fallstrick",
    "kaputt",
];

/// Names of tools that are everyday words: they are meant only where the text says so.
const EVERYDAY: [&str; 14] = [
    "read", "write", "edit", "task", "make", "go", "just", "find", "cat", "time", "test", "sort",
    "head", "file",
];

/// Whether a memory explains how to use something, and warns of nothing.
pub(super) fn is_manual(path: &SafePath, topic: &Topic, text: &str) -> bool {
    let title = title(path, &topic.name, &topic.description);
    let body = text.get(topic.body..).unwrap_or_default();
    let explains = title.iter().any(|word| MANUAL.contains(&word.as_str()))
        || title.windows(2).any(|pair| {
            matches!(
                [&*pair[0], &*pair[1]],
                ["how", "to"] | ["reference", "for" | "of"]
            )
        });
    // The title decides mostly, and is short.
    explains && !warns(&title) && !warns(&words(body).collect::<Vec<_>>())
}

/// The tool in use that a memory explains, if that is all it does.
pub(super) fn of_tool_in_use(entry: &Entry, work: &Work) -> Option<String> {
    if entry.is_standing() || !entry.manual {
        return None;
    }
    let title = title(&entry.path, &entry.name, &entry.description);
    let commands = work.commands.iter().filter_map(|command| program(command));
    let tools = work.tools.iter().flat_map(|tool| tool_names(tool));
    commands.chain(tools).find(|name| is_about(&title, name))
}

fn title(path: &SafePath, name: &str, description: &str) -> Vec<String> {
    let stem = path.file_name().trim_end_matches(".md");
    words(&format!("{stem} {name} {description}").replace('_', " ")).collect()
}

fn warns(words: &[String]) -> bool {
    words.iter().any(|word| WARNING.contains(&word.as_str()))
        || words
            .windows(2)
            .any(|pair| matches!([&*pair[0], &*pair[1]], ["do" | "must" | "does", "not"]))
}

/// The program of a command, without its folder.
fn program(command: &str) -> Option<String> {
    let first = command.split_whitespace().next()?;
    let name = first.rsplit(['/', '\\']).next()?;
    (name.len() > 1).then(|| name.to_lowercase())
}

/// The names by which people call a tool: of an MCP tool, its server and the action.
fn tool_names(tool: &str) -> Vec<String> {
    let tool = tool.to_lowercase();
    match tool.strip_prefix("mcp__") {
        Some(rest) => rest.split("__").map(str::to_owned).collect(),
        None => vec![tool],
    }
}

/// Whether a title names the tool; an everyday word must be called a tool, a command or a CLI.
fn is_about(title: &[String], name: &str) -> bool {
    let called = |at: usize| {
        title.get(at + 1).is_some_and(|next| {
            matches!(
                next.as_str(),
                "tool" | "command" | "cli" | "werkzeug" | "befehl" | "program"
            )
        })
    };
    let everyday = EVERYDAY.contains(&name);
    title
        .iter()
        .enumerate()
        .any(|(at, word)| word == name && (!everyday || called(at)))
}

/// Words, lower case; a dash or an apostrophe inside belongs to one.
fn words(text: &str) -> impl Iterator<Item = String> {
    text.split(|c: char| !(c.is_alphanumeric() || matches!(c, '-' | '\'' | '’')))
        .map(|word| {
            word.trim_matches(['-', '\'', '’'])
                .to_lowercase()
                .replace('’', "'")
        })
        .filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topic::Kind;
    use dormouse_core::units::Millis;
    use serde_json::json;

    fn entry(kind: Kind, description: &str, body: &str) -> Entry {
        let text = format!("---\ntype: {kind}\ndescription: \"{description}\"\n---\n{body}\n");
        Entry::read(
            SafePath::parse("x.md").unwrap(),
            &text,
            Millis(0),
            jiff::civil::date(2026, 1, 1),
        )
    }

    fn work() -> Work {
        let mut work = Work::new();
        work.add_call("Bash", &json!({"command": "/usr/bin/kubectl get pods"}));
        work.add_call("mcp__linear__list_issues", &json!({}));
        work.add_call("Read", &json!({}));
        work
    }

    #[test]
    fn a_manual_of_a_tool_in_use_is_not_needed() {
        for description in [
            "kubectl cheatsheet",
            "How to use kubectl with two clusters",
            "Linear docs: filters",
        ] {
            let entry = entry(Kind::Reference, description, "Use it.");
            assert!(of_tool_in_use(&entry, &work()).is_some(), "{description}");
        }
    }

    #[test]
    fn warnings_rules_and_places_are_needed() {
        let needed = [
            entry(
                Kind::Reference,
                "kubectl usage",
                "It fails when the context is prod.",
            ),
            entry(Kind::Reference, "kubectl usage: never delete", "x"),
            entry(Kind::Feedback, "how to use kubectl", "x"),
            entry(
                Kind::Reference,
                "bugs are tracked in Linear, project INGEST",
                "x",
            ),
            entry(Kind::Reference, "helm cheatsheet", "x"),
            entry(Kind::Reference, "what to read: a guide", "x"),
        ];
        for entry in needed {
            assert_eq!(
                of_tool_in_use(&entry, &work()),
                None,
                "{}",
                entry.description
            );
        }
    }
}
