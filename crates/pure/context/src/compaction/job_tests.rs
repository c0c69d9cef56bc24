//! The compaction as a state machine, event by event. Random sequences are in `tests/it`.

use super::test_kit::{Talk, complete_summary};
use super::*;
use crate::breaker::Allowed;
use crate::notes::{Edit, Notes, Template, apply};
use crate::policy::CompactRule;
use dormouse_core::block::Block;
use dormouse_core::record::{BoundaryKind, Trigger};
use dormouse_testkit::blocks::{call, result};
use pretty_assertions::assert_eq;
use serde_json::json;

fn request(trigger: Trigger) -> Request {
    Request {
        trigger,
        scope: Scope::All,
        instructions: Vec::new(),
        allowed: Allowed::Model,
    }
}

fn answer(text: &str) -> Event {
    Event::Answered(Ok(SummaryAnswer {
        blocks: vec![Block::text(text)],
        cut_off: false,
    }))
}

fn hooks(blocked: Option<&str>) -> Event {
    Event::HooksRan {
        instructions: vec!["mention the ports".to_owned()],
        blocked: blocked.map(str::to_owned),
    }
}

/// Answers restorations and commits; returns at a model call or at the end.
fn settle(job: &mut CompactionJob, cx: &JobContext<'_>, mut effect: Effect) -> Effect {
    loop {
        effect = match effect {
            Effect::Restore { .. } => job.handle(cx, Event::Restored(Vec::new())),
            Effect::Commit(_) => job.handle(cx, Event::Committed),
            other => return other,
        };
    }
}

fn kind_of(effect: &Effect) -> BoundaryKind {
    match effect {
        Effect::Done(CompactionOutcome::Compacted { kind, .. }) => *kind,
        other => panic!("{other:?}"),
    }
}

