//! Prompts and commands that are typed: `/name`, `!line`, words.

use crate::cell::Cell;
use crate::keys::KEYS;
use crate::line::Theme;
use crate::model::{Effect, Model, PROMPT};
use crate::panel::PanelKind;
use crate::port::Wish;
use dormouse_agent::protocol::{Attachment, EffortLevel, RewindWhat, When};
use dormouse_agent::{Command, Mode};
use dormouse_core::block::Block;
use std::fmt::Write as _;

/// Commands of the screen itself: name and purpose.
const OWN: [(&str, &str); 23] = [
    ("help", "These commands"),
    ("keys", "Keys of this screen"),
    ("cost", "Tokens and dollars of this session, by model"),
    (
        "undo",
        "Undo the last rewrite of the prompt: compaction, clearing, distilling",
    ),
    ("fork", "Copy this session under an id of its own"),
    ("model", "Talk to another model: /model NAME"),
    (
        "effort",
        "Effort of the model: low, medium, high, xhigh, or none for its own",
    ),
    (
        "mode",
        "Answer to calls that no rule decides: ask, accept-edits, plan, sandbox, deny, all",
    ),
    ("plan", "Plan mode: only reading until a plan is approved"),
    ("tasks", "Background work"),
    ("kill", "End a background task: /kill ID"),
    ("retry", "Go on after an interruption or an error"),
    ("attach", "Send a file with words: /attach PATH words"),
    ("copy", "Copy the last answer to the clipboard"),
    ("theme", "Colours of this screen: dark, light or mono"),
    (
        "forgotten",
        "What was forgotten, when, why, for how much; u takes it back (Ctrl+O)",
    ),
    ("next", "What the next compaction would drop, and its price"),
    ("recalled", "Memories that were brought in, and why"),
    ("inbox", "Memories that wait: approve, reject, edit"),
    (
        "changes",
        "Changes of the memory and dreams, with their diffs",
    ),
    (
        "export",
        "Write this session to a file: /export [md|html] [FILE]",
    ),
    ("demo", "Two minutes that show every layer, without a model"),
    ("exit", "Leave; the session is kept"),
];
/// Names of the command line whose newest session is this one.
const ON_SESSION: [&str; 6] = ["context", "log", "replay", "rewind", "usage", "view"];
/// Answer to everything that would write a session that another process writes.
const READ_ONLY: &str =
    "another terminal writes this session: here it is read-only; /fork goes on with a copy";
impl Model {
    /// All commands that can be typed, with their purposes.
    pub(crate) fn commands(&self) -> Vec<(String, String)> {
        let own = OWN
            .iter()
            .map(|(name, about)| ((*name).to_owned(), (*about).to_owned()));
        let agent = self.agent_commands().iter();
        let agent = agent.map(|command| {
            (
                command.name.clone(),
                crate::text::clean(&command.description),
            )
        });
        let mut all: Vec<(String, String)> = own
            .chain(agent)
            .chain(self.start.commands.iter().cloned())
            .collect();
        all.sort_by(|one, other| one.0.cmp(&other.0));
        all.dedup_by(|later, earlier| later.0 == earlier.0);
        all
    }

    /// Opens, changes or closes the list of commands or files, as the composer says.
    pub(crate) fn look_up(&mut self) -> Vec<Effect> {
        if let Some(effects) = self.look_up_files() {
            return effects;
        }
        let Some(begun) = self
            .composer
            .text()
            .strip_prefix('/')
            .filter(|begun| !begun.contains(char::is_whitespace))
        else {
            self.completion.close();
            return Vec::new();
        };
        let mut found = self.commands();
        found.retain(|(name, _)| name.starts_with(begun));
        self.completion.show_commands(found);
        Vec::new()
    }

    /// Sends what is written.
    pub(crate) fn submit(&mut self, when: When) -> Vec<Effect> {
        if let Some(name) = self.completion.chosen_command().map(str::to_owned) {
            self.composer.set(&format!("/{name}"));
        }
        self.completion.close();
        let text = self.composer.take();
        self.send(&text, when)
    }

    /// Carries out a line: a command, a line for the shell, or a prompt.
    pub(crate) fn send(&mut self, text: &str, when: When) -> Vec<Effect> {
        let trimmed = text.trim();
        if trimmed.is_empty() {
            return Vec::new();
        }
        if self.opening && !matches!(trimmed, "/exit" | "/quit") {
            self.held.push((text.to_owned(), when));
            return Vec::new();
        }
        if let Some(line) = trimmed
            .strip_prefix('!')
            .map(str::trim)
            .filter(|line| !line.is_empty())
        {
            self.running.push(format!("!{line}"));
            return vec![Effect::Shell(line.to_owned())];
        }
        if let Some(command) = trimmed.strip_prefix('/') {
            let (name, rest) = command
                .split_once(char::is_whitespace)
                .unwrap_or((command, ""));
            let agents = self.agent_commands().iter().any(|known| known.name == name);
            let known = self.commands().iter().any(|(known, _)| known == name)
                || matches!(name, "quit" | "memory");
            if known && !agents {
                return self.command(name, rest.trim());
            }
            if !known && self.session.is_none() {
                self.warn(format!("there is no command /{name}; /help lists them"));
                return Vec::new();
            }
        }
        self.prompt(text.to_owned(), Vec::new(), when)
    }

