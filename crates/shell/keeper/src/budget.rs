//! Day's budget of background work.
//!
//! # Model
//! One small file below Dormouse's home counts the dollars and tokens that background work used
//! today. Before such work asks a model, it asks here; when the day's budget is spent, rules
//! without a model do the work instead and say so. The day is a day of UTC.
//!
//! # Not here
//! Cost of the conversation itself, which the user sees and decides. Counting each request
//! (`meter`).

use dormouse_core::models::ModelTable;
use dormouse_core::settings::{Settings, keys};
use dormouse_core::units::{Millis, Tokens};
use dormouse_core::usage::{TokenUsage, Usd};
use dormouse_system::{Access, FileError, OptionalFile as _, System};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Name of the file below Dormouse's home.
const FILE: &str = "background.json";
/// Most bytes of the file, which holds three figures.
const MOST_BYTES: u64 = 4 * 1024;
/// Longest wait for another process that is just counting, which takes milliseconds.
const LOCK_WAIT: Duration = Duration::from_secs(2);

/// Usage of a day.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Spent {
    /// Day in UTC, as `2026-11-16`.
    pub day: String,
    /// Dollars, by the prices of the model table.
    pub usd: Usd,
    /// Tokens of all kinds.
    pub tokens: u64,
}

/// Reason why a model may not be asked any more today.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Exhausted {
    /// Dollars spent up to `budget.background_day`.
    #[error("background work has used {used} of {budget} today (`budget.background_day`)")]
    Money {
        /// Dollars used so far today.
        used: Usd,
        /// Dollars of the budget.
        budget: Usd,
    },
    /// Tokens spent up to `budget.background_day_tokens`.
    #[error(
        "background work has used {used} of {budget} tokens today (`budget.background_day_tokens`)"
    )]
    Tokens {
        /// Tokens used so far today.
        used: u64,
        /// Tokens of the budget.
        budget: Tokens,
    },
}

/// Budget of the day, shared by all processes.
#[derive(Clone, Debug)]
pub struct Budget {
    system: System,
    file: PathBuf,
}

impl Budget {
    /// Budget that all projects of a home share.
    pub fn new(system: &System, home: &Path) -> Self {
        Self {
            system: system.clone(),
            file: home.join(FILE),
        }
    }

    /// Usage of today. An unreadable file counts as nothing and is rewritten.
    pub fn today(&self) -> Spent {
        let today = day_of(self.system.clock.now());
        let read = self.system.files.read(&self.file, MOST_BYTES).optional();
        let bytes = read.ok().flatten().unwrap_or_default();
        let spent: Spent = serde_json::from_slice(&bytes).unwrap_or_default();
        // Yesterday's figures are simply forgotten: there is no history to keep.
        if spent.day == today {
            spent
        } else {
            Spent {
                day: today,
                ..Spent::default()
            }
        }
    }

    /// Checks that a model may still be asked.
    ///
    /// # Errors
    /// When the day's budget is spent.
    pub fn allows(&self, settings: &Settings) -> Result<(), Exhausted> {
        let spent = self.today();
        let budget = settings.get(keys::BUDGET_BACKGROUND_DAY);
        if spent.usd >= budget {
            let used = spent.usd;
            return Err(Exhausted::Money { used, budget });
        }
        match settings.get(keys::BUDGET_BACKGROUND_DAY_TOKENS) {
            Some(budget) if spent.tokens >= budget.get() => Err(Exhausted::Tokens {
                used: spent.tokens,
                budget,
            }),
            _ => Ok(()),
        }
    }

    /// Counts the usage of a call.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn charge(
        &self,
        models: &ModelTable,
        model: &str,
        usage: &TokenUsage,
    ) -> Result<(), FileError> {
        if let Some(home) = self.file.parent() {
            self.system.files.create_dir_all(home, Access::Private)?;
        }
        // Two processes that count at once must not forget each other's figures; one that cannot
        // get the lock in time counts all the same.
        let _lock = self.system.files.lock_waiting(&self.file, LOCK_WAIT)?;
        let mut spent = self.today();
        let cost = models.lookup(model).info.cost(usage);
        // A model without a price costs nothing here; the limit in tokens still holds.
        spent.usd += cost.unwrap_or_default();
        spent.tokens += usage.prompt().get() + usage.output.get();
        let text = serde_json::to_vec(&spent).unwrap_or_default();
        self.system
            .files
            .replace(&self.file, &text, Access::Private)
    }
}

/// Day of a moment, in UTC.
pub(crate) fn day_of(now: Millis) -> String {
    let text = now.to_string();
    text.get(..10).unwrap_or(&text).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use dormouse_system::MemorySystem;
    use pretty_assertions::assert_eq;

    fn usage(prompt: u64) -> TokenUsage {
        TokenUsage {
            input: Tokens(prompt),
            ..TokenUsage::default()
        }
    }

    #[test]
    fn a_days_budget_is_counted_and_ends_with_the_day() {
        let machine = MemorySystem::new();
        let budget = Budget::new(&machine.system(), Path::new("/home/d"));
        let models = ModelTable::builtin();
        let settings = Settings::default();
        assert_eq!(budget.allows(&settings), Ok(()));
        let model = "claude-sonnet-4-5";
        budget.charge(models, model, &usage(1_000_000)).unwrap();
        assert_eq!(budget.today().tokens, 1_000_000);
        assert!(matches!(
            budget.allows(&settings),
            Err(Exhausted::Money { .. })
        ));
        machine.clock.advance(Duration::from_hours(24));
        assert_eq!(budget.allows(&settings), Ok(()));
        assert_eq!(budget.today().usd, Usd::default());
    }

    #[test]
    fn a_damaged_file_is_counted_anew() {
        let machine = MemorySystem::new();
        machine.files.put("/home/d/background.json", "{{{");
        let budget = Budget::new(&machine.system(), Path::new("/home/d"));
        budget
            .charge(ModelTable::builtin(), "x", &usage(5))
            .unwrap();
        assert_eq!(budget.today().tokens, 5);
    }
}
