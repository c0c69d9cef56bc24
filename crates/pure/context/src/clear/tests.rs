use super::batch::MARKER_TOKENS;
use super::*;
use crate::conversation::Conversation;
use crate::path::{Leaf, path};
use crate::target::Target;
use dormouse_core::block::Block;
use dormouse_core::models::{ModelTable, ThinkingBinding};
use dormouse_core::record::{Body, FragmentKind};
use dormouse_testkit::LogBuilder;
use dormouse_testkit::blocks::{call, result, thinking};
use pretty_assertions::assert_eq;
use serde_json::json;
use std::sync::Arc;

/// A text of exactly so many tokens.
fn text(tokens: usize) -> String {
    "word".repeat(tokens)
}

/// Rounds with one call each; the last has its results but no answer yet.
pub(super) struct Fixture {
    log: LogBuilder,
    target: Target,
}

impl Fixture {
    fn new() -> Self {
        let mut log = LogBuilder::new();
        log.user("please look");
        let models = Arc::new(ModelTable::builtin().clone());
        Self {
            log,
            target: Target::new(&models, "model"),
        }
    }

    pub(super) fn of(results: &[(&str, usize)]) -> Self {
        let mut fixture = Self::new();
        for (tool, tokens) in results {
            fixture.round(&[(tool, *tokens)]);
        }
        fixture
    }

    pub(super) fn round(&mut self, results: &[(&str, usize)]) {
        let at = self.log.records().len();
        let id = |n: usize| format!("call_{at}_{n}");
        let calls = results
            .iter()
            .enumerate()
            .map(|(n, (tool, _))| call(&id(n), tool, &json!({ "file_path": "/a" })));
        let mut said = vec![thinking("hm"), Block::text("let me see")];
        said.extend(calls);
        self.log.assistant(&format!("msg_{at}"), said);
        let results = results.iter().enumerate();
        let results = results.map(|(n, (_, tokens))| result(&id(n), &text(*tokens)));
        self.log.user_blocks(results.collect());
    }

    /// Appends an answer without a call, which freezes everything before it.
    pub(super) fn answered(mut self) -> Self {
        self.log.assistant("msg_end", vec![Block::text("done")]);
        self
    }

    pub(super) fn conversation(&self) -> Conversation {
        let records = path(self.log.records(), Leaf::Newest);
        Conversation::fold(&records, self.target.clone())
    }

    fn ask(&self, question: &Question) -> ClearVerdict {
        let conversation = self.conversation();
        let settings = question.settings();
        let mut index = ResultIndex::default();
        index.update(
            conversation.view(),
            &settings.tools,
            conversation.bytes_per_token(),
        );
        let inputs = ClearInputs {
            view: conversation.view(),
            index: &index,
            settings: &settings,
            measure: Measure {
                bytes: conversation.bytes_per_token(),
                calibration: Calibration::default(),
            },
            used: question.used,
            warning: Tokens(147_000),
            cold: question.cold,
        };
        match question.rule {
            Rule::Classic => classic(&inputs),
            Rule::Economic => economic(&inputs, || Tokens(500), question.worth),
            Rule::All => inputs.clear(inputs.worthwhile(inputs.old())),
        }
    }

    fn cleared(&self, question: &Question) -> usize {
        match self.ask(question) {
            ClearVerdict::Clear(selection) => selection.positions.len(),
            ClearVerdict::Leave { .. } => 0,
        }
    }

    fn selection(&self, question: &Question) -> Selection {
        match self.ask(question) {
            ClearVerdict::Clear(selection) => selection,
            ClearVerdict::Leave { reason } => panic!("{reason}"),
        }
    }
}

#[derive(Clone, Copy)]
enum Rule {
    Classic,
    Economic,
    /// Every result that may be cleared at all.
    All,
}

struct Question {
    rule: Rule,
    cold: bool,
    used: Tokens,
    idle: bool,
    pressure: bool,
    worth: fn(Tokens, Tokens) -> Result<String, String>,
}

