//! From a line to its simple commands, by a parser of the shell language.

use super::MOST_COMMANDS;
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

/// A command and its words.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Simple {
    pub(super) name: String,
    pub(super) words: Vec<Word>,
}

/// The simple commands of a line, if there is nothing else in it.
pub(super) fn read(line: &str, policy: &Policy) -> Result<Vec<Simple>, Reason> {
    let options = ParserOptions::default();
    let program = Parser::new(line.as_bytes(), &options)
        .parse_program()
        .map_err(|error| Reason::Unparsable {
            detail: error.to_string(),
        })?;
    let mut commands = Vec::new();
    for list in &program.complete_commands {
        read_list(list, policy, &mut commands)?;
    }
    match commands.len() {
        0 => Err(Reason::Empty),
        1..=MOST_COMMANDS => Ok(commands),
        count => Err(Reason::TooManyCommands { count }),
    }
}

fn read_list(list: &CompoundList, policy: &Policy, into: &mut Vec<Simple>) -> Result<(), Reason> {
    for item in &list.0 {
        if matches!(item.1, SeparatorOperator::Async) {
            return Err(Reason::Background);
        }
        read_pipeline(&item.0.first, policy, into)?;
        for more in &item.0.additional {
            let (AndOr::And(pipeline) | AndOr::Or(pipeline)) = more;
            read_pipeline(pipeline, policy, into)?;
        }
    }
    Ok(())
}

fn read_pipeline(
    pipeline: &Pipeline,
    policy: &Policy,
    into: &mut Vec<Simple>,
) -> Result<(), Reason> {
    if pipeline.timed.is_some() {
        return Err(Reason::Timing);
    }
    if pipeline.bang {
        return Err(Reason::Negation);
    }
    for command in &pipeline.seq {
        into.push(read_command(command, policy)?);
    }
    Ok(())
}

fn read_command(command: &Command, policy: &Policy) -> Result<Simple, Reason> {
    let what = match command {
        Command::Simple(simple) => return read_simple(simple, policy),
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

fn read_simple(simple: &SimpleCommand, policy: &Policy) -> Result<Simple, Reason> {
    let mut words = Vec::new();
    for item in simple.prefix.iter().flat_map(|prefix| &prefix.0) {
        if let Item::AssignmentWord(assignment, _) = item {
            let name = assignment.name.to_string();
            return Err(Reason::Assignment { name });
        }
        read_item(item, policy, &mut words)?;
    }
    let name = simple.word_or_name.as_ref().ok_or(Reason::Empty)?;
    let name = Word::read(&name.value)?;
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    if !name.plain || name.glob || name.home || !name.text.bytes().all(is_plain) {
        return Err(Reason::HiddenCommand { name: name.text });
    }
    for item in simple.suffix.iter().flat_map(|suffix| &suffix.0) {
        read_item(item, policy, &mut words)?;
    }
    Ok(Simple {
        name: name.text,
        words,
    })
}

fn read_item(item: &Item, policy: &Policy, words: &mut Vec<Word>) -> Result<(), Reason> {
    match item {
        // After the command name, `a=b` is a word like any other.
        Item::Word(word) | Item::AssignmentWord(_, word) => words.push(Word::read(&word.value)?),
        Item::ProcessSubstitution(..) => {
            return Err(Reason::Compound {
                what: "a process substitution",
            });
        }
        Item::IoRedirect(redirect) => check_redirect(redirect, policy)?,
    }
    Ok(())
}

fn check_redirect(redirect: &IoRedirect, policy: &Policy) -> Result<(), Reason> {
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
        IoRedirect::OutputAndError(word, _) if word.value == NOWHERE => Ok(()),
        IoRedirect::File(fd, Kind::Write | Kind::Append, Target::Filename(word))
            if matches!(fd, None | Some(1 | 2)) && word.value == NOWHERE =>
        {
            Ok(())
        }
        IoRedirect::File(fd, Kind::DuplicateOutput, target)
            if matches!(fd, None | Some(1 | 2)) && is_output(target) =>
        {
            Ok(())
        }
        IoRedirect::File(None | Some(0), Kind::Read, Target::Filename(word)) => {
            let word = Word::read(&word.value)?;
            if word.glob {
                return Err(Reason::Glob { word: word.text });
            }
            places::check_contents(&word, policy)
        }
        IoRedirect::OutputAndError(..) | IoRedirect::File(..) => Err(refused()),
    }
}

/// Where output may go and is gone.
const NOWHERE: &str = "/dev/null";

fn is_output(target: &Target) -> bool {
    match target {
        Target::Fd(fd) => matches!(fd, 1 | 2),
        Target::Duplicate(word) => matches!(word.value.as_str(), "1" | "2"),
        Target::Filename(_) | Target::ProcessSubstitution(..) => false,
    }
}
