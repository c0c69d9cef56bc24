//! Triggers of a standing rule, derived from its words.
//!
//! # Not here
//! Triggers guessed with more context, and matching them with the work (`dormouse-recall`).

use crate::extract::phrases::Phrases;
use crate::topic::{Kind, Triggers};
use dormouse_text::atoms::{Shape, atoms};

/// Words that are commands themselves.
const COMMANDS: &str = "git push|git commit|git rebase|git merge|npm|pnpm|yarn|bun|cargo|make|docker|\
    kubectl|terraform|pip|poetry|uv|pytest|helm|psql|gradle|mvn|deno|ansible|just|jest|\
    vitest|eslint|prettier|ruff|black|mypy|alembic|rm|sudo";

/// Words that mean a command without naming it.
const MEANT: [(&str, &str); 12] = [
    ("push", "git push"),
    ("pushing", "git push"),
    ("force-push", "git push"),
    ("commit", "git commit"),
    ("commits", "git commit"),
    ("committing", "git commit"),
    ("commit messages", "git commit"),
    ("committen", "git commit"),
    ("rebase", "git rebase"),
    ("squash", "git rebase"),
    ("merge commits", "git merge"),
    ("pull requests", "gh pr"),
];

/// Words that name a language, with the name that triggers use.
const LANGUAGES: [(&str, &str); 24] = [
    ("rust", "rust"),
    ("python", "python"),
    ("typescript", "typescript"),
    ("javascript", "javascript"),
    ("golang", "go"),
    ("go code", "go"),
    ("java", "java"),
    ("kotlin", "kotlin"),
    ("swift", "swift"),
    ("sql", "sql"),
    ("css", "css"),
    ("html", "html"),
    ("ruby", "ruby"),
    ("php", "php"),
    ("bash", "shell"),
    ("shell scripts", "shell"),
    ("c++", "cpp"),
    ("elixir", "elixir"),
    ("haskell", "haskell"),
    ("scala", "scala"),
    ("react", "typescript"),
    ("terraform", "hcl"),
    ("dockerfile", "dockerfile"),
    ("yaml", "yaml"),
];

/// Words that mean files, with a glob for them. `ci` assumes GitHub, by far the most common place.
const PATHS: [(&str, &str); 16] = [
    ("test", "**/*test*"),
    ("tests", "**/*test*"),
    ("unit tests", "**/*test*"),
    ("integration tests", "**/*test*"),
    ("migration", "**/migrations/**"),
    ("migrations", "**/migrations/**"),
    ("readme", "**/README*"),
    ("changelog", "**/CHANGELOG*"),
    ("dockerfile", "**/Dockerfile*"),
    ("ci", ".github/workflows/**"),
    ("workflows", ".github/workflows/**"),
    ("documentation", "**/*.md"),
    ("docs", "**/*.md"),
    ("tsx", "**/*.tsx"),
    ("lockfile", "**/*lock*"),
    ("schema", "**/*schema*"),
];

/// Words that mean a tool of the agent, with its name.
const TOOLS: [(&str, &str); 8] = [
    ("web search", "WebSearch"),
    ("search the web", "WebSearch"),
    ("fetch", "WebFetch"),
    ("sub-agents", "Task"),
    ("subagents", "Task"),
    ("bash", "Bash"),
    ("shell commands", "Bash"),
    ("plan mode", "ExitPlanMode"),
];

/// Triggers of a rule or a preference; other kinds are found by their words.
pub(in crate::extract) fn triggers_for(kind: Option<Kind>, text: &str) -> Triggers {
    // A fact that came up at every `git push` would be noise; only rules must never be missed.
    if !matches!(kind, Some(Kind::Feedback | Kind::User)) {
        return Triggers::default();
    }
    let words = Phrases::of(text);
    let listed = |table: &[(&str, &str)]| -> Vec<String> {
        let found = table.iter().filter(|(word, _)| words.has(word));
        unique(found.map(|(_, means)| (*means).to_owned()))
    };
    let commands = COMMANDS.split('|').filter(|word| words.has(word));
    let commands = commands.map(|word| (*word).to_owned());
    let mut paths = listed(&PATHS);
    paths.extend(named_paths(text));
    Triggers {
        tools: listed(&TOOLS),
        paths: unique(paths.into_iter()),
        languages: listed(&LANGUAGES),
        commands: unique(commands.chain(listed(&MEANT))),
    }
}

/// Folders and endings that the text names.
fn named_paths(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for atom in atoms(text) {
        // The tokeniser takes the star in front of an ending for punctuation.
        let starred = text[..atom.range.start].ends_with('*');
        let word = text[atom.range].trim_start_matches("./");
        if starred && word.starts_with('.') {
            found.push(format!("**/*{word}"));
        // Absolute paths and `..` lead out of the project, to which globs are relative.
        } else if atom.shape == Shape::Path && !word.starts_with(['/', '~']) && !word.contains("..")
        {
            let folder = word.ends_with('/');
            found.push(if folder {
                format!("{word}**")
            } else {
                word.to_owned()
            });
        }
    }
    found
}

/// Items in order, each once, because the list is written to a file and must not change from run to
/// run.
fn unique(items: impl Iterator<Item = String>) -> Vec<String> {
    let mut all: Vec<String> = items.collect();
    all.sort();
    all.dedup();
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn a_rule_says_when_it_applies() {
        let found = triggers_for(
            Some(Kind::Feedback),
            "Never force-push; edit vendor/ or *.proto only in Rust with cargo.",
        );
        assert_eq!(found.commands, ["cargo", "git push"]);
        assert_eq!(found.languages, ["rust"]);
        assert_eq!(found.paths, ["**/*.proto", "vendor/**"]);
        assert!(triggers_for(Some(Kind::Project), "cargo").is_empty());
    }
}
