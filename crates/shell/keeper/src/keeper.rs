//! What all work on memory shares.

use crate::budget::Budget;
use crate::client::ConfiguredModel;
use crate::meter::Tally;
use dormouse_core::models::ModelTable;
use dormouse_core::settings::Settings;
use dormouse_core::show;
use dormouse_core::units::Millis;
use dormouse_engine::{AskModel, Asker};
use dormouse_memdir::MemoryDir;
use dormouse_system::System;
use std::error::Error;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

/// Gives the settings as they are now.
pub type SettingsSource = Arc<dyn Fn() -> Arc<Settings> + Send + Sync>;

/// Where the keeper works.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeeperPlaces {
    /// Dormouse's home.
    pub home: PathBuf,
    /// The user's home.
    pub user_home: Option<PathBuf>,
    /// The root of the project.
    pub project_root: PathBuf,
    /// Where the session works.
    pub working_dir: PathBuf,
    /// Folders with transcripts that dreams may search.
    pub transcripts: Vec<PathBuf>,
}

/// Memory shared by the people of a project.
#[derive(Clone, Debug)]
pub struct TeamMemory {
    /// Its directory.
    pub dir: MemoryDir,
    /// Whether the folder it lies in is trusted. If not, nothing of it is recalled, and nothing is
    /// shared.
    pub trusted: bool,
    /// Who shares what is written there.
    pub author: String,
}

/// The memory of a project and everything around it. Cheap to share.
pub struct Keeper {
    /// The machine.
    pub system: System,
    /// The settings, which may change.
    pub settings: SettingsSource,
    /// Models and prices.
    pub models: Arc<ModelTable>,
    /// The project's own memory.
    pub memory: MemoryDir,
    /// The team's.
    pub team: Option<TeamMemory>,
    /// Where it works.
    pub places: KeeperPlaces,
    /// Who can be asked, if anybody.
    pub model: Option<ConfiguredModel>,
    /// What background work may cost.
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

/// Why something is done without a model.
pub(crate) struct Without {
    /// The reason, for people.
    pub(crate) why: String,
    /// Whether the model is worth asking again.
    pub(crate) try_again: bool,
}

impl Keeper {
    /// The settings now.
    pub fn settings(&self) -> Arc<Settings> {
        (self.settings)()
    }

    pub(crate) fn now(&self) -> Millis {
        self.system.clock.now()
    }

    /// The day, in universal time.
    pub(crate) fn today(&self) -> jiff::civil::Date {
        let at = jiff::Timestamp::from_millisecond(self.now().0).unwrap_or_default();
        at.to_zoned(jiff::tz::TimeZone::UTC).date()
    }

    /// Who may be asked for background work now, or why nobody.
    pub(crate) fn background_model(&self) -> Result<&ConfiguredModel, String> {
        let model = self.model.as_ref().ok_or("no model is set up")?;
        match self.budget.allows(&self.settings()) {
            Ok(()) => Ok(model),
            Err(spent) => Err(spent.to_string()),
        }
    }

    /// The asker of a background model by its name, counted.
    pub(crate) fn asker(&self, model: &ConfiguredModel, name: &str) -> Arc<dyn Asker> {
        let asker = AskModel(Arc::clone(&model.model));
        // No conversation has it in its log: the budget is the only place it counts.
        self.metered(Arc::new(asker), name, &Tally::default())
    }

    /// Why a task has to be done without the model that was asked: its fault, or that the day's
    /// budget was spent on the way.
    pub(crate) fn why_without(&self, fault: &dyn Error) -> Without {
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
