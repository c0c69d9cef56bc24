//! Grammar of a command's options, as data, and the notation it is written in.
//!
//! # Model
//! A [`Row`] says of each option how it takes its value and what kind of text the value is. The
//! rows are written after the manuals; an option that no row knows is refused. Options known to
//! write, to start programs or to read unjudged files stand in the row too, so that the reason
//! names the effect, and so that a row can claim to be [`Trait::Inert`].
//!
//! Notation, separated by blanks: `-i` or `--quiet` takes no value. A mark behind the name says
//! that it takes one, and which: `=` any text, `@` a path that is read, `%` a format of `git log`,
//! `&` a format or key of references, `~` a filter of `jq`, `^` an output format of `kubectl`. A
//! `?` before the mark makes the value optional, and then it can only be attached. A `>` before
//! it means that the value is always the next word, also for a letter in a bundle. `+` stands for
//! two texts, the next two words. `-#` stands for a number such as `-5`.
//!
//! # Not here
//! Reading words by a row (`arguments`); the rows (`commands`).

/// Command with the arguments it may take.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    /// Name of the command, with its subcommand if it has one.
    pub(super) name: &'static str,
    /// Options without harm, in the notation of this module. A row of `*` takes everything as an
    /// operand.
    pub(super) flags: &'static str,
    /// Options that write, delete or change something.
    pub(super) writes: &'static str,
    /// Options that start a program.
    pub(super) runs: &'static str,
    /// Options that read a file which is not judged: a program, a list of names.
    pub(super) reads: &'static str,
    /// Kind of the operands.
    pub(super) operands: Operands,
    /// Facts about the whole command.
    pub(super) traits: &'static [Trait],
}

/// Fact about a command as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trait {
    /// No option of any known version writes, starts a program or reaches the network. Words that
    /// are not visible in the line, such as matches of a pattern, can do no harm.
    Inert,
    /// A word that begins with `@` names a file with further words.
    ResponseFiles,
    /// The command asks the network or a service of the machine.
    Network,
    /// The command starts programs that settings in the working directory may name.
    Settings,
    /// An option is a word of its own: `-len 5`, never a bundle.
    Words,
}

/// Kind of the operands of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operands {
    /// No operands at all.
    None,
    /// Any text, which the command only prints or looks up.
    Text,
    /// Paths that are listed, not read.
    Names,
    /// Paths whose contents are read.
    Contents,
    /// One such path at most: the command would write to a second.
    OneContent,
    /// Directory to change to.
    Directory,
    /// Pattern, then paths whose contents are read. `-e` and `-f` give the pattern instead.
    PatternAndContents,
    /// Any text, but only together with one of these flags; without them the command would create
    /// something.
    With(&'static [&'static str]),
    /// Harmless `sed` script (or by `-e`), then paths whose contents are read.
    SedScript,
    /// Program of `awk` that only prints, then paths whose contents are read.
    AwkProgram,
    /// Filter of `jq`, then paths whose contents are read.
    JqFilter,
    /// Format of `printf` that only prints, then any text.
    PrintFormat,
    /// Format of `date`, which starts with `+`.
    DateFormat,
    /// Address of one resource to get, as `gh api` takes it.
    Endpoint,
    /// Letters of `ps` without a dash, or numbers of processes.
    ProcessLetters,
    /// One name of a setting of git that holds no secret.
    SettingName,
    /// Kinds and names of things in a cluster, secrets excepted.
    ClusterThings,
}

/// Way in which an option takes a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Takes {
    /// The option takes no value.
    Nothing,
    /// One, attached or as the next word.
    Value(Kind),
    /// One or none, only attached.
    Attached(Kind),
    /// One, always the next word.
    Next(Kind),
    /// Two texts, always the next two words.
    Two,
}

/// Kind of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Any text, which is harmless here.
    Text,
    /// Path of a file that is read.
    Path,
    /// Format of `git log`.
    LogFormat,
    /// Format or sorting key of references in git.
    RefFormat,
    /// Filter of `jq`, which is judged by its own grammar.
    Jq,
    /// Output format of `kubectl`.
    ClusterOutput,
}

/// Effect for which an option is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    /// It writes, deletes or changes something.
    Writes,
    /// It starts a program.
    Runs,
    /// It reads a file that is not judged.
    Reads,
}

impl Effect {
    /// Effect as a clause for a reason.
    pub(super) fn clause(self) -> &'static str {
        match self {
            Self::Writes => "it writes or changes something",
            Self::Runs => "it starts a program",
            Self::Reads => "it reads a file that is not judged",
        }
    }
}

/// Flag specification of commands for which no argument is dangerous, such as `echo`.
pub(super) const EVERYTHING: &str = "*";

/// Row without harmful options and traits.
pub(super) const fn row(name: &'static str, flags: &'static str, operands: Operands) -> Row {
    Row {
        name,
        flags,
        writes: "",
        runs: "",
        reads: "",
        operands,
        traits: &[],
    }
}

impl Row {
    /// The row with options that write.
    pub(super) const fn writes(self, writes: &'static str) -> Self {
        Self { writes, ..self }
    }

    /// The row with options that start programs.
    pub(super) const fn runs(self, runs: &'static str) -> Self {
        Self { runs, ..self }
    }

    /// The row with options that read unjudged files.
    pub(super) const fn reads(self, reads: &'static str) -> Self {
        Self { reads, ..self }
    }

    /// The row with facts about the command.
    pub(super) const fn with(self, traits: &'static [Trait]) -> Self {
        Self { traits, ..self }
    }

    /// True if the row has this trait.
    pub(super) fn is(&self, wanted: Trait) -> bool {
        self.traits.contains(&wanted)
    }

    /// Way in which a harmless option takes its value; none if the row does not know it.
    pub(super) fn takes(&self, flag: &str) -> Option<Takes> {
        find(self.flags, flag)
    }

    /// Effect of an option that is refused; none if the row does not know it.
    pub(super) fn effect(&self, flag: &str) -> Option<Effect> {
        [
            (self.writes, Effect::Writes),
            (self.runs, Effect::Runs),
            (self.reads, Effect::Reads),
        ]
        .into_iter()
        .find_map(|(specs, effect)| find(specs, flag).map(|_| effect))
    }

    /// True if a number with a dash is an option.
    pub(super) fn takes_number(&self) -> bool {
        self.flags.split_ascii_whitespace().any(|spec| spec == "-#")
    }
}

fn find(specs: &str, flag: &str) -> Option<Takes> {
    specs
        .split_ascii_whitespace()
        .find_map(|spec| takes(spec.strip_prefix(flag)?))
}

/// Reading of the marks behind a name; none if they belong to a longer name.
fn takes(marks: &str) -> Option<Takes> {
    let kind = |mark: &str| match mark {
        "=" => Some(Kind::Text),
        "@" => Some(Kind::Path),
        "%" => Some(Kind::LogFormat),
        "&" => Some(Kind::RefFormat),
        "~" => Some(Kind::Jq),
        "^" => Some(Kind::ClusterOutput),
        _ => None,
    };
    if marks.is_empty() {
        Some(Takes::Nothing)
    } else if marks == "+" {
        Some(Takes::Two)
    } else if let Some(mark) = marks.strip_prefix('?') {
        kind(mark).map(Takes::Attached)
    } else if let Some(mark) = marks.strip_prefix('>') {
        kind(mark).map(Takes::Next)
    } else {
        kind(marks).map(Takes::Value)
    }
}
