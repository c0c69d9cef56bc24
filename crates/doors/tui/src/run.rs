//! The loop of the screen: one input at a time into the model, effects out of it, frames to the
//! terminal.
//!
//! # Model
//! Inputs come from a thread that reads keys, from the agent and from services of the door. Frames
//! are drawn at most every [`FRAME`] and only when something has changed; without inputs the loop
//! sleeps. A scene may be laid aside for another one, such as the demonstration.
//!
//! # Not here
//! Effects: `carry`. Lines in place of frames: `plain`.

use crate::input::{Signals, interrupted, read_keys, read_lines, size, waits_behind};
use crate::line::{Line, Theme};
use crate::model::{Effect, Input, Model};
use crate::plain::Plain;
use crate::port::{Looks, Opened, Opening, Scene, Services, Talk};
use crate::record::{Recorder, Shot};
use crate::screen::Screen;
use crate::terminal::{self, Modes};
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use dormouse_agent::{AgentHandle, Ask, Told};
use std::io;
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
/// The same for a tour that is not watched: as fast as frames come.
const HURRIED: Duration = FRAME;
/// Events that are taken in before the screen is looked at: a frame's worth at full speed.
const BATCH: usize = 256;
/// Keys that may wait: more than a person types while a frame is drawn, and a paste is one.
const MOST_KEYS: usize = 1_024;

/// Time for an agent that was not asked to end in order.
const LAST_WAIT: Duration = Duration::from_secs(2);

/// Opens the screen and serves it until the person leaves. The result are pictures, if they are wanted.
///
/// # Errors
/// When the terminal cannot be set up or written.
pub async fn run(scene: Scene, looks: Looks) -> io::Result<Vec<Shot>> {
    let (columns, height) = looks.size.unwrap_or_else(size);
    let modes = if looks.plain {
        None
    } else {
        Some(Modes::set()?)
    };
    let (keys, inputs) = mpsc::channel(MOST_KEYS);
    // Held to the end: without a reader the channel must not look closed.
    let _held = looks.deaf.then(|| keys.clone());
    let (goes_on, gate) = std::sync::mpsc::channel();
    if looks.plain && !looks.deaf {
        thread::spawn(move || read_lines(&keys));
    } else if !looks.deaf {
        thread::spawn(move || read_keys(&keys, &gate));
    }
    let (replies, answers) = mpsc::unbounded_channel();
    let mut serving = Serving {
        on: OnStage::new(
            scene,
            if looks.plain {
                Theme::Flat
            } else {
                looks.theme
            },
        ),
        aside: Vec::new(),
        screen: Screen::new(columns, height, looks.theme, looks.reflows),
        plain: looks.plain.then(Plain::default),
        recorder: looks.records.then(Recorder::default),
        modes,
        title: String::new(),
        replies,
        running: Vec::new(),
        exit: false,
        quiet: looks.deaf,
        tmux: looks.tmux,
        goes_on,
    };
    serving.serve(inputs, answers).await?;
    serving.end().await
}

/// Scene that is shown, or laid aside.
pub(crate) struct OnStage {
    pub(crate) model: Model,
    pub(crate) talk: Option<Talk>,
    pub(crate) services: Arc<dyn Services>,
    /// Commands on their way to the agent, in order.
    pub(crate) asks: Option<mpsc::UnboundedSender<Ask>>,
    keeps: Option<Box<dyn crate::port::Keeps>>,
    /// True if the services have to open the other end, which begins behind the first frame.
    opens: bool,
    opening: Option<mpsc::UnboundedReceiver<Opening>>,
}

impl OnStage {
    pub(crate) fn new(scene: Scene, theme: Theme) -> Self {
        let mut model = Model::new(scene.start);
        model.set_theme(theme);
        if scene.opens {
            model.open_later();
        }
        let mut on = Self {
            model,
            talk: None,
            services: scene.services,
            asks: None,
            keeps: scene.keeps,
            opens: scene.opens,
            opening: None,
        };
        if let Some(opened) = scene.opened {
            // Nothing was typed yet, so that nothing follows.
            drop(on.open(opened));
        }
        if let Some(tour) = scene.tour {
            on.model.begin_tour(tour);
        }
        on
    }

    /// The other end is there.
    fn open(&mut self, opened: Opened) -> Vec<Effect> {
        self.model.replay(opened.history, opened.whole);
        let effects = match &opened.talk {
            Talk::Agent(agent) => {
                self.asks = Some(forward(agent));
                Vec::new()
            }
            Talk::Watched(watched) => self.model.watch(watched.opened.clone()),
        };
        self.talk = Some(opened.talk);
        effects
    }

    /// Has the other end opened, once.
    fn begin_opening(&mut self) {
        if std::mem::take(&mut self.opens) {
            let (news, opening) = mpsc::unbounded_channel();
            self.opening = Some(opening);
            self.services.open(news);
        }
    }

