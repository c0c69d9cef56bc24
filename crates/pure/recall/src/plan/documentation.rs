//! Memories that explain a tool which is in use anyway.
//!
//! # Model
//! An agent that uses a tool does not need its manual, so a how-to about it is left out; a warning
//! about it is needed exactly then and stays. Rules and facts about the user are never manuals.

use crate::work::Work;
use dormouse_memory::card::Card;
use dormouse_memory::manual::title;

/// Names of tools that are everyday words: a title means them only if it says so.
const EVERYDAY: [&str; 14] = [
    "read", "write", "edit", "task", "make", "go", "just", "find", "cat", "time", "test", "sort",
    "head", "file",
];

/// Tool in use that a memory explains, if that is all it does.
pub(super) fn of_tool_in_use(card: &Card, work: &Work) -> Option<String> {
    // A rule in the form of a manual is still a rule.
    if card.is_standing() || !card.manual {
        return None;
    }
    let title = title(&card.path, &card.name, &card.description);
    let commands = work.commands.iter().filter_map(|command| program(command));
    // Commands first: their names are less ambiguous than those of tools.
    let tools = work.tools.iter().flat_map(|tool| tool_names(tool));
    commands.chain(tools).find(|name| is_about(&title, name))
}

/// Program of a command, without its folder.
fn program(command: &str) -> Option<String> {
    let first = command.split_whitespace().next()?;
    let name = first.rsplit(['/', '\\']).next()?;
    // One letter (`[`, `.`) is syntax, not a program.
    (name.len() > 1).then(|| name.to_lowercase())
}

/// Names by which people call a tool: of an MCP tool, its server and the action.
fn tool_names(tool: &str) -> Vec<String> {
    let tool = tool.to_lowercase();
    match tool.strip_prefix("mcp__") {
        Some(rest) => rest.split("__").map(str::to_owned).collect(),
        None => vec![tool],
    }
}

/// True if a title names the tool; an everyday word must be called a tool, a command or a CLI.
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

#[cfg(test)]
mod tests {
    use super::*;
    use dormouse_core::units::Millis;
    use dormouse_guard::paths::SafePath;
    use dormouse_memory::topic::Kind;
    use serde_json::json;

    fn card(kind: Kind, description: &str, body: &str) -> Card {
        let text = format!("---\ntype: {kind}\ndescription: \"{description}\"\n---\n{body}\n");
        Card::read(SafePath::parse("x.md").unwrap(), &text, Millis(0))
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
            let card = card(Kind::Reference, description, "Use it.");
            assert!(of_tool_in_use(&card, &work()).is_some(), "{description}");
        }
    }

    #[test]
    fn warnings_rules_and_places_are_needed() {
        let needed = [
            card(
                Kind::Reference,
                "kubectl usage",
                "It fails when the context is prod.",
            ),
            card(Kind::Reference, "kubectl usage: never delete", "x"),
            card(Kind::Feedback, "how to use kubectl", "x"),
            card(
                Kind::Reference,
                "bugs are tracked in Linear, project INGEST",
                "x",
            ),
            card(Kind::Reference, "helm cheatsheet", "x"),
            card(Kind::Reference, "what to read: a guide", "x"),
        ];
        for card in needed {
            assert_eq!(of_tool_in_use(&card, &work()), None, "{}", card.description);
        }
    }
}
