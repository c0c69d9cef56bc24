//! Dialogs: a call that waits for permission, questions of the model.

use crate::composer::Composer;
use crate::line::{Line, Role, Span};
use crate::model::{Effect, Model};
use crate::text::{clean, clip_line, wrap};
use dormouse_agent::Command;
use dormouse_agent::protocol::{Answers, Lifetime, PermissionRequest, QuestionRequest};
use dormouse_core::id::CallId;

/// Dialog in place of the composer.
#[derive(Clone, Debug)]
pub(crate) struct Dialog {
    call: CallId,
    kind: Kind,
    /// Option under the cursor.
    chosen: usize,
    /// Words that a person writes instead of choosing.
    words: Option<Composer>,
}

#[derive(Clone, Debug)]
enum Kind {
    Permission {
        title: String,
        rules: Vec<String>,
    },
    Questions {
        asked: Vec<Question>,
        at: usize,
        answers: Answers,
    },
}

/// A question with its options.
#[derive(Clone, Debug)]
struct Question {
    /// The question as it was written.
    text: String,
    options: Vec<(String, String)>,
    /// Options that are ticked, if several may be.
    several: Option<Vec<bool>>,
}

/// Choice of a person in a dialog.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    /// The cursor goes up or down.
    Up,
    Down,
    /// The option under the cursor.
    Enter,
    /// An option by its number, from 1.
    Number(usize),
    /// An option is ticked.
    Tick,
    /// Yes, for this one call.
    Yes,
    /// Yes, until the agent ends.
    Session,
    /// Yes, in this project from now on.
    Always,
    /// No; the turn is stopped.
    No,
    /// Words go with the answer.
    Words,
}

impl Dialog {
    pub(crate) fn permission(wanted: PermissionRequest) -> Self {
        let subject = crate::tool::subject(&wanted.input);
        Self {
            call: wanted.call,
            kind: Kind::Permission {
                title: format!("{} {subject}", wanted.tool),
                rules: wanted.lasting.iter().map(|rule| clean(rule)).collect(),
            },
            chosen: 0,
            words: None,
        }
    }

    /// Questions of the model; `None` if they cannot be read.
    pub(crate) fn question(wanted: QuestionRequest) -> Option<Self> {
        let text = |value: &serde_json::Value| clean(value.as_str().unwrap_or_default());
        let asked = wanted.questions.as_array()?.iter().map(|asked| {
            let options = asked["options"].as_array().into_iter().flatten();
            let options: Vec<_> = options
                .map(|option| (text(&option["label"]), text(&option["description"])))
                .collect();
            let several = asked["multiSelect"].as_bool().unwrap_or_default();
            Question {
                // The answers are told by the question as it was written.
                text: asked["question"].as_str().unwrap_or_default().to_owned(),
                several: several.then(|| vec![false; options.len()]),
                options,
            }
        });
        let asked: Vec<Question> = asked.filter(|asked| !asked.text.is_empty()).collect();
        (!asked.is_empty()).then(|| Self {
            call: wanted.call,
            kind: Kind::Questions {
                asked,
                at: 0,
                answers: Answers::new(),
            },
            chosen: 0,
            words: None,
        })
    }

    pub(crate) const fn call(&self) -> &CallId {
        &self.call
    }

    /// Text that a person writes, if he does.
    pub(crate) const fn words(&mut self) -> Option<&mut Composer> {
        self.words.as_mut()
    }