    fn prompt(
        &mut self,
        text: String,
        mut attachments: Vec<Attachment>,
        when: When,
    ) -> Vec<Effect> {
        if self.session.is_none() {
            let why = self.start.without_agent.clone().unwrap_or_default();
            self.warn(why);
            // The words are not lost.
            self.give_back(&text);
            return Vec::new();
        }
        if self.watching {
            self.warn(READ_ONLY);
            self.give_back(&text);
            return Vec::new();
        }
        // A prompt that cannot steer begins a turn, so that both words mean the same then.
        let when = if self.busy { when } else { When::Queue };
        if !self.busy {
            self.busy = true;
            self.ticks = 0;
        }
        attachments.extend(self.mentions_in(&text));
        let command = Command::Prompt {
            content: vec![Block::text(&text)],
            attachments,
            when,
        };
        self.sent.push(text);
        vec![self.ask(PROMPT, command)]
    }

    /// Carries out a command of the screen or of the command line.
    pub(crate) fn command(&mut self, name: &str, rest: &str) -> Vec<Effect> {
        match name {
            "help" => self.help(),
            "keys" => self.print("/keys", KEYS),
            "cost" => {
                let text = self.costs();
                self.print("/cost", &text);
            }
            "copy" if self.last_answer.is_empty() => self.warn("there is no answer to copy"),
            "copy" => {
                self.note("the last answer was handed to the terminal's clipboard");
                return vec![Effect::Copy(self.last_answer.clone())];
            }
            "exit" | "quit" => return self.leave(false),
            "demo" => return vec![Effect::Open(Wish::Demo)],
            "forgotten" => return self.open_panel(PanelKind::Forgotten, rest),
            "next" => return self.open_panel(PanelKind::Next, rest),
            "recalled" => return self.open_panel(PanelKind::Recalled, rest),
            "inbox" => return self.open_panel(PanelKind::Inbox, rest),
            "changes" => return self.open_panel(PanelKind::Changes, rest),
            "rewind" if rest.is_empty() => return self.open_panel(PanelKind::Points, rest),
            "memory" if rest.is_empty() => return self.open_panel(PanelKind::Memories, rest),
            "sessions" if rest.is_empty() => return self.open_panel(PanelKind::Sessions, rest),
            "export" => return self.export(rest),
            "theme" => {
                let theme = match rest {
                    "dark" => Theme::Dark,
                    "light" => Theme::Light,
                    "mono" => Theme::Mono,
                    _ => {
                        self.warn("the themes are dark, light and mono");
                        return Vec::new();
                    }
                };
                self.set_theme(theme);
                return vec![Effect::Theme(theme)];
            }
            _ if OWN.iter().any(|(own, _)| *own == name) => return self.agents(name, rest),
            _ => return self.run(name, rest),
        }
        Vec::new()
    }

    /// Commands that become a command of the protocol.
    fn agents(&mut self, name: &str, rest: &str) -> Vec<Effect> {
        if self.session.is_none() {
            let why = self.start.without_agent.clone().unwrap_or_default();
            self.warn(format!("/{name} needs a model: {why}"));
            return Vec::new();
        }
        if self.watching {
            let session = self.session.as_ref();
            let session = session.map(|session| session.session.to_string());
            if let ("fork", Some(session)) = (name, session) {
                return vec![Effect::Open(Wish::Fork(session))];
            }
            self.warn(READ_ONLY);
            return Vec::new();
        }
        let command = match name {
            "undo" => Command::Undo { rewrite: None },
            "fork" => Command::Fork,
            "tasks" => Command::Tasks,
            "retry" => Command::GoOn,
            "plan" => Command::SetMode { mode: Mode::Plan },
            "model" if !rest.is_empty() => Command::SetModel {
                model: rest.to_owned(),
            },
            "kill" if !rest.is_empty() => Command::KillTask {
                task: rest.to_owned(),
            },
            "mode" => match rest.parse() {
                Ok(mode) => Command::SetMode { mode },
                Err(error) => {
                    self.warn(format!("{error}"));
                    return Vec::new();
                }
            },
            "effort" => match effort(rest) {
                Ok(effort) => Command::SetEffort { effort },
                Err(why) => {
                    self.warn(why);
                    return Vec::new();
                }
            },
            "attach" if !rest.is_empty() => {
                let (path, words) = rest
                    .split_once(char::is_whitespace)
                    .unwrap_or((rest, "Look at this file."));
                let file = Attachment::File { path: path.into() };
                return self.prompt(words.to_owned(), vec![file], When::Queue);
            }
            "model" => {
                let model = self.talks_to.clone();
                self.note(format!(
                    "the model is {model}; /model NAME talks to another"
                ));
                return Vec::new();
            }
            _ => {
                self.warn(format!("/{name} needs a word behind it; /help says which"));
                return Vec::new();
            }
        };
        vec![self.ask("not done", command)]
    }