fn asked(effect: &Effect) -> &Ask {
    match effect {
        Effect::Ask(ask) => ask,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_good_answer_becomes_the_boundary() {
    let talk = Talk::long();
    talk.with(|cx| {
        let mut job = CompactionJob::new(request(Trigger::Manual));
        assert!(matches!(job.start(cx), Effect::RunHooks));
        let effect = job.handle(cx, hooks(Some("a manual one is not blocked")));
        let ask = asked(&effect);
        assert!(matches!(ask.form, AskForm::Riding));
        assert!(ask.directive.contains("- mention the ports"));
        let effect = job.handle(cx, answer(&complete_summary()));
        let Effect::Restore { .. } = effect else {
            panic!("{effect:?}");
        };
        let effect = job.handle(cx, Event::Restored(Vec::new()));
        let Effect::Commit(boundary) = effect else {
            panic!("{effect:?}");
        };
        assert!(boundary.manifest.is_some());
        assert!(boundary.post_tokens < boundary.pre_tokens);
        let effect = job.handle(cx, Event::Committed);
        assert_eq!(kind_of(&effect), BoundaryKind::Full);
    });
}

#[test]
fn files_that_stand_in_the_prompt_by_themselves_are_not_restored() {
    let mut talk = Talk::long();
    let paths = [
        "/w/src/lib.rs",
        "/w/CLAUDE.md",
        "/w/.claude/rules/testing.md",
        "/home/u/.claude/plans/otter.md",
        "/s/log.jsonl",
        "/w/src/main.rs",
    ];
    for (n, path) in paths.iter().enumerate() {
        let id = format!("read_{n}");
        let read = call(&id, "Read", &json!({ "file_path": path }));
        talk.log.user(&format!("look at {path}"));
        talk.log.assistant(&format!("r_{n}"), vec![read]);
        talk.log.user_blocks(vec![result(&id, "its content")]);
        talk.log
            .assistant(&format!("s_{n}"), vec![Block::text("read")]);
    }
    talk.with(|cx| {
        let mut job = CompactionJob::new(request(Trigger::Manual));
        job.start(cx);
        job.handle(cx, hooks(None));
        let effect = job.handle(cx, answer(&complete_summary()));
        let Effect::Restore { files, .. } = effect else {
            panic!("{effect:?}");
        };
        assert_eq!(files, ["/w/src/main.rs", "/w/src/lib.rs"]);
    });
}

#[test]
fn a_hook_may_block_an_automatic_one_only() {
    let talk = Talk::long();
    talk.with(|cx| {
        let mut job = CompactionJob::new(request(Trigger::Auto));
        job.start(cx);
        let effect = job.handle(cx, hooks(Some("not now")));
        assert!(
            matches!(effect, Effect::Done(CompactionOutcome::Blocked(why)) if why == "not now")
        );
    });
}

#[test]
fn answers_that_cannot_be_used_lead_to_an_extract_that_says_why() {
    let tool_call = Event::Answered(Ok(SummaryAnswer {
        blocks: vec![
            Block::text(&complete_summary()),
            call("c", "Bash", &json!({})),
        ],
        cut_off: false,
    }));
    let cut_off = Event::Answered(Ok(SummaryAnswer {
        blocks: vec![Block::text(&complete_summary())],
        cut_off: true,
    }));
    let cases = [
        (tool_call, "tool"),
        (cut_off, "cut off"),
        (answer("<summary>short</summary>"), "lacks"),
        (
            Event::Answered(Err(AskFailure::Failed("down".to_owned()))),
            "down",
        ),
    ];
    let talk = Talk::long();
    for (event, reason) in cases {
        talk.with(|cx| {
            let mut job = CompactionJob::new(request(Trigger::Manual));
            job.start(cx);
            asked(&job.handle(cx, hooks(None)));
            let effect = job.handle(cx, event.clone());
            let effect = settle(&mut job, cx, effect);
            let Effect::Done(CompactionOutcome::Compacted {
                kind, model_failed, ..
            }) = effect
            else {
                panic!("{effect:?}");
            };
            assert_eq!(kind, BoundaryKind::Offline);
            assert!(
                model_failed.is_some_and(|why| why.contains(reason)),
                "{reason}"
            );
        });
    }
}

#[test]
fn broken_streams_are_asked_again_twice_and_a_rejected_form_once() {
    let broken = || Event::Answered(Err(AskFailure::Broken("cut".to_owned())));
    let rejected = || Event::Answered(Err(AskFailure::Rejected("no".to_owned())));
    let talk = Talk::long();
    talk.with(|cx| {
        let mut job = CompactionJob::new(request(Trigger::Manual));
        job.start(cx);
        job.handle(cx, hooks(None));
        asked(&job.handle(cx, broken()));
        asked(&job.handle(cx, broken()));
        let effect = job.handle(cx, rejected());
        let AskForm::Cold(text) = &asked(&effect).form else {
            panic!("{effect:?}");
        };
        assert!(text.starts_with("<conversation>"));
        let effect = job.handle(cx, broken());
        let effect = settle(&mut job, cx, effect);
        assert_eq!(kind_of(&effect), BoundaryKind::Offline);
    });
}

#[test]
fn a_request_that_is_too_long_loses_its_oldest_rounds() {
    let too_long = |gap: Option<u64>| {
        Event::Answered(Err(AskFailure::TooLong {
            gap: gap.map(dormouse_core::units::Tokens),
        }))
    };
    let talk = Talk::long();
    talk.with(|cx| {
        let mut job = CompactionJob::new(request(Trigger::Manual));
        job.start(cx);
        job.handle(cx, hooks(None));
        let all = cx.conversation.view().segments().len();
        let mut before = all;
        for gap in [Some(50), None, None] {
            let effect = job.handle(cx, too_long(gap));
            let AskForm::Shortened(segments) = &asked(&effect).form else {
                panic!("{effect:?}");
            };
            assert!(segments.len() < before, "{} of {before}", segments.len());
            assert_eq!(crate::validate::consistent(segments), Ok(()));
            before = segments.len();
        }
        // Three tries, then the extract.
        let effect = job.handle(cx, too_long(None));
        let effect = settle(&mut job, cx, effect);
        assert_eq!(kind_of(&effect), BoundaryKind::Offline);
        // No request is made if dropping rounds cannot cover the gap.
        let mut job = CompactionJob::new(request(Trigger::Manual));
        job.start(cx);
        job.handle(cx, hooks(None));
        let effect = job.handle(cx, too_long(Some(u64::MAX)));
        assert!(matches!(effect, Effect::Restore { .. }));
    });
}

#[test]
fn notes_take_the_place_of_the_call_when_they_can() {
    let edit = Edit::Section {
        title: "Worklog".to_owned(),
        body: "- looked at the ports".to_owned(),
    };
    let notes = apply(&Notes::blank(&Template::builtin()), &[edit]).unwrap();
    let blank = Notes::blank(&Template::builtin());
    // Longer than the least tail beside notes.
    let mut talk = Talk::default();
    for n in 0..20 {
        talk.question(n, 1_500);
    }
    let last = talk.messages()[talk.messages().len() - 8];
    let cases = [
        (Some((notes.clone(), last)), true),
        (Some((blank, last)), false),
        // The last message covered is not in view.
        (Some((notes, dormouse_core::id::Seq::new(9_999))), false),
        (None, false),
    ];
    for (read, used) in cases {
        talk.with(|cx| {
            let mut job = CompactionJob::new(request(Trigger::Auto));
            job.start(cx);
            let effect = job.handle(cx, hooks(None));
            assert!(matches!(effect, Effect::ReadNotes));
            let effect = job.handle(cx, Event::NotesRead(read.clone()));
            if used {
                let effect = settle(&mut job, cx, effect);
                assert_eq!(kind_of(&effect), BoundaryKind::Notes);
            } else {
                asked(&effect);
            }
        });
    }
}

#[test]
fn a_second_call_checks_the_first_and_its_failure_changes_nothing() {
    let rule = CompactRule {
        rides: false,
        clamp: Some(10),
        check: Some("Check it."),
        ..CompactRule::new(&CompactSettings::new(&Settings::default()))
    };
    let talk = Talk::long();
    talk.with_rule(&rule, |cx| {
        let mut job = CompactionJob::new(request(Trigger::Manual));
        job.start(cx);
        let effect = job.handle(cx, hooks(None));
        assert!(matches!(asked(&effect).form, AskForm::Cold(_)));
        let effect = job.handle(cx, answer(&complete_summary()));
        let directive = &asked(&effect).directive;
        assert!(directive.contains("Check it.") && directive.contains("port 8080"));
        let effect = job.handle(cx, Event::Answered(Err(AskFailure::Failed("x".to_owned()))));
        let effect = settle(&mut job, cx, effect);
        assert_eq!(kind_of(&effect), BoundaryKind::Full);
    });
}

#[test]
fn what_is_out_of_order_or_not_written_ends_the_job() {
    let talk = Talk::long();
    talk.with(|cx| {
        let mut job = CompactionJob::new(request(Trigger::Manual));
        job.start(cx);
        let effect = job.handle(cx, Event::Committed);
        assert!(matches!(effect, Effect::Done(CompactionOutcome::NotWritten(_))));

        let mut job = CompactionJob::new(request(Trigger::Manual));
        job.start(cx);
        job.handle(cx, hooks(None));
        job.handle(cx, answer(&complete_summary()));
        job.handle(cx, Event::Restored(Vec::new()));
        let effect = job.handle(cx, Event::NotCommitted("the log moved on".to_owned()));
        assert!(matches!(effect, Effect::Done(CompactionOutcome::NotWritten(why)) if why.contains("moved")));
    });
}

#[test]
fn an_empty_session_has_nothing_to_compact() {
    let talk = Talk::default();
    talk.with(|cx| {
        let mut job = CompactionJob::new(request(Trigger::Manual));
        let effect = job.start(cx);
        assert!(matches!(
            effect,
            Effect::Done(CompactionOutcome::NoProgress { .. })
        ));
    });
}
