//! Tests of the plan with its reasons.

use super::*;
use dormouse_core::units::Millis;
use dormouse_memory::topic::{Kind, Triggers};
use pretty_assertions::assert_eq;
use proptest::prelude::*;

fn path(name: &str) -> SafePath {
    SafePath::parse(name).unwrap()
}

fn card(name: &str) -> Card {
    let mut card = Card::read(path(name), "text", Millis(0));
    card.bytes = 1_000;
    card
}

fn hit(name: &str, confidence: f32) -> Hit {
    Hit {
        path: path(name),
        score: 1.0,
        confidence,
    }
}

const BUDGETS: Budgets = Budgets {
    files: 5,
    candidates: 50,
    file_lines: 200,
    file_bytes: 4_096,
    session_bytes: 61_440,
    confidence: 0.5,
};

#[derive(Clone)]
struct Case {
    prompt: &'static str,
    hits: Vec<Hit>,
    cards: Vec<Card>,
    work: Work,
    seen: Seen,
    budgets: Budgets,
}

impl Case {
    fn new(cards: Vec<Card>, confidence: f32) -> Self {
        Self {
            prompt: "fix the tests",
            hits: cards
                .iter()
                .map(|card| hit(card.path.as_str(), confidence))
                .collect(),
            cards,
            work: Work::new(),
            seen: Seen::default(),
            budgets: BUDGETS,
        }
    }

    fn request(&self) -> Request<'_> {
        Request {
            prompt: self.prompt,
            hits: &self.hits,
            cards: &self.cards,
            work: &self.work,
            seen: &self.seen,
            budgets: self.budgets,
            today: jiff::civil::date(2026, 1, 1),
        }
    }

    fn plan(&self) -> Surfacing {
        plan(&self.request())
    }
}

fn names(picks: &[Pick]) -> Vec<&str> {
    picks.iter().map(|pick| pick.path.as_str()).collect()
}

fn rule(name: &str) -> Card {
    let mut rule = card(name);
    rule.kind = Some(Kind::Feedback);
    rule.triggers = Triggers {
        commands: vec!["git commit".into()],
        ..Triggers::default()
    };
    rule
}

#[test]
fn sure_hits_go_in_and_others_are_candidates() {
    let mut case = Case::new(vec![card("a.md"), card("b.md"), card("c.md")], 0.9);
    case.hits[1].confidence = 0.2;
    case.hits[2].confidence = f32::NAN;
    let plan = case.plan();
    assert_eq!(names(&plan.now), ["a.md"]);
    assert_eq!(plan.candidates, [path("b.md"), path("c.md")]);
    assert_eq!(plan.left_out, []);
}

#[test]
fn nothing_rather_than_noise() {
    let mut case = Case::new(vec![card("a.md")], 0.1);
    case.budgets.candidates = 0;
    let plan = case.plan();
    assert_eq!(plan.now, []);
    assert_eq!(plan.left_out[0].reason, Reason::Unsure { confidence: 0.1 });
}

#[test]
fn a_prompt_may_be_too_short_or_say_to_ignore_memory() {
    let mut case = Case::new(vec![card("a.md")], 0.9);
    for (prompt, skip) in [
        ("", Some(Skip::TooShort)),
        (" continue ", Some(Skip::TooShort)),
        ("修", Some(Skip::TooShort)),
        ("修复失败的测试", None),
        ("fix tests", None),
        ("fix it without your memory", Some(Skip::ToldToIgnore)),
    ] {
        case.prompt = prompt;
        assert_eq!(case.plan().skipped, skip, "{prompt}");
    }
}

#[test]
fn a_session_has_a_budget() {
    let mut case = Case::new(vec![card("a.md"), card("b.md")], 0.9);
    case.seen.bytes = BUDGETS.session_bytes - 1_500;
    let plan = case.plan();
    assert_eq!(names(&plan.now), ["a.md"]);
    assert_eq!(plan.left_out[0].reason, Reason::NoRoom);
    case.seen.bytes = BUDGETS.session_bytes;
    assert_eq!(case.plan().skipped, Some(Skip::BudgetSpent));
    assert_eq!(plan_work(&case.request()).skipped, Some(Skip::BudgetSpent));
}