    /// Ends the scene; its agent gets some time, and things it needs live as long.
    async fn end(mut self) {
        // The agent ends when every sender is gone.
        self.asks = None;
        if let Some(Talk::Agent(agent)) = self.talk.take() {
            // Its failure was told by its last event; a person who left twice does not wait.
            let _ended = tokio::time::timeout(LAST_WAIT, agent.ended()).await;
        }
        drop(self.keeps);
    }
}

/// The screen while it is served.
pub(crate) struct Serving {
    pub(crate) on: OnStage,
    /// Scenes that go on when this one ends, the newest last.
    pub(crate) aside: Vec<OnStage>,
    pub(crate) screen: Screen,
    pub(crate) plain: Option<Plain>,
    pub(crate) recorder: Option<Recorder>,
    pub(crate) modes: Option<Modes>,
    /// Title of the terminal, as it was set last.
    title: String,
    pub(crate) replies: mpsc::UnboundedSender<Reply>,
    pub(crate) running: Vec<AbortHandle>,
    pub(crate) exit: bool,
    /// True if no person is there: nothing rings.
    pub(crate) quiet: bool,
    /// True inside tmux.
    pub(crate) tmux: bool,
    /// Lets the reader of keys go on behind a key after which another program may read them.
    goes_on: std::sync::mpsc::Sender<()>,
}

/// Answer of a service.
pub(crate) enum Reply {
    /// An input for the model.
    Input(Input),
    /// Another scene, laid over this one or in its place.
    Scene {
        scene: Result<Box<Scene>, String>,
        stays: bool,
    },
}

