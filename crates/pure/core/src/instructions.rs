//! Names of files that stand in the prompt by themselves: instruction files, rules, the memory
//! index and plans.
//!
//! # Not here
//! Searching and reading them: `dormouse-memory`. Restoring other files: `dormouse-context`.

/// Names of the files that a directory of a project may have, lowest priority first.
pub const PROJECT_FILES: [&str; 3] = ["AGENTS.md", "CLAUDE.md", ".claude/CLAUDE.md"];

/// Names of the files that a user keeps beside them, out of version control.
pub const LOCAL_FILES: [&str; 2] = ["AGENTS.local.md", "CLAUDE.local.md"];

/// Name of a memory index, at the top and in any folder. Claude Code's name, so that its memory
/// folders open as they are.
pub const MEMORY_INDEX: &str = "MEMORY.md";

/// Folders of agents whose files are rules or plans, as the last parts of a path.
const OWN_FOLDERS: [[&str; 2]; 4] = [
    [".claude", "rules"],
    [".claude", "plans"],
    [".dormouse", "rules"],
    [".dormouse", "plans"],
];

/// True if a file reaches the prompt by itself, so that showing it as a recently read file would
/// show it twice. Paths are compared as other systems write them too: `\` separates, case is
/// ignored.
pub fn stands_in_prompt(path: &str) -> bool {
    let parts: Vec<&str> = path.split(['/', '\\']).collect();
    let is = |part: &str, name: &str| part.eq_ignore_ascii_case(name);
    let Some((file, folders)) = parts.split_last() else {
        return false;
    };
    let names = PROJECT_FILES.iter().chain(&LOCAL_FILES);
    let named = names.chain([&MEMORY_INDEX]).any(|name| is(file, name));
    let mut pairs = folders.windows(2);
    // Rules may lie in folders of their own, so any two neighbours on the way count.
    named
        || pairs.any(|pair| {
            let mut own = OWN_FOLDERS.iter();
            own.any(|[agent, kind]| is(pair[0], agent) && is(pair[1], kind))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instruction_files_rules_indexes_and_plans_stand_in_the_prompt_by_themselves() {
        for (path, expected) in [
            ("/w/CLAUDE.md", true),
            ("AGENTS.md", true),
            ("/w/sub/agents.local.md", true),
            ("C:\\w\\.claude\\CLAUDE.md", true),
            ("/home/u/.claude/projects/w/memory/MEMORY.md", true),
            ("/w/.claude/rules/deep/testing.md", true),
            ("/home/u/.claude/plans/quiet-otter.md", true),
            ("/w/docs/plans/otter.md", false),
            ("/w/claude.rs", false),
            ("/w/NOT-CLAUDE.md", false),
            ("/w/.claude/settings.json", false),
            ("", false),
        ] {
            assert_eq!(stands_in_prompt(path), expected, "{path}");
        }
    }
}