#[test]
fn what_is_known_unbelieved_or_over_is_left_out() {
    let mut cards = vec![
        card("surfaced.md"),
        card("read.md"),
        card("tool.md"),
        card("web.md"),
        card("approved.md"),
        card("over.md"),
        card("manual.md"),
        card("fine.md"),
    ];
    cards[2].trust = Some(Trust::ToolOutput);
    cards[3].trust = Some(Trust::External);
    cards[4].trust = Some(Trust::User);
    cards[5].superseded_by = Some("newer.md".into());
    cards[6].description = "docker usage guide".into();
    cards[6].manual = true;
    cards[7].trust = Some(Trust::Assistant);
    let mut case = Case::new(cards, 0.9);
    case.hits.push(hit("deleted.md", 0.9));
    case.hits.push(hit("fine.md", 0.9));
    case.seen.surfaced.insert(path("surfaced.md"));
    case.seen.read.insert(path("read.md"));
    case.work.add_command_line("docker ps");
    let plan = case.plan();
    assert_eq!(names(&plan.now), ["approved.md", "fine.md"]);
    let reasons: Vec<&Reason> = plan.left_out.iter().map(|left| &left.reason).collect();
    assert_eq!(
        reasons,
        [
            &Reason::Surfaced,
            &Reason::ReadByAgent,
            &Reason::Untrusted(Trust::ToolOutput),
            &Reason::Untrusted(Trust::External),
            &Reason::Over,
            &Reason::Documentation {
                tool: "docker".into()
            },
            &Reason::Unknown,
        ]
    );
    assert_eq!(plan.candidates, []);
}

#[test]
fn rules_come_before_what_resembles_the_prompt() {
    let mut case = Case::new(vec![card("a.md"), rule("rule.md")], 0.9);
    case.work.add_command_line("git commit -m x");
    case.budgets.files = 1;
    let plan = case.plan();
    assert_eq!(names(&plan.now), ["rule.md"]);
    assert_eq!(
        plan.now[0].why.to_string(),
        "applies to the command `git commit`"
    );
    // The model may still choose it for the next tool boundary.
    assert_eq!(plan.candidates, [path("a.md")]);
}

#[test]
fn the_work_alone_brings_rules_in() {
    let mut case = Case::new(vec![card("a.md"), rule("rule.md")], 0.9);
    case.prompt = "continue";
    assert_eq!(plan_work(&case.request()).now, []);
    case.work.add_command_line("git commit");
    assert_eq!(names(&plan_work(&case.request()).now), ["rule.md"]);
    case.seen.surfaced.insert(path("rule.md"));
    let again = plan_work(&case.request());
    assert_eq!(again.now, []);
    assert_eq!(again.left_out[0].reason, Reason::Surfaced);
    case.prompt = "ignore your memory";
    let ignored = plan_work(&case.request());
    assert_eq!(ignored.skipped, Some(Skip::ToldToIgnore));
}

#[test]
fn a_choice_is_checked_again() {
    let mut case = Case::new(vec![card("a.md"), card("b.md"), card("c.md")], 0.1);
    case.seen.read.insert(path("a.md"));
    case.budgets.files = 1;
    let chosen = [
        path("a.md"),
        path("b.md"),
        path("b.md"),
        path("c.md"),
        path("x.md"),
    ];
    let plan = plan_selected(&case.request(), &chosen);
    assert_eq!(names(&plan.now), ["b.md"]);
    assert_eq!(plan.now[0].why, Why::Selected);
    let reasons: Vec<&Reason> = plan.left_out.iter().map(|left| &left.reason).collect();
    assert_eq!(
        reasons,
        [&Reason::ReadByAgent, &Reason::TooMany, &Reason::Unknown]
    );
    assert_eq!(plan.candidates, []);
}

proptest! {
    #[test]
    fn every_hit_is_decided_once_and_budgets_hold(
        sizes in prop::collection::vec((0_u64..9_000, 0.0_f32..1.0, 0_u8..8), 0..30),
        spent in 0_u64..70_000,
        files in 0_usize..7,
        candidates in 0_usize..9,
    ) {
        let mut case = Case::new(Vec::new(), 0.0);
        for (number, (bytes, confidence, sort)) in sizes.into_iter().enumerate() {
            let name = format!("m{number}.md");
            let mut card = if sort == 0 { rule(&name) } else { card(&name) };
            card.bytes = bytes;
            card.valid_until = (sort == 1).then(|| "2025-12-31".into());
            card.trust = (sort == 2).then_some(Trust::External);
            case.hits.push(hit(&name, confidence));
            case.cards.push(card);
        }
        case.work.add_command_line("git commit");
        case.seen.bytes = spent;
        case.budgets.files = files;
        case.budgets.candidates = candidates;
        let plan = case.plan();
        let bytes: u64 = plan.now.iter().map(|pick| pick.bytes).sum();
        prop_assert!(plan.now.len() <= files);
        prop_assert!(plan.candidates.len() <= candidates);
        prop_assert!(bytes == 0 || bytes + spent <= BUDGETS.session_bytes);
        if plan.skipped.is_none() {
            let mut all: Vec<&SafePath> = plan.now.iter().map(|pick| &pick.path).collect();
            all.extend(&plan.candidates);
            all.extend(plan.left_out.iter().map(|left| &left.path));
            all.sort();
            let mut hits: Vec<&SafePath> = case.hits.iter().map(|hit| &hit.path).collect();
            hits.sort();
            prop_assert_eq!(all, hits);
        }
        for chosen in plan.now.iter().map(|pick| &pick.path).chain(&plan.candidates) {
            let card = case.cards.iter().find(|card| card.path == *chosen).unwrap();
            prop_assert!(card.valid_until.is_none() && card.is_trusted());
        }
    }
}
