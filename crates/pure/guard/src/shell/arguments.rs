//! Arguments of a command, read by the grammar of its row.
//!
//! # Model
//! A flag passes only if it is in the row, letter for letter: programs accept abbreviated long
//! flags, this parser does not. Letters of a bundle (`-la`) are looked up one by one, and a letter
//! that takes a value ends the bundle as it does for the program. A value in a word of its own must
//! not look like a flag, so that the verdict is the same whether or not some version of the program
//! takes a value there.

use super::grammar::{EVERYTHING, Kind, Row, Takes, Trait};
use super::places;
use super::policy::Policy;
use super::reason::Reason;
use super::scripts;
use super::word::Word;

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

    /// Value of the last of these flags.
    pub(super) fn value(&self, flags: &[&str]) -> Option<&str> {
        let mut given = self.flags.iter().rev();
        let (_, value) = given.find(|(name, _)| flags.contains(&name.as_str()))?;
        value.as_deref()
    }
}

impl Row {
    /// Sorts words into flags and operands; all flags have to be in the row.
    pub(super) fn parse<'a>(
        &self,
        words: &'a [Word],
        policy: &Policy,
    ) -> Result<Parsed<'a>, Reason> {
        let mut reading = Reading::new(self, words, policy);
        reading.run()?;
        Ok(reading.parsed)
    }

    /// Flags before the first operand, and the words from there on.
    pub(super) fn parse_leading<'a>(
        &self,
        words: &'a [Word],
        policy: &Policy,
    ) -> Result<(Parsed<'a>, &'a [Word]), Reason> {
        let mut reading = Reading::new(self, words, policy);
        loop {
            let from_here = reading.rest.as_slice();
            match reading.rest.next() {
                Some(word) if word.text == "--" => {
                    return Ok((reading.parsed, reading.rest.as_slice()));
                }
                Some(word) if is_flag(word) => reading.flag_word(word)?,
                _ => return Ok((reading.parsed, from_here)),
            }
        }
    }
}

struct Reading<'a, 'b> {
    row: &'b Row,
    policy: &'b Policy,
    rest: std::slice::Iter<'a, Word>,
    parsed: Parsed<'a>,
}

fn is_flag(word: &Word) -> bool {
    word.text.starts_with('-') && word.text.len() > 1
}

impl<'a, 'b> Reading<'a, 'b> {
    fn new(row: &'b Row, words: &'a [Word], policy: &'b Policy) -> Self {
        Self {
            row,
            policy,
            rest: words.iter(),
            parsed: Parsed::default(),
        }
    }

    fn run(&mut self) -> Result<(), Reason> {
        // The command prints everything it gets; nothing can be a dangerous flag.
        if self.row.flags == EVERYTHING {
            self.parsed.operands.extend(self.rest.by_ref());
        }
        if self.row.is(Trait::ResponseFiles)
            && let Some(word) = self
                .rest
                .as_slice()
                .iter()
                .find(|word| word.text.starts_with('@'))
        {
            return Err(Reason::Argument {
                command: self.row.name.to_owned(),
                argument: word.text.clone(),
                why: "it names a file with further arguments",
            });
        }
        while let Some(word) = self.rest.next() {
            let text = word.text.as_str();
            if text == "--" {
                self.parsed.operands.extend(self.rest.by_ref());
            } else if is_flag(word) {
                self.flag_word(word)?;
            // A file named `-o` would be a flag once the shell has replaced the pattern.
            } else if word.glob && text.starts_with(['*', '?', '[']) && !self.row.is(Trait::Inert) {
                return Err(glob(word));
            } else {
                self.parsed.operands.push(word);
            }
        }
        Ok(())
    }

    fn flag_word(&mut self, word: &Word) -> Result<(), Reason> {
        if word.text.starts_with("--") {
            self.long(word)
        } else if self.row.is(Trait::Words) {
            self.single(word)
        } else {
            self.short(word)
        }
    }

    fn long(&mut self, word: &Word) -> Result<(), Reason> {
        let (flag, attached) = match word.text.split_once('=') {
            Some((flag, value)) => (flag, Some(value)),
            None => (word.text.as_str(), None),
        };
        if word.glob && (attached.is_none() || flag.contains(['*', '?', '['])) {
            return Err(glob(word));
        }
        match (self.row.takes(flag), attached) {
            (None, _) => Err(self.unknown(flag)),
            (Some(Takes::Nothing | Takes::Attached(_)), None) => {
                self.flag(flag, None);
                Ok(())
            }
            (Some(Takes::Nothing | Takes::Next(_) | Takes::Two), Some(_)) => {
                Err(self.bad_value(flag))
            }
            (Some(Takes::Value(kind) | Takes::Attached(kind)), Some(value)) => {
                self.value(flag, kind, value, word.glob)
            }
            (Some(Takes::Value(kind) | Takes::Next(kind)), None) => self.next_value(flag, kind),
            (Some(Takes::Two), None) => {
                self.next_value(flag, Kind::Text)?;
                self.next_value(flag, Kind::Text)
            }
        }
    }

