//! Scenes of the switches, one for each, in the order of the table of settings.

use super::{Case, Scene, acted, lines, noticed, prose, saved};
use crate::kit::bashes;
use dormouse_agent::AgentAsk;
use dormouse_agent::protocol::{Command, Event, LayerName, Told};
use dormouse_core::settings::Trust;
use dormouse_core::units::Tokens;
use dormouse_core::usage::TokenUsage;
use dormouse_engine::Purpose;
use dormouse_testkit_model::Answer;
use serde_json::{Value, json};
use std::time::Duration;

/// Long outputs that no file is made of: about 1,500 tokens each.
const OUTPUT: &str = "seq 1000 2200";
const RULE: &str = "Always run the migrations before the integration tests.";

/// The tools that a session is opened with.
async fn tools(scene: &Scene) -> Vec<String> {
    let client = scene.kit.open(scene.ask()).await;
    let tools = client.agent.opened.tools.clone();
    client.quit().await;
    tools
}

async fn has_tool(scene: &Scene, name: &str) -> bool {
    tools(scene).await.iter().any(|tool| tool == name)
}

/// The first request of a session.
async fn first_request(scene: &Scene, words: &str) -> Value {
    let mut client = scene.kit.open(scene.ask()).await;
    client.turn(words).await;
    client.quit().await;
    scene.provider.sent(Purpose::Turn).remove(0)
}

/// Something like this is a memory, in the words of a question about it.
fn memory(scene: &Scene, folder: &str) -> &'static str {
    let text = "---\nname: Deploys of billing\ndescription: When the billing service deploys happen\n\
        type: project\n---\nDeploys of the billing service happen on Tuesdays at nine, after the \
        ledger closes.\n";
    scene.kit.put(&format!("{folder}/deploys.md"), text);
    let index = "- [Deploys](deploys.md) — When the billing service deploys happen\n";
    scene.kit.put(&format!("{folder}/MEMORY.md"), index);
    "When do deploys of the billing service happen?"
}

async fn learns(scene: &Scene, one_shot: bool) -> bool {
    let ask = AgentAsk {
        one_shot,
        ..scene.ask()
    };
    let mut client = scene.kit.open(ask).await;
    client.turn(RULE).await;
    let told = client.leave(false).await;
    saved(&told, "saved: ")
}

async fn breaks_cache(scene: &Scene) -> bool {
    let prompt = |usage: TokenUsage| Answer::text("Done.").using(usage);
    let written = TokenUsage {
        cache_write_5m: Tokens(15_000),
        ..TokenUsage::default()
    };
    let lost = TokenUsage {
        input: Tokens(15_100),
        ..TokenUsage::default()
    };
    scene.answers([prompt(written), prompt(lost)]);
    let mut client = scene.kit.open(scene.ask()).await;
    client.turn(&prose(0, 12_000)).await;
    client.turn("Again.").await;
    noticed(&client.leave(false).await, "not read from the cache")
}

/// A pause of ten minutes, and then one in which the cache is about to expire.
async fn keeps_alive(scene: &Scene) -> bool {
    let clock = scene.kit.clock.clone().unwrap();
    let mut client = scene.kit.open(scene.ask()).await;
    client.turn(&prose(0, 12_000)).await;
    for _ in 0..3 {
        clock.advance(Duration::from_mins(10));
        client.turn("Back again.").await;
    }
    clock.advance(Duration::from_secs(280));
    // Any sign of life lets the agent look at the clock.
    let mode = client.agent.opened.mode;
    client.done(Command::SetMode { mode }).await;
    let kept = |told: &[Told]| {
        told.iter().any(|told| {
            matches!(&told.event, Event::Usage { purpose, .. } if *purpose == Purpose::KeepAlive)
        })
    };
    // It may have come before the answer to the sign of life.
    while scene.on && !kept(&client.told) {
        client.next().await;
    }
    if !scene.on {
        client.turn("Still there.").await;
    }
    client.leave(false).await;
    !scene.provider.sent(Purpose::KeepAlive).is_empty()
}

