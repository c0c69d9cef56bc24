//! Guesses from a text about the work it applies to.
//!
//! # Not here
//! Matching triggers with the work ([`super::matching`]); triggers of the offline extraction, which
//! has its own short lists (`dormouse_memory::extract`).

use super::languages;
use super::programs::{
    ACTIVITIES, AGENT_TOOLS, ALONE, IN_CODE, TEST_FILES, TESTING, WITH_SUBCOMMANDS,
};
use crate::fences::without_fences;
use crate::files::{is_file, is_folder};
use dormouse_memory::topic::Triggers;
use dormouse_text::atoms::{Shape, atoms};

/// Most triggers of one sort: a rule that applies to everything applies to nothing.
const MOST: usize = 8;

/// Triggers of a text, as far as it states them beyond doubt. Fenced code is an example and tells
/// nothing.
pub fn derive(text: &str) -> Triggers {
    let prose = without_fences(text);
    let lower = prose
        .to_lowercase()
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
        .replace('’', "'");
    let mut triggers = Triggers {
        tools: tools(&prose),
        paths: paths(&prose),
        languages: languages::mentioned(&prose)
            .into_iter()
            .map(str::to_owned)
            .collect(),
        commands: commands(&prose, &lower),
    };
    // Rules about tests rarely name a file.
    if TESTING.iter().any(|phrase| lower.contains(phrase)) {
        triggers.paths.extend(TEST_FILES.map(str::to_owned));
    }
    for list in [
        &mut triggers.tools,
        &mut triggers.paths,
        &mut triggers.languages,
        &mut triggers.commands,
    ] {
        once(list);
        // The first ones, since a text names its subject first.
        list.truncate(MOST);
    }
    triggers
}

fn once(list: &mut Vec<String>) {
    let mut seen = std::collections::BTreeSet::new();
    list.retain(|item| seen.insert(item.clone()));
}

/// Tools that a text calls tools, and those of MCP servers.
fn tools(text: &str) -> Vec<String> {
    let named = AGENT_TOOLS.iter().filter(|name| {
        // The word behind it is needed: "Read" and "Task" begin sentences.
        text.contains(&format!("`{name}` tool"))
            || text.contains(&format!(" {name} tool"))
            || text.contains(&format!("`{name}`-Werkzeug"))
    });
    let served = text
        .split(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '-')))
        .filter(|word| word.starts_with("mcp__") && word.len() > 6);
    named
        .map(|name| (*name).to_owned())
        .chain(served.map(str::to_owned))
        .collect()
}

/// Commands in code, pairs of program and subcommand anywhere, and activities.
fn commands(text: &str, lower: &str) -> Vec<String> {
    let mut found = Vec::new();
    for code in inline_code(text) {
        let mut words = code.split_whitespace();
        if let Some(first) = words.next().filter(|first| IN_CODE.contains(first)) {
            // An option says less than a target, and its place varies.
            let target = words.next().filter(|word| is_plain(word));
            found.push(target.map_or(first.to_owned(), |target| format!("{first} {target}")));
        }
    }
    let words: Vec<&str> = lower
        .split(|c: char| c.is_whitespace() || matches!(c, '`' | '"' | '(' | ')' | ',' | ';'))
        .map(|word| {
            word.trim_end_matches(['.', ':', '!', '?'])
                .trim_matches('\'')
        })
        .filter(|word| !word.is_empty())
        .collect();
    for pair in words.windows(2) {
        let subcommands = WITH_SUBCOMMANDS
            .iter()
            .find(|(program, _)| *program == pair[0]);
        if subcommands.is_some_and(|(_, all)| all.contains(&pair[1])) {
            found.push(pair.join(" "));
        }
    }
    let alone = ALONE.iter().filter(|name| words.contains(name));
    found.extend(alone.map(|name| (*name).to_owned()));
    let activities = ACTIVITIES
        .iter()
        .filter(|(phrase, _)| lower.contains(phrase));
    found.extend(activities.map(|(_, command)| (*command).to_owned()));
    found
}