impl Question {
    fn settings(&self) -> ClearSettings {
        ClearSettings {
            idle: self.idle,
            pressure: self.pressure,
            ..ClearSettings::new(&Settings::default())
        }
    }
}

fn question(rule: Rule) -> Question {
    Question {
        rule,
        cold: false,
        used: Tokens(147_000),
        idle: true,
        pressure: true,
        worth: |_, _| Ok("it pays".to_owned()),
    }
}

fn idle() -> Question {
    Question {
        cold: true,
        used: Tokens(1_000),
        ..question(Rule::Classic)
    }
}

#[test]
fn a_lapsed_cache_leaves_the_newest_five() {
    let with = |results: usize| Fixture::of(&vec![("Read", 500); results]).answered();
    assert_eq!(with(5).cleared(&idle()), 0);
    assert_eq!(with(6).cleared(&idle()), 1);
    assert_eq!(with(12).cleared(&idle()), 7);
    let off = Question {
        idle: false,
        ..idle()
    };
    assert_eq!(with(12).cleared(&off), 0);
}

#[test]
fn what_waits_for_the_next_request_counts_as_newest() {
    // The last round is not answered: its result is in the tail.
    let fixture = Fixture::of(&[("Read", 500); 7]);
    assert_eq!(fixture.cleared(&idle()), 2);
    // Results of tools that are never cleared do not count among the newest.
    let mut fixture = Fixture::of(&[("Read", 500); 7]);
    fixture.round(&[("mcp__x__y", 500)]);
    assert_eq!(fixture.cleared(&idle()), 2);
}

#[test]
fn pressure_begins_at_the_warning() {
    let fixture = Fixture::of(&[("Bash", 10_000); 8]).answered();
    let at = |used: u64| Question {
        used: Tokens(used),
        ..question(Rule::Classic)
    };
    assert_eq!(fixture.cleared(&at(146_999)), 0);
    assert_eq!(fixture.cleared(&at(147_000)), 5);
    let off = Question {
        pressure: false,
        ..at(147_000)
    };
    assert_eq!(fixture.cleared(&off), 0);
}

#[test]
fn pressure_takes_more_than_forty_thousand_held() {
    // The newest round does not count as held.
    let at = |tokens: usize| {
        Fixture::of(&[
            ("Bash", 35_000),
            ("Bash", tokens),
            ("Bash", 1_000),
            ("Bash", 1_000),
            ("Bash", 1_000),
        ])
        .answered()
    };
    let held = |tokens: usize| 35_000 + tokens + 2_000;
    assert_eq!(held(3_000), 40_000);
    assert_eq!(at(3_000).cleared(&question(Rule::Classic)), 0);
    assert_eq!(at(3_001).cleared(&question(Rule::Classic)), 2);
}

#[test]
fn pressure_takes_at_least_twenty_thousand_freed() {
    let at = |tokens: usize| {
        Fixture::of(&[
            ("Bash", tokens),
            ("Bash", 20_000),
            ("Bash", 20_000),
            ("Bash", 20_000),
        ])
        .answered()
    };
    let marker = usize::try_from(MARKER_TOKENS.get()).unwrap();
    assert_eq!(at(19_999 + marker).cleared(&question(Rule::Classic)), 0);
    assert_eq!(at(20_000 + marker).cleared(&question(Rule::Classic)), 1);
}

#[test]
fn few_large_results_are_cleared_under_pressure_on_a_lapsed_cache_too() {
    // Five results: the idle rule alone would keep all of them.
    let fixture = Fixture::of(&[("Bash", 30_000); 5]).answered();
    let both = Question {
        used: Tokens(150_000),
        ..idle()
    };
    assert_eq!(fixture.cleared(&both), 2);
    assert_eq!(fixture.cleared(&idle()), 0);
}

