//! Programs that rules are often about, with the subcommands that matter, and activities that mean
//! a command or a sort of file.

/// Programs with their subcommands. A bare program name would match half of all work.
pub(super) const WITH_SUBCOMMANDS: [(&str, &[&str]); 20] = [
    (
        "git",
        &[
            "commit",
            "push",
            "pull",
            "rebase",
            "merge",
            "add",
            "stash",
            "checkout",
            "tag",
            "reset",
            "cherry-pick",
            "clean",
        ],
    ),
    (
        "cargo",
        &[
            "test", "build", "clippy", "fmt", "run", "check", "publish", "bench", "nextest", "add",
            "update",
        ],
    ),
    ("npm", &["install", "ci", "test", "run", "publish", "start"]),
    ("pnpm", &["install", "add", "test", "run", "publish"]),
    ("yarn", &["install", "add", "test", "run"]),
    ("bun", &["install", "add", "test", "run"]),
    ("npx", &["prisma", "tsc", "jest", "vitest", "playwright"]),
    (
        "go",
        &["test", "build", "run", "mod", "vet", "fmt", "generate"],
    ),
    ("docker", &["build", "run", "compose", "push", "exec"]),
    ("kubectl", &["apply", "delete", "get", "exec", "rollout"]),
    ("helm", &["install", "upgrade", "uninstall"]),
    ("terraform", &["plan", "apply", "destroy", "init"]),
    ("gh", &["pr", "issue", "release", "api"]),
    ("pip", &["install"]),
    ("uv", &["run", "add", "sync", "pip"]),
    ("poetry", &["install", "add", "run"]),
    ("dotnet", &["test", "build", "run"]),
    ("rails", &["db:migrate", "generate", "test"]),
    ("mvn", &["test", "package", "install", "verify"]),
    ("alembic", &["upgrade", "revision", "downgrade"]),
];

/// Programs whose bare name is meant in no other way.
pub(super) const ALONE: [&str; 26] = [
    "pytest",
    "eslint",
    "prettier",
    "vitest",
    "jest",
    "ruff",
    "mypy",
    "pyright",
    "tox",
    "rubocop",
    "rspec",
    "psql",
    "kubectl",
    "terraform",
    "helm",
    "ansible-playbook",
    "golangci-lint",
    "rustfmt",
    "clippy-driver",
    "playwright",
    "pre-commit",
    "systemctl",
    "ffmpeg",
    "gradle",
    "bazel",
    "tsc",
];

/// Programs that are meant only inside code, because their names are words.
pub(super) const IN_CODE: [&str; 6] = ["make", "just", "curl", "ssh", "rm", "sed"];

/// Activities in people's words, with the command that they are done with.
pub(super) const ACTIVITIES: [(&str, &str); 20] = [
    ("commit message", "git commit"),
    ("when committing", "git commit"),
    ("before committing", "git commit"),
    ("before you commit", "git commit"),
    ("before every commit", "git commit"),
    ("never commit ", "git commit"),
    ("don't commit", "git commit"),
    ("do not commit", "git commit"),
    ("always commit", "git commit"),
    ("commit-nachricht", "git commit"),
    ("beim committen", "git commit"),
    ("vor dem commit", "git commit"),
    ("force push", "git push"),
    ("force-push", "git push"),
    ("before pushing", "git push"),
    ("never push", "git push"),
    ("don't push", "git push"),
    ("pull request", "gh pr"),
    ("merge commit", "git merge"),
    ("never rebase", "git rebase"),
];

/// Phrases of rules about tests.
pub(super) const TESTING: [&str; 14] = [
    "unit test",
    "integration test",
    "in tests",
    "in the tests",
    "in test code",
    "writing tests",
    "write tests",
    "tests must",
    "tests should",
    "test suite",
    "never mock",
    "don't mock",
    "do not mock",
    "mocking ",
];

/// Globs for files of tests in the usual languages.
pub(super) const TEST_FILES: [&str; 4] = ["**/*test*", "**/*.spec.*", "**/*_spec.*", "**/tests/**"];

/// Tools of agents, by the names that agents call them.
pub(super) const AGENT_TOOLS: [&str; 12] = [
    "Bash",
    "Read",
    "Write",
    "Edit",
    "MultiEdit",
    "NotebookEdit",
    "Grep",
    "Glob",
    "WebFetch",
    "WebSearch",
    "Task",
    "SearchMemory",
];
