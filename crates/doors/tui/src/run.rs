//! The loop of the screen: one input at a time into the model, effects out of it, frames to the
//! terminal.
//!
//! # Model
//! Inputs come from a thread that reads keys, from the agent and from services of the door. Frames
//! are drawn at most every [`FRAME`] and only when something has changed; without inputs the loop
//! sleeps.

use crate::cell::Cell;
use crate::input::{Signals, interrupted, read_keys, read_lines, size};
use crate::line::{Line, Theme};
use crate::model::{Effect, Gauge, Input, Model, Start};
use crate::screen::Screen;
use crate::terminal::{self, Modes};
use base64::Engine as _;
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use dormouse_agent::protocol::RewindWhat;
use dormouse_agent::{AgentHandle, Ask, Told};
use dormouse_core::id::RecordId;
use std::fmt;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::thread;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep_until};

/// Shortest time between two frames: sixty a second are as many as most terminals show.
const FRAME: Duration = Duration::from_millis(16);
/// Time between two steps of the clock on the screen.
const TICK: Duration = Duration::from_millis(250);
/// Events that are taken in before the screen is looked at: a frame's worth at full speed.
const BATCH: usize = 256;
/// Keys that may wait: more than a person types while a frame is drawn, and a paste is one.
const MOST_KEYS: usize = 1_024;

/// Time for an agent that was not asked to end in order.
const LAST_WAIT: Duration = Duration::from_secs(2);

/// Result of a service.
pub type ServiceFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// Text that a command printed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Printed {
    /// Text of both outputs.
    pub text: String,
    /// True if the command failed.
    pub failed: bool,
}

/// Port to the door: everything that needs files or processes.
pub trait Services: fmt::Debug + Send + Sync {
    /// Runs a command of the command line at a width.
    fn run(&self, words: Vec<String>, columns: usize) -> ServiceFuture<Printed>;

    /// Runs a line in the shell. Dropping the future ends it.
    fn shell(&self, line: String) -> ServiceFuture<Printed>;

    /// Looks for the record before a prompt of a session, by the prompt's number.
    fn point(&self, session: String, number: usize) -> ServiceFuture<Option<RecordId>>;

    /// Reads the figures of a session's window.
    fn gauge(&self, session: String) -> ServiceFuture<Option<Gauge>>;
}

/// Abilities and looks of the terminal, as the door knows them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Looks {
    /// Colours.
    pub theme: Theme,
    /// True if the terminal breaks long rows when it gets narrower.
    pub reflows: bool,
    /// True for lines only: a screen reader, or a terminal without a cursor.
    pub plain: bool,
}

/// An agent with the events of its log so far.
#[derive(Debug)]
pub struct Opened {
    /// The agent.
    pub agent: AgentHandle,
    /// Durable events of a resumed session.
    pub history: Vec<Told>,
}

/// Opens the screen and serves it until the person leaves.
///
/// # Errors
/// When the terminal cannot be set up or written.
pub async fn run(
    start: Start,
    opened: Option<Opened>,
    services: Arc<dyn Services>,
    looks: Looks,
) -> io::Result<()> {
    let (columns, height) = size();
    let modes = if looks.plain {
        None
    } else {
        Some(Modes::set()?)
    };
    let (keys, inputs) = mpsc::channel(MOST_KEYS);
    if looks.plain {
        thread::spawn(move || read_lines(&keys));
    } else {
        thread::spawn(move || read_keys(&keys));
    }
    let (replies, answers) = mpsc::unbounded_channel();
    let mut model = Model::new(start);
    let (mut agent, mut asks) = (None, None);
    if let Some(opened) = opened {
        model.replay(opened.history);
        asks = Some(forward(&opened.agent));
        agent = Some(opened.agent);
    }
    let mut serving = Serving {
        model,
        agent,
        services,
        screen: Screen::new(columns, height, looks.theme, looks.reflows),
        plain: looks.plain.then(Plain::default),
        modes,
        replies,
        asks,
        running: Vec::new(),
        exit: false,
    };
    serving.serve(inputs, answers).await?;
    serving.end().await
}

/// State of the lines-only screen.
#[derive(Debug, Default)]
struct Plain {
    /// The dialog as it was printed last.
    dialog: Vec<Line>,
    /// True once the history was printed: the terminal shows what is typed from then on.
    begun: bool,
    /// True if the sign that waits for words is printed.
    waits: bool,
}

struct Serving {
    model: Model,
    agent: Option<AgentHandle>,
    services: Arc<dyn Services>,
    screen: Screen,
    plain: Option<Plain>,
    modes: Option<Modes>,
    replies: mpsc::UnboundedSender<Input>,
    /// Commands on their way to the agent, in order.
    asks: Option<mpsc::UnboundedSender<Ask>>,
    running: Vec<AbortHandle>,
    exit: bool,
}

