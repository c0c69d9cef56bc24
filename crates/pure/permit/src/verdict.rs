//! Verdicts with their reasons.

use crate::mode::Mode;
use crate::rule::Behaviour;
use std::fmt;

/// Answer to whether a call may run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// Fate of the call.
    pub ruling: Ruling,
    /// Reason of the answer.
    pub because: Because,
}

/// Fate of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ruling {
    /// The call runs without a question.
    Run,
    /// The command runs inside the sandbox.
    RunConfined,
    /// A person decides, or it is refused where nobody is there.
    Ask {
        /// Rules that would allow such calls from now on; empty if no rule could say it exactly.
        lasting: Vec<String>,
    },
    /// The call does not run.
    Refuse,
}

/// Reason of a verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Because {
    /// A rule of the settings or of a person decides.
    Rule {
        /// Kind of the rule.
        behaviour: Behaviour,
        /// Text of the rule, as it was written.
        rule: String,
        /// File or flag it stands in.
        origin: String,
    },
    /// Every command of the line is allowed by a rule or only reads.
    EachAllowed,
    /// The call is known to change nothing.
    Reads,
    /// The path lies outside the folders of the session.
    Outside {
        /// Path that the call names.
        path: String,
    },
    /// The file decides about what runs on this machine, so a person is asked whatever a rule says.
    Protected {
        /// Path that the call names.
        path: String,
    },
    /// The line cannot be taken apart.
    Unclear {
        /// Defect of the line.
        why: String,
    },
    /// No rule matches, and the mode decides.
    Mode(Mode),
    /// The mode would confine the command, and nothing can do that here.
    NoSandbox,
    /// The call asks to leave the sandbox.
    LeavesSandbox,
}

impl fmt::Display for Because {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rule {
                behaviour,
                rule,
                origin,
            } => {
                let does = match behaviour {
                    Behaviour::Allow => "allows it",
                    Behaviour::Ask => "asks about it",
                    Behaviour::Deny => "refuses it",
                };
                write!(f, "the rule `{rule}` of {origin} {does}")
            }
            Self::EachAllowed => write!(f, "every command of the line is allowed"),
            Self::Reads => write!(f, "it only reads"),
            Self::Outside { path } => {
                write!(f, "`{path}` lies outside the folders of this session")
            }
            Self::Protected { path } => write!(
                f,
                "`{path}` decides about what runs here, so a person has to agree"
            ),
            Self::Unclear { why } => write!(f, "the line cannot be judged: {why}"),
            Self::Mode(Mode::Plan) => write!(
                f,
                "plan mode only reads; describe the change in the plan instead"
            ),
            Self::Mode(Mode::Deny) => {
                write!(f, "no rule allows it, and nobody is asked in this mode")
            }
            Self::Mode(mode) => write!(f, "the mode is `{mode}`"),
            Self::NoSandbox => write!(f, "nothing confines commands on this machine"),
            Self::LeavesSandbox => write!(f, "it asks to run outside the sandbox"),
        }
    }
}
