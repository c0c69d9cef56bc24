//! Keys, in the places where people of other agents know them.

use crate::composer::Edit;
use crate::dialog::Choice;
use crate::model::{Armed, Effect, Model};
use crate::panel::PanelKind;
use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use dormouse_agent::protocol::When;
use dormouse_agent::{Command, Mode};

/// Table of the keys that `/keys` prints.
pub(crate) const KEYS: &str = "\
Enter       send; while the agent works: steer it with the next tool results
Tab         while it works: send after the turn; behind / or @: complete
Ctrl+J      new line, as Shift+Enter, Alt+Enter and \\ Enter
Esc         stop the turn, the draft stays; twice on an empty line: go back
Ctrl+C      stop, clear the line; twice: leave, as Ctrl+D on an empty line
Up, Down    lines, then earlier prompts; Ctrl+R searches them
Shift+Tab   next mode: ask, accept-edits, plan, sandbox
Ctrl+O      panels: forgotten, next, recalled, memories, sessions …
Ctrl+G      the draft in your editor (VISUAL or EDITOR)
Ctrl+A E    beginning, end; Ctrl+B F by characters, Alt+B F by words
Ctrl+K U W  cut, as Alt+D; Ctrl+Y puts back
Ctrl+L      draw anew; Ctrl+Z goes to the background
/ @ !       a command; a file; a line for the shell, not sent to the model";

impl Model {
    pub(crate) fn key(&mut self, key: KeyEvent) -> Vec<Effect> {
        if key.kind == KeyEventKind::Release {
            return Vec::new();
        }
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        let alt = key.modifiers.contains(KeyModifiers::ALT);
        let armed = self.armed.take();
        match key.code {
            KeyCode::Char('l') if control => return vec![Effect::Redraw],
            KeyCode::Char('z') if control => return vec![Effect::Suspend],
            KeyCode::Char('c') if control => return self.stop_or_leave(armed),
            _ => {}
        }
        if self.tour.is_some() {
            return self.tour_key(key);
        }
        if self.search.is_some() {
            return self.search_key(key, control);
        }
        // A question that waits is answered first; the panel comes back behind it.
        if self.panel.is_some() && self.dialogs.is_empty() {
            return self.panel_key(key, control, alt);
        }
        if !self.dialogs.is_empty() {
            return self.dialog_key(key, control, alt);
        }
        match key.code {
            KeyCode::Char('d') if control && self.composer.is_empty() => self.stop_or_leave(armed),
            KeyCode::Esc => self.escape(armed),
            KeyCode::BackTab => self.next_mode(),
            KeyCode::Tab => self.tab(),
            KeyCode::Up if self.completion.is_open() => self.complete_move(false),
            KeyCode::Down if self.completion.is_open() => self.complete_move(true),
            KeyCode::Up => {
                if !self.composer.up() {
                    self.composer.earlier();
                }
                Vec::new()
            }
            KeyCode::Down => {
                if !self.composer.down() {
                    self.composer.later();
                }
                Vec::new()
            }
            KeyCode::Char('p') if control => {
                self.composer.earlier();
                Vec::new()
            }
            KeyCode::Char('n') if control => {
                self.composer.later();
                Vec::new()
            }
            KeyCode::Char('o') if control => self.one_key(),
            KeyCode::Char('r') if control => {
                self.search = Some((String::new(), self.composer.remembered()));
                Vec::new()
            }
            KeyCode::Char('g') if control => vec![Effect::Compose(self.composer.whole())],
            KeyCode::Enter if self.mention() => Vec::new(),
            KeyCode::Enter if self.is_newline(key.modifiers) => Vec::new(),
            KeyCode::Enter => self.submit(When::Steer),
            _ => {
                edit(&mut self.composer, key, control, alt);
                self.look_up()
            }
        }
    }

    /// True if the key that sends makes a new line instead, which then is made.
    fn is_newline(&mut self, modifiers: KeyModifiers) -> bool {
        if modifiers.intersects(KeyModifiers::SHIFT | KeyModifiers::ALT) {
            self.composer.insert("\n");
            return true;
        }
        if self.composer.text().ends_with('\\') {
            self.composer.edit(Edit::End);
            self.composer.edit(Edit::Backspace);
            self.composer.insert("\n");
            return true;
        }
        false
    }

