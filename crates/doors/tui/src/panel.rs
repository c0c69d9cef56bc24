//! Panels: views beside the conversation, on the alternate screen, so that the scrollback stays as it
//! is. The door fills them; keys in them become commands.
//!
//! # Not here
//! Rows of a panel: `panel_view`. Reading sessions and memories: the door.

use crate::composer::Composer;
use crate::model::{Effect, Model};
use crate::port::Wish;
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use dormouse_agent::Command;
use dormouse_agent::protocol::RewindWhat;
use dormouse_core::id::RecordId;

/// Sort of a panel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PanelKind {
    /// Rewrites of the prompt: what was forgotten, when, why, for how much.
    Forgotten,
    /// Next compaction: what it would drop, and its price.
    Next,
    /// Memories that were recalled for the prompts, and why.
    Recalled,
    /// Prompts to go back to, with their files and costs.
    Points,
    /// Memories of the project.
    Memories,
    /// Memories that wait for approval.
    Inbox,
    /// Changes of the memory, dreams among them, with their diffs.
    Changes,
    /// Sessions of all known agents.
    Sessions,
}

impl PanelKind {
    /// All panels, in the order of their numbers.
    pub const ALL: [Self; 8] = [
        Self::Forgotten,
        Self::Next,
        Self::Recalled,
        Self::Points,
        Self::Memories,
        Self::Inbox,
        Self::Changes,
        Self::Sessions,
    ];

    /// Name on the screen.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Forgotten => "forgotten",
            Self::Next => "next",
            Self::Recalled => "recalled",
            Self::Points => "points",
            Self::Memories => "memories",
            Self::Inbox => "inbox",
            Self::Changes => "changes",
            Self::Sessions => "sessions",
        }
    }

    /// True if it is about the open session.
    pub const fn needs_session(self) -> bool {
        matches!(
            self,
            Self::Forgotten | Self::Next | Self::Recalled | Self::Points
        )
    }

    /// True if words narrow it down.
    const fn can_search(self) -> bool {
        matches!(self, Self::Memories | Self::Sessions)
    }
}

/// Content of a panel.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Panel {
    /// Lines above the list.
    pub summary: Vec<String>,
    /// Entries, the most important first.
    pub items: Vec<PanelItem>,
    /// Line in place of a list without entries.
    pub empty: String,
}

/// Entry of a panel.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PanelItem {
    /// Line in the list.
    pub title: String,
    /// Figures at its right.
    pub aside: String,
    /// Lines about it. Those that begin with `+` or `-` and a blank are painted as a diff.
    pub detail: Vec<String>,
    /// Keys that act on it.
    pub actions: Vec<PanelAction>,
}

/// Key that acts on an entry.
#[derive(Clone, Debug, PartialEq)]
pub struct PanelAction {
    /// Key that the person presses.
    pub key: char,
    /// Word for the deed.
    pub label: String,
    /// Deed that follows from it.
    pub act: Act,
}

/// Deed of a key in a panel.
#[derive(Clone, Debug, PartialEq)]
pub enum Act {
    /// A rewrite of the prompt is taken back, with all newer ones.
    Undo(RecordId),
    /// The session goes back to a record.
    Rewind {
        /// Record that becomes the last one.
        to: RecordId,
        /// Part that goes back.
        what: RewindWhat,
    },
    /// Command lines, one after the other.
    Run(Vec<Vec<String>>),
    /// A text is edited and then put behind the last command line.
    Edit {
        /// Command lines; the text becomes the last word of the last one.
        lines: Vec<Vec<String>>,
        /// Text before the edit.
        text: String,
    },
    /// The conversation is compacted now.
    Compact,
    /// A word for the person, such as a command to type in a shell.
    Tell(String),
    /// Another session takes the place of this one, by its id.
    Resume(String),
}

/// Panel that is open.
#[derive(Clone, Debug)]
pub(crate) struct Open {
    pub(crate) kind: PanelKind,
    /// Words that narrow it down.
    pub(crate) words: String,
    /// Content; `None` while it is read.
    pub(crate) panel: Option<Panel>,
    pub(crate) chosen: usize,
    /// Lines of the detail that are scrolled away.
    pub(crate) scrolled: usize,
    /// Answer to the last deed.
    pub(crate) said: Option<(String, bool)>,
    /// Text that is edited, with the deed it is for; `None` for the words of a search.
    pub(crate) editing: Option<(Composer, Option<Act>)>,
}

