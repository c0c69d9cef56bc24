//! A tour: prompts and views that show themselves, for a demonstration.
//!
//! # Model
//! A step has a caption and a deed. The caption goes into the scrollback, the deed is done as a person
//! would do it, and the next step comes when the agent rests and the person had time to read. Steps are
//! moved by ticks, so that a tour without a terminal runs as fast as the agent.

use crate::cell::Cell;
use crate::dialog::Choice;
use crate::model::{Effect, Model};
use crate::panel::PanelKind;
use crossterm::event::{KeyCode, KeyEvent};
use dormouse_agent::protocol::When;
use std::collections::VecDeque;

/// Ticks for which typed words stand before they are sent: a second.
const TYPED: u32 = 4;
/// Ticks for which a question stands before it is answered: three seconds to read a diff.
const ASKED: u32 = 12;

/// A tour of the screen.
#[derive(Clone, Debug, Default)]
pub struct Tour {
    /// Steps in the order they are shown.
    pub steps: Vec<TourStep>,
    /// True if a person watches, so that there are pauses.
    pub paced: bool,
}

/// Step of a tour.
#[derive(Clone, Debug)]
pub struct TourStep {
    /// Short name, for the picture of it.
    pub name: String,
    /// Explanation that stands above the step.
    pub caption: String,
    /// Deed of the step: words typed, a panel opened, time passed.
    pub act: TourAct,
    /// Ticks to look at the result, a quarter of a second each.
    pub pause: u32,
}

/// Deed of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TourAct {
    /// Nothing but the caption.
    Look,
    /// Words or a command are typed and sent.
    Say(String),
    /// A panel is opened; the next step closes it.
    Show(PanelKind),
    /// Minutes pass on the tour's clock.
    Later(u64),
}

/// Tour that is being shown, with the steps still to come.
#[derive(Clone, Debug)]
pub(crate) struct Touring {
    steps: VecDeque<TourStep>,
    /// Step that is shown, and the number of all.
    at: (usize, usize),
    /// Name of the step and ticks to look at it.
    name: String,
    pause: u32,
    paced: bool,
    paused: bool,
    phase: Phase,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Ticks until the next step.
    Reading(u32),
    /// Ticks until the typed words are sent.
    Typed(u32),
    /// The agent works; ticks for which a question has been shown.
    Working(u32),
    /// All steps are over.
    Over,
}

impl Model {
    /// Begins a tour; the first tick shows its first step.
    pub fn begin_tour(&mut self, tour: Tour) {
        self.tour = Some(Touring {
            at: (0, tour.steps.len()),
            steps: tour.steps.into(),
            name: String::new(),
            pause: 0,
            paced: tour.paced,
            paused: false,
            phase: Phase::Reading(0),
        });
    }

    /// True while ticks move a tour.
    pub(crate) fn is_touring(&self) -> bool {
        let tour = self.tour.as_ref();
        tour.is_some_and(|tour| !tour.paused && tour.phase != Phase::Over)
    }

    /// True if ticks of a tour need no pauses between them.
    pub(crate) fn tour_hurries(&self) -> bool {
        self.tour.as_ref().is_some_and(|tour| !tour.paced)
    }

    /// The line of the tour below the composer.
    pub(crate) fn tour_line(&self) -> Option<String> {
        let tour = self.tour.as_ref()?;
        let (at, of) = tour.at;
        Some(match tour.phase {
            Phase::Over => "the demo is over · q leaves".to_owned(),
            _ if tour.paused => {
                format!("demo {at}/{of} paused · Space goes on · n next · q leaves")
            }
            _ => format!("demo {at}/{of} · Space pauses · n next · q leaves"),
        })
    }

    /// A key while a tour runs.
    pub(crate) fn tour_key(&mut self, key: KeyEvent) -> Vec<Effect> {
        let Some(tour) = &mut self.tour else {
            return Vec::new();
        };
        match key.code {
            KeyCode::Char('q') | KeyCode::Esc => vec![Effect::Exit],
            KeyCode::Char(' ') => {
                tour.paused = !tour.paused;
                Vec::new()
            }
            // A step goes on even while the tour is paused.
            KeyCode::Char('n') | KeyCode::Right | KeyCode::Enter => self.hurry(),
            // Panels can be looked around in.
            _ if self.panel.is_some() => self.panel_key(key, false, false),
            _ => Vec::new(),
        }
    }

