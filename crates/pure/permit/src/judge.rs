//! The verdict on a call.

use crate::call::{Action, Call, Ground};
use crate::mode::Mode;
use crate::protected::is_protected;
use crate::rule::{Behaviour, Rule, Rules};
use crate::shell;
use crate::verdict::{Because, Ruling, Verdict};
use dormouse_guard::shell::{Folder, Part, Policy, Reach, classify_with, parts};
use std::path::{Path, PathBuf};

/// Programs that only move files about; they run without a question where edits do.
const FILE_COMMANDS: [&str; 4] = ["mkdir", "touch", "mv", "cp"];

/// Judges a call: refusals first, then the mode that runs everything, then questions, then what is
/// allowed or harmless, and the mode for the rest.
pub fn judge(call: &Call<'_>, rules: &Rules, mode: Mode, ground: &Ground) -> Verdict {
    let question = Question {
        call,
        rules,
        mode,
        ground,
    };
    match call.action {
        Action::Shell { line, outside } => question.shell(line, outside),
        _ => question.other(),
    }
}

struct Question<'a> {
    call: &'a Call<'a>,
    rules: &'a Rules,
    mode: Mode,
    ground: &'a Ground,
}

impl Question<'_> {
    fn shell(&self, line: &str, outside: bool) -> Verdict {
        let found = match parts(line) {
            Ok(found) => found,
            Err(reason) => return self.unclear(line, reason.to_string()),
        };
        if let Some(because) = self.any_part(Behaviour::Deny, &found) {
            return refuse(because);
        }
        let edits: Vec<PathBuf> = self.writes(&found);
        if let Some(because) = self.any_edit(Behaviour::Deny, &edits) {
            return refuse(because);
        }
        let lasting = || self.lasting(&found);
        let asks = self
            .any_part(Behaviour::Ask, &found)
            .or_else(|| self.any_edit(Behaviour::Ask, &edits));
        if self.mode == Mode::All {
            return asks.map_or(run(Because::Mode(Mode::All)), |because| {
                ask(because, vec![])
            });
        }
        let reads = self.only_reads(line);
        if self.mode == Mode::Plan && !reads {
            return refuse(Because::Mode(Mode::Plan));
        }
        if let Some(because) = asks {
            return self.unless_denied(because, vec![]);
        }
        if let Some(path) = edits.iter().find(|path| is_protected(path)) {
            return self.unless_denied(protected(path), vec![]);
        }
        if reads {
            return run(Because::Reads);
        }
        let unclear_write = found.iter().flat_map(|part| &part.writes).count() != edits.len();
        if !unclear_write && found.iter().all(|part| self.part_allowed(part, &edits)) {
            return run(Because::EachAllowed);
        }
        match self.mode {
            Mode::Sandbox if outside => ask(Because::LeavesSandbox, lasting()),
            Mode::Sandbox if self.ground.sandbox => confined(),
            Mode::Sandbox => ask(Because::NoSandbox, lasting()),
            Mode::AcceptEdits if found.iter().all(|part| self.moves_files(part)) => {
                run(Because::Mode(self.mode))
            }
            _ => self.unless_denied(Because::Mode(self.mode), lasting()),
        }
    }

    fn other(&self) -> Verdict {
        let call = self.call;
        if let Some(because) = self.by_rule(Behaviour::Deny) {
            return refuse(because);
        }
        let asks = self.by_rule(Behaviour::Ask);
        if self.mode == Mode::All {
            return asks.map_or(run(Because::Mode(Mode::All)), |because| {
                ask(because, vec![])
            });
        }
        let reads = matches!(
            call.action,
            Action::Read { .. } | Action::Fetch { .. } | Action::Harmless
        );
        if self.mode == Mode::Plan && !reads {
            return refuse(Because::Mode(Mode::Plan));
        }
        if let Some(because) = asks {
            return self.unless_denied(because, vec![]);
        }
        if let Action::Edit { .. } = call.action
            && let Some(path) = call
                .action
                .paths()
                .into_iter()
                .find(|path| is_protected(path))
        {
            return self.unless_denied(protected(path), vec![]);
        }
        if let Some(because) = self.by_rule(Behaviour::Allow) {
            return run(because);
        }
        let outside = call
            .action
            .paths()
            .into_iter()
            .find(|path| !self.ground.holds(path));
        let because = match outside {
            Some(path) => Because::Outside {
                path: path.display().to_string(),
            },
            None => Because::Mode(self.mode),
        };
        let inside = outside.is_none();
        match call.action {
            Action::Harmless => run(Because::Reads),
            Action::Read { .. } if inside => run(Because::Reads),
            Action::Edit { .. }
                if inside && matches!(self.mode, Mode::AcceptEdits | Mode::Sandbox) =>
            {
                run(because)
            }
            Action::Fetch { host } => {
                self.unless_denied(because, vec![format!("{}(domain:{host})", call.tool)])
            }
            Action::Other => self.unless_denied(because, vec![call.tool.to_owned()]),
            // Files outside, and edits in modes that ask: the mode can be changed, and a lasting
            // rule for one file helps nobody.
            _ => self.unless_denied(because, vec![]),
        }
    }

    /// Verdict on a line that cannot be taken apart.
    fn unclear(&self, line: &str, why: String) -> Verdict {
        // Every piece between separators, as a shell might see it: a refusal must not be escaped by
        // a broken quote.
        let pieces = line.split([';', '|', '&', '\n', '(', ')', '`']);
        let pieces: Vec<Part> = pieces
            .map(|piece| Part {
                words: piece.split_whitespace().map(str::to_owned).collect(),
                computes: true,
                ..Part::default()
            })
            .filter(|part| !part.words.is_empty())
            .collect();
        if let Some(because) = self.any_part(Behaviour::Deny, &pieces) {
            return refuse(because);
        }
        let because = Because::Unclear { why };
        match self.mode {
            Mode::All => run(Because::Mode(Mode::All)),
            Mode::Plan => refuse(Because::Mode(Mode::Plan)),
            // The sandbox holds whatever the line turns out to be.
            Mode::Sandbox if self.ground.sandbox => confined(),
            _ => self.unless_denied(because, vec![]),
        }
    }

    fn by_rule(&self, behaviour: Behaviour) -> Option<Because> {
        let rules = self.rules.of(behaviour).iter();
        let mut matching = rules.filter(|rule| rule.matches(behaviour, self.call, self.ground));
        matching.next().map(|rule| named(behaviour, rule))
    }

    fn any_part(&self, behaviour: Behaviour, found: &[Part]) -> Option<Because> {
        let rules = self.rules.of(behaviour).iter();
        let tool = self.call.tool;
        let about = |rule: &&Rule| {
            found
                .iter()
                .any(|part| rule.matches_part(behaviour, tool, part))
        };
        rules.clone().find(about).map(|rule| named(behaviour, rule))
    }

    /// First rule of a kind about one of the files that the line writes.
    fn any_edit(&self, behaviour: Behaviour, edits: &[PathBuf]) -> Option<Because> {
        let rules = self.rules.of(behaviour).iter();
        let about = |rule: &&Rule| {
            edits
                .iter()
                .any(|path| self.edits_file(rule, behaviour, path))
        };
        rules.clone().find(about).map(|rule| named(behaviour, rule))
    }

    fn edits_file(&self, rule: &Rule, behaviour: Behaviour, path: &Path) -> bool {
        let edit = Call::new(
            "Edit",
            Action::Edit {
                path: path.to_owned(),
                real: None,
            },
        );
        rule.matches(behaviour, &edit, self.ground)
    }

    /// Files written by redirection, as far as their names are plain.
    fn writes(&self, found: &[Part]) -> Vec<PathBuf> {
        let named = found.iter().flat_map(|part| &part.writes);
        named
            .filter_map(|word| self.ground.absolute(&plain(word)?))
            .collect()
    }

    fn part_allowed(&self, part: &Part, edits: &[PathBuf]) -> bool {
        let tool = self.call.tool;
        let allowed = self.rules.of(Behaviour::Allow).iter();
        let by_rule = allowed
            .clone()
            .any(|rule| rule.matches_part(Behaviour::Allow, tool, part));
        // Without a command there is only the redirection; a variable would change later commands.
        let bare = part.words.is_empty() && !part.writes.is_empty();
        let unchanged = part.variables.is_empty() && part.reads.is_empty() && !part.computes;
        let command = by_rule || (unchanged && (bare || self.only_reads(&part.text())));
        let written = part.writes.is_empty()
            || edits.iter().all(|path| {
                allowed
                    .clone()
                    .any(|rule| self.edits_file(rule, Behaviour::Allow, path))
                    || (self.ground.holds(path)
                        && matches!(self.mode, Mode::AcceptEdits | Mode::Sandbox))
            });
        command && written
    }

    /// True if the command only makes, copies or moves files inside the folders of the session.
    fn moves_files(&self, part: &Part) -> bool {
        let inside = |word: &String| {
            word.starts_with('-')
                || plain(word)
                    .and_then(|word| self.ground.absolute(&word))
                    .is_some_and(|path| self.ground.holds(&path) && !is_protected(&path))
        };
        let names_it = part
            .words
            .first()
            .is_some_and(|name| FILE_COMMANDS.contains(&name.as_str()));
        // `-t` and its long form name a target in an argument of their own.
        let hides_target = part
            .words
            .iter()
            .any(|word| word.starts_with("-t") || word.starts_with("--t"));
        names_it
            && !hides_target
            && !part.computes
            && part.variables.is_empty()
            && part.writes.is_empty()
            && part.words.iter().skip(1).all(inside)
    }

    fn only_reads(&self, line: &str) -> bool {
        let policy = Policy {
            reach: Reach::Below(self.ground.roots().map(Path::to_owned).collect()),
            folder: if self.ground.trusted {
                Folder::Held
            } else {
                Folder::Loose
            },
            ..Policy::default()
        };
        classify_with(line, &policy).is_allowed()
    }

    fn lasting(&self, found: &[Part]) -> Vec<String> {
        let mut rules = Vec::new();
        for part in found.iter().filter(|part| !self.part_allowed(part, &[])) {
            match shell::lasting(self.call.tool, part) {
                Some(rule) if rules.contains(&rule) => {}
                Some(rule) => rules.push(rule),
                // One command that no rule can name: a rule for the others would not help.
                None => return Vec::new(),
            }
        }
        rules
    }

    /// A question, or a refusal in the mode that asks nobody.
    fn unless_denied(&self, because: Because, lasting: Vec<String>) -> Verdict {
        match self.mode {
            Mode::Deny => refuse(because),
            _ => ask(because, lasting),
        }
    }
}

