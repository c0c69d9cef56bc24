//! Recall in real turns: memories that were of use are counted, those that were not are not.

use crate::kit::Kit;
use dormouse_agent::protocol::{Event, LayerName};
use dormouse_host::StatsAsk;
use dormouse_testkit_model::{Answer, Expect, Script};
use pretty_assertions::assert_eq;

const QUESTION: &str = "When do deploys of the billing service happen?";

fn kit(answer: &str) -> Kit {
    let shown = Expect::Contains("after the ledger closes".to_owned());
    kit_with(Script::new().on(shown, Answer::text(answer)))
}

fn kit_with(script: Script) -> Kit {
    let kit = Kit::new(script);
    kit.with_memory("extract = false\nnotes = false\ndream = false\n");
    kit.put(
        "memory/deploys.md",
        "---\nname: Deploys of billing\ndescription: When the billing service deploys happen\n\
         type: project\n---\nDeploys of the billing service happen on Tuesdays at nine, after the \
         ledger closes.\n",
    );
    let index = "- [Deploys](deploys.md) — When the billing service deploys happen\n";
    kit.put("memory/MEMORY.md", index);
    kit
}

#[tokio::test]
async fn memories_of_use_are_counted_however_the_user_leaves() {
    let useful = "See deploys.md: Tuesdays at nine, after the ledger closes.";
    for (answer, now, used) in [
        (useful, false, 1),
        (useful, true, 1),
        ("I cannot tell.", false, 0),
    ] {
        let kit = kit(answer);
        let mut client = kit.open(kit.ask()).await;
        client.turn(QUESTION).await;
        let told = client.leave(now).await;
        let recalled = told.iter().filter(|told| {
            matches!(
                &told.event,
                Event::LayerActed {
                    layer: LayerName::Recall,
                    ..
                }
            )
        });
        assert_eq!(recalled.count(), 1);
        kit.model.finish();
        let ask = StatsAsk {
            here: true,
            ..StatsAsk::default()
        };
        let recall = kit.host().stats(&ask).unwrap().recall;
        assert_eq!((recall.shown, recall.used), (1, used), "{answer}");
    }
}

#[tokio::test]
async fn a_user_who_says_to_ignore_memory_is_obeyed_also_after_a_restart() {
    for wish in [
        "Please ignore your memory.",
        "Ignoriere bitte deine Erinnerungen.",
        "Do not use your memory. Thanks!",
    ] {
        let answers = (0..4).fold(Script::new(), |script, _| {
            script.then(Answer::text("Well."))
        });
        let kit = kit_with(answers);
        let recalled = |told: &[dormouse_agent::Told]| {
            let acted = told.iter().filter(|told| {
                matches!(
                    &told.event,
                    Event::LayerActed {
                        layer: LayerName::Recall,
                        ..
                    }
                )
            });
            acted.count()
        };
        let mut client = kit.open(kit.ask()).await;
        client.turn(wish).await;
        client.turn(QUESTION).await;
        // Without a proper end, so that only the log can tell.
        assert_eq!(recalled(&client.told), 0, "{wish}");
        client.agent.kill().await;
        let mut client = kit.open_again().await;
        client.turn(QUESTION).await;
        assert_eq!(recalled(&client.leave(false).await), 0, "{wish}");
        // Another session was not asked to.
        let mut client = kit.open(kit.ask()).await;
        client.turn(QUESTION).await;
        assert_eq!(recalled(&client.leave(false).await), 1, "{wish}");
        kit.model.finish();
    }
}
