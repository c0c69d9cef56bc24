//! The words of a person in a message of the user's side.
//!
//! Clients put things of their own into the user's messages: reminders, output of their commands,
//! what the editor shows, notices of tasks. They wrap them in tags. A slash command is wrapped too,
//! but what was typed behind its name is the user's.

/// Wrappers whose content no person wrote.
const INJECTED: [&str; 18] = [
    "analysis",
    "bash-stderr",
    "bash-stdout",
    "command-message",
    "command-name",
    "command-stderr",
    "command-stdout",
    "ide_diagnostics",
    "ide_opened_file",
    "ide_selection",
    "local-command-caveat",
    "local-command-stderr",
    "local-command-stdout",
    "new-diagnostics",
    "persisted-output",
    "post-tool-use-hook",
    "system-reminder",
    "user-prompt-submit-hook",
];

/// Wrappers around what a person typed, and what it is shown with in front.
const TYPED: [(&str, &str); 3] = [
    ("bash-input", "! "),
    ("command-args", ""),
    ("user-memory-input", "# "),
];

/// Wrappers of messages that a client sends by itself: what stands behind them is not typed either.
const NOTICES: [&str; 1] = ["<task-notification>"];

/// Notes of a client in the user's place, without tags.
const NOTES: [&str; 2] = [
    "[Request interrupted by user]",
    "[Request interrupted by user for tool use]",
];

/// What a person said in a text, without what a client put in; empty if nothing is left.
pub fn spoken(text: &str) -> String {
    if NOTICES.iter().any(|tag| text.trim_start().starts_with(tag)) {
        return String::new();
    }
    let mut out = String::new();
    let mut command: Option<String> = None;
    let mut rest = text;
    while let Some(part) = next_part(rest) {
        out.push_str(part.before);
        let content = part.content.trim();
        match part.wrapper {
            Wrapper::Injected("command-name") => command = Some(content.to_owned()),
            Wrapper::Typed(sign) if !content.is_empty() => {
                // The name of a command alone tells nothing; with what follows it, it is a request.
                if let Some(name) = command.take() {
                    out.push_str(&name);
                    out.push(' ');
                }
                out.push_str(sign);
                out.push_str(content);
            }
            Wrapper::Injected(_) | Wrapper::Typed(_) => {}
        }
        rest = part.rest;
    }
    out.push_str(rest);
    let words = out.trim();
    if NOTES.contains(&words) {
        String::new()
    } else {
        words.to_owned()
    }
}

#[derive(Clone, Copy)]
enum Wrapper {
    Injected(&'static str),
    Typed(&'static str),
}

struct Part<'a> {
    before: &'a str,
    wrapper: Wrapper,
    content: &'a str,
    rest: &'a str,
}

/// The first wrapped part: its tag begins a line and is closed. Someone who writes *about* such a
/// tag does neither.
fn next_part(text: &str) -> Option<Part<'_>> {
    let mut from = 0;
    while let Some(found) = text[from..].find('<') {
        let at = from + found;
        from = at + 1;
        let line = text[..at].rsplit('\n').next().unwrap_or_default();
        let starts_a_line = line.trim().is_empty() || line.trim_end().ends_with('>');
        if !starts_a_line {
            continue;
        }
        let Some((name, wrapper)) = wrapper(&text[at + 1..]) else {
            continue;
        };
        let inside = at + name.len() + 2;
        let close = format!("</{name}>");
        if let Some(length) = text[inside..].find(&close) {
            return Some(Part {
                before: &text[..at],
                wrapper,
                content: &text[inside..inside + length],
                rest: &text[inside + length + close.len()..],
            });
        }
    }
    None
}

fn wrapper(rest: &str) -> Option<(&'static str, Wrapper)> {
    let opens = |name: &str| {
        rest.strip_prefix(name)
            .is_some_and(|behind| behind.starts_with('>'))
    };
    let injected = INJECTED.iter().find(|name| opens(name));
    injected
        .map(|name| (*name, Wrapper::Injected(name)))
        .or_else(|| {
            let typed = TYPED.iter().find(|(name, _)| opens(name));
            typed.map(|(name, sign)| (*name, Wrapper::Typed(sign)))
        })
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
        ];
        for (text, expected) in cases {
            assert_eq!(spoken(text), expected, "{text:?}");
        }
    }
}