    /// Option that is a word of its own; a number may be attached to it.
    fn single(&mut self, word: &Word) -> Result<(), Reason> {
        let name = word
            .text
            .trim_end_matches(|last: char| last.is_ascii_digit());
        let number = &word.text[name.len()..];
        match (self.row.takes(name), number) {
            (Some(Takes::Nothing), "") => self.flag(name, None),
            (Some(Takes::Value(kind)), "") => self.next_value(name, kind)?,
            (Some(Takes::Value(_)), number) => self.flag(name, Some(number)),
            _ => return Err(self.unknown(&word.text)),
        }
        Ok(())
    }

    fn short(&mut self, word: &Word) -> Result<(), Reason> {
        if word.glob {
            return Err(glob(word));
        }
        let letters = &word.text[1..];
        // Long names with one dash, such as `-uno` of `git status`, are no bundles.
        if letters.len() > 1 && self.row.takes(&word.text) == Some(Takes::Nothing) {
            self.flag(&word.text, None);
            return Ok(());
        }
        if self.row.takes_number() && letters.bytes().all(|byte| byte.is_ascii_digit()) {
            return Ok(());
        }
        for (at, letter) in letters.char_indices() {
            let flag = format!("-{letter}");
            let after = &letters[at + letter.len_utf8()..];
            match self.row.takes(&flag) {
                None => return Err(self.unknown(&flag)),
                Some(Takes::Nothing) => self.flag(&flag, None),
                Some(Takes::Attached(_)) => {
                    // An attached value of a short flag could be meant as further flags; only
                    // numbers are safe.
                    let is_number = |byte: u8| byte.is_ascii_digit() || byte == b'%';
                    if !after.bytes().all(is_number) {
                        return Err(self.bad_value(&flag));
                    }
                    self.flag(&flag, None);
                    return Ok(());
                }
                Some(Takes::Value(kind) | Takes::Next(kind)) if after.is_empty() => {
                    return self.next_value(&flag, kind);
                }
                Some(Takes::Value(kind)) => return self.value(&flag, kind, after, false),
                // The letters behind it are flags, and the words behind them values in turn.
                Some(Takes::Next(_) | Takes::Two) => return Err(self.bad_value(&flag)),
            }
        }
        Ok(())
    }

    fn next_value(&mut self, flag: &str, kind: Kind) -> Result<(), Reason> {
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
        self.value(flag, kind, &word.text, false)
    }

    fn value(&mut self, flag: &str, kind: Kind, value: &str, glob: bool) -> Result<(), Reason> {
        let harmless = match kind {
            Kind::Text => true,
            Kind::Path => {
                let word = Word::literal(value, glob);
                places::check_contents(&word, self.policy)?;
                true
            }
            Kind::LogFormat => scripts::log_format_only_prints(value),
            Kind::RefFormat => scripts::ref_format_only_prints(value),
            Kind::Jq => scripts::jq_only_reads(value),
            Kind::ClusterOutput => scripts::cluster_output_only_prints(value),
        };
        if !harmless {
            return Err(self.bad_value(flag));
        }
        self.flag(flag, Some(value));
        Ok(())
    }

    fn flag(&mut self, flag: &str, value: Option<&str>) {
        let value = value.map(str::to_owned);
        self.parsed.flags.push((flag.to_owned(), value));
    }

    fn unknown(&self, flag: &str) -> Reason {
        let command = self.row.name.to_owned();
        let flag = flag.to_owned();
        match self.row.effect(&flag) {
            Some(effect) => Reason::HarmfulFlag {
                command,
                flag,
                why: effect.clause(),
            },
            None => Reason::UnknownFlag { command, flag },
        }
    }

    fn bad_value(&self, flag: &str) -> Reason {
        Reason::FlagValue {
            command: self.row.name.to_owned(),
            flag: flag.to_owned(),
        }
    }
}

fn glob(word: &Word) -> Reason {
    Reason::Glob {
        word: word.text.clone(),
    }
}
