//! Letters, and how an agent is shown one.
//!
//! # Model
//! A letter is another agent's words. [`Letter::shown`] puts them into a wrapper of their own, which
//! `dormouse_core::fragment` recognises as such whatever the letter contains: no reader of the
//! conversation takes them for the user's.
//!
//! # Not here
//! Lines on disk and their order: `inbox`.

use crate::address::AgentName;
use crate::error::{MailError, MailResult};
use dormouse_core::fragment::{TEAMMATE_MESSAGE, one_line, render};
use dormouse_core::units::Millis;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Version of a line. Lines of a newer one are read as far as they are understood.
const FORMAT: u32 = 1;
/// Bytes of a letter as a line. Longer texts belong into a file: every reader would pay for them
/// with its window.
pub(crate) const LONGEST: usize = 64 * 1024;
/// Characters of a summary that is shown; it is a line on a screen.
const LONGEST_SUMMARY: usize = 120;

/// Id of a letter, chosen by the sender: the same letter sent again has the same id.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct LetterId(String);

impl LetterId {
    /// An id that is unique among the letters of all senders, such as one made of a session and a
    /// call.
    pub fn new(id: impl Into<String>) -> Self {
        Self(id.into())
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for LetterId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Words or an agreement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Content {
    /// Words for the model of the addressee.
    Text {
        /// Words as they were written.
        message: String,
    },
    /// Asks the addressee to finish and stop.
    ShutdownRequest {
        /// Reason, if one was given.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// Answer to a request to stop.
    ShutdownResponse {
        /// Letter that is answered.
        request_id: LetterId,
        /// True if the agent stops.
        approve: bool,
        /// Reason for going on.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// Answer to a plan that was presented.
    PlanApprovalResponse {
        /// Letter that is answered.
        request_id: LetterId,
        /// True if the plan may be carried out.
        approve: bool,
        /// Changes that are wanted.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        feedback: Option<String>,
    },
}

/// One letter, as a line of an inbox holds it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Letter {
    /// Version of the line.
    pub format: u32,
    /// Id by which a second delivery is recognised.
    pub id: LetterId,
    /// Agent that wrote it.
    pub from: AgentName,
    /// Agent whose inbox it lies in.
    pub to: AgentName,
    /// Time at which it was sent.
    pub time: Millis,
    /// A few words for a screen.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub summary: String,
    /// Words, or an agreement of agents.
    pub content: Content,
}

impl Letter {
    /// A letter that was not sent yet.
    pub const fn new(
        id: LetterId,
        from: AgentName,
        to: AgentName,
        time: Millis,
        content: Content,
    ) -> Self {
        Self {
            format: FORMAT,
            id,
            from,
            to,
            time,
            summary: String::new(),
            content,
        }
    }

    /// The letter as a line with its end.
    pub(crate) fn line(&self) -> MailResult<Vec<u8>> {
        // JSON escapes line ends, so that a letter never takes two lines.
        let mut line = serde_json::to_vec(self)?;
        line.push(b'\n');
        if line.len() > LONGEST {
            return Err(MailError::TooLong {
                len: line.len(),
                most: LONGEST,
            });
        }
        Ok(line)
    }

    /// The letter as a fragment for the addressee's model.
    pub fn shown(&self) -> String {
        let mut head = format!("From the agent {} (letter {})", self.from, self.id);
        let summary = one_line(&self.summary, LONGEST_SUMMARY);
        if !summary.is_empty() {
            head.push_str(": ");
            head.push_str(&summary);
        }
        let words = match &self.content {
            Content::Text { message } => message.clone(),
            Content::ShutdownRequest { reason } => format!(
                "Asks you to finish and stop{}. Answer with a shutdown_response that names this \
                 letter.",
                because(reason.as_deref())
            ),
            Content::ShutdownResponse {
                request_id,
                approve: true,
                ..
            } => format!("Stops, as letter {request_id} asked."),
            Content::ShutdownResponse {
                request_id, reason, ..
            } => format!(
                "Does not stop as letter {request_id} asked{}.",
                because(reason.as_deref())
            ),
            Content::PlanApprovalResponse {
                request_id,
                approve,
                feedback,
            } => {
                let verdict = if *approve { "Approves" } else { "Rejects" };
                let wish = feedback.as_deref().map(|wish| format!(": {wish}"));
                let wish = wish.unwrap_or_default();
                format!("{verdict} the plan of letter {request_id}{wish}")
            }
        };
        render(&TEAMMATE_MESSAGE, &format!("{head}\n{words}"))
    }
}

fn because(reason: Option<&str>) -> String {
    reason
        .map(|reason| format!(" ({reason})"))
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use dormouse_core::fragment::{Speaker, recognise};
    use proptest::prelude::*;

    fn letter(message: &str, summary: &str) -> Letter {
        let name = |text| AgentName::new(text).unwrap();
        let content = Content::Text {
            message: message.to_owned(),
        };
        let mut letter = Letter::new(
            LetterId::new("s1-c1"),
            name("scout"),
            name("lead"),
            Millis(7),
            content,
        );
        summary.clone_into(&mut letter.summary);
        letter
    }

    #[test]
    fn agreements_read_as_sentences() {
        let mut letter = letter("", "");
        let request_id = LetterId::new("s2-c9");
        let cases = [
            (
                Content::ShutdownRequest {
                    reason: Some("all is merged".into()),
                },
                "Asks you to finish and stop (all is merged). Answer with a shutdown_response that names this letter.",
            ),
            (
                Content::ShutdownResponse {
                    request_id: request_id.clone(),
                    approve: false,
                    reason: Some("a test runs".into()),
                },
                "Does not stop as letter s2-c9 asked (a test runs).",
            ),
            (
                Content::PlanApprovalResponse {
                    request_id,
                    approve: false,
                    feedback: Some("keep the old name".into()),
                },
                "Rejects the plan of letter s2-c9: keep the old name",
            ),
        ];
        for (content, expected) in cases {
            letter.content = content;
            let shown = letter.shown();
            assert!(shown.contains(expected), "{shown}");
            let back: Letter = serde_json::from_slice(&letter.line().unwrap()).unwrap();
            assert_eq!(back, letter);
        }
    }

    proptest! {
        /// Whatever a letter says, no byte of it is the user's.
        #[test]
        fn no_word_of_a_letter_is_the_users(
            message in r"(?s)(.|\n|</?teammate-message>|</?system-reminder>|<user>|Human: ){0,40}",
            summary in r"(?s)(.|\n|</?teammate-message>){0,10}",
        ) {
            let shown = letter(&message, &summary).shown();
            for span in recognise(&shown) {
                prop_assert_ne!(span.speaker, Speaker::User, "{:?} of {}", &shown[span.range.clone()], shown);
            }
        }

        #[test]
        fn a_letter_is_one_line(message in r"(?s).{0,60}") {
            let line = letter(&message, "").line().unwrap();
            prop_assert_eq!(line.split(|byte| *byte == b'\n').count(), 2);
        }
    }
}