async fn clears_when_idle(scene: &Scene) -> bool {
    let clock = scene.kit.clock.clone().unwrap();
    let mut client = scene.kit.open(scene.ask()).await;
    let calls = ["c1", "c2", "c3"].map(|id| bashes(&[(id, OUTPUT)]));
    scene.answers(calls.into_iter().chain([Answer::text("Done.")]));
    client.turn("Go on.").await;
    clock.advance(Duration::from_hours(2));
    client.turn("Back again.").await;
    acted(&client.leave(false).await, LayerName::Clear)
}

async fn clears_when_tight(scene: &Scene) -> bool {
    let mut client = scene.kit.open(scene.ask()).await;
    let calls = ["c1", "c2", "c3", "c4", "c5", "c6"].map(|id| bashes(&[(id, OUTPUT)]));
    scene.answers(calls.into_iter().chain([Answer::text(&prose(0, 9_000))]));
    client.turn("Go on.").await;
    client.turn("And on.").await;
    client.turn("And on again.").await;
    acted(&client.leave(false).await, LayerName::Clear)
}

async fn compacts_by_hand(scene: &Scene) -> bool {
    let mut client = scene.kit.open(scene.ask()).await;
    for part in 0..4 {
        scene.answers([Answer::text(&prose(part, 3_000))]);
        client.turn("Go on.").await;
    }
    let instructions = None;
    let failed = client
        .done(Command::Compact {
            instructions,
            part: None,
        })
        .await;
    let acted = acted(&client.leave(false).await, LayerName::Compaction);
    assert_eq!(failed.is_none(), acted, "{failed:?}");
    acted
}

async fn dreams(scene: &Scene) -> bool {
    let mut client = scene.kit.open(scene.ask()).await;
    client.turn("Which day is it today?").await;
    saved(&client.leave(false).await, "dreamt: ")
}

async fn recalls(scene: &Scene, folder: &str) -> bool {
    let question = memory(scene, folder);
    scene.kit.host().set_trust(None, Trust::Trusted).unwrap();
    let mut client = scene.kit.open(scene.ask()).await;
    client.turn(question).await;
    acted(&client.leave(false).await, LayerName::Recall)
}

const fn case(
    key: &'static str,
    flags: &'static [&'static str],
    play: for<'a> fn(&'a Scene) -> super::Fired<'a>,
) -> Case {
    Case { key, flags, play }
}