#[test]
fn the_economic_rule_clears_oldest_first_down_to_its_mark() {
    let fixture = Fixture::of(&[("Bash", 10_000); 6]).answered();
    // Five are old and hold 50,000; three clearings leave just over 20,000, markers included.
    let selection = fixture.selection(&question(Rule::Economic));
    assert_eq!(selection.positions.len(), 4);
    let all = fixture.conversation();
    let order: Vec<usize> = all
        .view()
        .frozen()
        .iter()
        .enumerate()
        .filter(|(_, segment)| segment.block.kind() == dormouse_core::block::BlockKind::ToolResult)
        .map(|(at, _)| at)
        .collect();
    assert_eq!(selection.positions, order[..4]);
    assert_eq!(selection.freed, Tokens(4 * (10_000 - MARKER_TOKENS.get())));
    assert_eq!(selection.reason, "it pays");
}

#[test]
fn on_a_lapsed_cache_the_economic_rule_leaves_small_results_and_the_newest() {
    let mut sizes = vec![("Bash", 400), ("Bash", 4_000), ("Bash", 300), ("Bash", 600)];
    sizes.extend([("Bash", 9_000); 5]);
    let fixture = Fixture::of(&sizes).answered();
    let cold = Question {
        rule: Rule::Economic,
        ..idle()
    };
    let selection = fixture.selection(&cold);
    assert_eq!(selection.positions.len(), 2);
    assert_eq!(selection.freed, Tokens(4_600 - 2 * MARKER_TOKENS.get()));
}

#[test]
fn the_economic_rule_acts_only_where_it_pays() {
    let fixture = Fixture::of(&[("Bash", 10_000); 6]).answered();
    let no = Question {
        worth: |freed, behind| Err(format!("{freed} against {behind}")),
        ..question(Rule::Economic)
    };
    let ClearVerdict::Leave { reason } = fixture.ask(&no) else {
        panic!("cleared");
    };
    // Behind the first cleared result: two results, their texts and calls, and the markers.
    assert!(reason.starts_with("39800 against 20"), "{reason}");
    for (cold, idle, pressure) in [(true, false, true), (false, true, false)] {
        let off = Question {
            cold,
            idle,
            pressure,
            ..question(Rule::Economic)
        };
        assert_eq!(fixture.cleared(&off), 0);
    }
}

#[test]
fn some_things_are_never_cleared() {
    let mut fixture = Fixture::of(&[
        ("mcp__server__tool", 30_000),
        ("Task", 30_000),
        ("Read", 99),
        ("Read", 30_000),
    ]);
    fixture.round(&[("Read", 30_000), ("Bash", 30_000), ("Grep", 30_000)]);
    let fixture = fixture.answered();
    let selection = fixture.selection(&question(Rule::All));
    // Only one old file read: not other tools, not small results, not the newest round.
    assert_eq!(selection.positions.len(), 1);
    let conversation = fixture.conversation();
    let composed = compose(conversation.view(), &selection, "/s/tool-results");
    let mut log = fixture.log.clone();
    let before: Vec<Block> = blocks(&conversation);
    log.push(Body::Cleared(composed.clearing));
    let after = blocks(&Fixture { log, ..fixture }.conversation());
    let changed: Vec<&Block> = before
        .iter()
        .zip(&after)
        .filter(|(before, after)| before != after)
        .map(|(_, after)| after)
        .collect();
    assert_eq!(before.len(), after.len());
    assert_eq!(changed.len(), 1);
    let marker = changed[0].readable_text().unwrap();
    assert!(marker.starts_with("[Old tool result content cleared; full text: /s/tool-results/"));
    assert_eq!(composed.saved.len(), 1);
    assert_eq!(composed.saved[0].text, text(30_000));
    assert!(marker.ends_with(&format!("/{}]", composed.saved[0].name)));
}

