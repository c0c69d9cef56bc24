//! Patterns of commands.
//!
//! `*` stands for any text, spaces included. ` *` and `:*` at the end stand for any further words or
//! none: `Bash(git log *)` matches `git log` and `git log -3`, not `git logs`.

use dormouse_guard::shell::{Part, parts};
use regex::Regex;

/// Variables that change nothing about which program runs or what it does.
const HARMLESS_VARIABLES: [&str; 16] = [
    "CI",
    "COLUMNS",
    "DEBUG",
    "FORCE_COLOR",
    "LANG",
    "LC_ALL",
    "LINES",
    "LOG_LEVEL",
    "NODE_ENV",
    "NO_COLOR",
    "PYTHONUNBUFFERED",
    "RUST_BACKTRACE",
    "RUST_LOG",
    "TERM",
    "TZ",
    "VERBOSE",
];
/// Programs that run others: a pattern that only begins like the line says nothing about what runs.
const LAUNCHERS: [&str; 12] = [
    "watch", "setsid", "flock", "env", "sudo", "doas", "exec", "eval", "xargs", "busybox",
    "script", "strace",
];
/// Actions of `find` that run programs or remove files.
const FIND_ACTIONS: [&str; 8] = [
    "-exec", "-execdir", "-ok", "-okdir", "-delete", "-fprint", "-fprintf", "-fls",
];
/// Shells that take a script as an argument.
const SHELLS: [&str; 6] = ["sh", "bash", "zsh", "dash", "ksh", "fish"];
/// Depth of shells in shells that is looked into.
const DEEPEST: usize = 4;

/// Pattern of command lines, as `Bash(…)` carries them.
#[derive(Clone, Debug)]
pub(crate) struct LinePattern {
    pattern: Regex,
    /// True if the pattern has a `*` and so leaves something open.
    open: bool,
}

impl LinePattern {
    pub(crate) fn new(text: &str) -> Result<Self, String> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let text = words.join(" ");
        let (stem, more) = match text.strip_suffix(":*").or_else(|| text.strip_suffix(" *")) {
            Some(stem) => (stem, "(?: .*)?"),
            None => (text.as_str(), ""),
        };
        let escaped: Vec<String> = stem.split('*').map(regex::escape).collect();
        let pattern = format!("(?s)^{}{more}$", escaped.join(".*"));
        Ok(Self {
            pattern: Regex::new(&pattern).map_err(|error| error.to_string())?,
            open: !more.is_empty() || stem.contains('*'),
        })
    }

    /// True if a rule that allows this pattern allows the command.
    pub(crate) fn allows(&self, part: &Part) -> bool {
        let harmless = |name: &String| HARMLESS_VARIABLES.contains(&name.as_str());
        !part.computes
            && part.variables.iter().all(harmless)
            && !(self.open && launches(&part.words))
            && self.pattern.is_match(&part.text())
    }

    /// True if a rule that asks about or refuses this pattern is about the command, or about one
    /// that it may run.
    pub(crate) fn touches(&self, part: &Part) -> bool {
        self.touches_at(part, 0)
    }

    fn touches_at(&self, part: &Part, depth: usize) -> bool {
        let words = &part.words;
        if self.pattern.is_match(&part.text()) {
            return true;
        }
        // Behind a launcher any word may begin the command that runs.
        let launcher = launches(words) || words.first().is_some_and(|name| name.contains('/'));
        if launcher && (1..words.len()).any(|at| self.pattern.is_match(&words[at..].join(" "))) {
            return true;
        }
        // `/bin/rm x` is `rm x`.
        if let Some((name, rest)) = words.split_first() {
            let bare = unquoted(name);
            let bare = bare.rsplit('/').next().unwrap_or_default();
            let plain = std::iter::once(bare.to_owned()).chain(rest.iter().cloned());
            let plain: Vec<String> = plain.collect();
            if self.pattern.is_match(&plain.join(" ")) {
                return true;
            }
        }
        if depth == DEEPEST {
            return false;
        }
        let mut inner: Vec<String> = script_of(words).into_iter().collect();
        if part.computes {
            inner.extend(substitutions(&part.text()));
        }
        inner.iter().any(|script| match parts(script) {
            Ok(found) => found.iter().any(|part| self.touches_at(part, depth + 1)),
            // Text that cannot be parsed is compared as it stands.
            Err(_) => self.pattern.is_match(script.trim()),
        })
    }
}

