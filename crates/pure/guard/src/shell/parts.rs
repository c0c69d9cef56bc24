//! Simple commands of any command line, for rules that name commands.
//!
//! # Model
//! Where [`classify`](super::classify) refuses whatever it does not know, this module takes apart
//! whatever a shell would accept: lists, pipes, groups, loops, conditions, functions. Each simple
//! command becomes a [`Part`]: its words as written, the variables set before it, the files it
//! writes by redirection, and whether one of its words runs further commands.
//!
//! # Not here
//! Judgement. A part that a rule allows is allowed; the other parts are not.

use super::LONGEST_LINE;
use super::reason::Reason;
use brush_parser::ast::{
    AndOr, AssignmentValue, Command, CommandPrefixOrSuffixItem as Item, CompoundCommand,
    CompoundList, FunctionDefinition, IoFileRedirectKind as Kind, IoFileRedirectTarget as Target,
    IoRedirect, Pipeline, RedirectList, SimpleCommand, Word,
};
use brush_parser::{Parser, ParserOptions};

/// Programs that run the command behind them and change nothing about its effect.
const WRAPPERS: [&str; 8] = [
    "timeout", "time", "nice", "nohup", "stdbuf", "command", "builtin", "xargs",
];

/// Simple command of a line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Part {
    /// Words of the command as written, quotes included, wrappers such as `timeout 5` left out.
    pub words: Vec<String>,
    /// Names of the variables set before the command.
    pub variables: Vec<String>,
    /// Files written by redirection, as written; `/dev/null` left out.
    pub writes: Vec<String>,
    /// Files read by redirection, as written.
    pub reads: Vec<String>,
    /// True if a word, a variable or a here document runs further commands by substitution.
    pub computes: bool,
}

impl Part {
    /// The command as one line, its words joined by single spaces.
    pub fn text(&self) -> String {
        self.words.join(" ")
    }
}

/// Simple commands of a line, in order, those inside compound commands and substitutions of
/// processes included.
///
/// # Errors
/// When the line is too long or no shell would accept it.
pub fn parts(line: &str) -> Result<Vec<Part>, Reason> {
    if line.len() > LONGEST_LINE {
        return Err(Reason::TooLong { bytes: line.len() });
    }
    let options = ParserOptions::default();
    let program = Parser::new(line.as_bytes(), &options)
        .parse_program()
        .map_err(|error| Reason::Unparsable {
            detail: error.to_string(),
        })?;
    let mut found = Found::default();
    for list in &program.complete_commands {
        found.list(list);
    }
    if found.0.is_empty() {
        return Err(Reason::Empty);
    }
    Ok(found.0)
}

#[derive(Default)]
struct Found(Vec<Part>);

impl Found {
    fn list(&mut self, list: &CompoundList) {
        for item in &list.0 {
            self.pipeline(&item.0.first);
            for more in &item.0.additional {
                let (AndOr::And(pipeline) | AndOr::Or(pipeline)) = more;
                self.pipeline(pipeline);
            }
        }
    }

    fn pipeline(&mut self, pipeline: &Pipeline) {
        for command in &pipeline.seq {
            self.command(command);
        }
    }

    fn command(&mut self, command: &Command) {
        match command {
            Command::Simple(simple) => self.simple(simple),
            Command::Compound(compound, redirects) => {
                self.compound(compound);
                self.redirected(redirects.as_ref());
            }
            Command::Function(function) => self.function(function),
            Command::ExtendedTest(test, redirects) => {
                // A test runs nothing by itself; a word in it may.
                self.words_of(&test.expr.to_string());
                self.redirected(redirects.as_ref());
            }
        }
    }

    fn compound(&mut self, compound: &CompoundCommand) {
        match compound {
            CompoundCommand::Arithmetic(arithmetic) => self.words_of(&arithmetic.expr.value),
            CompoundCommand::ArithmeticForClause(clause) => {
                let parts = [&clause.initializer, &clause.condition, &clause.updater];
                for expression in parts.into_iter().flatten() {
                    self.words_of(&expression.value);
                }
                self.list(&clause.body.list);
            }
            CompoundCommand::BraceGroup(group) => self.list(&group.list),
            CompoundCommand::Subshell(subshell) => self.list(&subshell.list),
            CompoundCommand::ForClause(clause) => {
                for value in clause.values.iter().flatten() {
                    self.words_of(&value.value);
                }
                self.list(&clause.body.list);
            }
            CompoundCommand::CaseClause(clause) => {
                self.words_of(&clause.value.value);
                for case in &clause.cases {
                    case.patterns.iter().for_each(|it| self.words_of(&it.value));
                    case.cmd.iter().for_each(|list| self.list(list));
                }
            }
            CompoundCommand::IfClause(clause) => {
                self.list(&clause.condition);
                self.list(&clause.then);
                for other in clause.elses.iter().flatten() {
                    other.condition.iter().for_each(|list| self.list(list));
                    self.list(&other.body);
                }
            }
            CompoundCommand::WhileClause(clause) | CompoundCommand::UntilClause(clause) => {
                self.list(&clause.0);
                self.list(&clause.1.list);
            }
            CompoundCommand::Coprocess(coprocess) => self.command(&coprocess.body),
        }
    }

    fn function(&mut self, function: &FunctionDefinition) {
        // The name may hide a program that a later part calls; no rule can know which one runs.
        self.0.push(Part {
            words: vec![format!("{}()", function.fname.value)],
            computes: true,
            ..Part::default()
        });
        self.compound(&function.body.0);
        self.redirected(function.body.1.as_ref());
    }

