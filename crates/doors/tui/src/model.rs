//! The model of the screen: everything that is shown, and nothing that is not.
//!
//! # Model
//! [`Model::update`] takes one input and returns effects; it never waits, reads no clock and touches
//! no file. Finished parts leave as [`Cell`]s through [`Model::take_cells`], once each.
//!
//! # Not here
//! Events of the agent: `events`; keys: `keys`; commands that are typed: `slash`; the time before the
//! session is open: `opening`; files in a prompt: `mention`; rows of the live part: `view`.

use crate::answer::Answer;
use crate::cell::Cell;
use crate::completion::Completion;
use crate::composer::Composer;
use crate::dialog::Dialog;
use crate::line::Theme;
use crate::panel::{Open, Panel, PanelKind};
use crate::port::{Printed, Wish};
use crate::tour::Touring;
use crossterm::event::KeyEvent;
use dormouse_agent::protocol::{CommandFacts, OpenedSession, RewindWhat, When};
use dormouse_agent::{Ask, Command, Figures, Mode, Told};
use dormouse_core::id::{CallId, RecordId, Seq};
use dormouse_core::usage::TokenUsage;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Cells of a resumed session that are shown again: some screens; the rest is in the log.
const RESUMED_CELLS: usize = 60;

/// Words for a prompt that the agent did not take.
pub(crate) const PROMPT: &str = "the prompt was not taken";

/// Something that the screen has to take in.
#[derive(Clone, Debug)]
pub enum Input {
    /// A key that the person pressed.
    Key(KeyEvent),
    /// A text that was pasted at once.
    Paste(String),
    /// A line of a person whose terminal knows lines only.
    Line(String),
    /// Another size of the terminal.
    Resize,
    /// An event of the agent.
    Told(Box<Told>),
    /// The end of a command that the door ran.
    Ran {
        /// The command as typed.
        title: String,
        /// Text that it printed.
        text: String,
        /// True if it failed.
        failed: bool,
    },
    /// Figures of the window, read by the door.
    Gauge(Gauge),
    /// The record to go back to, or none if there is no such prompt.
    Point {
        /// Number of the prompt.
        number: usize,
        /// Part that goes back.
        what: RewindWhat,
        /// Record that becomes the last one.
        point: Option<RecordId>,
    },
    /// Content of a panel, or the reason why there is none.
    Panel {
        /// Sort of the panel.
        kind: PanelKind,
        /// Its entries, or the reason why they could not be read.
        found: Result<Panel, String>,
    },
    /// Answer to a deed in a panel.
    Acted(Printed),
    /// Names and figures of the user's around the newest compaction.
    Kept {
        /// Number of them before the compaction.
        before: u64,
        /// Those that are still in the prompt.
        after: u64,
    },
    /// Files of the project that a begun name may mean.
    Files {
        /// The name as it was begun.
        begun: String,
        /// Their paths, the likeliest first.
        found: Vec<String>,
    },
    /// A paste that names an image, and the path of the file if there is one.
    Image(String, Option<String>),
    /// The draft as the person's editor left it, or the reason why it is as before.
    Composed(Result<String, String>),
    /// The terminal got the keyboard, or another window did.
    Focus(bool),
    /// A scene could not be opened.
    Failed(String),
    /// A quarter of a second has passed in a turn or a tour.
    Tick,
    /// The system asks the program to end.
    Terminate,
}

/// Something that the screen wants done.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// A command for the agent.
    Send(Ask),
    /// A command of the command line, run by the door with its output captured.
    Run {
        /// The command as typed.
        title: String,
        /// Words of the command line.
        words: Vec<String>,
    },
    /// A line for the shell.
    Shell(String),
    /// Stop of commands that the door runs.
    StopRunning,
    /// The record before a prompt has to be found, to go back to it.
    FindPoint {
        /// Number of the prompt.
        number: usize,
        /// Part that goes back.
        what: RewindWhat,
    },
    /// Other colours from now on.
    Theme(Theme),
    /// The figures of the window should be read again.
    ReadGauge,
    /// Names and figures around the newest compaction should be counted.
    ReadKept,
    /// The content of a panel should be read.
    ReadPanel {
        /// Sort of the panel.
        kind: PanelKind,
        /// Words that narrow it down.
        words: String,
    },
    /// Files that a begun name may mean should be looked for.
    FindFiles(String),
    /// The file that a paste names should be looked for: the paste, and its path.
    FindImage(String, String),
    /// The draft goes to the person's editor, which gets the terminal.
    Compose(String),
    /// Command lines that act on an entry of a panel.
    Act(Vec<Vec<String>>),
    /// Another scene should be opened.
    Open(Wish),
    /// A picture of the next frame is wanted.
    Shot(String),
    /// Minutes should pass on the scene's clock.
    Later(u64),
    /// News for a person who looks at another window.
    Notify(String),
    /// Events behind a record have to be read from the log.
    ReadMissed(Seq),
    /// A text for the clipboard.
    Copy(String),
    /// A sound, because a long turn has ended or an answer is wanted.
    Bell,
    /// The whole live part has to be drawn again.
    Redraw,
    /// The program goes to the background until the shell continues it.
    Suspend,
    /// The end of the program.
    Exit,
}

