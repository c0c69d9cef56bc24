//! Parser stage: from a line to its simple commands, by a parser of the shell language.
//!
//! The syntax tree is taken apart by exhaustive matches, so that a new kind of command or
//! redirection in a later version of the parser is a compile error and not a gap.
//!
//! The parser's crate keeps process-wide caches of the last lines behind `tokenize_str`,
//! `word::parse` and `arithmetic::parse`. A line may hold a secret, so none of them is called:
//! [`Parser`] tokenises by itself and keeps nothing. A law test refuses the cached names.

use super::MOST_COMMANDS;
use super::lexer;
use super::places;
use super::policy::Policy;
use super::reason::Reason;
use super::word::Word;
use brush_parser::ast::{
    AndOr, Command, CommandPrefixOrSuffixItem as Item, CompoundCommand, CompoundList,
    IoFileRedirectKind as Kind, IoFileRedirectTarget as Target, IoRedirect, Pipeline,
    SeparatorOperator, SimpleCommand,
};
use brush_parser::{Parser, ParserOptions};

/// Simple command with its words.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Simple {
    pub(super) name: String,
    pub(super) words: Vec<Word>,
    /// Files that it reads as its standard input.
    pub(super) inputs: Vec<Word>,
    /// True if it reads the output of the command before it.
    pub(super) piped: bool,
}

/// Simple commands of a line, if it contains nothing else.
pub(super) fn read(line: &str, policy: &Policy) -> Result<Vec<Simple>, Reason> {
    let (line, words) = lexer::words(line)?;
    let options = ParserOptions::default();
    let program = Parser::new(line.as_bytes(), &options)
        .parse_program()
        .map_err(|error| Reason::Unparsable {
            detail: error.to_string(),
        })?;
    let mut reading = Reading {
        policy,
        commands: Vec::new(),
        words: Vec::new(),
        inputs: Vec::new(),
    };
    for list in &program.complete_commands {
        reading.list(list)?;
    }
    // A line that lexer and parser read differently has a reading that was not judged.
    if reading.words != words {
        return Err(Reason::Unparsable {
            detail: "two readers understand it differently".to_owned(),
        });
    }
    match reading.commands.len() {
        0 => Err(Reason::Empty),
        1..=MOST_COMMANDS => Ok(reading.commands),
        count => Err(Reason::TooManyCommands { count }),
    }
}

struct Reading<'a> {
    policy: &'a Policy,
    commands: Vec<Simple>,
    /// Every word seen, as written, in the order of the line.
    words: Vec<String>,
    /// Files that the present command reads as its input.
    inputs: Vec<Word>,
}

