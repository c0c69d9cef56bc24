//! Why a name is refused. Each message names the thing and the remedy.

use super::rules::{LONGEST_COMPONENT, LONGEST_PATH, MOST_COMPONENTS};
use serde::Serialize;

/// Why a name is refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, thiserror::Error)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum PathRefusal {
    /// Nothing was named.
    #[error("the path is empty; name a file, for example `notes.md`")]
    Empty,
    /// It starts at the root.
    #[error("the path starts with `/`; write it relative to the directory")]
    Absolute,
    /// It names a drive, a share, or a stream of a file.
    #[error("the path names a drive, a network share or a stream; write it without `:` and `//`")]
    DriveOrUnc,
    /// It starts at somebody's home, or a name in it would if it stood alone.
    #[error("a name starts with `~`; write the path relative to the directory, without `~`")]
    Home,
    /// It goes up.
    #[error("the path has a `..` component; write it relative to the directory, without `..`")]
    Parent,
    /// Two slashes in a row, one at the end, or a `.` component.
    #[error("the path has an empty or `.` component; use single slashes between names")]
    EmptyOrDotComponent,
    /// A backslash separates names on some systems and not on others.
    #[error("the path has a backslash; separate names with `/`")]
    Backslash,
    /// A NUL ends a name for the system and not for us.
    #[error("the path has a NUL character; leave it out")]
    Nul,
    /// Control characters hide what is written.
    #[error("the path has the control character U+{code:04X}; leave it out")]
    Control {
        /// The character's number.
        code: u32,
    },
    /// Characters without width, or that turn the direction of writing.
    #[error("the path has the invisible character U+{code:04X}; leave it out")]
    Invisible {
        /// The character's number.
        code: u32,
    },
    /// A character that looks like, or becomes, a dot, slash, colon or the like.
    #[error("the path has U+{code:04X}, which can be taken for `{plain}`; write a plain character")]
    Lookalike {
        /// The character's number.
        code: u32,
        /// What it can be taken for.
        plain: String,
    },
    /// A character that some file systems keep for themselves.
    #[error("the path has `{character}`, which some file systems refuse; leave it out")]
    Reserved {
        /// The character.
        character: char,
    },
    /// Some file systems drop these, so two names become one.
    #[error("`{component}` ends with a dot or a space, which some file systems drop; leave it out")]
    TrailingDotOrSpace {
        /// The part of the path.
        component: String,
    },
    /// The same text has another spelling that file systems may prefer.
    #[error("the path is not in Unicode normal form C; write it as `{normal}`")]
    NotNormal {
        /// The spelling to use.
        normal: String,
    },
    /// A dot, slash or other special character written as `%2e`.
    #[error("the path has `{code}`, an encoded special character; write names plainly")]
    PercentEncoded {
        /// The three characters.
        code: String,
    },
    /// A name that means a device on some systems.
    #[error("`{component}` is the name of a device on some systems; choose another name")]
    DeviceName {
        /// The part of the path.
        component: String,
    },
    /// A single name is too long.
    #[error("a name of {bytes} bytes is too long; at most {LONGEST_COMPONENT} are allowed")]
    ComponentTooLong {
        /// Its length.
        bytes: usize,
    },
    /// The whole is too long.
    #[error("a path of {bytes} bytes is too long; at most {LONGEST_PATH} are allowed")]
    TooLong {
        /// Its length.
        bytes: usize,
    },
    /// Too many folders in folders.
    #[error("the path has {components} levels; at most {MOST_COMPONENTS} are allowed")]
    TooDeep {
        /// How many there are.
        components: usize,
    },
}