    pub(crate) fn pasted(&mut self, text: &str) -> Vec<Effect> {
        self.armed = None;
        if self.tour.is_some() || self.dialogs.is_empty() && self.panel_pasted(text) {
            return Vec::new();
        }
        let words = self
            .dialogs
            .front_mut()
            .map(|dialog| dialog.words().map(|words| words.paste(text)));
        if words.is_none() {
            return self.paste_into_draft(text);
        }
        Vec::new()
    }

    /// A line of a person whose terminal knows lines only.
    pub(crate) fn line(&mut self, line: &str) -> Vec<Effect> {
        let line = line.trim_end_matches(['\n', '\r']);
        if self.tour.is_some() {
            let key = match line.trim() {
                "q" => KeyCode::Char('q'),
                "p" => KeyCode::Char(' '),
                _ => KeyCode::Char('n'),
            };
            return self.tour_key(KeyEvent::new(key, KeyModifiers::NONE));
        }
        // Its lines were printed.
        self.panel = None;
        if let Some(dialog) = self.dialogs.front_mut() {
            if let Some(words) = dialog.words() {
                words.insert(line);
                return self.choose(Choice::Enter);
            }
            let (first, rest) = line.trim().split_once(' ').unwrap_or((line.trim(), ""));
            return match first {
                "y" | "yes" => self.choose(Choice::Yes),
                "a" | "always" => self.choose(Choice::Always),
                "s" | "session" => self.choose(Choice::Session),
                "n" | "no" if rest.is_empty() => self.choose(Choice::No),
                "n" | "no" => self.refuse(Some(rest.to_owned())),
                number => number
                    .parse()
                    .map_or_else(|_| Vec::new(), |number| self.choose(Choice::Number(number))),
            };
        }
        self.composer.set(line);
        self.submit(When::Steer)
    }

    fn dialog_key(&mut self, key: KeyEvent, control: bool, alt: bool) -> Vec<Effect> {
        if let Some(words) = self.dialogs.front_mut().and_then(|dialog| dialog.words()) {
            match key.code {
                KeyCode::Esc => return self.choose(Choice::No),
                KeyCode::Enter => return self.choose(Choice::Enter),
                _ => edit(words, key, control, alt),
            }
            return Vec::new();
        }
        let choice = match key.code {
            KeyCode::Esc => Choice::No,
            KeyCode::Char('d') if control => Choice::No,
            _ if control || alt => return Vec::new(),
            KeyCode::Up | KeyCode::Char('k') => Choice::Up,
            KeyCode::Down | KeyCode::Char('j') => Choice::Down,
            KeyCode::Enter => Choice::Enter,
            KeyCode::Tab => Choice::Words,
            KeyCode::Char(' ') => Choice::Tick,
            KeyCode::Char('y') => Choice::Yes,
            KeyCode::Char('s') => Choice::Session,
            KeyCode::Char('a' | 'p') => Choice::Always,
            KeyCode::Char('n') => Choice::No,
            KeyCode::Char(digit) => match digit.to_digit(10) {
                Some(number) => Choice::Number(usize::try_from(number).unwrap_or_default()),
                None => return Vec::new(),
            },
            _ => return Vec::new(),
        };
        self.choose(choice)
    }

    fn search_key(&mut self, key: KeyEvent, control: bool) -> Vec<Effect> {
        let Some((mut text, mut before)) = self.search.take() else {
            return Vec::new();
        };
        match key.code {
            KeyCode::Char('r') if control => {
                if let Some((at, _)) = self.composer.search(&text, before) {
                    before = at;
                }
            }
            KeyCode::Char('g') if control => return Vec::new(),
            KeyCode::Esc | KeyCode::Enter | KeyCode::Tab => {
                let found = self
                    .composer
                    .search(&text, before)
                    .map(|(_, prompt)| prompt.to_owned());
                if let Some(found) = found {
                    self.composer.set(&found);
                }
                return Vec::new();
            }
            KeyCode::Backspace => {
                text.pop();
                before = self.composer.remembered();
            }
            KeyCode::Char(character) if !control => text.push(character),
            _ => {}
        }
        self.search = Some((text, before));
        Vec::new()
    }

    /// The panels: what was forgotten, or the memories where there is no session.
    fn one_key(&mut self) -> Vec<Effect> {
        let kind = if self.session.is_some() {
            PanelKind::Forgotten
        } else {
            PanelKind::Memories
        };
        self.open_panel(kind, "")
    }

