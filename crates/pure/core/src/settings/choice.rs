//! Settings that take one of a few names.

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
    /// What decides when to forget.
    Policy {
        /// A cost model.
        Economic = "economic",
        /// Fixed thresholds.
        Classic = "classic",
    }
}

choice! {
    /// How long a cached prefix is asked to live.
    CacheTtl {
        /// One hour.
        OneHour = "1h",
        /// Five minutes.
        FiveMinutes = "5m",
    }
}

choice! {
    /// How long the cached messages are asked to live.
    MessageTtl {
        /// Five minutes, or one hour where the pauses of this session make that cheaper.
        Auto = "auto",
        /// Always five minutes.
        FiveMinutes = "5m",
        /// Always one hour.
        OneHour = "1h",
    }
}

choice! {
    /// Whose layout the memory directory follows.
    MemoryLayout {
        /// Dormouse's own directory.
        Dormouse = "dormouse",
        /// The directory of Claude Code, shared with it.
        Claude = "claude",
    }
}

choice! {
    /// Which automatic memory writes wait for approval.
    Review {
        /// Those that stem from untrusted sources.
        Untrusted = "untrusted",
        /// All of them.
        All = "all",
    }
}

choice! {
    /// How automatic memory writes are agreed to.
    Consent {
        /// They happen, visibly.
        Auto = "auto",
        /// Each one is asked for.
        Ask = "ask",
        /// There are none.
        Off = "off",
    }
}
