//! Policies: when to forget, and how.
//!
//! # Model
//! A policy is a value that the planners read. `none` never forgets; `classic` has fixed
//! thresholds; `economic` weighs what carrying the context costs against what forgetting costs.
//! The others follow the published figures of other agents and exist for comparison only: they
//! use Dormouse's own machinery with those agents' triggers, kept parts and kind of call.
//!
//! # Not here
//! The planners themselves, and the figures a user may set (the settings table).

use crate::clear::ClearRule;
use dormouse_core::settings;
use dormouse_core::units::Tokens;

/// What happens to long tool results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OffloadRule {
    /// They stay.
    Never,
    /// By the limits of the settings, tool by tool.
    Settings,
    /// Every result above a length is cut to so many bytes.
    Fixed {
        /// Characters.
        limit: u64,
        /// Bytes that stay.
        preview: u64,
    },
}

/// When session notes are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotesRule {
    /// Never.
    Never,
    /// By growth and tool calls.
    Classic,
    /// When they are cheaper than a full compaction.
    Economic,
}

/// When the conversation is compacted by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompactTrigger {
    /// Never.
    Never,
    /// At the target of the window.
    Target,
    /// At a share of the window, in thousandths.
    Share(u64),
    /// So many tokens below the window.
    Below(Tokens),
    /// At the lower of a share (in thousandths) and a distance from the window.
    ShareOrBelow(u64, Tokens),
    /// At so many messages.
    Messages(usize),
    /// At the cheapest moment.
    Economic,
}

/// How the summary is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SummaryCall {
    /// As a continuation of the conversation: everything before the directive is cached.
    Riding,
    /// With the conversation, but without its tools: nothing is cached.
    WithoutTools {
        /// Characters to which every tool result is cut.
        clamp: Option<usize>,
    },
}

/// What stays of the conversation beside the summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// Only what was not sent yet.
    Unsent,
    /// The newest rounds, up to so many tokens.
    Tail(Tokens),
    /// The newest rounds, by the limits that the settings have for the economic policy.
    Economic,
    /// The newest rounds, up to a share of the conversation in thousandths.
    Share(u64),
    /// The first so many messages and the newer half of the rest.
    Half {
        /// Messages at the beginning.
        first: usize,
    },
}

/// What the engine itself puts beside the summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carry {
    /// Nothing.
    Nothing,
    /// The user's messages and the evidence ledger, within the limits of the settings.
    Everything,
    /// The user's messages up to so many tokens, newest first.
    UserMessages(Tokens),
}

/// Which files are shown again after a compaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Restore {
    /// None.
    Nothing,
    /// By the limits of the settings.
    Settings,
    /// By the limits that the settings have for the economic policy.
    Economic,
    /// At most so many, so much of each, so much in all.
    Limited {
        /// Files.
        files: usize,
        /// Tokens of one.
        each: Tokens,
        /// Tokens of all.
        all: Tokens,
    },
}

/// How the conversation is compacted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompactRule {
    /// When.
    pub trigger: CompactTrigger,
    /// Session notes serve as the summary where they can.
    pub notes: bool,
    /// How the summary is asked for.
    pub call: SummaryCall,
    /// A second call checks the first.
    pub verify: bool,
    /// What stays.
    pub keep: Keep,
    /// What is put beside the summary.
    pub carry: Carry,
    /// What is shown again.
    pub restore: Restore,
}

/// A policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Its name.
    pub name: &'static str,
    /// Long results.
    pub offload: OffloadRule,
    /// Old results.
    pub clear: ClearRule,
    /// Session notes.
    pub notes: NotesRule,
    /// Compaction.
    pub compact: CompactRule,
}

impl Policy {
    /// The names [`Policy::named`] knows.
    pub const NAMES: [&'static str; 8] = [
        "none",
        "classic",
        "economic",
        "codex",
        "opencode",
        "openhands",
        "gemini",
        "qwen",
    ];

