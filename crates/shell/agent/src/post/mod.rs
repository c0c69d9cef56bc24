//! Messages between agents: the post office of a session, and the mailbox of each agent in it.
//!
//! # Model
//! The agents of a session are a team. Each that lives beside the conversation has a *seat*: a name, and a
//! mailbox on disk ([`dormouse_mail`]). A letter is written to the addressee's mailbox and wakes it; it is
//! read with the next round of results, or at once if the agent is idle. Other sessions of the same user
//! reach the session's own agent through a socket.
//!
//! A letter is shown as another agent's words in a fragment of its own. The place up to which a mailbox
//! was read is a fact of the log, recorded after the fragments: an agent that is killed between the two
//! finds the letter in its conversation when it is resumed, so that none is lost and none told twice.
//!
//! # Not here
//! Files and sockets (`dormouse-mail`), starting and ending agents (`crew`).

mod mailbox;
mod office;
mod tool;

pub(crate) use mailbox::Mailbox;
pub(crate) use office::{LEAD, Office, Seat};
pub(crate) use tool::{SEND_MESSAGE, tool};
