//! Parts that are restored into the prompt after a compaction.

use crate::tokens;
use dormouse_core::block::Block;
use dormouse_core::models::BytesPerToken;
use dormouse_core::units::Tokens;

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

/// Most tokens of one restored skill; every other kind of part but a file is held to it too. Skills
/// are instructions of a few pages; one that is longer names files for the details.
const SKILL: Tokens = Tokens(5_000);
/// Most tokens of all restored skills together: five of full length, about an eighth of the usual
/// window.
const ALL_SKILLS: Tokens = Tokens(25_000);

/// Limits of restored files, from the settings, and of the other parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RestoreLimits {
    /// Number of files (`compact.restore.files`).
    pub files: usize,
    /// Most tokens of one file.
    pub file: Tokens,
    /// Most tokens of all files together.
    pub all_files: Tokens,
    /// Most tokens of one skill, and of every other part that is no file.
    pub(super) skill: Tokens,
    /// Most tokens of all skills together.
    pub(super) all_skills: Tokens,
}

impl RestoreLimits {
    /// Limits of files as given; those of the other parts are constants.
    pub(super) const fn new(files: usize, file: Tokens, all_files: Tokens) -> Self {
        Self {
            files,
            file,
            all_files,
            skill: SKILL,
            all_skills: ALL_SKILLS,
        }
    }

    /// Limits with every number of tokens mapped; the number of files stays.
    #[must_use]
    pub(super) fn map(self, scale: impl Fn(Tokens) -> Tokens) -> Self {
        Self {
            files: self.files,
            file: scale(self.file),
            all_files: scale(self.all_files),
            skill: scale(self.skill),
            all_skills: scale(self.all_skills),
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

/// Blocks of the restored parts, each within its limits. `parts` come newest first, so the oldest
/// are left out.
pub(super) fn blocks(
    parts: &[RestoredPart],
    limits: &RestoreLimits,
    bytes: BytesPerToken,
) -> Vec<Block> {
    let mut files = 0;
    let (mut file_room, mut skill_room) = (limits.all_files, limits.all_skills);
    let mut blocks = Vec::new();
    for part in parts {
        let (room, each) = match part.kind {
            RestoredKind::File if files >= limits.files => continue,
            RestoredKind::File => (&mut file_room, limits.file),
            RestoredKind::Skill => (&mut skill_room, limits.skill),
            // Plan, to-dos and listings are few: each has room of its own and takes none from the
            // skills.
            _ => (&mut Tokens(limits.skill.get()), limits.skill),
        };
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