    fn labels(&self) -> Vec<String> {
        match &self.kind {
            Kind::Permission { rules, .. } if rules.is_empty() => {
                vec![
                    "Yes".to_owned(),
                    "No, and say what to do instead".to_owned(),
                ]
            }
            Kind::Permission { rules, .. } => vec![
                "Yes".to_owned(),
                format!(
                    "Yes, and in this project from now on: {} (s: this session only)",
                    rules.join(", ")
                ),
                "No, and say what to do instead".to_owned(),
            ],
            Kind::Questions { asked, at, .. } => {
                let Some(asked) = asked.get(*at) else {
                    return Vec::new();
                };
                let label = |(nth, (label, about)): (usize, &(String, String))| {
                    let tick = asked.several.as_ref().map_or("", |ticks| {
                        if ticks.get(nth).copied().unwrap_or_default() {
                            "☑ "
                        } else {
                            "☐ "
                        }
                    });
                    if about.is_empty() {
                        format!("{tick}{label}")
                    } else {
                        format!("{tick}{label}: {about}")
                    }
                };
                let mut labels: Vec<String> = asked.options.iter().enumerate().map(label).collect();
                labels.push("In my own words".to_owned());
                labels
            }
        }
    }

    /// Rows of the dialog and the place of the cursor, at a width.
    pub(crate) fn rows(&self, columns: usize) -> (Vec<Line>, Option<(usize, usize)>) {
        let title = match &self.kind {
            Kind::Permission { title, .. } => format!("Allow {title}?"),
            Kind::Questions { asked, at, .. } => {
                clean(asked.get(*at).map_or("", |asked| asked.text.as_str()))
            }
        };
        let mut rows = vec![clip_line(Line::of(title, Role::Warning), columns)];
        for (nth, label) in self.labels().into_iter().enumerate() {
            let (sign, role) = if nth == self.chosen {
                ("› ", Role::Chosen)
            } else {
                ("  ", Role::Plain)
            };
            let spans = [Span::new(format!("{sign}{} {label}", nth + 1), role)];
            rows.extend(wrap(&spans, columns, 4));
        }
        let Some(words) = &self.words else {
            let keys = match &self.kind {
                Kind::Permission { .. } => "y yes · n no · Tab words with No · Esc no and stop",
                Kind::Questions { .. } => "number or arrows and Enter · Space ticks · Esc declines",
            };
            rows.push(clip_line(Line::of(keys, Role::Dim), columns));
            return (rows, None);
        };
        let shown = words.shown(columns.saturating_sub(3));
        let cursor = (rows.len() + shown.cursor.0, shown.cursor.1 + 2);
        for (nth, row) in shown.rows.into_iter().enumerate() {
            let sign = if nth == 0 { "› " } else { "  " };
            rows.push(Line::of(sign, Role::Accent).with(row, Role::Plain));
        }
        (rows, Some(cursor))
    }
}

impl Model {
    /// Carries out a choice in the first dialog.
    pub(crate) fn choose(&mut self, choice: Choice) -> Vec<Effect> {
        let Some(dialog) = self.dialogs.front_mut() else {
            return Vec::new();
        };
        let count = dialog.labels().len().max(1);
        match choice {
            Choice::Up => dialog.chosen = (dialog.chosen + count - 1) % count,
            Choice::Down => dialog.chosen = (dialog.chosen + 1) % count,
            Choice::Number(number) if (1..=count).contains(&number) => {
                dialog.chosen = number - 1;
                return self.chosen();
            }
            Choice::Number(_) => {}
            Choice::Words => {
                if let Kind::Permission { .. } = dialog.kind {
                    dialog.words = Some(Composer::default());
                }
            }
            Choice::Tick => tick(dialog),
            Choice::Enter => return self.chosen(),
            Choice::Yes => return self.permit(None),
            Choice::Session => return self.permit(Some(Lifetime::Session)),
            Choice::Always => return self.permit(Some(Lifetime::Project)),
            Choice::No => return self.refuse(None),
        }
        Vec::new()
    }