impl Reading<'_> {
    fn list(&mut self, list: &CompoundList) -> Result<(), Reason> {
        for item in &list.0 {
            // A background command would outlive the time limit.
            if matches!(item.1, SeparatorOperator::Async) {
                return Err(Reason::Background);
            }
            self.pipeline(&item.0.first)?;
            for more in &item.0.additional {
                let (AndOr::And(pipeline) | AndOr::Or(pipeline)) = more;
                self.pipeline(pipeline)?;
            }
        }
        Ok(())
    }

    fn pipeline(&mut self, pipeline: &Pipeline) -> Result<(), Reason> {
        // `time` before it only measures.
        if pipeline.bang {
            return Err(Reason::Negation);
        }
        for (at, command) in pipeline.seq.iter().enumerate() {
            let simple = self.command(command)?;
            self.commands.push(Simple {
                piped: at > 0,
                ..simple
            });
        }
        Ok(())
    }

    fn command(&mut self, command: &Command) -> Result<Simple, Reason> {
        let what = match command {
            Command::Simple(simple) => return self.simple(simple),
            Command::Function(_) => "a function",
            Command::ExtendedTest(..) => "a test in `[[ ]]`",
            Command::Compound(compound, _) => match compound {
                CompoundCommand::Arithmetic(_) | CompoundCommand::ArithmeticForClause(_) => {
                    "arithmetic"
                }
                CompoundCommand::BraceGroup(_) => "a group in `{ }`",
                CompoundCommand::Subshell(_) => "a subshell in `( )`",
                CompoundCommand::CaseClause(_) | CompoundCommand::IfClause(_) => "a condition",
                CompoundCommand::ForClause(_)
                | CompoundCommand::WhileClause(_)
                | CompoundCommand::UntilClause(_) => "a loop",
                CompoundCommand::Coprocess(_) => "a coprocess",
            },
        };
        Err(Reason::Compound { what })
    }

    fn simple(&mut self, simple: &SimpleCommand) -> Result<Simple, Reason> {
        let mut words = Vec::new();
        for item in simple.prefix.iter().flat_map(|prefix| &prefix.0) {
            // Before the command name only: it changes the environment of the command.
            if let Item::AssignmentWord(assignment, _) = item {
                let name = assignment.name.to_string();
                return Err(Reason::Assignment { name });
            }
            self.item(item, &mut words)?;
        }
        let name = simple.word_or_name.as_ref().ok_or(Reason::Empty)?;
        let name = self.word(&name.value)?;
        let is_plain =
            |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
        // A quoted or escaped name may look like one command and be another; a path may name any
        // program.
        let is_name = name.plain && !name.glob && !name.home && name.text.bytes().all(is_plain);
        if !is_name && name != Word::bracket() {
            return Err(Reason::HiddenCommand { name: name.text });
        }
        for item in simple.suffix.iter().flat_map(|suffix| &suffix.0) {
            self.item(item, &mut words)?;
        }
        Ok(Simple {
            name: name.text,
            words,
            inputs: std::mem::take(&mut self.inputs),
            piped: false,
        })
    }

    fn item(&mut self, item: &Item, words: &mut Vec<Word>) -> Result<(), Reason> {
        match item {
            // After the command name, `a=b` is a word like any other.
            Item::Word(word) | Item::AssignmentWord(_, word) => words.push(self.word(&word.value)?),
            Item::ProcessSubstitution(..) => {
                return Err(Reason::Compound {
                    what: "a process substitution",
                });
            }
            Item::IoRedirect(redirect) => self.redirect(redirect)?,
        }
        Ok(())
    }

    fn redirect(&mut self, redirect: &IoRedirect) -> Result<(), Reason> {
        let refused = || Reason::Redirection {
            redirection: redirect.to_string(),
        };
        match redirect {
            IoRedirect::HereDocument(..) => Err(Reason::HereDocument {
                what: "a here document",
            }),
            IoRedirect::HereString(..) => Err(Reason::HereDocument {
                what: "a here string",
            }),
            IoRedirect::OutputAndError(word, _) => {
                self.words.push(word.value.clone());
                allow_if(word.value == NOWHERE, refused)
            }
            IoRedirect::File(fd, kind, target) => {
                let word = match target {
                    Target::Filename(word) | Target::Duplicate(word) => word.value.clone(),
                    Target::Fd(fd) => fd.to_string(),
                    Target::ProcessSubstitution(..) => return Err(refused()),
                };
                self.words.push(word.clone());
                let to_output = matches!(fd, None | Some(1 | 2));
                match kind {
                    Kind::Write | Kind::Append => allow_if(to_output && word == NOWHERE, refused),
                    Kind::DuplicateOutput => {
                        // The parser reads `|&` as if `2>&1` stood before it.
                        allow_if(to_output && matches!(word.as_str(), "1" | "2"), refused)
                    }
                    Kind::Read if matches!(fd, None | Some(0)) => {
                        let word = Word::read(&word)?;
                        if word.glob {
                            return Err(Reason::Glob { word: word.text });
                        }
                        places::check_contents(&word, self.policy)?;
                        self.inputs.push(word);
                        Ok(())
                    }
                    Kind::Read | Kind::ReadAndWrite | Kind::Clobber | Kind::DuplicateInput => {
                        Err(refused())
                    }
                }
            }
        }
    }

    fn word(&mut self, raw: &str) -> Result<Word, Reason> {
        self.words.push(raw.to_owned());
        Word::read(raw)
    }
}

fn allow_if(allowed: bool, refused: impl Fn() -> Reason) -> Result<(), Reason> {
    if allowed { Ok(()) } else { Err(refused()) }
}

/// Only permitted target of a redirection: it discards everything.
const NOWHERE: &str = "/dev/null";