impl Serving {
    async fn serve(
        &mut self,
        mut keys: mpsc::Receiver<Input>,
        mut answers: mpsc::UnboundedReceiver<Input>,
    ) -> io::Result<()> {
        let mut signals = Signals::new()?;
        let mut next_frame = Instant::now();
        let mut tick = Instant::now() + TICK;
        let (mut changed, mut gone) = (true, false);
        while !self.exit {
            if changed && Instant::now() >= next_frame {
                self.draw()?;
                changed = false;
                next_frame = Instant::now() + FRAME;
            }
            let busy = self.model.is_busy();
            tokio::select! {
                biased;
                input = keys.recv(), if !gone => {
                    // The terminal, or the person before it, is gone when the reader ends.
                    gone = input.is_none();
                    self.take(input.unwrap_or(Input::Terminate))?;
                    while let Ok(input) = keys.try_recv() {
                        self.take(input)?;
                    }
                }
                () = interrupted() => {
                    self.take(Input::Key(KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL)))?;
                }
                () = signals.terminate() => self.take(Input::Terminate)?,
                () = sleep_until(next_frame), if changed => continue,
                () = sleep_until(tick), if busy => {
                    tick = Instant::now() + TICK;
                    self.take(Input::Tick)?;
                }
                Some(input) = answers.recv() => self.take(input)?,
                told = next(&mut self.agent) => self.told(told)?,
            }
            changed = true;
        }
        Ok(())
    }

    /// Takes an event of the agent in, and those that wait behind it.
    fn told(&mut self, told: Option<Told>) -> io::Result<()> {
        let Some(told) = told else {
            self.agent = None;
            return self.take(Input::Told(Box::new(Told {
                seq: None,
                event: dormouse_agent::Event::Closed { failed: None },
            })));
        };
        self.take(Input::Told(Box::new(told)))?;
        for _ in 0..BATCH {
            let Some(told) = self
                .agent
                .as_mut()
                .and_then(|agent| agent.events.try_next())
            else {
                break;
            };
            if let (dormouse_agent::Event::Opened(opened), Some(agent)) =
                (&told.event, &mut self.agent)
            {
                agent.opened = (**opened).clone();
            }
            self.take(Input::Told(Box::new(told)))?;
        }
        Ok(())
    }

    fn take(&mut self, input: Input) -> io::Result<()> {
        if let Input::Resize = input {
            let (columns, height) = size();
            self.screen.resize(columns, height);
        }
        for effect in self.model.update(input) {
            self.carry_out(effect)?;
        }
        Ok(())
    }

    fn carry_out(&mut self, effect: Effect) -> io::Result<()> {
        match effect {
            Effect::Send(ask) => {
                if let Some(asks) = &self.asks {
                    // The agent has ended if this fails, which its last event tells.
                    let _sent = asks.send(ask);
                }
            }
            Effect::Run { title, words } => {
                let running = self.services.run(words, self.screen.size().0);
                self.spawn(title, running);
            }
            Effect::Shell(line) => {
                let title = format!("!{line}");
                let running = self.services.shell(line);
                self.spawn(title, running);
            }
            Effect::StopRunning => {
                for running in self.running.drain(..) {
                    running.abort();
                }
                for title in self.model.running_titles() {
                    self.take(Input::Ran {
                        title,
                        text: "stopped".to_owned(),
                        failed: true,
                    })?;
                }
            }
            Effect::FindPoint { number, what } => self.find_point(number, what),
            Effect::Theme(theme) => self.screen.set_theme(theme),
            Effect::ReadGauge => self.read_gauge(),
            Effect::ReadMissed(after) => {
                let missed = self.agent.as_ref().map(|agent| agent.missed(after));
                for told in missed.and_then(Result::ok).unwrap_or_default() {
                    self.take(Input::Told(Box::new(told)))?;
                }
            }
            Effect::Copy(text) => {
                let coded = base64::engine::general_purpose::STANDARD.encode(text);
                terminal::write(format!("\u{1b}]52;c;{coded}\u{7}").as_bytes())?;
            }
            Effect::Bell => terminal::write(b"\x07")?,
            Effect::Redraw => self.screen.redraw(),
            Effect::Suspend => self.suspend()?,
            Effect::Exit => self.exit = true,
        }
        Ok(())
    }

    fn spawn(&mut self, title: String, running: ServiceFuture<Printed>) {
        let replies = self.replies.clone();
        let task = tokio::spawn(async move {
            let Printed { text, failed } = running.await;
            // The screen has been left if this fails.
            let _sent = replies.send(Input::Ran {
                title,
                text,
                failed,
            });
        });
        self.running.retain(|running| !running.is_finished());
        self.running.push(task.abort_handle());
    }

    fn find_point(&self, number: usize, what: RewindWhat) {
        let Some(agent) = &self.agent else {
            return;
        };
        let point = self
            .services
            .point(agent.opened.session.to_string(), number);
        let replies = self.replies.clone();
        tokio::spawn(async move {
            let point = point.await;
            let _sent = replies.send(Input::Point {
                number,
                what,
                point,
            });
        });
    }

    fn read_gauge(&self) {
        let Some(agent) = &self.agent else {
            return;
        };
        let gauge = self.services.gauge(agent.opened.session.to_string());
        let replies = self.replies.clone();
        tokio::spawn(async move {
            if let Some(gauge) = gauge.await {
                let _sent = replies.send(Input::Gauge(gauge));
            }
        });
    }

    fn suspend(&mut self) -> io::Result<()> {
        if self.modes.is_none() {
            return Ok(());
        }
        let lines = self.lines();
        let bytes = self.screen.leave(&lines);
        terminal::write(bytes.as_bytes())?;
        self.modes = None;
        terminal::stop()?;
        self.modes = Some(Modes::set()?);
        let (columns, height) = size();
        self.screen.resize(columns, height);
        Ok(())
    }

    /// Lines of finished cells at the width of the screen.
    fn lines(&mut self) -> Vec<Line> {
        let columns = self.screen.size().0;
        let cells = self.model.take_cells();
        cells.iter().flat_map(|cell| cell.lines(columns)).collect()
    }

    fn draw(&mut self) -> io::Result<()> {
        if self.plain.is_some() {
            return self.print();
        }
        let lines = self.lines();
        let (columns, height) = self.screen.size();
        let frame = self.model.view(columns, height);
        let bytes = self.screen.draw(&lines, frame);
        terminal::write(bytes.as_bytes())
    }

    /// Prints what is new, for a terminal that knows lines only.
    fn print(&mut self) -> io::Result<()> {
        let columns = self.screen.size().0;
        let cells = self.model.take_cells();
        let dialog = self.model.dialog_lines(columns);
        let busy = self.model.is_busy();
        let Some(plain) = &mut self.plain else {
            return Ok(());
        };
        let typed = |cell: &&Cell| plain.begun && matches!(cell, Cell::User(_));
        let mut lines: Vec<Line> = Vec::new();
        for cell in cells.iter().filter(|cell| !typed(cell)) {
            lines.extend(cell.lines(columns));
        }
        if dialog != plain.dialog {
            lines.extend(dialog.iter().cloned());
            plain.dialog = dialog;
        }
        plain.begun = true;
        let mut text = String::new();
        if !lines.is_empty() && plain.waits {
            text.push('\n');
            plain.waits = false;
        }
        for line in &lines {
            line.paint(Theme::Flat, &mut text);
            text.push('\n');
        }
        if !busy && !plain.waits || !plain.dialog.is_empty() && !lines.is_empty() {
            text.push_str("> ");
            plain.waits = true;
        }
        terminal::write(text.as_bytes())
    }

    /// Takes the live part away and says goodbye.
    async fn end(mut self) -> io::Result<()> {
        if self.plain.is_some() {
            self.print()?;
            terminal::write(b"\n")?;
        } else {
            let lines = self.lines();
            let bytes = self.screen.leave(&lines);
            terminal::write(bytes.as_bytes())?;
        }
        self.modes = None;
        if let Some(farewell) = self.model.farewell() {
            terminal::write(format!("{farewell}\n").as_bytes())?;
        }
        // The agent ends when every sender is gone.
        self.asks = None;
        if let Some(agent) = self.agent.take() {
            // Its failure was told by its last event; a person who left twice does not wait.
            let _ended = tokio::time::timeout(LAST_WAIT, agent.ended()).await;
        }
        Ok(())
    }
}

/// Passes commands on without waiting here: the agent may be busy with its disk.
fn forward(agent: &AgentHandle) -> mpsc::UnboundedSender<Ask> {
    let commands = agent.commands();
    let (sender, mut asks) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Some(ask) = asks.recv().await {
            if !commands.send(ask).await {
                return;
            }
        }
    });
    sender
}

/// The next event; never, without an agent.
async fn next(agent: &mut Option<AgentHandle>) -> Option<Told> {
    match agent {
        Some(agent) => agent.next().await,
        None => std::future::pending().await,
    }
}