/// Figures of the context window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Gauge {
    /// Tokens of the conversation.
    pub used: u64,
    /// Tokens that the model takes.
    pub window: u64,
    /// Tokens at which a compaction begins by itself; none if it does not.
    pub compact_at: Option<u64>,
    /// Tokens from which the screen warns.
    pub warning: u64,
    /// Tokens from which no request is sent.
    pub blocked: u64,
}

/// Call of a tool that has no result yet.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Call {
    pub(crate) id: CallId,
    pub(crate) tool: String,
    pub(crate) input: Value,
    pub(crate) running: bool,
}

/// Key that was pressed once and acts when it is pressed again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Armed {
    /// Ctrl+C or Ctrl+D ends the program.
    Exit,
    /// Esc shows the points to go back to.
    Rewind,
}

/// Facts that the door knows before the first event.
#[derive(Clone, Debug, Default)]
pub struct Start {
    /// Version of the program.
    pub version: String,
    /// Folder in which it works.
    pub folder: String,
    /// Branch of the repository, if there is one.
    pub branch: Option<String>,
    /// Reason why there is no agent, with the remedy.
    pub without_agent: Option<String>,
    /// Commands of the command line that may be typed with a slash: name and purpose.
    pub commands: Vec<(String, String)>,
}

/// State of the screen.
#[derive(Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent facts about agent, terminal and person"
)]
pub struct Model {
    pub(crate) start: Start,
    pub(crate) session: Option<OpenedSession>,
    pub(crate) mode: Mode,
    /// Name of the model it talks to.
    pub(crate) talks_to: String,
    pub(crate) composer: Composer,
    pub(crate) answer: Answer,
    /// Last words of the model's reasoning.
    pub(crate) thinking: String,
    /// Tool whose input arrives.
    pub(crate) writing: Option<String>,
    pub(crate) calls: Vec<Call>,
    pub(crate) dialogs: VecDeque<Dialog>,
    pub(crate) queued: Vec<String>,
    /// Prompts that were sent and have not been logged.
    pub(crate) sent: Vec<String>,
    pub(crate) tasks: Vec<(String, String)>,
    /// Commands that the door runs.
    pub(crate) running: Vec<String>,
    pub(crate) busy: bool,
    /// Quarters of a second since the turn began.
    pub(crate) ticks: u64,
    pub(crate) figures: Figures,
    /// Usage of the newest response of the conversation.
    pub(crate) usage: TokenUsage,
    pub(crate) gauge: Option<Gauge>,
    pub(crate) armed: Option<Armed>,
    pub(crate) completion: Completion,
    /// Text and place of a search in the history.
    pub(crate) search: Option<(String, usize)>,
    pub(crate) leaving: bool,
    /// True until the other end is there, or is known to be missing.
    pub(crate) opening: bool,
    /// Lines that were sent meanwhile.
    pub(crate) held: Vec<(String, When)>,
    /// Files that were chosen from the list behind `@`.
    pub(crate) mentioned: BTreeSet<String>,
    /// Images of the prompts of this session, the first is number one.
    pub(crate) images: Vec<String>,
    /// True if another process writes the session.
    pub(crate) watching: bool,
    /// True if another window has the keyboard, as far as the terminal tells.
    pub(crate) away: bool,
    pub(crate) panel: Option<Open>,
    pub(crate) tour: Option<Touring>,
    pub(crate) last_answer: String,
    /// Words for what an ask was, for the case that it fails.
    pub(crate) asks: BTreeMap<u64, &'static str>,
    next_ask: u64,
    cells: Vec<Cell>,
}

impl Model {
    /// A screen before the first event.
    pub fn new(start: Start) -> Self {
        let mut model = Self {
            start,
            session: None,
            mode: Mode::Ask,
            talks_to: String::new(),
            composer: Composer::default(),
            answer: Answer::default(),
            thinking: String::new(),
            writing: None,
            calls: Vec::new(),
            dialogs: VecDeque::new(),
            queued: Vec::new(),
            sent: Vec::new(),
            tasks: Vec::new(),
            running: Vec::new(),
            busy: false,
            ticks: 0,
            figures: Figures::default(),
            usage: TokenUsage::default(),
            gauge: None,
            armed: None,
            completion: Completion::default(),
            search: None,
            leaving: false,
            opening: false,
            held: Vec::new(),
            mentioned: BTreeSet::new(),
            images: Vec::new(),
            watching: false,
            away: false,
            panel: None,
            tour: None,
            last_answer: String::new(),
            asks: BTreeMap::new(),
            next_ask: 1,
            cells: Vec::new(),
        };
        let banner = model.banner();
        model.put(banner);
        model
    }

    /// Tells the colours of the screen: without any, code is not parsed for them.
    pub fn set_theme(&mut self, theme: Theme) {
        self.answer.set_colourless(!theme.has_colours());
    }

