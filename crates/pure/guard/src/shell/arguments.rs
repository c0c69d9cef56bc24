//! Arguments of a command, checked against its row of the table.
//!
//! # Model
//! A flag passes only if it is in the row, letter for letter: programs accept abbreviated long
//! flags, this parser does not. Letters of a bundle (`-la`) are looked up one by one. A value in a
//! word of its own must not look like a flag, so that the verdict is the same whether or not some
//! version of the program takes a value there.

use super::places;
use super::policy::Policy;
use super::reason::Reason;
use super::word::Word;

/// Command with the arguments it may take.
#[derive(Debug)]
pub(super) struct Row {
    /// Name of the command, with its subcommand if it has one.
    pub(super) name: &'static str,
    /// Flags, separated by blanks: `-i` or `--quiet` alone, `-n=` with a value, `--color?=` with or
    /// without one (only attached), `-f@` with the path of a file it reads, `-#` for a number such
    /// as `-5`. A row of `*` takes everything as an operand.
    pub(super) flags: &'static str,
    /// Kind of the operands.
    pub(super) operands: Operands,
}

/// Flag specification of commands for which no argument is dangerous, such as `echo`.
const EVERYTHING: &str = "*";

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
    /// Filter of `jq`, then paths whose contents are read.
    JqFilter,
    /// Format of `printf` that only prints, then any text.
    PrintFormat,
    /// Format of `date`, which starts with `+`.
    DateFormat,
    /// Address of one resource to get, as `gh api` takes it.
    Endpoint,
}

/// Arguments sorted into flags and operands.
#[derive(Debug, Default)]
pub(super) struct Parsed<'a> {
    /// Flags as `-n` or `--name`, each with its value.
    pub(super) flags: Vec<(String, Option<String>)>,
    /// Words that are no flags.
    pub(super) operands: Vec<&'a Word>,
}

impl Parsed<'_> {
    pub(super) fn has(&self, flags: &[&str]) -> bool {
        self.flags
            .iter()
            .any(|(name, _)| flags.contains(&name.as_str()))
    }
}

/// Form of a flag in the row.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    Alone,
    Value,
    MaybeValue,
    Path,
}

impl Row {
    fn shape(&self, flag: &str) -> Option<Shape> {
        self.flags.split_ascii_whitespace().find_map(|spec| {
            let shape = match spec.strip_prefix(flag)? {
                "" => Shape::Alone,
                "=" => Shape::Value,
                "?=" => Shape::MaybeValue,
                "@" => Shape::Path,
                _ => return None,
            };
            Some(shape)
        })
    }

    fn takes_number(&self) -> bool {
        self.flags.split_ascii_whitespace().any(|spec| spec == "-#")
    }

    /// Sorts words into flags and operands; all flags have to be in the row.
    pub(super) fn parse<'a>(
        &self,
        words: &'a [Word],
        policy: &Policy,
    ) -> Result<Parsed<'a>, Reason> {
        let mut reading = Reading {
            row: self,
            policy,
            rest: words.iter(),
            parsed: Parsed::default(),
        };
        reading.run()?;
        Ok(reading.parsed)
    }
}

struct Reading<'a, 'b> {
    row: &'b Row,
    policy: &'b Policy,
    rest: std::slice::Iter<'a, Word>,
    parsed: Parsed<'a>,
}

impl Reading<'_, '_> {
    fn run(&mut self) -> Result<(), Reason> {
        // The command prints everything it gets; nothing can be a dangerous flag.
        if self.row.flags == EVERYTHING {
            self.parsed.operands.extend(self.rest.by_ref());
        }
        while let Some(word) = self.rest.next() {
            let text = word.text.as_str();
            if text == "--" {
                self.parsed.operands.extend(self.rest.by_ref());
            } else if text.starts_with("--") {
                self.long(word)?;
            } else if text.starts_with('-') && text.len() > 1 {
                self.short(word)?;
            // A file named `-o` would be a flag once the shell has replaced the pattern.
            } else if word.glob && text.starts_with(['*', '?', '[']) {
                return Err(Reason::Glob {
                    word: text.to_owned(),
                });
            } else {
                self.parsed.operands.push(word);
            }
        }
        Ok(())
    }

