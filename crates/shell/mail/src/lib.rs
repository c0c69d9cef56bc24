#![doc = include_str!("../README.md")]

mod address;
mod door;
mod error;
mod inbox;
mod letter;
mod team;

pub use address::{Address, AgentName};
pub use door::{Door, send_through};
pub use error::{MailError, MailResult};
pub use inbox::{Accepted, Batch, Cursor, Inbox};
pub use letter::{Content, Letter, LetterId};
pub use team::{Team, TeamReply};