    /// The policy with this name.
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "none" => Self::none(),
            "classic" => Self::classic(),
            "economic" => Self::economic(),
            "codex" => Self::codex(),
            "opencode" => Self::opencode(),
            "openhands" => Self::openhands(),
            "gemini" => Self::gemini(),
            "qwen" => Self::qwen(),
            _ => return None,
        })
    }

    /// The policy the settings ask for.
    pub fn of(choice: settings::Policy) -> Self {
        match choice {
            settings::Policy::Classic => Self::classic(),
            settings::Policy::Economic => Self::economic(),
        }
    }

    /// Nothing is ever forgotten.
    pub fn none() -> Self {
        Self {
            name: "none",
            offload: OffloadRule::Never,
            clear: ClearRule::Never,
            notes: NotesRule::Never,
            compact: CompactRule {
                trigger: CompactTrigger::Never,
                notes: false,
                call: SummaryCall::Riding,
                verify: false,
                keep: Keep::Unsent,
                carry: Carry::Everything,
                restore: Restore::Nothing,
            },
        }
    }

    /// Fixed thresholds.
    pub fn classic() -> Self {
        Self {
            name: "classic",
            offload: OffloadRule::Settings,
            clear: ClearRule::Classic,
            notes: NotesRule::Classic,
            compact: CompactRule {
                trigger: CompactTrigger::Target,
                notes: true,
                restore: Restore::Settings,
                ..Self::none().compact
            },
        }
    }

    /// A cost model.
    pub fn economic() -> Self {
        Self {
            name: "economic",
            offload: OffloadRule::Settings,
            clear: ClearRule::Economic,
            notes: NotesRule::Economic,
            compact: CompactRule {
                trigger: CompactTrigger::Economic,
                notes: true,
                keep: Keep::Economic,
                restore: Restore::Economic,
                ..Self::none().compact
            },
        }
    }

    /// Codex CLI: results cut to 10,000 tokens, compaction at nine tenths of the window by a call
    /// without tools, up to 20,000 tokens of the user's messages stay.
    pub fn codex() -> Self {
        Self {
            name: "codex",
            offload: OffloadRule::Fixed {
                limit: 40_000,
                preview: 40_000,
            },
            clear: ClearRule::Never,
            notes: NotesRule::Never,
            compact: CompactRule {
                trigger: CompactTrigger::Share(900),
                notes: false,
                call: SummaryCall::WithoutTools { clamp: None },
                verify: false,
                keep: Keep::Unsent,
                carry: Carry::UserMessages(Tokens(20_000)),
                restore: Restore::Nothing,
            },
        }
    }

    /// opencode with pruning: results above 50 KiB go to files; what lies behind the newest 40,000
    /// tokens of results is cleared once it is 20,000; compaction 20,000 below the window by a
    /// call that sees 2,000 characters of each result; a tail of up to 15,000 tokens stays.
    pub fn opencode() -> Self {
        Self {
            name: "opencode",
            offload: OffloadRule::Fixed {
                limit: 51_200,
                preview: 51_200,
            },
            clear: ClearRule::Protect {
                protect: Tokens(40_000),
                least: Tokens(20_000),
            },
            notes: NotesRule::Never,
            compact: CompactRule {
                trigger: CompactTrigger::Below(Tokens(20_000)),
                notes: false,
                call: SummaryCall::WithoutTools { clamp: Some(2_000) },
                verify: false,
                keep: Keep::Tail(Tokens(15_000)),
                carry: Carry::Nothing,
                restore: Restore::Nothing,
            },
        }
    }

    /// `OpenHands`: at 240 events the first two and the newer half stay, the rest is summarised.
    pub fn openhands() -> Self {
        Self {
            name: "openhands",
            offload: OffloadRule::Never,
            clear: ClearRule::Never,
            notes: NotesRule::Never,
            compact: CompactRule {
                trigger: CompactTrigger::Messages(240),
                notes: false,
                call: SummaryCall::WithoutTools { clamp: None },
                verify: false,
                keep: Keep::Half { first: 2 },
                carry: Carry::Nothing,
                restore: Restore::Nothing,
            },
        }
    }

    /// Gemini CLI: results behind the newest 50,000 tokens are masked once they are 30,000;
    /// compaction at half the window with a second call that verifies; three tenths stay.
    pub fn gemini() -> Self {
        Self {
            name: "gemini",
            offload: OffloadRule::Fixed {
                limit: 40_000,
                preview: 40_000,
            },
            clear: ClearRule::Protect {
                protect: Tokens(50_000),
                least: Tokens(30_000),
            },
            notes: NotesRule::Never,
            compact: CompactRule {
                trigger: CompactTrigger::Share(500),
                notes: false,
                call: SummaryCall::WithoutTools { clamp: None },
                verify: true,
                keep: Keep::Share(300),
                carry: Carry::Nothing,
                restore: Restore::Nothing,
            },
        }
    }

    /// Qwen Code: results above 25,000 characters go to files; clearing from 500,000 characters
    /// down to half; compaction at the lower of 85 % and 33,000 below the window, riding the
    /// cache; five files are shown again.
    pub fn qwen() -> Self {
        Self {
            name: "qwen",
            offload: OffloadRule::Fixed {
                limit: 25_000,
                preview: 25_000,
            },
            clear: ClearRule::Watermark {
                high: 500_000,
                low: 250_000,
                keep: 5,
            },
            notes: NotesRule::Never,
            compact: CompactRule {
                trigger: CompactTrigger::ShareOrBelow(850, Tokens(33_000)),
                notes: false,
                call: SummaryCall::Riding,
                verify: false,
                keep: Keep::Unsent,
                carry: Carry::Nothing,
                restore: Restore::Limited {
                    files: 5,
                    each: Tokens(5_000),
                    all: Tokens(50_000),
                },
            },
        }
    }
}