impl Serving {
    async fn serve(
        &mut self,
        mut keys: mpsc::Receiver<Input>,
        mut answers: mpsc::UnboundedReceiver<Reply>,
    ) -> io::Result<()> {
        let mut signals = Signals::new()?;
        let mut next_frame = Instant::now();
        let mut tick = Instant::now() + TICK;
        let (mut changed, mut gone) = (true, false);
        while !self.exit {
            if changed && Instant::now() >= next_frame {
                self.draw()?;
                self.on.begin_opening();
                changed = false;
                next_frame = Instant::now() + FRAME;
            }
            let ticks = self.on.model.wants_ticks();
            let pace = if self.on.model.tour_hurries() {
                HURRIED
            } else {
                TICK
            };
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
                () = sleep_until(tick), if ticks => {
                    tick = Instant::now() + pace;
                    self.take(Input::Tick)?;
                }
                Some(reply) = answers.recv() => self.replied(reply)?,
                news = coming(&mut self.on.opening) => self.hear(news)?,
                told = next(&mut self.on.talk) => self.told(told)?,
            }
            changed = true;
        }
        Ok(())
    }

    /// Takes news of the opening in; none if its task has ended.
    fn hear(&mut self, news: Option<Opening>) -> io::Result<()> {
        let effects = match news {
            Some(Opening::Tail { events, whole }) => {
                self.on.model.replay(events, whole);
                Vec::new()
            }
            Some(Opening::Opened(opened)) => self.on.open(opened),
            Some(Opening::Earlier(figures)) => {
                self.on.model.figures.absorb(figures);
                Vec::new()
            }
            Some(Opening::Without(why)) => self.on.model.without_agent(why),
            Some(Opening::Failed) => {
                self.exit = true;
                Vec::new()
            }
            None => {
                self.on.opening = None;
                let lost = self.on.talk.is_none() && self.on.model.opening;
                if !lost {
                    return Ok(());
                }
                // Its task has failed in a way that it could not tell.
                let why = "the session could not be opened".to_owned();
                self.on.model.without_agent(why)
            }
        };
        self.carry_out_all(effects)
    }

    fn replied(&mut self, reply: Reply) -> io::Result<()> {
        match reply {
            Reply::Input(input) => self.take(input),
            Reply::Scene { scene, stays } => {
                match scene {
                    Err(why) => return self.take(Input::Failed(why)),
                    Ok(scene) => {
                        let before = std::mem::replace(
                            &mut self.on,
                            OnStage::new(*scene, self.screen.theme()),
                        );
                        if stays {
                            tokio::spawn(before.end());
                        } else {
                            self.aside.push(before);
                        }
                    }
                }
                Ok(())
            }
        }
    }

    /// Ends the scene that is shown: the one behind it goes on, or the program ends.
    pub(crate) fn end_scene(&mut self) -> io::Result<()> {
        let Some(behind) = self.aside.pop() else {
            self.exit = true;
            return Ok(());
        };
        // Finished parts of the scene stay in the scrollback.
        self.on.model.close_panel();
        self.draw()?;
        let ended = std::mem::replace(&mut self.on, behind);
        tokio::spawn(ended.end());
        Ok(())
    }

    /// Takes an event of the agent in, and those that wait behind it.
    fn told(&mut self, told: Option<Told>) -> io::Result<()> {
        let Some(told) = told else {
            self.on.talk = None;
            return self.take(Input::Told(Box::new(Told {
                seq: None,
                event: dormouse_agent::Event::Closed { failed: None },
            })));
        };
        self.take(Input::Told(Box::new(told)))?;
        for _ in 0..BATCH {
            let Some(told) = self.on.talk.as_mut().and_then(Talk::try_next) else {
                break;
            };
            self.take(Input::Told(Box::new(told)))?;
        }
        Ok(())
    }

    pub(crate) fn take(&mut self, input: Input) -> io::Result<()> {
        if let Input::Resize = input {
            let (columns, height) = size();
            self.screen.resize(columns, height);
        }
        let waits = waits_behind(&input);
        let effects = self.on.model.update(input);
        let done = self.carry_out_all(effects);
        if waits {
            // The reader has ended if this fails.
            let _sent = self.goes_on.send(());
        }
        done
    }

    fn carry_out_all(&mut self, effects: Vec<Effect>) -> io::Result<()> {
        let mut effects = effects.into_iter();
        effects.try_for_each(|effect| self.carry_out(effect))
    }

    pub(crate) fn suspend(&mut self) -> io::Result<()> {
        if self.hand_over()? {
            terminal::stop()?;
            self.take_over()?;
        }
        Ok(())
    }

    /// Gives the draft to the person's editor and waits for it. No key is read meanwhile.
    pub(crate) fn compose(&mut self, text: String) -> io::Result<()> {
        if !self.hand_over()? {
            return Ok(());
        }
        let edited = self.on.services.compose(text);
        self.take_over()?;
        self.take(Input::Composed(edited))
    }

    /// Leaves the terminal to another program; false if it has no modes to give back.
    fn hand_over(&mut self) -> io::Result<bool> {
        if self.modes.is_none() {
            return Ok(false);
        }
        let lines = self.lines();
        let bytes = self.screen.leave(&lines);
        terminal::write(bytes.as_bytes())?;
        self.modes = None;
        Ok(true)
    }

    fn take_over(&mut self) -> io::Result<()> {
        self.modes = Some(Modes::set()?);
        self.title.clear();
        let (columns, height) = size();
        self.screen.resize(columns, height);
        Ok(())
    }

    /// Lines of finished cells at the width of the screen.
    fn lines(&mut self) -> Vec<Line> {
        let columns = self.screen.size().0;
        let cells = self.on.model.take_cells();
        cells.iter().flat_map(|cell| cell.lines(columns)).collect()
    }

    fn draw(&mut self) -> io::Result<()> {
        let (columns, height) = self.screen.size();
        let panel = self.on.model.panel_view(columns, height);
        let covers = panel.is_some();
        if self.plain.is_some() {
            let lines = self.print()?;
            if let Some(recorder) = &mut self.recorder {
                let frame = panel.unwrap_or_else(|| self.on.model.view(columns, height));
                recorder.drawn(&lines, &frame, covers, (columns, height));
            }
            return Ok(());
        }
        // Finished lines wait while a panel covers the screen they belong to.
        let (lines, frame) = match panel {
            Some(frame) => (Vec::new(), frame),
            None => (self.lines(), self.on.model.view(columns, height)),
        };
        if let Some(recorder) = &mut self.recorder {
            recorder.drawn(&lines, &frame, covers, (columns, height));
        }
        let bytes = if covers {
            self.screen.draw_over(frame)
        } else {
            self.screen.draw(&lines, frame)
        };
        terminal::write(bytes.as_bytes())?;
        let title = self.on.model.title();
        if title != self.title {
            terminal::write(format!("\u{1b}]2;{title}\u{7}").as_bytes())?;
            self.title = title;
        }
        Ok(())
    }

    /// Takes the live part away and says goodbye.
    async fn end(mut self) -> io::Result<Vec<Shot>> {
        self.on.model.close_panel();
        if self.plain.is_some() {
            self.draw()?;
            terminal::write(b"\n")?;
        } else {
            let lines = self.lines();
            let bytes = self.screen.leave(&lines);
            terminal::write(bytes.as_bytes())?;
        }
        self.modes = None;
        if let Some(farewell) = self.on.model.farewell() {
            terminal::write(format!("{farewell}\n").as_bytes())?;
        }
        self.on.end().await;
        for behind in self.aside {
            behind.end().await;
        }
        Ok(self
            .recorder
            .map(|recorder| recorder.shots)
            .unwrap_or_default())
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
async fn next(talk: &mut Option<Talk>) -> Option<Told> {
    match talk {
        Some(talk) => talk.next().await,
        None => std::future::pending().await,
    }
}

/// The next news of an opening; never, if there is none.
async fn coming(opening: &mut Option<mpsc::UnboundedReceiver<Opening>>) -> Option<Opening> {
    match opening {
        Some(opening) => opening.recv().await,
        None => std::future::pending().await,
    }
}
