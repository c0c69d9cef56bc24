//! Ways in which a line of a log is damaged.

use serde_json::{Value, json};

/// Ways in which a line is damaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Harm {
    /// Replaced by text that is no JSON.
    Garbage,
    /// Removed with its newline.
    Gone,
    /// Cut after this share of its bytes, in per cent.
    Torn(usize),
    /// Cut like that, and without a newline: the next line follows the tear.
    TornInto(usize),
    /// Replaced by zero bytes.
    Zeroed,
    /// A third of its bytes in the middle are zero.
    Holed,
    /// Zero bytes around it.
    Padded,
    /// No newline behind it: two objects on one line.
    Joined,
    /// A byte order mark in front of it.
    Marked,
    /// A carriage return before its newline.
    Returned,
    /// Its parent is itself.
    SelfParent,
    /// Its parent is the newest record.
    Cycle,
    /// Its id is that of the first record.
    SameId,
}

pub(super) const HARMS: [Harm; 15] = [
    Harm::Garbage,
    Harm::Gone,
    Harm::Torn(3),
    Harm::Torn(50),
    Harm::Torn(97),
    Harm::TornInto(60),
    Harm::Zeroed,
    Harm::Holed,
    Harm::Padded,
    Harm::Joined,
    Harm::Marked,
    Harm::Returned,
    Harm::SelfParent,
    Harm::Cycle,
    Harm::SameId,
];

impl Harm {
    /// True if nothing of the line is lost.
    pub(super) fn is_harmless(self) -> bool {
        matches!(
            self,
            Self::Padded | Self::Joined | Self::Marked | Self::Returned
        )
    }

    /// True if the line keeps its content and loses its place.
    pub(super) fn keeps_content(self) -> bool {
        matches!(self, Self::SelfParent | Self::Cycle | Self::SameId)
    }

    /// The line as it stands in the file afterwards, with its newline if it keeps it.
    pub(super) fn apply(self, line: &str, first: &str, newest: &str) -> Vec<u8> {
        let cut = |share: usize| {
            let mut at = line.len() * share / 100;
            while !line.is_char_boundary(at) {
                at -= 1;
            }
            &line[..at]
        };
        let with = |name: &str, id: &str| {
            let mut value: Value = serde_json::from_str(line).unwrap();
            value[name] = json!(id);
            format!("{value}\n")
        };
        let text = match self {
            Self::Garbage => "##!! lost\n".to_owned(),
            Self::Gone => String::new(),
            Self::Torn(share) => format!("{}\n", cut(share)),
            Self::TornInto(share) => cut(share).to_owned(),
            Self::Zeroed => format!("{}\n", "\0".repeat(line.len())),
            Self::Holed => {
                let mut bytes = line.as_bytes().to_vec();
                let third = bytes.len() / 3;
                bytes[third..2 * third].fill(0);
                bytes.push(b'\n');
                return bytes;
            }
            Self::Padded => format!("\0\0{line}\0\0\n"),
            Self::Joined => line.to_owned(),
            Self::Marked => format!("\u{feff}{line}\n"),
            Self::Returned => format!("{line}\r\n"),
            Self::SelfParent => {
                let value: Value = serde_json::from_str(line).unwrap();
                let id = value["uuid"].as_str().unwrap_or_default().to_owned();
                with("parentUuid", &id)
            }
            Self::Cycle => with("parentUuid", newest),
            Self::SameId => with("uuid", first),
        };
        text.into_bytes()
    }
}

/// True if a line can be damaged like this.
pub(super) fn applies(line: &str, harm: Harm, at: usize, lines: usize) -> bool {
    let has_id = line.contains("\"uuid\":");
    // The last line has no next one, and an id that only the newest record has moves the leaf.
    let is_last = at + 1 == lines;
    match harm {
        Harm::SelfParent | Harm::Cycle | Harm::SameId => has_id && at > 0 && !is_last,
        Harm::Joined | Harm::TornInto(_) => !is_last,
        _ => true,
    }
}
