//! Commands that a person types as a prompt: `/name` and arguments.
//!
//! # Model
//! A prompt whose first word is a slash and a name is a command: one of the agent's own, or a skill or
//! command file by that name, whose instructions go in front of the typed words. The instructions are a
//! reminder and no words of the user; the typed line is. A name that nothing has is refused, so that no
//! request is paid for a slip. Paths (`/etc/hosts`, `/tmp`) are words.
//!
//! # Not here
//! Files of commands (`dormouse-host`), their use (`skills`).

use crate::protocol::CommandFacts;
use crate::skills::Skills;
use dormouse_core::block::{Block, BlockKind};
use dormouse_core::fragment::{REMINDER, render};
use dormouse_drive::CompactWish;
use dormouse_host::{Host, Skill};
use std::path::Path;

/// Commands of the agent itself: name, purpose, arguments.
const OWN: [(&str, &str, Option<&str>); 2] = [
    (
        "compact",
        "Summarise the conversation, or the part from or up to a message",
        Some("[from N | up-to N] [instructions]"),
    ),
    ("clear", "Begin a new session in place of this one", None),
];
/// Word that saves a memory; the prompt itself is its effect.
const REMEMBER: &str = "remember";
/// Names that a refusal lists.
const MOST_NAMED: usize = 30;

/// Meaning of a prompt.
#[derive(Debug)]
pub(crate) enum Typed {
    /// Words for the model.
    Words(Vec<Block>),
    /// Compaction of the conversation.
    Compact(CompactWish),
    /// A new session in place of this one.
    Clear,
}

/// Reads a prompt. Instructions of a command go in front of its words.
///
/// # Errors
/// When there is no such command, or its arguments make no sense; the reason is for people.
pub(crate) fn read(
    host: &Host,
    skills: Option<&Skills>,
    content: Vec<Block>,
) -> Result<Typed, String> {
    let first = content
        .first()
        .filter(|block| block.kind() == BlockKind::Text);
    let text = first.and_then(Block::readable_text).unwrap_or_default();
    let Some((name, arguments)) = named(&text) else {
        return Ok(Typed::Words(content));
    };
    let known = skills.map(Skills::for_person).unwrap_or_default();
    if let (Some(skills), Some(skill)) = (skills, known.iter().find(|one| one.name == name)) {
        let loaded = skills.load(skill, arguments);
        let words = format!("The user runs the command /{name}. {loaded}");
        let mut blocks = vec![Block::text(&render(&REMINDER, &words))];
        blocks.extend(content);
        return Ok(Typed::Words(blocks));
    }
    match name {
        "compact" => compact(arguments).map(Typed::Compact),
        "clear" => Ok(Typed::Clear),
        REMEMBER => Ok(Typed::Words(content)),
        _ if host
            .system()
            .files
            .metadata(&Path::new("/").join(name))
            .is_ok() =>
        {
            Ok(Typed::Words(content))
        }
        _ => Err(unknown(name, &known)),
    }
}

/// Commands for people, by name: the agent's own and those of files.
pub fn commands(host: &Host) -> Vec<CommandFacts> {
    let own = OWN.iter().map(|(name, description, hint)| CommandFacts {
        name: (*name).to_owned(),
        description: (*description).to_owned(),
        hint: hint.map(str::to_owned),
        skill: false,
    });
    let files = host.skills().into_iter().filter(|skill| skill.by_user);
    let files = files.map(|skill| CommandFacts {
        skill: !skill.is_command,
        name: skill.name,
        description: skill.description,
        hint: skill.hint,
    });
    let mut all: Vec<CommandFacts> = files.chain(own).collect();
    all.sort_by(|one, other| one.name.cmp(&other.name));
    // A file takes the place of the agent's own, here and when it is typed.
    all.dedup_by(|later, earlier| later.name == earlier.name);
    all
}

/// Name and arguments of a prompt that looks like a command.
fn named(text: &str) -> Option<(&str, &str)> {
    let rest = text.trim().strip_prefix('/')?;
    let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
    let (name, arguments) = rest.split_at(end);
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | ':' | '.');
    let begins = name.starts_with(char::is_alphanumeric);
    (begins && name.chars().all(plain)).then(|| (name, arguments.trim()))
}

/// Wish of `/compact` with these arguments.
fn compact(arguments: &str) -> Result<CompactWish, String> {
    let mut words = arguments.splitn(3, char::is_whitespace);
    let part = words.next().unwrap_or_default();
    let mut wish = CompactWish::default();
    let place = match part {
        "from" => &mut wish.from,
        "up-to" | "up_to" => &mut wish.up_to,
        _ => {
            wish.instructions = (!arguments.is_empty()).then(|| arguments.to_owned());
            return Ok(wish);
        }
    };
    let number = words.next().unwrap_or_default();
    // "/compact from now on tell …" is an instruction.
    let Ok(number) = number.parse::<u64>() else {
        if number.is_empty() {
            return Err(format!(
                "`/compact {part}` needs the number of a message, counted from 1"
            ));
        }
        wish.instructions = Some(arguments.to_owned());
        return Ok(wish);
    };
    *place = Some(number);
    let rest = words.next().unwrap_or_default().trim();
    wish.instructions = (!rest.is_empty()).then(|| rest.to_owned());
    Ok(wish)
}

fn unknown(name: &str, known: &[Skill]) -> String {
    let mut names: Vec<String> = OWN.iter().map(|(name, ..)| format!("/{name}")).collect();
    names.extend(known.iter().map(|skill| format!("/{}", skill.name)));
    names.sort_unstable();
    names.dedup();
    let more = names.len().saturating_sub(MOST_NAMED);
    names.truncate(MOST_NAMED);
    if more > 0 {
        names.push(format!("and {more} more"));
    }
    format!(
        "there is no command `/{name}`; there are {}. Words that begin with a slash need another word in front",
        names.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn commands_are_told_from_paths_and_words() {
        for (text, expected) in [
            ("/review", Some(("review", ""))),
            (" /review 12 main\n", Some(("review", "12 main"))),
            ("/git:commit a\nb", Some(("git:commit", "a\nb"))),
            ("/überprüfe x", Some(("überprüfe", "x"))),
            ("/etc/hosts is wrong", None),
            ("/ is full", None),
            ("//x", None),
            ("a /review", None),
            ("/?", None),
            ("", None),
        ] {
            assert_eq!(named(text), expected, "{text}");
        }
    }

    #[test]
    fn a_compaction_has_a_part_and_instructions() {
        let wish = |from, up_to, instructions: Option<&str>| CompactWish {
            from,
            up_to,
            instructions: instructions.map(str::to_owned),
        };
        for (arguments, expected) in [
            ("", wish(None, None, None)),
            ("keep the API", wish(None, None, Some("keep the API"))),
            ("from 3", wish(Some(3), None, None)),
            (
                "up-to 7 keep names",
                wish(None, Some(7), Some("keep names")),
            ),
            ("up_to 7", wish(None, Some(7), None)),
            (
                "from now on be brief",
                wish(None, None, Some("from now on be brief")),
            ),
        ] {
            assert_eq!(compact(arguments), Ok(expected), "{arguments}");
        }
        assert!(compact("from").unwrap_err().contains("number of a message"));
    }
}