    fn stop_or_leave(&mut self, armed: Option<Armed>) -> Vec<Effect> {
        if self.tour.is_some() {
            return vec![Effect::Exit];
        }
        if self.panel.take().is_some() {
            return Vec::new();
        }
        if armed == Some(Armed::Exit) {
            return self.leave(self.leaving);
        }
        if self.search.take().is_some() {
            return Vec::new();
        }
        if !self.composer.is_empty() {
            self.composer.clear();
            return self.look_up();
        }
        self.armed = Some(Armed::Exit);
        self.stop()
    }

    fn escape(&mut self, armed: Option<Armed>) -> Vec<Effect> {
        if self.completion.close() {
            return Vec::new();
        }
        if self.is_busy() || !self.held.is_empty() {
            return self.stop();
        }
        if !self.composer.is_empty() || self.session.is_none() {
            return Vec::new();
        }
        if armed == Some(Armed::Rewind) {
            return self.open_panel(PanelKind::Points, "");
        }
        self.armed = Some(Armed::Rewind);
        Vec::new()
    }

    /// Stops what runs; the draft stays.
    fn stop(&mut self) -> Vec<Effect> {
        let mut effects = Vec::new();
        if let Some((text, _)) = self.held.pop() {
            self.give_back(&text);
        }
        if !self.running.is_empty() {
            effects.push(Effect::StopRunning);
        }
        if self.busy && self.session.is_some() && !self.watching {
            effects.push(Effect::Send(Command::Interrupt.into()));
        }
        effects
    }

    fn next_mode(&mut self) -> Vec<Effect> {
        if self.session.is_none() || self.watching {
            return Vec::new();
        }
        // Refusing and allowing everything are chosen by name, never in passing.
        let mode = match self.mode {
            Mode::Ask => Mode::AcceptEdits,
            Mode::AcceptEdits => Mode::Plan,
            Mode::Plan => Mode::Sandbox,
            Mode::Sandbox | Mode::Deny | Mode::All => Mode::Ask,
        };
        vec![self.ask("the mode stays", Command::SetMode { mode })]
    }

    fn tab(&mut self) -> Vec<Effect> {
        if self.mention() {
            return Vec::new();
        }
        if let Some(name) = self.completion.chosen_command() {
            self.composer.set(&format!("/{name} "));
            self.completion.close();
            return Vec::new();
        }
        if self.busy {
            return self.submit(When::Queue);
        }
        Vec::new()
    }

    fn complete_move(&mut self, down: bool) -> Vec<Effect> {
        self.completion.go(down);
        Vec::new()
    }
}

/// Keys that change a text, as in a shell.
pub(crate) fn edit(
    composer: &mut crate::composer::Composer,
    key: KeyEvent,
    control: bool,
    alt: bool,
) {
    let edit = match key.code {
        KeyCode::Char('j') if control => {
            composer.insert("\n");
            return;
        }
        KeyCode::Char('a') if control => Edit::Home,
        KeyCode::Char('e') if control => Edit::End,
        KeyCode::Char('b') if control => Edit::Left,
        KeyCode::Char('f') if control => Edit::Right,
        KeyCode::Char('d') if control => Edit::Delete,
        KeyCode::Char('h') if control => Edit::Backspace,
        KeyCode::Char('k') if control => Edit::KillToEnd,
        KeyCode::Char('u') if control => Edit::KillToStart,
        KeyCode::Char('w') if control => Edit::KillWordLeft,
        KeyCode::Char('y') if control => Edit::Yank,
        KeyCode::Char('b') if alt => Edit::WordLeft,
        KeyCode::Char('f') if alt => Edit::WordRight,
        KeyCode::Char('d') if alt => Edit::KillWordRight,
        KeyCode::Char(_) if control || alt => return,
        KeyCode::Char(character) => {
            composer.insert(character.encode_utf8(&mut [0; 4]));
            return;
        }
        KeyCode::Backspace if alt || control => Edit::KillWordLeft,
        KeyCode::Backspace => Edit::Backspace,
        KeyCode::Delete => Edit::Delete,
        KeyCode::Left if control || alt => Edit::WordLeft,
        KeyCode::Right if control || alt => Edit::WordRight,
        KeyCode::Left => Edit::Left,
        KeyCode::Right => Edit::Right,
        KeyCode::Home => Edit::Home,
        KeyCode::End => Edit::End,
        _ => return,
    };
    composer.edit(edit);
}
