//! Care for single memories in a dream: triggers, checks of claims, and those never of use.

use crate::kit::{Kit, safe};
use dormouse_core::units::Millis;
use dormouse_keeper::dreaming::{DreamWish, Dreamt};
use dormouse_memory::topic::{Kind, Topic};
use dormouse_memory::trust::{Origin, Speaker, Trust};
use dormouse_memory::write::{NewMemory, render};
use dormouse_recall::usage::{Event, encode_event};
use pretty_assertions::assert_eq;

fn memory(kind: Kind, text: &str) -> String {
    render(&NewMemory {
        kind: Some(kind),
        name: text.chars().take(30).collect(),
        description: text.to_owned(),
        body: text.to_owned(),
        origin: Some(Origin {
            session: None,
            message: None,
            speaker: Speaker::User,
            time: Millis(1_700_000_000_000),
        }),
        trust: Some(Trust::User),
        ..NewMemory::default()
    })
}

async fn dream(kit: &Kit) -> Dreamt {
    let wish = DreamWish {
        without_model: true,
        ..DreamWish::default()
    };
    let task = kit.keeper.dream_task();
    kit.keeper.dream(wish, task).await.unwrap()
}

fn topic(kit: &Kit, name: &str) -> Topic {
    Topic::read(&kit.memories()[name])
}

#[tokio::test]
async fn rules_get_the_triggers_that_they_state_and_checks_are_written_back() {
    let kit = Kit::with(|keeper| keeper.model = None);
    kit.put("project/src/importer.toml", "");
    kit.remember(
        "rule.md",
        &memory(Kind::Feedback, "Run `cargo clippy` before every push"),
    );
    kit.remember(
        "fact.md",
        &memory(
            Kind::Project,
            "The importer is set up in `src/importer.toml`",
        ),
    );
    kit.remember(
        "gone.md",
        &memory(
            Kind::Project,
            "The exporter is set up in `src/exporter.toml`",
        ),
    );
    let by_hand = "---\nname: Hand\ndescription: Run `cargo fmt`\ntype: feedback\n---\n\nRun `cargo fmt` always.\n";
    kit.remember("hand.md", by_hand);
    dream(&kit).await;
    assert_eq!(topic(&kit, "rule.md").triggers.commands, ["cargo clippy"]);
    assert!(topic(&kit, "fact.md").verified.is_some());
    assert_eq!(topic(&kit, "gone.md").verified, None);
    assert_eq!(kit.memories()["hand.md"], by_hand, "a person's file stays");
    let before = kit.memories();
    let again = dream(&kit).await;
    assert_eq!((again.entry, kit.memories()), (None, before));
}

#[tokio::test]
async fn memories_that_were_never_of_use_are_proposed_and_nothing_is_forgotten() {
    let kit = Kit::with(|keeper| keeper.model = None);
    for (name, kind) in [
        ("idle.md", Kind::Project),
        ("rule.md", Kind::Feedback),
        ("used.md", Kind::Project),
    ] {
        kit.remember(
            name,
            &memory(kind, &format!("Something about {name}, told once")),
        );
    }
    let mut lines = String::new();
    for name in ["idle.md", "rule.md", "used.md"] {
        for _ in 0..6 {
            lines.push_str(&encode_event(&safe(name), Event::Surfaced, Millis(1)));
        }
    }
    lines.push_str(&encode_event(&safe("used.md"), Event::Used, Millis(2)));
    kit.put("memory/.cache/usage.jsonl", &lines);
    let dreamt = dream(&kit).await;
    let proposed: Vec<(&str, u32)> = dreamt
        .never_used
        .iter()
        .map(|unused| (unused.path.as_str(), unused.shown))
        .collect();
    assert_eq!(proposed, [("idle.md", 6)]);
    assert!(kit.memories().contains_key("idle.md"));
}