impl Open {
    fn new(kind: PanelKind, words: String) -> Self {
        Self {
            kind,
            words,
            panel: None,
            chosen: 0,
            scrolled: 0,
            said: None,
            editing: None,
        }
    }

    pub(crate) fn item(&self) -> Option<&PanelItem> {
        self.panel.as_ref()?.items.get(self.chosen)
    }

    fn go(&mut self, to: usize) {
        let last = self
            .panel
            .as_ref()
            .map_or(0, |panel| panel.items.len().saturating_sub(1));
        self.chosen = to.min(last);
        self.scrolled = 0;
    }
}

impl Model {
    /// Opens a panel and asks the door for its content.
    pub(crate) fn open_panel(&mut self, kind: PanelKind, words: &str) -> Vec<Effect> {
        if kind.needs_session() && self.session.is_none() {
            self.note(format!("/{} needs a session", kind.name()));
            return Vec::new();
        }
        self.panel = Some(Open::new(kind, words.to_owned()));
        vec![self.read_panel()]
    }

    fn read_panel(&self) -> Effect {
        let open = self.panel.as_ref();
        Effect::ReadPanel {
            kind: open.map_or(PanelKind::Memories, |open| open.kind),
            words: open.map(|open| open.words.clone()).unwrap_or_default(),
        }
    }

    /// Takes the content of a panel in.
    pub(crate) fn panel_read(&mut self, kind: PanelKind, found: Result<Panel, String>) {
        let Some(open) = self.panel.as_mut().filter(|open| open.kind == kind) else {
            return;
        };
        match found {
            Ok(panel) => {
                open.panel = Some(panel);
                let chosen = open.chosen;
                open.go(chosen);
            }
            Err(why) => {
                open.panel.get_or_insert_with(Panel::default);
                open.said = Some((why, true));
            }
        }
    }

    /// Takes the answer to a deed in.
    pub(crate) fn acted(&mut self, text: &str, failed: bool) -> Vec<Effect> {
        let line = text.lines().find(|line| !line.trim().is_empty());
        let line = line.unwrap_or("done").trim().to_owned();
        let Some(open) = &mut self.panel else {
            self.note(line);
            return Vec::new();
        };
        open.said = Some((line, failed));
        vec![self.read_panel()]
    }

    /// A key in the open panel.
    pub(crate) fn panel_key(&mut self, key: KeyEvent, control: bool, alt: bool) -> Vec<Effect> {
        let Some(open) = &mut self.panel else {
            return Vec::new();
        };
        if open.editing.is_some() {
            return self.panel_edit(key, control, alt);
        }
        let page = crate::panel_view::PAGE;
        match key.code {
            KeyCode::Esc | KeyCode::Char('q') => self.panel = None,
            KeyCode::Char('o') if control => self.panel = None,
            _ if control || alt => {}
            KeyCode::Tab | KeyCode::Right => return self.turn_panel(true),
            KeyCode::BackTab | KeyCode::Left => return self.turn_panel(false),
            KeyCode::Up | KeyCode::Char('k') => open.go(open.chosen.saturating_sub(1)),
            KeyCode::Down | KeyCode::Char('j') => open.go(open.chosen + 1),
            KeyCode::Home => open.go(0),
            KeyCode::End => open.go(usize::MAX),
            KeyCode::PageUp => open.scrolled = open.scrolled.saturating_sub(page),
            KeyCode::PageDown | KeyCode::Char(' ') => {
                let most = open.item().map_or(0, |item| item.detail.len());
                open.scrolled = (open.scrolled + page).min(most.saturating_sub(1));
            }
            KeyCode::Char('/') if open.kind.can_search() => {
                let mut words = Composer::default();
                words.set(&open.words);
                open.editing = Some((words, None));
            }
            KeyCode::Char(digit @ '1'..='8') => {
                let at = usize::try_from(u32::from(digit) - u32::from('1')).unwrap_or_default();
                return self.show_panel(PanelKind::ALL[at]);
            }
            KeyCode::Enter => {
                let first = open.item().and_then(|item| item.actions.first().cloned());
                return first.map_or_else(Vec::new, |action| self.act(action.act));
            }
            KeyCode::Char(pressed) => {
                let actions = open.item().map(|item| item.actions.as_slice());
                let action = actions
                    .unwrap_or_default()
                    .iter()
                    .find(|action| action.key == pressed);
                if let Some(act) = action.map(|action| action.act.clone()) {
                    return self.act(act);
                }
            }
            _ => {}
        }
        Vec::new()
    }