    /// A command of the command line, about this session where it is about one.
    fn run(&mut self, name: &str, rest: &str) -> Vec<Effect> {
        if let ("rewind", Some((number, what))) = (name, point(rest))
            && self.session.is_some()
        {
            return vec![Effect::FindPoint { number, what }];
        }
        let title = if rest.is_empty() {
            format!("/{name}")
        } else {
            format!("/{name} {rest}")
        };
        let mut words = vec![name.to_owned()];
        words.extend(rest.split_whitespace().map(str::to_owned));
        let session = self
            .session
            .as_ref()
            .map(|session| session.session.to_string());
        // Generated sessions are no session of anybody.
        let about = ON_SESSION.contains(&name)
            && !rest.contains("--generated")
            && !rest.contains("--sessions");
        if let Some(session) = session.filter(|_| about) {
            // Behind the name, because options follow.
            words.insert(1, session);
        } else if name == "memory" && rest.is_empty() {
            words.push("list".to_owned());
        }
        self.running.push(title.clone());
        vec![Effect::Run { title, words }]
    }

    /// Writes the session to a file.
    fn export(&mut self, rest: &str) -> Vec<Effect> {
        let session = self.session.as_ref();
        let Some(session) = session.map(|session| session.session.to_string()) else {
            self.warn("there is no session to export");
            return Vec::new();
        };
        let (format, file) = match rest.split_once(' ').unwrap_or((rest, "")) {
            ("", _) => ("md", ""),
            (format @ ("md" | "html"), file) => (format, file.trim()),
            _ => {
                self.warn("the formats are md and html: /export html talk.html");
                return Vec::new();
            }
        };
        let file = if file.is_empty() {
            let short: String = session.chars().take(8).collect();
            format!("dormouse-{short}.{format}")
        } else {
            file.to_owned()
        };
        let title = format!("/export {format} {file}");
        let words = ["export", &session, "--format", format, "--output", &file];
        self.running.push(title.clone());
        vec![Effect::Run {
            title,
            words: words.map(str::to_owned).to_vec(),
        }]
    }

    fn print(&mut self, title: &str, text: &str) {
        self.put(Cell::Output {
            title: title.to_owned(),
            text: text.to_owned(),
            failed: false,
        });
    }

    fn help(&mut self) {
        let mut text = String::new();
        for (name, about) in self.commands() {
            // Writing to a string cannot fail.
            let _infallible = writeln!(text, "/{name:<12} {about}");
        }
        text.push_str("!line         run a line in the shell; nothing of it is sent to the model");
        self.print("/help (keys: /keys)", &text);
    }

    fn costs(&self) -> String {
        let models = self.figures.by_model();
        if models.is_empty() {
            return "No request was made yet.".to_owned();
        }
        let mut text = String::new();
        for (model, figures) in models {
            let usage = figures.usage;
            let cost = if figures.unpriced > 0 {
                "no price".to_owned()
            } else {
                figures.cost.to_string()
            };
            let cached = crate::status::cached(&usage).unwrap_or_default();
            let prompt = crate::status::thousands(usage.prompt().0);
            let output = crate::status::thousands(usage.output.0);
            let _infallible = writeln!(
                text,
                "{model}: {cost}, {prompt} in ({cached}% from the cache), {output} out"
            );
        }
        text
    }
}

/// Number of a prompt and the part that goes back, as typed behind `/rewind`.
fn point(rest: &str) -> Option<(usize, RewindWhat)> {
    let (number, what) = rest.split_once(' ').unwrap_or((rest, "both"));
    let what = match what.trim() {
        "both" => RewindWhat::Both,
        "files" => RewindWhat::Files,
        "conversation" => RewindWhat::Conversation,
        _ => return None,
    };
    number.parse().ok().map(|number| (number, what))
}

/// Effort by its name; `None` is the model's own.
fn effort(name: &str) -> Result<Option<EffortLevel>, &'static str> {
    Ok(match name {
        "low" => Some(EffortLevel::Low),
        "medium" => Some(EffortLevel::Medium),
        "high" => Some(EffortLevel::High),
        "xhigh" | "max" => Some(EffortLevel::XHigh),
        "none" | "default" => None,
        _ => return Err("the efforts are low, medium, high, xhigh and none"),
    })
}
