//! Memories by hand: listing, showing, adding, changing, undoing, importing, checking.
//!
//! # Model
//! Every service works on one directory ([`Which`](crate::Which)). Reading never makes anything; a
//! change is a transaction with an entry in the journal, so that it can be taken back.
//!
//! # Not here
//! Rules for the content of a memory (`dormouse-memory`), transactions on disk (`dormouse-memdir`).

mod add;
mod agent;
mod check;
mod edit;
mod feedback;
mod forget;
mod history;
mod import;
mod inbox;
mod index;
mod list;
mod names;
mod status;
mod tool;
mod wording;

pub use add::{CredentialIn, NewMemoryText, Remembered};
pub use agent::{AgentForgot, AgentRemembered, may_be_shown};
pub use check::{Check, Finding, Remedy};
pub use edit::{FieldChanges, MemoryDraft, MemoryEdited};
pub use feedback::MemoryJudged;
pub use forget::{Forgotten, Moved, Purge};
pub use history::{EntryDiff, EntryRow, FileDiff, HistoryList, Undone};
pub use import::{Added, ImportAsk, ImportReport, LeftOutside};
pub use inbox::{Chosen, Decided, InboxList, WaitingItem};
pub use index::{IndexMended, IndexMending};
pub use list::{ListFilter, MemoryList, MemoryRow, MemoryShown};
pub use names::NameError;
pub use status::{
    Consolidation, FileLeftOut, IndexState, Instruction, Kept, MemoryCounts, MemoryStatus,
    PromptSection, Spending,
};
pub use tool::ToolAnswer;

use dormouse_core::settings::Settings;
use dormouse_memory::index::Limits;

/// Limits of the part of the index that is loaded.
pub(crate) fn limits(settings: &Settings) -> Limits {
    Limits::from_settings(settings)
}
