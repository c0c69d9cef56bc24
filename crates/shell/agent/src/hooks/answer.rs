//! Answers of hooks: read from their exit codes and their JSON, and merged into one.
//!
//! Of several hooks the strictest counts: a refusal before a question before a permission. Reasons
//! and words add up; of changed inputs and results the last counts.

use super::process::Outcome;
use dormouse_drive::{HookAnswer, HookVerdict};
use dormouse_host::{HookCommand, HookEvent};
use serde_json::Value;
use std::path::PathBuf;

/// Exit code by which a hook blocks.
const BLOCKS: i32 = 2;
/// Characters of a hook's words that go into the conversation; the cap of Claude Code.
const MOST_CONTEXT: usize = 10_000;
/// Characters shown of longer ones, in front of the file's name.
const PREVIEW: usize = 2_000;
/// Characters of a failed hook's words that a notice repeats.
const MOST_OF_ERROR: usize = 300;

/// Merged answer of the hooks of one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Merged {
    pub(super) answer: HookAnswer,
    /// Lines to show to people, not to the model.
    pub(super) notices: Vec<String>,
}

impl Merged {
    /// Takes the outcome of one hook in.
    pub(super) fn take(&mut self, event: HookEvent, command: &HookCommand, outcome: &Outcome) {
        let name = event.name();
        match outcome {
            Outcome::Exit {
                code: 0, stdout, ..
            } => self.succeeded(event, command, stdout.trim()),
            Outcome::Exit {
                code: BLOCKS,
                stderr,
                ..
            } if blocks(event) => self.block(reason(stderr.trim(), command)),
            Outcome::Exit { code, stderr, .. } => {
                let why = first(stderr.trim(), MOST_OF_ERROR);
                self.notices.push(format!(
                    "a {name} hook of {} ended with code {code}: {why}",
                    command.origin
                ));
            }
            Outcome::TimedOut => self.notices.push(format!(
                "a {name} hook of {} took too long and was stopped: {}",
                command.origin, command.line
            )),
            Outcome::Failed(why) => self.notices.push(format!(
                "a {name} hook of {} could not be run: {why}",
                command.origin
            )),
        }
    }

    fn block(&mut self, why: String) {
        self.answer.blocked = Some(match self.answer.blocked.take() {
            Some(known) => format!("{known}\n{why}"),
            None => why,
        });
    }

    fn succeeded(&mut self, event: HookEvent, command: &HookCommand, stdout: &str) {
        if !stdout.starts_with('{') {
            // Plain words count where a session or a prompt begins.
            if matches!(event, HookEvent::SessionStart | HookEvent::UserPromptSubmit)
                && !stdout.is_empty()
            {
                self.answer.context.push(stdout.to_owned());
            }
            if event == HookEvent::PreCompact && !stdout.is_empty() {
                self.answer.instructions.push(stdout.to_owned());
            }
            return;
        }
        let said: Value = match serde_json::from_str(stdout) {
            Ok(said) => said,
            Err(error) => {
                self.notices.push(format!(
                    "a {} hook of {} answered no JSON: {error}",
                    event.name(),
                    command.origin
                ));
                return;
            }
        };
        self.said(event, command, &said);
    }

    fn said(&mut self, event: HookEvent, command: &HookCommand, said: &Value) {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        if let Some(message) = text(&said["systemMessage"]) {
            self.notices.push(message);
        }
        if said["continue"] == false && self.answer.stop.is_none() {
            let why = text(&said["stopReason"]);
            self.answer.stop = Some(why.unwrap_or_else(|| reason("", command)));
        }
        let why = || reason(said["reason"].as_str().unwrap_or_default(), command);
        match said["decision"].as_str() {
            Some("block") if blocks(event) => self.block(why()),
            // The older spelling of a permission.
            Some("approve") => self.rule(HookVerdict::Allow),
            _ => {}
        }
        let own = &said["hookSpecificOutput"];
        if let Some(context) = text(&own["additionalContext"]).filter(|text| !text.is_empty()) {
            self.answer.context.push(context);
        }
        if event == HookEvent::PreToolUse {
            let given = own["permissionDecisionReason"].as_str().unwrap_or_default();
            match own["permissionDecision"].as_str() {
                Some("allow") => self.rule(HookVerdict::Allow),
                Some("ask") => self.rule(HookVerdict::Ask(reason(given, command))),
                Some("deny") => self.rule(HookVerdict::Deny(reason(given, command))),
                _ => {}
            }
            if own["updatedInput"].is_object() {
                self.answer.input = Some(own["updatedInput"].clone());
            }
        }
        if event == HookEvent::PostToolUse && !own["updatedToolOutput"].is_null() {
            let output = &own["updatedToolOutput"];
            self.answer.output = Some(text(output).unwrap_or_else(|| output.to_string()));
        }
    }

    /// Adds a verdict; the stricter of two stays.
    fn rule(&mut self, verdict: HookVerdict) {
        let rank = |verdict: &HookVerdict| match verdict {
            HookVerdict::Allow => 0,
            HookVerdict::Ask(_) => 1,
            HookVerdict::Deny(_) => 2,
        };
        let known = self.answer.verdict.as_ref().map(rank);
        if known.is_none_or(|known| known < rank(&verdict)) {
            self.answer.verdict = Some(verdict);
        }
    }

    /// Replaces words that are too long by their beginning and the file that `keep` put them in.
    pub(super) fn shorten(&mut self, keep: impl Fn(&str) -> Option<PathBuf>) {
        for text in &mut self.answer.context {
            if text.chars().count() <= MOST_CONTEXT {
                continue;
            }
            let place = keep(text).map_or_else(
                || "the rest could not be kept".to_owned(),
                |file| format!("all of it is in {}", file.display()),
            );
            *text = format!("{}\n[{place}]", first(text, PREVIEW));
        }
    }
}