    /// Goes on at once: to the next step, or to the end of a wait in this one.
    fn hurry(&mut self) -> Vec<Effect> {
        let mut effects = Vec::new();
        // At most the end of a step, the next one, and its words.
        for _ in 0..3 {
            let Some(tour) = &mut self.tour else {
                break;
            };
            let before = tour.phase;
            match &mut tour.phase {
                Phase::Reading(left) | Phase::Typed(left) => *left = 0,
                Phase::Working(shown) => *shown = ASKED,
                Phase::Over => {}
            }
            effects.extend(self.tour_tick());
            let after = self.tour.as_ref().map(|tour| tour.phase);
            // A step that works is waited for; the next step is gone to once.
            let done = matches!(
                (before, after),
                (Phase::Typed(_) | Phase::Over, _)
                    | (Phase::Working(_), Some(Phase::Working(_)))
                    | (Phase::Reading(_), Some(Phase::Working(_) | Phase::Over))
            );
            if done {
                break;
            }
        }
        effects
    }

    /// Moves the tour on by a quarter of a second.
    pub(crate) fn tour_tick(&mut self) -> Vec<Effect> {
        let Some(tour) = &mut self.tour else {
            return Vec::new();
        };
        match tour.phase {
            Phase::Reading(0) => self.next_step(),
            Phase::Reading(left) => {
                tour.phase = Phase::Reading(left - 1);
                Vec::new()
            }
            Phase::Typed(0) => {
                tour.phase = Phase::Working(0);
                self.submit(When::Queue)
            }
            Phase::Typed(left) => {
                tour.phase = Phase::Typed(left - 1);
                Vec::new()
            }
            Phase::Working(shown) => self.wait_for_rest(shown),
            Phase::Over => Vec::new(),
        }
    }

    fn wait_for_rest(&mut self, shown: u32) -> Vec<Effect> {
        let asked = !self.dialogs.is_empty();
        let rests = !self.is_busy() && self.tasks.is_empty();
        let waits = self.panel.as_ref().is_some_and(|open| open.panel.is_none());
        let Some(tour) = &mut self.tour else {
            return Vec::new();
        };
        let name = tour.name.clone();
        if asked {
            let hurries = !tour.paced;
            if shown == 0 {
                tour.phase = Phase::Working(1);
                return vec![Effect::Shot(format!("{name}-question"))];
            }
            if hurries || shown >= ASKED {
                tour.phase = Phase::Working(0);
                return self.choose(Choice::Yes);
            }
            tour.phase = Phase::Working(shown + 1);
            return Vec::new();
        }
        if rests && !waits {
            let pause = if tour.paced { tour.pause } else { 0 };
            tour.phase = Phase::Reading(pause);
            return vec![Effect::Shot(name)];
        }
        Vec::new()
    }

    fn next_step(&mut self) -> Vec<Effect> {
        self.panel = None;
        let Some(tour) = &mut self.tour else {
            return Vec::new();
        };
        let Some(step) = tour.steps.pop_front() else {
            tour.phase = Phase::Over;
            let paced = tour.paced;
            return if paced {
                Vec::new()
            } else {
                vec![Effect::Exit]
            };
        };
        tour.at.0 += 1;
        tour.name.clone_from(&step.name);
        tour.pause = step.pause;
        tour.phase = Phase::Working(0);
        let (at, of) = tour.at;
        let typed = if tour.paced { TYPED } else { 0 };
        if !step.caption.is_empty() {
            self.put(Cell::Caption {
                at: format!("{at}/{of}"),
                text: step.caption,
            });
        }
        match step.act {
            TourAct::Look => Vec::new(),
            TourAct::Say(words) => {
                self.composer.set(&words);
                if let Some(tour) = &mut self.tour {
                    tour.phase = Phase::Typed(typed);
                }
                Vec::new()
            }
            TourAct::Show(kind) => self.open_panel(kind, ""),
            TourAct::Later(minutes) => vec![Effect::Later(minutes)],
        }
    }
}
