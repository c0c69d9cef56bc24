//! State that all work on memory shares.

use crate::budget::Budget;
use crate::client::ConfiguredModel;
use crate::meter::Tally;
use dormouse_core::models::ModelTable;
use dormouse_core::settings::Settings;
use dormouse_core::show;
use dormouse_core::units::Millis;
use dormouse_engine::{AskModel, Asker};
use dormouse_memdir::MemoryDir;
use dormouse_model::Model;
use dormouse_system::System;
use std::error::Error;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

/// Source of the present settings; hot reload replaces them while sessions run.
pub type SettingsSource = Arc<dyn Fn() -> Arc<Settings> + Send + Sync>;

/// Directories that the keeper works with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeeperPlaces {
    /// Dormouse's home directory, with the budget's file.
    pub home: PathBuf,
    /// User's home, for `~`; `None` if unknown.
    pub user_home: Option<PathBuf>,
    /// Root of the project, whose tree claims are checked against.
    pub project_root: PathBuf,
    /// Working directory of the session.
    pub working_dir: PathBuf,
    /// Folders with transcripts that dreams may search.
    pub transcripts: Vec<PathBuf>,
}

/// Memory shared by the people of a project.
#[derive(Clone, Debug)]
pub struct TeamMemory {
    /// Directory of the shared memory.
    pub dir: MemoryDir,
    /// True if the folder it lies in is trusted. Otherwise nothing of it is recalled, and nothing
    /// is shared.
    pub trusted: bool,
    /// Name under which this user shares memories.
    pub author: String,
}

/// Memory of a project and everything around it. Cheap to share.
pub struct Keeper {
    /// Files, clock, ids and processes.
    pub system: System,
    /// Source of the settings, which may change.
    pub settings: SettingsSource,
    /// Table of models and prices.
    pub models: Arc<ModelTable>,
    /// Memory of the project's own.
    pub memory: MemoryDir,
    /// Memory of the team, if there is one.
    pub team: Option<TeamMemory>,
    /// Directories to work with.
    pub places: KeeperPlaces,
    /// Model that can be asked; `None` leaves every job to its rules.
    pub model: Option<ConfiguredModel>,
    /// Day's budget of background work.
    pub budget: Budget,
}

impl fmt::Debug for Keeper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keeper")
            .field("memory", &self.memory.root())
            .field("places", &self.places)
            .finish_non_exhaustive()
    }
}

/// Reason for doing something without a model.
pub(crate) struct Without {
    /// Reason for people, one line.
    pub(crate) why: String,
    /// True if asking the model again later may help.
    pub(crate) try_again: bool,
}

/// The day of a moment, in universal time.
pub(crate) fn day(at: Millis) -> jiff::civil::Date {
    let at = jiff::Timestamp::from_millisecond(at.0).unwrap_or_default();
    at.to_zoned(jiff::tz::TimeZone::UTC).date()
}

impl Keeper {
    /// Settings as they are now.
    pub fn settings(&self) -> Arc<Settings> {
        (self.settings)()
    }

    pub(crate) fn now(&self) -> Millis {
        self.system.clock.now()
    }

    /// Present day, in UTC.
    pub(crate) fn today(&self) -> jiff::civil::Date {
        day(self.now())
    }

    /// Model for background work now, or the reason why there is none.
    pub(crate) fn background_model(&self) -> Result<&ConfiguredModel, String> {
        let model = self.model.as_ref().ok_or("no model is set up")?;
        match self.budget.allows(&self.settings()) {
            Ok(()) => Ok(model),
            Err(spent) => Err(spent.to_string()),
        }
    }

    /// Metered asker of a background model by its name.
    pub(crate) fn asker(&self, model: &Arc<dyn Model>, name: &str) -> Arc<dyn Asker> {
        // No conversation has it in its log: the budget is the only place that counts it.
        self.asker_counted(model, name, &Tally::default())
    }

    /// The same, with its usage for the log of a session.
    pub(crate) fn asker_counted(
        &self,
        model: &Arc<dyn Model>,
        name: &str,
        used: &Tally,
    ) -> Arc<dyn Asker> {
        let asker = AskModel(Arc::clone(model));
        self.metered(Arc::new(asker), name, used)
    }

    /// Reason why a task has to be done without the model that was asked: its fault, or that the
    /// day's budget was spent on the way.
    pub(crate) fn why_without(&self, fault: &dyn Error) -> Without {
        // The budget first: a spent budget looks like a failing model, but asking again would not
        // help.
        match self.budget.allows(&self.settings()) {
            Err(spent) => Without {
                why: spent.to_string(),
                try_again: false,
            },
            Ok(()) => Without {
                why: format!("the model failed: {}", show::chain(fault)),
                try_again: true,
            },
        }
    }
}