    /// Takes an input in.
    pub fn update(&mut self, input: Input) -> Vec<Effect> {
        match input {
            Input::Key(key) => self.key(key),
            Input::Paste(text) => self.pasted(&text),
            Input::Line(line) => self.line(&line),
            Input::Resize => vec![Effect::Redraw],
            Input::Told(told) => self.told(*told),
            Input::Ran {
                title,
                text,
                failed,
            } => {
                self.running.retain(|running| *running != title);
                self.put(Cell::Output {
                    title,
                    text,
                    failed,
                });
                Vec::new()
            }
            Input::Gauge(gauge) => {
                self.gauge = Some(gauge);
                Vec::new()
            }
            Input::Point {
                number,
                what,
                point,
            } => {
                if let Some(to) = point {
                    return vec![self.ask("not gone back", Command::Rewind { to, what })];
                }
                self.warn(format!("there is no prompt {number}; /rewind lists them"));
                Vec::new()
            }
            Input::Tick => {
                self.ticks += 1;
                self.tour_tick_if_any()
            }
            Input::Panel { kind, found } => {
                self.panel_read(kind, found);
                Vec::new()
            }
            Input::Acted(printed) => self.acted(&printed.text, printed.failed),
            Input::Kept { before, after } => {
                self.kept(before, after);
                Vec::new()
            }
            Input::Files { begun, found } => {
                self.files_found(&begun, found);
                Vec::new()
            }
            Input::Image(pasted, found) => self.image_found(&pasted, found),
            Input::Composed(text) => self.composed(text),
            Input::Focus(here) => {
                self.away = !here;
                Vec::new()
            }
            Input::Failed(why) => {
                self.warn(why);
                Vec::new()
            }
            Input::Terminate => self.leave(true),
        }
    }

    /// Takes durable events of a resumed session in. Only the end is shown; `whole` if these events
    /// follow the ones before them, or nothing is.
    pub fn replay(&mut self, events: Vec<Told>, whole: bool) {
        let before = self.cells.len();
        for told in events {
            // Questions that still wait are told again by the agent.
            drop(self.told(told));
            self.dialogs.clear();
        }
        self.busy = false;
        let left_out = (self.cells.len() - before).saturating_sub(RESUMED_CELLS);
        if left_out > 0 || !whole {
            self.cells.drain(before..before + left_out);
            let note = "earlier parts are not repeated here; `/view` shows everything";
            self.cells.insert(before, Cell::Note(note.to_owned()));
        }
    }

    /// Finished parts since the last call.
    pub fn take_cells(&mut self) -> Vec<Cell> {
        std::mem::take(&mut self.cells)
    }

    /// True while the agent works or a command runs, so that time should be told.
    pub fn is_busy(&self) -> bool {
        self.busy || !self.running.is_empty()
    }

    /// True if time should be told: the agent works, or a tour goes on.
    pub(crate) fn wants_ticks(&self) -> bool {
        self.is_busy() || self.is_touring()
    }

    fn tour_tick_if_any(&mut self) -> Vec<Effect> {
        if self.is_touring() {
            self.tour_tick()
        } else {
            Vec::new()
        }
    }

    /// Closes the open panel.
    pub(crate) fn close_panel(&mut self) {
        self.panel = None;
    }

    /// Commands that the door runs, as they were typed.
    pub(crate) fn running_titles(&self) -> Vec<String> {
        self.running.clone()
    }

    pub(crate) fn put(&mut self, cell: impl Into<Option<Cell>>) {
        self.cells.extend(cell.into());
    }

    pub(crate) fn note(&mut self, text: impl AsRef<str>) {
        self.put(Cell::Note(crate::text::clean(text.as_ref())));
    }

    pub(crate) fn warn(&mut self, text: impl AsRef<str>) {
        self.put(Cell::Warning(crate::text::clean(text.as_ref())));
    }

    /// A command for the agent whose failure is told with these words.
    pub(crate) fn ask(&mut self, what: &'static str, command: Command) -> Effect {
        let id = self.next_ask;
        self.next_ask += 1;
        self.asks.insert(id, what);
        Effect::Send(Ask { id, command })
    }

    /// Ends the program, in order if there is an agent.
    pub(crate) fn leave(&mut self, now: bool) -> Vec<Effect> {
        if self.session.is_none() || self.watching || self.tour.is_some() {
            return vec![Effect::Exit];
        }
        if self.leaving {
            // Nothing more is waited for: what has arrived of an answer is finished here.
            let rest = self.answer.end();
            self.put(rest);
            return vec![
                Effect::Send(Command::Quit { now: true }.into()),
                Effect::Exit,
            ];
        }
        self.leaving = true;
        vec![Effect::Send(Command::Quit { now }.into())]
    }

    /// Commands that can be typed: those of the screen, of the agent and of the command line.
    pub(crate) fn agent_commands(&self) -> &[CommandFacts] {
        self.session
            .as_ref()
            .map_or(&[], |session| &session.commands)
    }
}
