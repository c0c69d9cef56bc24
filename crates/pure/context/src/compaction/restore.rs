//! What is shown again after a compaction.

use crate::tokens;
use dormouse_core::block::Block;
use dormouse_core::models::BytesPerToken;
use dormouse_core::units::Tokens;

/// What a restored part is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RestoredKind {
    /// A file that was read lately, as it is on disk now.
    File,
    /// A skill that was used.
    Skill,
    /// The plan.
    Plan,
    /// The to-do list.
    Todos,
    /// Agents that run in the background.
    Agents,
    /// A listing of tools, agents or servers.
    Listing,
    /// What a hook had to say at the start of the session.
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

/// Something to show again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RestoredPart {
    /// What it is.
    pub kind: RestoredKind,
    /// Its path or name.
    pub name: String,
    /// Its text.
    pub text: String,
}

/// How much may be shown again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RestoreLimits {
    /// Files.
    pub files: usize,
    /// Tokens of one file.
    pub file: Tokens,
    /// Tokens of all files.
    pub all_files: Tokens,
    /// Tokens of one skill; other parts take no more than this either.
    pub skill: Tokens,
    /// Tokens of all skills.
    pub all_skills: Tokens,
}

impl RestoreLimits {
    /// These limits without files.
    #[must_use]
    pub fn without_files(self) -> Self {
        Self { files: 0, ..self }
    }

    /// These limits with narrower ones for files: number, tokens of one, tokens of all. A policy
    /// never widens what the settings allow.
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

/// The blocks for what is shown again, each within its limits; parts come newest first.
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

/// The part within a limit. How many bytes make a token depends on what is written; where they
/// are fewer than usual, less is shown.
fn fitting(part: &RestoredPart, limit: Tokens, bytes: BytesPerToken) -> Block {
    let mut room = limit;
    loop {
        let block = Block::text(&render(part, room, bytes));
        let size = tokens::estimate(block.weight(), bytes);
        if size <= limit || room == Tokens::ZERO {
            return block;
        }
        let less = room.get().saturating_mul(limit.get()) / size.get().max(1);
        room = Tokens(less.min(room.get() - 1));
    }
}

fn render(part: &RestoredPart, limit: Tokens, bytes: BytesPerToken) -> String {
    let tag = part.kind.tag();
    let name: String = part.name.chars().filter(|c| !c.is_control()).collect();
    let name = name.replace('"', "'");
    let text = part
        .text
        .replace(&format!("</{tag}"), &format!("<\\/{tag}"));
    // The frame takes some of the room.
    let room = Tokens(limit.get().saturating_sub(40));
    let (text, cut) = head(&text, room, bytes);
    let cut = if cut {
        "\n[… the rest is not shown]"
    } else {
        ""
    };
    format!("<{tag} name=\"{name}\">\n{text}{cut}\n</{tag}>")
}

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
    // A line that is longer than half of what fits is cut inside.
    let line_end = text[..end].rfind('\n').filter(|at| *at >= most / 2);
    (&text[..line_end.unwrap_or(end)], true)
}