fn is_plain(word: &str) -> bool {
    word.bytes()
        .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b':'))
        && !word.starts_with('-')
}

/// Text between single backticks.
fn inline_code(text: &str) -> impl Iterator<Item = &str> {
    text.lines()
        .flat_map(|line| line.split('`').skip(1).step_by(2))
}

/// Globs of the files and folders that a text names.
fn paths(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for atom in atoms(text) {
        // The tokeniser takes the star of a glob for punctuation.
        let start = text[..atom.range.start]
            .rfind(|c: char| c.is_whitespace() || matches!(c, '`' | '"' | '(' | '\''))
            .map_or(0, |at| at + 1);
        let word = text.get(start..atom.range.end).unwrap_or_default();
        let word = if word.contains("*.") || word.contains("/*") || word.contains("*/") {
            let end = text[atom.range.end..]
                .find(|c: char| c != '*')
                .map_or(text.len(), |more| atom.range.end + more);
            &text[start..end]
        } else if atom.shape == Shape::Path {
            &text[atom.range.clone()]
        } else {
            continue;
        };
        found.extend(glob_of(word));
    }
    found
}

/// Glob of a file, a folder or a glob; none for paths outside the project.
fn glob_of(word: &str) -> Option<String> {
    let word = word.split(':').next().unwrap_or(word);
    let word = word.strip_prefix("./").unwrap_or(word);
    if word.starts_with(['/', '~']) || word.contains("..") {
        return None;
    }
    if word.contains('*') {
        let plain = |c: char| c.is_alphanumeric() || matches!(c, '*' | '/' | '.' | '-' | '_');
        // `*` and `**/*` are everything.
        let says = word.chars().all(plain) && word.contains(char::is_alphanumeric);
        // Calls name files by absolute paths too, so a glob must match at any depth.
        let anywhere = if word.starts_with("**/") { "" } else { "**/" };
        return says.then(|| format!("{anywhere}{word}"));
    }
    if is_file(word) {
        return Some(format!("**/{word}"));
    }
    is_folder(word).then(|| format!("**/{}/**", word.trim_end_matches('/')))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    #[test]
    fn a_rule_says_when_it_applies() {
        let found = derive(
            "Never mock the database in tests; use `cargo test -p store`.\n\
             Applies to Rust under `crates/store/` and `*.sql`, and to migrations/0001_init.sql.",
        );
        assert_eq!(found.commands, ["cargo test"]);
        assert_eq!(found.languages, ["rust", "sql"]);
        assert_eq!(
            found.paths,
            [
                "**/crates/store/**",
                "**/*.sql",
                "**/migrations/0001_init.sql",
                "**/*test*",
                "**/*.spec.*",
                "**/*_spec.*",
                "**/tests/**",
            ]
        );
        assert!(found.tools.is_empty());
    }

    #[test]
    fn activities_mean_commands() {
        assert_eq!(
            derive("Commit messages in English, before pushing run `make lint`.").commands,
            ["make lint", "git commit", "git push"]
        );
        assert_eq!(derive("Use the `Bash` tool sparingly").tools, ["Bash"]);
    }

    #[test]
    fn ordinary_words_tell_nothing() {
        for text in [
            "The user likes short answers and makes coffee; go on and read on.",
            "Works on Node.js at ACME (see https://a.example/b.html) and/or else.",
            "```\ncargo test src/x.rs\n```",
            "lives in /etc/hosts and ~/.config/x.toml",
            "",
        ] {
            assert!(derive(text).is_empty(), "{text}: {:?}", derive(text));
        }
    }

    proptest! {
        #[test]
        fn any_text_gives_few_triggers(text in "\\PC{0,200}") {
            let found = derive(&text);
            prop_assert!(found.paths.len() <= MOST && found.commands.len() <= MOST);
        }
    }
}
