//! Parts that are restored into the prompt after a compaction.

use crate::tokens;
use dormouse_core::block::Block;
use dormouse_core::models::BytesPerToken;
use dormouse_core::units::Tokens;
use std::collections::BTreeMap;

/// Kind of a restored part; determines its tag and its limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RestoredKind {
    /// A recently read file, with its content on disk now.
    File,
    /// A skill used in the session.
    Skill,
    /// The plan of the session.
    Plan,
    /// To-do list of the session.
    Todos,
    /// Agents running in the background.
    Agents,
    /// A listing of tools, agents or servers.
    Listing,
    /// Output of a `SessionStart` hook.
    Hook,
}

impl RestoredKind {
    const fn tag(self) -> &'static str {
        match self {
            Self::File => "restored-file",
            Self::Skill => "restored-skill",
            Self::Plan => "plan",
            Self::Todos => "todos",
            Self::Agents => "background-agents",
            Self::Listing => "listing",
            Self::Hook => "hook-output",
        }
    }
}

/// A part to restore, read by the caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RestoredPart {
    /// Kind, which decides the limit that applies.
    pub kind: RestoredKind,
    /// Path of the file or name of the part; shown in the tag.
    pub name: String,
    /// Whole text; it is cut to its limit here.
    pub text: String,
}

/// Room of one kind of restored part, in tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct KindRoom {
    /// Most tokens of one part.
    pub(super) each: Tokens,
    /// Most tokens of all parts of the kind together.
    pub(super) all: Tokens,
}

impl KindRoom {
    const fn new(each: u64, all: u64) -> Self {
        Self {
            each: Tokens(each),
            all: Tokens(all),
        }
    }

    fn map(self, scale: impl Fn(Tokens) -> Tokens) -> Self {
        Self {
            each: scale(self.each),
            all: scale(self.all),
        }
    }
}

/// Skills are instructions of a few pages, and longer ones name files for the details: five of full
/// length, about an eighth of the usual window.
const SKILLS: KindRoom = KindRoom::new(5_000, 25_000);
/// There is one plan; a longer one is in its file.
const PLAN: KindRoom = KindRoom::new(5_000, 5_000);
/// A hundred to-dos of a line each.
const TODOS: KindRoom = KindRoom::new(2_000, 2_000);
/// Twenty agents and as many commands, of a few lines each.
const AGENTS: KindRoom = KindRoom::new(2_000, 2_000);
/// A listing has the names of some sixty tools with their purposes; all of them stay within the room
/// that tools may take in the prompt before they are deferred.
const LISTINGS: KindRoom = KindRoom::new(5_000, 10_000);
/// Hooks may print what they like: no more than two long ones are shown.
const HOOKS: KindRoom = KindRoom::new(5_000, 10_000);

/// Limits of restored files, from the settings, and of the other parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RestoreLimits {
    /// Number of files (`compact.restore.files`).
    pub files: usize,
    /// Most tokens of one file.
    pub file: Tokens,
    /// Most tokens of all files together.
    pub all_files: Tokens,
    /// Room of the other kinds, in their order.
    others: [KindRoom; 6],
}

impl RestoreLimits {
    /// Limits of files as given; those of the other parts are constants.
    pub(super) const fn new(files: usize, file: Tokens, all_files: Tokens) -> Self {
        Self {
            files,
            file,
            all_files,
            others: [SKILLS, PLAN, TODOS, AGENTS, LISTINGS, HOOKS],
        }
    }

    /// Room of a kind.
    pub(super) const fn room(&self, kind: RestoredKind) -> KindRoom {
        let [skills, plan, todos, agents, listings, hooks] = self.others;
        match kind {
            RestoredKind::File => KindRoom {
                each: self.file,
                all: self.all_files,
            },
            RestoredKind::Skill => skills,
            RestoredKind::Plan => plan,
            RestoredKind::Todos => todos,
            RestoredKind::Agents => agents,
            RestoredKind::Listing => listings,
            RestoredKind::Hook => hooks,
        }
    }