/// True if the command runs another one that its first words do not tell.
fn launches(words: &[String]) -> bool {
    let Some(name) = words.first() else {
        return false;
    };
    LAUNCHERS.contains(&name.as_str())
        || (name == "find"
            && words
                .iter()
                .any(|word| FIND_ACTIONS.contains(&word.as_str())))
        || script_of(words).is_some()
}

/// Script that a shell is given as an argument.
fn script_of(words: &[String]) -> Option<String> {
    let name = unquoted(words.first()?);
    let name = name.rsplit('/').next().unwrap_or_default();
    if !SHELLS.contains(&name) {
        return None;
    }
    let flag =
        |word: &String| word.starts_with('-') && !word.starts_with("--") && word.contains('c');
    let at = words.iter().position(flag)?;
    words.get(at + 1).map(|script| unquoted(script))
}

/// Text behind every opening of a substitution, up to its end or the end of the line.
fn substitutions(text: &str) -> Vec<String> {
    let dollar = text.split("$(").skip(1);
    let ticks = text.split('`').skip(1);
    let inner = dollar.chain(ticks);
    inner
        .map(|rest| rest.split(')').next().unwrap_or(rest).to_owned())
        .collect()
}

/// Word without the quotes around it, and without quotes and backslashes inside.
fn unquoted(word: &str) -> String {
    let bare = |quote: char| {
        word.strip_prefix(quote)
            .and_then(|rest| rest.strip_suffix(quote))
            .filter(|inner| !inner.contains(quote))
    };
    match bare('\'').or_else(|| bare('"')) {
        Some(inner) => inner.to_owned(),
        None => word
            .chars()
            .filter(|it| !matches!(it, '\'' | '"' | '\\'))
            .collect(),
    }
}

/// Rules that would allow a command from now on: the program and its subcommand with anything
/// behind, or the very line if its first words do not tell what runs.
pub(crate) fn lasting(tool: &str, part: &Part) -> Option<String> {
    if part.computes || part.words.is_empty() || !part.writes.is_empty() {
        return None;
    }
    let harmless = |name: &String| HARMLESS_VARIABLES.contains(&name.as_str());
    if !part.variables.iter().all(harmless) {
        return None;
    }
    let is_word = |word: &&String| {
        word.bytes()
            .all(|it| it.is_ascii_alphanumeric() || it == b'-' || it == b'_')
    };
    let subcommand = part
        .words
        .get(1)
        .filter(is_word)
        .filter(|word| !word.starts_with('-'));
    let exact = part.text();
    match (part.words.first(), subcommand) {
        (Some(name), Some(subcommand))
            if is_word(&name) && !launches(&part.words) && !removes(name) =>
        {
            Some(format!("{tool}({name} {subcommand} *)"))
        }
        // A star in the line would be read as a pattern.
        _ if exact.contains('*') || exact.contains(')') => None,
        _ => Some(format!("{tool}({exact})")),
    }
}

/// Programs whose next word is an object, never a subcommand.
fn removes(name: &str) -> bool {
    matches!(
        name,
        "rm" | "mv"
            | "cp"
            | "dd"
            | "chmod"
            | "chown"
            | "ln"
            | "kill"
            | "pkill"
            | "killall"
            | "curl"
            | "wget"
            | "ssh"
            | "scp"
            | "tee"
            | "truncate"
            | "shred"
            | "python"
            | "python3"
            | "node"
            | "perl"
            | "ruby"
    ) || SHELLS.contains(&name)
}
