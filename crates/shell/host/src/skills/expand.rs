//! The text of a skill with the arguments in their places.

use super::Skill;
use regex::{Captures, Regex};
use std::sync::LazyLock;

/// Places in a text that arguments, the folder and the session take. One expression, so that nothing
/// that was put in is looked at again.
static PLACES: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"\$ARGUMENTS\[(\d{1,3})\]|\$ARGUMENTS\b|\$(\d{1,3})\b|\$\{(CLAUDE_SKILL_DIR|CLAUDE_SESSION_ID)\}|\$([A-Za-z_][A-Za-z0-9_-]*)",
    )
    .ok()
});

impl Skill {
    /// The instructions, with the arguments of a use in their places. Arguments without a place follow
    /// the text. A text that has `$0` counts its arguments from there, as newer files do; in others
    /// `$1` is the first.
    pub fn text(&self, arguments: &str, session: &str) -> String {
        let words = words(arguments);
        let word = |at: usize| words.get(at).cloned().unwrap_or_default();
        let Some(places) = PLACES.as_ref() else {
            return self.body.clone();
        };
        let number = |found: &Captures<'_>, group: usize| {
            let digits = found.get(group)?;
            digits.as_str().parse::<usize>().ok()
        };
        let from_zero = places
            .captures_iter(&self.body)
            .any(|found| number(&found, 2) == Some(0));
        let mut placed = false;
        let text = places.replace_all(&self.body, |found: &Captures<'_>| {
            if let Some(at) = number(found, 1) {
                placed = true;
                return word(at);
            }
            if let Some(at) = number(found, 2) {
                placed = true;
                return word(if from_zero { at } else { at - 1 });
            }
            match found.get(3).map(|name| name.as_str()) {
                Some("CLAUDE_SKILL_DIR") => return self.folder.display().to_string(),
                Some(_) => return session.to_owned(),
                None => {}
            }
            if let Some(name) = found.get(4) {
                let mut names = self.arguments.iter();
                // A variable of a shell, or a price: not ours.
                let Some(at) = names.position(|known| known == name.as_str()) else {
                    return found[0].to_owned();
                };
                placed = true;
                return word(at);
            }
            placed = true;
            arguments.to_owned()
        });
        if placed || arguments.is_empty() {
            return text.into_owned();
        }
        format!("{text}\n\nARGUMENTS: {arguments}")
    }
}

/// Words of the arguments, quoted as in a shell; between blanks where a quote is not closed, as the one
/// in "don't".
fn words(arguments: &str) -> Vec<String> {
    shlex::split(arguments)
        .unwrap_or_else(|| arguments.split_whitespace().map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use std::path::PathBuf;

    fn skill(body: &str) -> Skill {
        Skill {
            name: "s".to_owned(),
            description: String::new(),
            hint: None,
            allowed_tools: Vec::new(),
            by_model: true,
            by_user: true,
            folder: PathBuf::from("/w/s"),
            is_command: false,
            arguments: vec!["issue".to_owned(), "branch".to_owned()],
            body: body.to_owned(),
        }
    }

    #[test]
    fn arguments_take_their_places() {
        for (body, arguments, text) in [
            ("Fix $ARGUMENTS now.", "issue 12", "Fix issue 12 now."),
            ("Fix $1 on $2.", "12 main", "Fix 12 on main."),
            ("Fix $0 on $1.", "12 main", "Fix 12 on main."),
            ("$ARGUMENTS[1] of $ARGUMENTS[0]", "a b", "b of a"),
            ("Fix $issue on $branch.", "12 main", "Fix 12 on main."),
            ("Fix $1.", "'two words' x", "Fix two words."),
            ("Say $1 $2", "don't stop", "Say don't stop"),
            ("Fix $3.", "12", "Fix ."),
            ("Echo $HOME and $5x.", "", "Echo $HOME and $5x."),
            (
                "In ${CLAUDE_SKILL_DIR}/${CLAUDE_SESSION_ID}",
                "",
                "In /w/s/id",
            ),
            ("No place.", "12", "No place.\n\nARGUMENTS: 12"),
            ("No place.", "", "No place."),
            ("Preis: $1 €.", "ähre", "Preis: ähre €."),
        ] {
            assert_eq!(skill(body).text(arguments, "id"), text, "{body}");
        }
    }

    #[test]
    fn nothing_that_was_put_in_is_expanded_again() {
        let text = skill("$1 and $ARGUMENTS").text("$ARGUMENTS ${CLAUDE_SESSION_ID} $2", "id");
        assert_eq!(text, "$ARGUMENTS and $ARGUMENTS ${CLAUDE_SESSION_ID} $2");
    }
}