fn blocks(conversation: &Conversation) -> Vec<Block> {
    let list = conversation.view().segments();
    list.iter().map(|segment| segment.block.clone()).collect()
}

#[test]
fn the_smallest_worth_a_marker_is_twice_a_marker() {
    let at = |tokens| Fixture::of(&[("Read", tokens), ("Read", 9), ("Read", 9)]).answered();
    assert_eq!(at(99).cleared(&question(Rule::All)), 0);
    assert_eq!(at(100).cleared(&question(Rule::All)), 1);
}

#[test]
fn recalled_memories_go_along_but_never_alone() {
    let mut fixture = Fixture::new();
    fixture.log.fragment(FragmentKind::Memory, &text(900));
    for _ in 0..7 {
        fixture.round(&[("Read", 500)]);
    }
    fixture.log.fragment(FragmentKind::Memory, &text(900));
    let fixture = fixture.answered();
    let selection = fixture.selection(&idle());
    assert_eq!(selection.positions.len(), 3);
    let composed = compose(fixture.conversation().view(), &selection, "/s");
    assert_eq!(composed.saved.len(), 2, "a memory has its own file");
    let first = composed.clearing.blocks[0].block.readable_text().unwrap();
    assert!(first.contains("recalled again"));

    let mut alone = Fixture::new();
    for _ in 0..9 {
        alone.log.fragment(FragmentKind::Memory, &text(900));
    }
    assert_eq!(alone.answered().cleared(&idle()), 0);
}

#[test]
fn a_batch_is_cleared_once() {
    let mut fixture = Fixture::of(&[("Read", 500); 12]).answered();
    let selection = fixture.selection(&idle());
    // A marker with a long path must not look worth clearing again.
    let folder = format!("/{}", "folder/".repeat(80));
    let composed = compose(fixture.conversation().view(), &selection, &folder);
    fixture.log.push(Body::Cleared(composed.clearing));
    assert_eq!(fixture.cleared(&idle()), 0);
}

#[test]
fn of_a_preview_the_marker_names_the_file_with_the_whole_text() {
    let folder = "/s/tool-results";
    let preview = crate::offload::preview(&text(9_000), "/s/tool-results/ab-cd.txt", 2_000);
    let mut fixture = Fixture::new();
    fixture.log.assistant(
        "msg_1",
        vec![call("c1", "Bash", &json!({ "command": "ls" }))],
    );
    fixture.log.user_blocks(vec![result("c1", &preview)]);
    for _ in 0..6 {
        fixture.round(&[("Read", 500)]);
    }
    let fixture = fixture.answered();
    let selection = fixture.selection(&idle());
    let composed = compose(fixture.conversation().view(), &selection, folder);
    let marker = composed.clearing.blocks[0].block.readable_text().unwrap();
    assert_eq!(marker, super::marker("/s/tool-results/ab-cd.txt"));
    assert_eq!(composed.saved.len(), selection.positions.len() - 1);
    // A text that only resembles a preview is saved like any other.
    let composed = compose(fixture.conversation().view(), &selection, "/elsewhere");
    assert_eq!(composed.saved.len(), selection.positions.len());
}

#[test]
fn bound_thinking_waits_for_the_end_of_the_turn_and_goes_along() {
    let bound = |mut fixture: Fixture| {
        fixture.target.binding = ThinkingBinding::Prefix;
        for record in fixture.log.records() {
            assert!(!matches!(record.body, Body::Request(_)));
        }
        fixture
    };
    let open = bound(Fixture::of(&[("Read", 500); 9]));
    let ClearVerdict::Leave { reason } = open.ask(&idle()) else {
        panic!("cleared in the middle of a turn");
    };
    assert!(reason.contains("bound"), "{reason}");
    let finished = bound(Fixture::of(&[("Read", 500); 9]).answered());
    let selection = finished.selection(&idle());
    // Thinking of the first round stands in front of the first cleared result and stays.
    assert_eq!(selection.thinking.len(), 8);
}