    /// Shows another panel in place of the open one.
    pub(crate) fn show_panel(&mut self, kind: PanelKind) -> Vec<Effect> {
        if kind.needs_session() && self.session.is_none() {
            if let Some(open) = &mut self.panel {
                open.said = Some((format!("{} needs a session", kind.name()), true));
            }
            return Vec::new();
        }
        self.open_panel(kind, "")
    }

    fn turn_panel(&mut self, forward: bool) -> Vec<Effect> {
        let Some(open) = &self.panel else {
            return Vec::new();
        };
        let all = PanelKind::ALL;
        let at = all
            .iter()
            .position(|kind| *kind == open.kind)
            .unwrap_or_default();
        let step = |at: usize| {
            if forward {
                (at + 1) % all.len()
            } else {
                (at + all.len() - 1) % all.len()
            }
        };
        let mut next = step(at);
        while self.session.is_none() && all[next].needs_session() {
            next = step(next);
        }
        self.open_panel(all[next], "")
    }

    fn panel_edit(&mut self, key: KeyEvent, control: bool, alt: bool) -> Vec<Effect> {
        let Some(open) = &mut self.panel else {
            return Vec::new();
        };
        let Some((words, act)) = &mut open.editing else {
            return Vec::new();
        };
        let breaks = key
            .modifiers
            .intersects(KeyModifiers::SHIFT | KeyModifiers::ALT);
        match key.code {
            KeyCode::Esc => open.editing = None,
            // The words of a search are one line.
            KeyCode::Enter if breaks && act.is_some() => words.insert("\n"),
            KeyCode::Enter => return self.panel_edited(),
            _ => crate::keys::edit(words, key, control, alt),
        }
        Vec::new()
    }

    fn panel_edited(&mut self) -> Vec<Effect> {
        let Some(open) = &mut self.panel else {
            return Vec::new();
        };
        let Some((mut words, act)) = open.editing.take() else {
            return Vec::new();
        };
        let text = words.take();
        if let Some(Act::Edit { mut lines, .. }) = act {
            if let Some(last) = lines.last_mut() {
                last.push(text);
            }
            return self.act(Act::Run(lines));
        }
        open.words = text;
        open.chosen = 0;
        vec![self.read_panel()]
    }

    fn act(&mut self, act: Act) -> Vec<Effect> {
        match act {
            Act::Undo(rewrite) => {
                self.panel = None;
                let undo = Command::Undo {
                    rewrite: Some(rewrite),
                };
                vec![self.ask("not undone", undo)]
            }
            Act::Rewind { to, what } => {
                self.panel = None;
                vec![self.ask("not gone back", Command::Rewind { to, what })]
            }
            Act::Compact => {
                self.panel = None;
                let compact = Command::Compact {
                    instructions: None,
                    part: None,
                };
                vec![self.ask("not compacted", compact)]
            }
            Act::Run(lines) => vec![Effect::Act(lines)],
            Act::Edit { ref text, .. } => {
                let mut words = Composer::default();
                words.set(text);
                if let Some(open) = &mut self.panel {
                    open.editing = Some((words, Some(act)));
                }
                Vec::new()
            }
            Act::Tell(words) => {
                self.panel = None;
                self.note(words);
                Vec::new()
            }
            Act::Resume(session) => self.resume(session),
        }
    }

    /// Leaves this session for another one, unless work would be cut off.
    fn resume(&mut self, session: String) -> Vec<Effect> {
        let open = self.session.as_ref();
        let said = if open.is_some_and(|open| open.session.as_str() == session) {
            "this session is open here"
        } else if self.is_busy() || self.opening {
            "the agent works: stop it first, with q and Esc"
        } else {
            self.panel = None;
            return vec![Effect::Open(Wish::Resume(session))];
        };
        if let Some(open) = &mut self.panel {
            open.said = Some((said.to_owned(), true));
        }
        Vec::new()
    }

    /// A paste into the text that is edited in a panel; false if there is none.
    pub(crate) fn panel_pasted(&mut self, text: &str) -> bool {
        let Some(open) = &mut self.panel else {
            return false;
        };
        if let Some((words, _)) = &mut open.editing {
            words.paste(text);
        }
        true
    }
}