/// True if hooks of an event may block.
const fn blocks(event: HookEvent) -> bool {
    matches!(
        event,
        HookEvent::PreToolUse
            | HookEvent::PostToolUse
            | HookEvent::UserPromptSubmit
            | HookEvent::Stop
            | HookEvent::PreCompact
    )
}

fn reason(given: &str, command: &HookCommand) -> String {
    if given.is_empty() {
        format!("A hook of {} gave no reason.", command.origin)
    } else {
        given.to_owned()
    }
}

fn first(text: &str, chars: usize) -> &str {
    let end = text
        .char_indices()
        .nth(chars)
        .map_or(text.len(), |(at, _)| at);
    &text[..end]
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn command() -> HookCommand {
        HookCommand {
            line: "check".to_owned(),
            by: dormouse_host::HookBy::Shell,
            timeout: None,
            origin: "`settings.json`".to_owned(),
        }
    }

    fn exit(code: i32, stdout: &str, stderr: &str) -> Outcome {
        Outcome::Exit {
            code,
            stdout: stdout.to_owned(),
            stderr: stderr.to_owned(),
        }
    }

    fn merged(event: HookEvent, outcomes: &[Outcome]) -> Merged {
        let mut merged = Merged::default();
        for outcome in outcomes {
            merged.take(event, &command(), outcome);
        }
        merged
    }

    #[test]
    fn exit_code_two_blocks_where_an_event_can_be_blocked() {
        let refused = exit(2, "", "no deploys on Friday\n");
        for event in HookEvent::ALL {
            let merged = merged(event, std::slice::from_ref(&refused));
            if blocks(event) {
                let why = merged.answer.blocked.as_deref();
                assert_eq!(why, Some("no deploys on Friday"), "{event:?}");
            } else {
                assert_eq!(merged.answer, HookAnswer::default(), "{event:?}");
                assert_eq!(merged.notices.len(), 1, "{event:?}");
            }
        }
    }

    #[test]
    fn a_failure_a_timeout_or_nonsense_decides_nothing() {
        let outcomes = [
            exit(1, "{\"decision\":\"block\"}", "oops"),
            exit(0, "{not json", ""),
            Outcome::TimedOut,
            Outcome::Failed("no shell".to_owned()),
        ];
        let merged = merged(HookEvent::PreToolUse, &outcomes);
        assert_eq!(merged.answer, HookAnswer::default());
        assert_eq!(merged.notices.len(), 4);
    }

    #[test]
    fn the_strictest_verdict_counts_in_any_order() {
        let says = |decision: &str| {
            let own = format!(
                r#"{{"hookSpecificOutput":{{"permissionDecision":"{decision}","permissionDecisionReason":"{decision}!"}}}}"#
            );
            exit(0, &own, "")
        };
        let deny = Some(HookVerdict::Deny("deny!".to_owned()));
        for order in [["allow", "deny", "ask"], ["deny", "ask", "allow"]] {
            let merged = merged(HookEvent::PreToolUse, &order.map(says));
            assert_eq!(merged.answer.verdict, deny, "{order:?}");
        }
        let two = merged(HookEvent::PreToolUse, &["allow", "ask"].map(says));
        assert_eq!(
            two.answer.verdict,
            Some(HookVerdict::Ask("ask!".to_owned()))
        );
        // A verdict on a call means nothing elsewhere.
        let stop = merged(HookEvent::Stop, &[says("deny")]);
        assert_eq!(stop.answer.verdict, None);
    }

    #[test]
    fn json_changes_inputs_and_results_adds_words_and_stops() {
        let input = exit(
            0,
            r#"{"hookSpecificOutput":{"updatedInput":{"command":"ls"},"additionalContext":"mind the gap"},"systemMessage":"changed"}"#,
            "",
        );
        let merged_input = merged(HookEvent::PreToolUse, &[input]);
        assert_eq!(
            merged_input.answer.input,
            Some(serde_json::json!({"command": "ls"}))
        );
        assert_eq!(merged_input.answer.context, ["mind the gap"]);
        assert_eq!(merged_input.notices, ["changed"]);
        let output = exit(
            0,
            r#"{"hookSpecificOutput":{"updatedToolOutput":"[hidden]"}}"#,
            "",
        );
        let merged_output = merged(HookEvent::PostToolUse, &[output]);
        assert_eq!(merged_output.answer.output.as_deref(), Some("[hidden]"));
        let stop = exit(0, r#"{"continue":false,"stopReason":"enough"}"#, "");
        let stopped = merged(HookEvent::PostToolUse, &[stop]);
        assert_eq!(stopped.answer.stop.as_deref(), Some("enough"));
        let plain = exit(0, "Branch: main\n", "");
        let prompt = merged(HookEvent::UserPromptSubmit, std::slice::from_ref(&plain));
        assert_eq!(prompt.answer.context, ["Branch: main"]);
        let tool = merged(HookEvent::PreToolUse, &[plain]);
        assert_eq!(tool.answer, HookAnswer::default());
    }

    #[test]
    fn long_words_are_kept_in_a_file() {
        let long = "ä".repeat(MOST_CONTEXT + 1);
        let mut merged = merged(HookEvent::SessionStart, &[exit(0, &long, "")]);
        merged.shorten(|text| (text == long).then(|| PathBuf::from("/kept.txt")));
        let said = &merged.answer.context[0];
        assert!(said.ends_with("[all of it is in /kept.txt]"), "{said}");
        assert!(said.chars().count() < PREVIEW + 100);
    }
}