    fn long(&mut self, word: &Word) -> Result<(), Reason> {
        let (flag, attached) = match word.text.split_once('=') {
            Some((flag, value)) => (flag, Some(value)),
            None => (word.text.as_str(), None),
        };
        if word.glob && (attached.is_none() || flag.contains(['*', '?', '['])) {
            return Err(Reason::Glob {
                word: word.text.clone(),
            });
        }
        match (self.row.shape(flag), attached) {
            (None, _) => Err(self.unknown(flag)),
            (Some(Shape::Alone | Shape::MaybeValue), None) => {
                self.flag(flag, None);
                Ok(())
            }
            (Some(Shape::Alone), Some(_)) => Err(self.bad_value(flag)),
            (Some(shape), Some(value)) => self.value(flag, shape, value, word.glob),
            (Some(shape), None) => self.next_value(flag, shape),
        }
    }

    fn short(&mut self, word: &Word) -> Result<(), Reason> {
        if word.glob {
            return Err(Reason::Glob {
                word: word.text.clone(),
            });
        }
        let letters = &word.text[1..];
        // Long names with one dash, such as `-uno` of `git status`, are no bundles.
        if letters.len() > 1 && self.row.shape(&word.text) == Some(Shape::Alone) {
            self.flag(&word.text, None);
            return Ok(());
        }
        if self.row.takes_number() && letters.bytes().all(|byte| byte.is_ascii_digit()) {
            return Ok(());
        }
        for (at, letter) in letters.char_indices() {
            let flag = format!("-{letter}");
            let after = &letters[at + letter.len_utf8()..];
            match self.row.shape(&flag) {
                None => return Err(self.unknown(&flag)),
                Some(Shape::Alone) => self.flag(&flag, None),
                Some(Shape::MaybeValue) => {
                    // An attached value of a short flag could be meant as further flags; only
                    // numbers are safe.
                    let is_number = |byte: u8| byte.is_ascii_digit() || byte == b'%';
                    if !after.bytes().all(is_number) {
                        return Err(self.bad_value(&flag));
                    }
                    self.flag(&flag, None);
                    return Ok(());
                }
                Some(shape) if after.is_empty() => return self.next_value(&flag, shape),
                Some(shape) => return self.value(&flag, shape, after, false),
            }
        }
        Ok(())
    }

    fn next_value(&mut self, flag: &str, shape: Shape) -> Result<(), Reason> {
        let Some(word) = self.rest.next() else {
            return Err(self.bad_value(flag));
        };
        let mut characters = word.text.chars();
        // `-5` is a number for `head -n -5`; anything else with a dash may be a flag.
        let looks_like_flag = characters.next() == Some('-')
            && !characters.next().is_some_and(|next| next.is_ascii_digit());
        if word.glob || word.home || looks_like_flag {
            return Err(self.bad_value(flag));
        }
        self.value(flag, shape, &word.text, false)
    }

    fn value(&mut self, flag: &str, shape: Shape, value: &str, glob: bool) -> Result<(), Reason> {
        if shape == Shape::Path {
            let word = Word::literal(value, glob);
            places::check_contents(&word, self.policy)?;
        }
        self.flag(flag, Some(value));
        Ok(())
    }

    fn flag(&mut self, flag: &str, value: Option<&str>) {
        let value = value.map(str::to_owned);
        self.parsed.flags.push((flag.to_owned(), value));
    }

    fn unknown(&self, flag: &str) -> Reason {
        Reason::UnknownFlag {
            command: self.row.name.to_owned(),
            flag: flag.to_owned(),
        }
    }

    fn bad_value(&self, flag: &str) -> Reason {
        Reason::FlagValue {
            command: self.row.name.to_owned(),
            flag: flag.to_owned(),
        }
    }
}
