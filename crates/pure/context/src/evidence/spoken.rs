//! Words of the user in a message of the user's side.
//!
//! Authorship is decided by [`dormouse_core::fragment`]; this is its reading for a compaction. Words
//! that the user sent stay exact, pasted ones included: losing what the user showed would lose the
//! task. Rules and decisions are mined from typed words only.

use dormouse_core::fragment::{
    BASH_INPUT, COMMAND_NAME, How, MEMORY_INPUT, Span, Speaker, recognise, reported,
};

/// Words of the user in one text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Spoken {
    /// Words that the user sent, typed or pasted.
    pub sent: String,
    /// Words that the user typed; rules and decisions are mined from these alone.
    pub typed: String,
}

/// Takes apart what a person and what clients put into a text.
pub fn spoken(text: &str) -> Spoken {
    let mut out = Spoken::default();
    let mut command: Option<&str> = None;
    for span in recognise(text) {
        let content = text[span.content.clone()].trim();
        match span.how {
            How::Typed => {
                let words = &text[span.range];
                out.sent.push_str(words);
                push_unreported(words, &mut out.typed);
            }
            How::Pasted => {
                out.sent.push_str(&text[span.range]);
                out.typed.push('\n');
            }
            How::Wrapped(row) if row == &COMMAND_NAME => command = Some(content),
            How::Wrapped(row) if row.speaker == Speaker::User && !content.is_empty() => {
                // The name of a command alone tells nothing; with what follows it, it is a request.
                if let Some(name) = command.take() {
                    out.typed(name);
                    out.typed(" ");
                }
                if row == &BASH_INPUT {
                    // A command is run, not said: no rule is in it.
                    out.sent.push_str("! ");
                    out.sent.push_str(content);
                    continue;
                }
                if row == &MEMORY_INPUT {
                    out.typed("# ");
                }
                out.typed(content);
            }
            How::Unlisted => out.sent.push_str(&stand_in(text, &span)),
            How::Wrapped(_) | How::Noted => {}
        }
    }
    Spoken {
        sent: out.sent.trim().to_owned(),
        typed: out.typed.trim().to_owned(),
    }
}

impl Spoken {
    fn typed(&mut self, words: &str) {
        self.sent.push_str(words);
        self.typed.push_str(words);
    }
}

/// Appends words without the quotations in which they report what others said.
fn push_unreported(words: &str, out: &mut String) {
    for line in words.split_inclusive('\n') {
        let mut from = 0;
        for quotation in reported(line) {
            out.push_str(&line[from..quotation.start]);
            out.push('…');
            from = quotation.end;
        }
        out.push_str(&line[from..]);
    }
}

/// Name and size of a block that nobody is known to write. The user may have: without a trace of it
/// the message around it could mean nothing.
fn stand_in(text: &str, span: &Span) -> String {
    let name: String = text[span.range.clone()]
        .chars()
        .skip_while(|c| !c.is_alphanumeric())
        .take_while(|c| c.is_alphanumeric() || matches!(c, '-' | '_'))
        .take(40)
        .collect();
    let chars = text[span.range.clone()].chars().count();
    format!("\n[block \"{name}\", {chars} characters, not typed]\n")
}

#[cfg(test)]
mod tests {
    use super::spoken;

    #[test]
    fn only_what_a_person_said_is_left() {
        let cases = [
            ("did you push?", "did you push?"),
            (
                "<system-reminder>\nBe brief.\n</system-reminder>\n\nfix it",
                "fix it",
            ),
            ("fix it\n<system-reminder>x</system-reminder>", "fix it"),
            (
                "<command-name>/compact</command-name>\n   <command-message>compact</command-message>\n   \
                 <command-args>and go on with the rest</command-args>",
                "/compact and go on with the rest",
            ),
            (
                "<command-message>init is running</command-message>\n<command-name>/init</command-name>",
                "",
            ),
            (
                "<command-name>/context</command-name>\n<command-message>context</command-message>\n\
                 <command-args></command-args>",
                "",
            ),
            ("<local-command-stdout>Bye!</local-command-stdout>", ""),
            (
                "<task-notification>\n<task-id>b0</task-id>\n</task-notification>\nRead the output file: /tmp/b0",
                "",
            ),
            ("<bash-input>ls</bash-input>", "! ls"),
            ("[Request interrupted by user for tool use]", ""),
            (
                "take the <system-reminder> tags out",
                "take the <system-reminder> tags out",
            ),
            (
                "<system-reminder> is never closed",
                "<system-reminder> is never closed",
            ),
            (
                "<div>\nwhy does this not render?",
                "<div>\nwhy does this not render?",
            ),
            (
                "<ide_opened_file>The user opened a</ide_opened_file>hello",
                "hello",
            ),
            (
                "<plugin-x>\nalways use tabs\n</plugin-x>\n\ngo on",
                "[block \"plugin-x\", 38 characters, not typed]\n\n\ngo on",
            ),
            ("go on\n\n$ make\nalways red", "go on\n\n$ make\nalways red"),
        ];
        for (text, expected) in cases {
            assert_eq!(spoken(text).sent, expected, "{text:?}");
        }
    }

    #[test]
    fn rules_come_from_typed_words_only() {
        let found = spoken("go on\n\n$ make\nalways red");
        assert_eq!(found.typed, "go on");
    }
}
