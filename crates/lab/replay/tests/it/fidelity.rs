//! Facts left after five compactions, on real sessions and on a generated one.

use dormouse_context::policy::{Classic, Economic, Policy};
use dormouse_core::models::ModelTable;
use dormouse_core::record::Record;
use dormouse_core::settings::Settings;
use dormouse_replay::fidelity::{
    FactKind, Facts, Fidelity, FidelityOptions, FoundIn, Summariser, measure, mine,
};
use dormouse_replay::peers::Qwen;
use dormouse_replay::policies::Never;
use dormouse_replay::{Recording, Scenario, Script};
use dormouse_system::{Clock, Files as _, ManualClock, RealFiles};
use dormouse_testkit::material::{material, transcripts};
use std::path::Path;
use std::sync::Arc;

const SUMMARISERS: [Summariser; 2] = [Summariser::Persona, Summariser::Offline];

/// The script of a transcript that says what its responses used.
fn script(file: &Path) -> Option<Script> {
    let text = RealFiles.read(file, u64::MAX).unwrap();
    let mut records = Vec::new();
    let mut offset = 0;
    for line in text.split(|byte| *byte == b'\n') {
        let parsed = Record::parse(&text.slice_ref(line), offset).ok();
        records.extend(parsed.map(|read| read.record));
        offset += line.len() as u64 + 1;
    }
    let recording = Recording::new(&records, &models()).ok()?;
    Some(Script::of(&records, &recording, &models()))
}

fn own() -> [Arc<dyn Policy>; 2] {
    [Arc::new(Classic), Arc::new(Economic)]
}

fn models() -> Arc<ModelTable> {
    Arc::new(ModelTable::builtin().clone())
}

fn after(
    script: &Script,
    facts: &Facts,
    policy: Arc<dyn Policy>,
    compactions: usize,
    summariser: Summariser,
) -> Fidelity {
    let options = FidelityOptions {
        policy,
        compactions,
        summariser,
        settings: Arc::new(Settings::default()),
    };
    let ticks: Arc<dyn Clock> = Arc::new(ManualClock::default());
    let found = measure(script, facts, &options, &models(), &ticks).unwrap();
    assert_eq!(found.ended_early, None);
    found
}

/// The promise for paths, commands and numbers of the user: four fifths in the prompt, nineteen
/// twentieths there or one call away.
fn keeps_the_promise(name: &str, found: &Fidelity) {
    for (kind, tally) in &found.kinds {
        println!("{name}: {} {tally:?}", kind.name());
    }
    for kind in [FactKind::FilePath, FactKind::Command, FactKind::UserNumber] {
        let tally = found.kinds.get(&kind).copied().unwrap_or_default();
        let name = format!("{name}, {}: {tally:?}", kind.name());
        assert!(tally.in_prompt * 100 >= tally.all() * 80, "{name}");
        let reached = tally.in_prompt + tally.one_call_away;
        assert!(reached * 100 >= tally.all() * 95, "{name}");
    }
}

fn check(name: &str, script: &Script) {
    let facts = mine(script);
    for summariser in SUMMARISERS {
        let [classic, economic] = own().map(|policy| {
            let name = format!("{name}, {}, {}", policy.name(), summariser.name());
            let found = after(script, &facts, policy, 5, summariser);
            assert_eq!(found.compactions, 5, "{name}");
            assert_eq!(found.users.lost, 0, "{name}");
            keeps_the_promise(&name, &found);
            found
        });
        let reached = |found: &Fidelity| found.total().in_prompt;
        assert!(reached(&economic) >= reached(&classic), "{name}");
    }
}

#[test]
fn the_generated_session_keeps_its_facts() {
    let script = Scenario {
        tool_bytes: 300_000,
        ..Scenario::default()
    };
    check("generated", &script.script());
}

#[test]
fn real_sessions_keep_their_facts() {
    let Some(root) = material("transcripts/spotter-mit") else {
        return;
    };
    for name in [
        "258c7280-ae70-4798-800f-63464d01a85d.jsonl",
        "ae4a77f8-aedd-4bc1-888f-c94edc91af04.jsonl",
    ] {
        let script = script(&root.join(name)).unwrap();
        check(name, &script);
    }
}

#[test]
fn no_message_of_the_user_is_lost_in_any_real_session() {
    let files = transcripts();
    let (mut sessions, mut messages, mut compactions) = (0, 0, 0);
    for file in &files {
        let Some(script) = script(file) else { continue };
        sessions += 1;
        let runs = own().into_iter().zip(SUMMARISERS);
        for (policy, summariser) in runs {
            let found = after(&script, &Facts::default(), policy, 5, summariser);
            let users = found.users;
            assert_eq!(users.lost, 0, "{}: {users:?}", file.display());
            messages += users.exact + users.by_reference;
            compactions += found.compactions;
        }
    }
    println!("{sessions} sessions, {messages} messages, {compactions} compactions");
    assert!(sessions >= 1 && messages >= 2 && compactions >= 1);
    if material("transcripts").is_some() {
        assert!(sessions >= 20 && messages >= 80 && compactions >= 100);
    }
}

/// The measure can fail: where nothing is carried along, facts are lost.
#[test]
fn a_policy_that_carries_nothing_loses_facts() {
    let scenario = Scenario {
        steps: 60,
        tool_bytes: 120_000,
        ..Scenario::default()
    };
    let script = scenario.script();
    let facts = mine(&script);
    let found = after(&script, &facts, Arc::new(Qwen), 3, Summariser::Persona);
    let total = found.total();
    assert!(total.lost * 2 > total.all(), "{total:?}");
    assert!(found.users.lost > 0 && total.one_call_away == 0);
    assert_eq!(total.all(), facts.facts.len());
    assert_eq!(found.elsewhere.len(), total.lost);
    assert!(
        found
            .elsewhere
            .iter()
            .all(|(_, place)| *place == FoundIn::Lost)
    );
}

/// And what it finds must be there: without a compaction that is everything.
#[test]
fn without_compaction_everything_is_in_the_prompt() {
    let scenario = Scenario {
        tool_bytes: 150_000,
        ..Scenario::default()
    };
    let script = scenario.script();
    let facts = mine(&script);
    for kind in FactKind::ALL {
        assert!(facts.facts.iter().any(|fact| fact.kind == kind), "{kind:?}");
    }
    let found = after(&script, &facts, Arc::new(Never), 0, Summariser::Offline);
    let total = found.total();
    assert_eq!((total.in_prompt, found.compactions), (facts.facts.len(), 0));
}