pub(super) const CASES: &[Case] = &[
    // Switched on, plain mode takes the memory away.
    case("simple", &[], |scene| {
        Box::pin(async { !has_tool(scene, "Memory").await })
    }),
    case(
        "web.provider_search",
        &["memory=false", "notes=false", "anthropic.api_key=any"],
        |scene| {
            Box::pin(async {
                let body = first_request(scene, "Hello.").await;
                body["tools"].to_string().contains("\"web_search\"")
            })
        },
    ),
    case("cache.break_detection", &["notes=false"], |scene| {
        Box::pin(breaks_cache(scene))
    }),
    case(
        "cache.keep_alive",
        &["notes=false", "cache.ttl.messages=5m"],
        |scene| Box::pin(keeps_alive(scene)),
    ),
    case("offload", &["notes=false"], |scene| {
        Box::pin(async { acted(&scene.work(&[&["seq 1 20000"]]).await, LayerName::Offload) })
    }),
    case("distil", &["notes=false"], |scene| {
        Box::pin(async {
            let told = scene.work(&[&["seq 10 4000"], &["true"]]).await;
            acted(&told, LayerName::Distil)
        })
    }),
    case(
        "microcompact.idle",
        &[
            "notes=false",
            "distil=false",
            "context.policy=classic",
            "microcompact.idle.keep=1",
        ],
        |scene| Box::pin(clears_when_idle(scene)),
    ),
    case(
        "microcompact.pressure",
        &[
            "notes=false",
            "distil=false",
            "context.policy=classic",
            "context.window=40000",
            "microcompact.pressure.min_held=3000",
            "microcompact.pressure.min_freed=1000",
        ],
        |scene| Box::pin(clears_when_tight(scene)),
    ),
    case(
        "microcompact.cache_edits",
        &[
            "notes=false",
            "distil=false",
            "microcompact.cache_edits.trigger=3",
            "microcompact.cache_edits.keep=2",
        ],
        |scene| {
            Box::pin(async {
                scene
                    .work(&[&["echo 1", "echo 2", "echo 3", "echo 4", "echo 5", "echo 6"]])
                    .await;
                let sent = scene.provider.sent(Purpose::Turn);
                sent.iter()
                    .any(|body| body["messages"].to_string().contains("\"cache_edits\""))
            })
        },
    ),
    case(
        "microcompact.api",
        &["notes=false", "context.window=400000"],
        |scene| {
            Box::pin(async {
                let body = first_request(scene, "Go on.").await;
                !body["context_management"]["edits"].is_null()
            })
        },
    ),
    case("notes", &["context.policy=classic"], |scene| {
        Box::pin(async {
            scene.talk(&[12_000, 3_000, 3_000]).await;
            !scene.provider.sent(Purpose::Notes).is_empty()
        })
    }),
    case(
        "notes.compact",
        &["context.policy=classic", "context.window=60000"],
        |scene| {
            Box::pin(async {
                let told = scene.talk(&[4_000; 12]).await;
                assert!(acted(&told, LayerName::Compaction));
                lines(&told, LayerName::Compaction).any(|what| what.contains("session notes"))
            })
        },
    ),
    case(
        "compact",
        &["notes=false", "context.window=60000"],
        |scene| Box::pin(compacts_by_hand(scene)),
    ),
    case(
        "compact.auto",
        &[
            "notes=false",
            "context.policy=classic",
            "context.window=60000",
        ],
        |scene| {
            Box::pin(async {
                let told = scene.talk(&[4_000; 12]).await;
                acted(&told, LayerName::Compaction)
            })
        },
    ),
    case("agents.summary", &[], |scene| {
        Box::pin(async {
            let task = json!({ "description": "count", "prompt": "Count." });
            scene.answers([
                Answer::call("c1", "Agent", &task),
                bashes(&[("s1", "echo seven")]),
                Answer::text("Seven."),
                Answer::text("Done."),
            ]);
            let mut client = scene.kit.open(scene.ask()).await;
            client.turn("Go on.").await;
            let told = client.leave(false).await;
            told.iter().any(|told| {
                matches!(&told.event, Event::TaskChanged { what, .. } if what == "agent: count: Running echo seven")
            })
        })
    }),
    case("agents.coordinator", &[], |scene| {
        Box::pin(async { !has_tool(scene, "Bash").await })
    }),
    case("memory", &[], |scene| Box::pin(has_tool(scene, "Memory"))),
    // A remote run without a directory of its own has no memory.
    case("memory.remote", &[], |scene| {
        Box::pin(async { !has_tool(scene, "Memory").await })
    }),
    case("recall", &["extract=false", "dream=false"], |scene| {
        Box::pin(recalls(scene, "memory"))
    }),
    case("instructions", &[], |scene| {
        Box::pin(async {
            scene
                .kit
                .put("project/AGENTS.md", "Herons are never fed.\n");
            scene.kit.host().set_trust(None, Trust::Trusted).unwrap();
            let body = first_request(scene, "Hello.").await;
            body.to_string().contains("Herons are never fed.")
        })
    }),
    case("extract", &["dream=false"], |scene| {
        Box::pin(learns(scene, false))
    }),
    case("extract.one_shot", &["dream=false"], |scene| {
        Box::pin(learns(scene, true))
    }),
    case("dream", &["extract=false", "dream.sessions=0"], |scene| {
        Box::pin(dreams(scene))
    }),
    case("team", &["extract=false", "dream=false"], |scene| {
        Box::pin(recalls(scene, "project/.dormouse/team-memory"))
    }),
    case("daily_log", &["extract=false", "dream=false"], |scene| {
        Box::pin(async {
            let body = first_request(scene, "Hello.").await;
            body["system"].to_string().contains("YYYY-MM-DD.md")
        })
    }),
];