    /// Limits with every number of tokens mapped; the number of files stays.
    #[must_use]
    pub(super) fn map(self, scale: impl Fn(Tokens) -> Tokens) -> Self {
        Self {
            files: self.files,
            file: scale(self.file),
            all_files: scale(self.all_files),
            others: self.others.map(|room| room.map(&scale)),
        }
    }

    /// Limits that restore no files and leave the rest as it is.
    #[must_use]
    pub fn without_files(self) -> Self {
        Self { files: 0, ..self }
    }

    /// Limits with at most these values for files: number, tokens of one, tokens of all. A policy
    /// can only narrow the settings.
    #[must_use]
    pub fn narrowed(self, files: usize, each: Tokens, all: Tokens) -> Self {
        Self {
            files: files.min(self.files),
            file: each.min(self.file),
            all_files: all.min(self.all_files),
            ..self
        }
    }
}

/// Parts that are no files.
pub(super) fn without_files(parts: &[RestoredPart]) -> Vec<RestoredPart> {
    let others = parts.iter().filter(|part| part.kind != RestoredKind::File);
    others.cloned().collect()
}

/// Blocks of the restored parts, each within its limits. `parts` come newest first, so the oldest
/// are left out.
pub(super) fn blocks(
    parts: &[RestoredPart],
    limits: &RestoreLimits,
    bytes: BytesPerToken,
) -> Vec<Block> {
    let mut files = 0;
    let mut rooms: BTreeMap<RestoredKind, Tokens> = BTreeMap::new();
    let mut blocks = Vec::new();
    for part in parts {
        if part.kind == RestoredKind::File && files >= limits.files {
            continue;
        }
        let KindRoom { each, all } = limits.room(part.kind);
        let room = rooms.entry(part.kind).or_insert(all);
        let block = fitting(part, each.min(*room), bytes);
        let size = tokens::estimate(block.weight(), bytes);
        if size > *room {
            continue;
        }
        *room = *room - size;
        files += usize::from(part.kind == RestoredKind::File);
        blocks.push(block);
    }
    blocks
}

/// Renders a part within a limit. Bytes per token vary with the text, so the room is reduced until
/// the estimate fits.
fn fitting(part: &RestoredPart, limit: Tokens, bytes: BytesPerToken) -> Block {
    let mut room = limit;
    loop {
        let block = Block::text(&render(part, room, bytes));
        let size = tokens::estimate(block.weight(), bytes);
        if size <= limit || room == Tokens::ZERO {
            return block;
        }
        // Shrink in proportion, by at least one token so that the loop ends.
        let less = room.get().saturating_mul(limit.get()) / size.get().max(1);
        room = Tokens(less.min(room.get() - 1));
    }
}

fn render(part: &RestoredPart, limit: Tokens, bytes: BytesPerToken) -> String {
    let tag = part.kind.tag();
    let name: String = part.name.chars().filter(|c| !c.is_control()).collect();
    let name = name.replace('"', "'");
    // A file that quotes its own closing tag must not end the frame.
    let text = part
        .text
        .replace(&format!("</{tag}"), &format!("<\\/{tag}"));
    // Tag, name and the note about the cut take about 40 tokens.
    let room = Tokens(limit.get().saturating_sub(40));
    let (text, cut) = head(&text, room, bytes);
    let cut = if cut {
        "\n[… the rest is not shown]"
    } else {
        ""
    };
    format!("<{tag} name=\"{name}\">\n{text}{cut}\n</{tag}>")
}

/// Beginning of a text within the room, up to a line end, and whether something was cut.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "a length in bytes, far below the limits"
)]
fn head(text: &str, room: Tokens, bytes: BytesPerToken) -> (&str, bool) {
    let most = (room.get() as f64 * bytes.text.as_f64()) as usize;
    if text.len() <= most {
        return (text, false);
    }
    let end = text.floor_char_boundary(most);
    // A line longer than half of the room is cut inside, or too little would be left.
    let line_end = text[..end].rfind('\n').filter(|at| *at >= most / 2);
    (&text[..line_end.unwrap_or(end)], true)
}