    fn simple(&mut self, simple: &SimpleCommand) {
        let mut part = Part::default();
        for item in simple.prefix.iter().flat_map(|prefix| &prefix.0) {
            if let Item::AssignmentWord(assignment, _) = item {
                part.variables.push(assignment.name.to_string());
                let computes = match &assignment.value {
                    AssignmentValue::Scalar(word) => substitutes(&word.value),
                    AssignmentValue::Array(items) => {
                        items.iter().any(|(_, word)| substitutes(&word.value))
                    }
                };
                part.computes |= computes;
            } else {
                self.item(item, &mut part);
            }
        }
        if let Some(name) = &simple.word_or_name {
            take(&mut part, name);
        }
        for item in simple.suffix.iter().flat_map(|suffix| &suffix.0) {
            self.item(item, &mut part);
        }
        unwrap(&mut part.words);
        self.0.push(part);
    }

    fn item(&mut self, item: &Item, part: &mut Part) {
        match item {
            Item::Word(word) | Item::AssignmentWord(_, word) => take(part, word),
            Item::ProcessSubstitution(_, subshell) => {
                part.words.push("<(…)".to_owned());
                self.list(&subshell.list);
            }
            Item::IoRedirect(redirect) => self.redirect(redirect, part),
        }
    }

    fn redirect(&mut self, redirect: &IoRedirect, part: &mut Part) {
        match redirect {
            IoRedirect::File(_, kind, target) => {
                let word = match target {
                    Target::Filename(word) | Target::Duplicate(word) => word,
                    Target::Fd(_) => return,
                    Target::ProcessSubstitution(_, subshell) => {
                        self.list(&subshell.list);
                        return;
                    }
                };
                part.computes |= substitutes(&word.value);
                let writes = match kind {
                    Kind::Write | Kind::Append | Kind::ReadAndWrite | Kind::Clobber => true,
                    // `>&2` copies a descriptor; `>&file` writes a file.
                    Kind::DuplicateOutput => !word.value.bytes().all(is_descriptor),
                    Kind::Read | Kind::DuplicateInput => false,
                };
                if writes && word.value != NOWHERE {
                    part.writes.push(word.value.clone());
                } else if matches!(kind, Kind::Read) {
                    part.reads.push(word.value.clone());
                }
            }
            IoRedirect::HereDocument(_, document) => {
                part.computes |= document.requires_expansion && substitutes(&document.doc.value);
            }
            IoRedirect::HereString(_, word) => part.computes |= substitutes(&word.value),
            IoRedirect::OutputAndError(word, _) => {
                part.computes |= substitutes(&word.value);
                if word.value != NOWHERE {
                    part.writes.push(word.value.clone());
                }
            }
        }
    }

    /// Redirections behind a compound command, as a part without words.
    fn redirected(&mut self, redirects: Option<&RedirectList>) {
        let mut part = Part::default();
        for redirect in redirects.iter().flat_map(|list| &list.0) {
            self.redirect(redirect, &mut part);
        }
        if part.computes || !part.writes.is_empty() {
            self.0.push(part);
        }
    }

    /// Words outside any command: only a substitution in them runs something.
    fn words_of(&mut self, text: &str) {
        if substitutes(text) {
            self.0.push(Part {
                words: vec![text.to_owned()],
                computes: true,
                ..Part::default()
            });
        }
    }
}

/// Target of a redirection that discards everything.
const NOWHERE: &str = "/dev/null";

fn is_descriptor(byte: u8) -> bool {
    byte.is_ascii_digit() || byte == b'-'
}

fn take(part: &mut Part, word: &Word) {
    part.computes |= substitutes(&word.value);
    part.words.push(word.value.clone());
}

/// True if a word runs commands when the shell expands it. In doubt it does: an escaped sign counts
/// as one, only single quotes are looked at.
fn substitutes(word: &str) -> bool {
    let (mut quoted, mut before) = (false, ' ');
    for sign in word.chars() {
        match sign {
            '\'' if before != '\\' => quoted = !quoted,
            '`' if !quoted => return true,
            '(' if !quoted && matches!(before, '$' | '<' | '>') => return true,
            _ => {}
        }
        before = sign;
    }
    // Within double quotes a single quote is a letter: `"it's $(date)"` ends quoted by this count.
    word.contains('"') && (word.contains("$(") || word.contains('`'))
}

/// Leaves out wrappers with their options and numbers, as long as a command follows.
fn unwrap(words: &mut Vec<String>) {
    loop {
        let Some(name) = words.first() else { return };
        if !WRAPPERS.contains(&name.as_str()) {
            return;
        }
        // Only a bare `xargs` passes its command on unchanged; with options it may split it.
        if name == "xargs" && words.get(1).is_none_or(|next| next.starts_with('-')) {
            return;
        }
        let arguments = words[1..]
            .iter()
            .take_while(|word| is_setting(word))
            .count();
        if arguments + 1 >= words.len() {
            return;
        }
        words.drain(..=arguments);
    }
}

/// True for an option or a number of a wrapper: `-n`, `-oL`, `5`, `1.5m`.
fn is_setting(word: &str) -> bool {
    let number = word.trim_end_matches(['s', 'm', 'h', 'd']);
    word.starts_with('-')
        || (!number.is_empty() && number.bytes().all(|it| it.is_ascii_digit() || it == b'.'))
}

#[cfg(test)]
#[path = "parts_tests.rs"]
mod tests;