    /// The option under the cursor, or the words that were written.
    fn chosen(&mut self) -> Vec<Effect> {
        let Some(dialog) = self.dialogs.front_mut() else {
            return Vec::new();
        };
        if let Some(words) = &mut dialog.words {
            let words = words.take();
            return match &dialog.kind {
                Kind::Permission { .. } => {
                    self.refuse(Some(words).filter(|words| !words.trim().is_empty()))
                }
                Kind::Questions { .. } => self.answer(words),
            };
        }
        let last = dialog.labels().len().saturating_sub(1);
        match &mut dialog.kind {
            Kind::Permission { .. } if dialog.chosen == last => {
                dialog.words = Some(Composer::default());
                Vec::new()
            }
            Kind::Permission { .. } if dialog.chosen == 1 => self.permit(Some(Lifetime::Project)),
            Kind::Permission { .. } => self.permit(None),
            Kind::Questions { asked, at, .. } => {
                let Some(asked) = asked.get(*at) else {
                    return Vec::new();
                };
                if dialog.chosen == last {
                    dialog.words = Some(Composer::default());
                    return Vec::new();
                }
                let answer = match &asked.several {
                    // Nothing ticked: the option under the cursor is meant.
                    Some(ticks) if ticks.contains(&true) => {
                        let ticked = asked
                            .options
                            .iter()
                            .zip(ticks)
                            .filter(|(_, ticked)| **ticked);
                        ticked
                            .map(|((label, _), _)| label.as_str())
                            .collect::<Vec<_>>()
                            .join(", ")
                    }
                    _ => asked
                        .options
                        .get(dialog.chosen)
                        .map_or_else(String::new, |(label, _)| label.clone()),
                };
                self.answer(answer)
            }
        }
    }

    fn permit(&mut self, remember: Option<Lifetime>) -> Vec<Effect> {
        let is_permission = self
            .dialogs
            .front()
            .is_some_and(|dialog| matches!(dialog.kind, Kind::Permission { .. }));
        if !is_permission {
            return Vec::new();
        }
        let Some(dialog) = self.dialogs.pop_front() else {
            return Vec::new();
        };
        let has_rules = matches!(&dialog.kind, Kind::Permission { rules, .. } if !rules.is_empty());
        let permit = Command::Permit {
            call: dialog.call,
            allow: true,
            words: None,
            input: None,
            remember: remember.filter(|_| has_rules),
        };
        vec![self.ask("the answer did not reach the call", permit)]
    }

    /// Refuses the call; without words the turn is stopped, because the model has nothing to go by.
    pub(crate) fn refuse(&mut self, words: Option<String>) -> Vec<Effect> {
        let Some(dialog) = self.dialogs.pop_front() else {
            return Vec::new();
        };
        let stops = words.is_none();
        let refuse = Command::Permit {
            call: dialog.call,
            allow: false,
            words,
            input: None,
            remember: None,
        };
        let mut effects = vec![self.ask("the answer did not reach the call", refuse)];
        if stops {
            effects.push(Effect::Send(Command::Interrupt.into()));
        }
        effects
    }

    /// Answers the question that is shown; the last answer sends all.
    fn answer(&mut self, answer: String) -> Vec<Effect> {
        let Some(dialog) = self.dialogs.front_mut() else {
            return Vec::new();
        };
        let Kind::Questions { asked, at, answers } = &mut dialog.kind else {
            return Vec::new();
        };
        if let Some(asked) = asked.get(*at) {
            answers.insert(asked.text.clone(), answer);
        }
        *at += 1;
        dialog.chosen = 0;
        dialog.words = None;
        if *at < asked.len() {
            return Vec::new();
        }
        let answers = std::mem::take(answers);
        let call = dialog.call.clone();
        self.dialogs.pop_front();
        let told: Vec<String> = answers
            .iter()
            .map(|(question, answer)| format!("{question} {answer}"))
            .collect();
        self.note(told.join(" · "));
        vec![self.ask(
            "the answer did not reach the call",
            Command::Answer { call, answers },
        )]
    }
}

fn tick(dialog: &mut Dialog) {
    let chosen = dialog.chosen;
    if let Kind::Questions { asked, at, .. } = &mut dialog.kind
        && let Some(ticks) = asked.get_mut(*at).and_then(|asked| asked.several.as_mut())
        && let Some(ticked) = ticks.get_mut(chosen)
    {
        *ticked = !*ticked;
    }
}