/// Word without quotes, if the shell would take it as it is.
fn plain(word: &str) -> Option<String> {
    let quoted = |quote: char| {
        word.strip_prefix(quote)
            .and_then(|rest| rest.strip_suffix(quote))
            .filter(|inner| !inner.contains(quote))
    };
    let text = match quoted('\'') {
        Some(inner) => return Some(inner.to_owned()),
        None => quoted('"').unwrap_or(word),
    };
    let special = |sign: char| "$`*?[]{}()\\'\"!".contains(sign);
    (!text.contains(special)).then(|| text.to_owned())
}

fn named(behaviour: Behaviour, rule: &Rule) -> Because {
    Because::Rule {
        behaviour,
        rule: rule.text().to_owned(),
        origin: rule.origin().name.clone(),
    }
}

fn protected(path: &Path) -> Because {
    Because::Protected {
        path: path.display().to_string(),
    }
}

fn run(because: Because) -> Verdict {
    Verdict {
        ruling: Ruling::Run,
        because,
    }
}

fn confined() -> Verdict {
    Verdict {
        ruling: Ruling::RunConfined,
        because: Because::Mode(Mode::Sandbox),
    }
}

fn ask(because: Because, lasting: Vec<String>) -> Verdict {
    Verdict {
        ruling: Ruling::Ask { lasting },
        because,
    }
}

fn refuse(because: Because) -> Verdict {
    Verdict {
        ruling: Ruling::Refuse,
        because,
    }
}
