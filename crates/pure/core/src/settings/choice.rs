//! Settings that take one of a few names. Each is an enum, so that a reader cannot misspell one.

use super::setting::SettingType;
use super::value::Value;
use std::fmt;

/// A choice: its names in order, the default first.
pub(super) trait Choice: Sized + 'static {
    const NAMES: &'static [&'static str];
}

macro_rules! choice {
    (
        $(#[$meta:meta])* $name:ident {
            $(#[$first_meta:meta])* $first:ident = $first_name:literal,
            $( $(#[$other_meta:meta])* $other:ident = $other_name:literal, )+
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub enum $name {
            $(#[$first_meta])* #[default] $first,
            $( $(#[$other_meta])* $other, )+
        }

        impl Choice for $name {
            const NAMES: &'static [&'static str] = &[$first_name, $($other_name),+];
        }

        impl SettingType for $name {
            fn read(value: Option<&Value>) -> Option<Self> {
                match value {
                    Some(Value::Text(text)) if text == $first_name => Some(Self::$first),
                    $( Some(Value::Text(text)) if text == $other_name => Some(Self::$other), )+
                    _ => None,
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self {
                    Self::$first => $first_name,
                    $( Self::$other => $other_name, )+
                })
            }
        }
    };
}

choice! {
    /// The policy that decides when to forget.
    Policy {
        /// A cost model: forgetting happens when it is cheaper than carrying on.
        Economic = "economic",
        /// Fixed thresholds of the window.
        Classic = "classic",
    }
}

choice! {
    /// Lifetime that is asked for a cached prefix.
    CacheTtl {
        /// One hour, at the higher price of a write.
        OneHour = "1h",
        /// Five minutes, at the lower price of a write.
        FiveMinutes = "5m",
    }
}

choice! {
    /// Lifetime that is asked for the cached messages.
    MessageTtl {
        /// Five minutes, or one hour where the pauses of this session make that cheaper.
        Auto = "auto",
        /// Five minutes, whatever the pauses.
        FiveMinutes = "5m",
        /// One hour, whatever the pauses.
        OneHour = "1h",
    }
}

choice! {
    /// The tool whose layout the memory directory follows.
    MemoryLayout {
        /// Dormouse's own directory and layout.
        Dormouse = "dormouse",
        /// The directory of Claude Code, shared with it.
        Claude = "claude",
    }
}

choice! {
    /// Automatic memory writes that wait for approval.
    Review {
        /// Writes that stem from untrusted sources.
        Untrusted = "untrusted",
        /// All automatic writes, also those from the user's words.
        All = "all",
    }
}

choice! {
    /// Consent to automatic memory writes.
    Consent {
        /// They happen, and the user is told.
        Auto = "auto",
        /// Each one is asked for before it is written.
        Ask = "ask",
        /// There are no automatic writes at all.
        Off = "off",
    }
}

choice! {
    /// Provider of a model: its wire, its address, the setting of its key.
    Provider {
        /// The one that the keys and addresses of the settings point to.
        Auto = "auto",
        /// Anthropic's Messages API, or a gateway in front of it.
        Anthropic = "anthropic",
        /// OpenAI's chat completions.
        OpenAi = "openai",
        /// OpenRouter, which passes requests on to many providers.
        OpenRouter = "openrouter",
        /// An Ollama server on this machine.
        Ollama = "ollama",
        /// A vLLM server on this machine.
        Vllm = "vllm",
        /// The server of llama.cpp on this machine.
        LlamaCpp = "llama.cpp",
        /// The server of LM Studio on this machine.
        LmStudio = "lmstudio",
    }
}
