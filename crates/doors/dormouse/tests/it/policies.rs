//! `dormouse replay` under policies: tables, JSON, plot, explanation.

use crate::program::Machine;
use pretty_assertions::assert_eq;
use serde_json::Value;

/// Small, but long enough for every layer to have something to do.
const SMALL: &str = "replay --generated 30 --window 60k";

fn keys(value: &Value) -> Vec<&str> {
    let object = value.as_object().unwrap();
    object.keys().map(String::as_str).collect()
}

#[test]
fn every_policy_has_a_row_in_every_table() {
    let machine = Machine::new(&[]).with_variable("COLUMNS", "80");
    let text = machine.stdout(&format!("{SMALL} --policy all"));
    for name in dormouse_replay::policies::NAMES {
        let rows = text.lines().filter(|line| {
            line.strip_prefix(name)
                .is_some_and(|rest| rest.starts_with("  "))
        });
        assert_eq!(rows.count(), 3, "{name} in\n{text}");
    }
    for title in [
        "VS CLASSIC",
        "HIT RATE",
        "COMPACTIONS",
        "CONVERSATION",
        "lost at request",
        "Where the money goes",
    ] {
        assert!(text.contains(title), "{title} in\n{text}");
    }
    for line in text.lines() {
        assert!(line.chars().count() <= 80, "{line}");
    }
}

#[test]
fn a_narrow_screen_gets_the_figures_that_matter() {
    let machine = Machine::new(&[]).with_variable("COLUMNS", "50");
    let text = machine.stdout(&format!("{SMALL} --policy classic,economic"));
    for line in text.lines() {
        assert!(line.chars().count() <= 50, "{line}");
    }
    for title in ["COST", "VS CLASSIC", "HIT RATE", "COMPACTIONS"] {
        assert!(text.contains(title), "{title} in\n{text}");
    }
    assert!(!text.contains("OUTPUT"), "{text}");
}

#[test]
fn the_json_has_the_same_figures_by_name() {
    let machine = Machine::new(&[]);
    let report = machine.json("replay --generated 12 --policy economic,none --turns --json");
    assert_eq!(keys(&report), ["base", "policies", "files", "remarks"]);
    // Without classic the first policy is what others are measured by.
    assert_eq!(report["base"], "economic");
    let [economic, none] = report["policies"].as_array().unwrap().as_slice() else {
        panic!("{report}");
    };
    assert_eq!(
        keys(none),
        [
            "name",
            "cost_usd",
            "relative",
            "requests",
            "prompt_tokens",
            "cache_read_tokens",
            "cache_write_tokens",
            "uncached_tokens",
            "output_tokens",
            "hit_rate",
            "peak_tokens",
            "rejected",
            "compactions",
            "clearings",
            "notes_updates",
            "offloaded",
            "by_purpose",
            "against_none",
            "finished",
            "lost",
            "fork_reads",
            "engine_ms",
            "engine_us_per_step",
            "turns",
        ]
    );
    assert_eq!(none["requests"], 12);
    assert_eq!(none["finished"], true);
    assert_eq!(economic["relative"], 0.0);
    // The causes add up to the difference.
    let causes = &economic["against_none"];
    let cause = |name: &str| causes[name].as_f64().unwrap();
    let sum = cause("notes_usd") + cause("compaction_usd") + cause("shorter_prompts_usd");
    let total = cause("total_usd");
    assert!((sum - total).abs() < 1e-9, "{causes}");
    let cost = |policy: &Value| policy["cost_usd"].as_f64().unwrap();
    assert!((cost(economic) - cost(none) - total).abs() < 1e-9);
    // So do the steps.
    let turns = none["turns"].as_array().unwrap();
    let steps: f64 = turns.iter().map(cost).sum();
    assert_eq!(turns.len(), 12);
    assert!((steps - cost(none)).abs() < 1e-9);
    let file = &report["files"][0];
    assert_eq!(
        (&file["steps"], &file["window"]),
        (&12.into(), &1_000_000.into())
    );
}

#[test]
fn a_lost_session_is_compared_with_nothing() {
    let report = Machine::new(&[]).json(&format!("{SMALL} --policy none,classic --json"));
    let [none, classic] = report["policies"].as_array().unwrap().as_slice() else {
        panic!("{report}");
    };
    assert_eq!(none["finished"], false);
    assert_eq!(none["lost"][0]["of"], 30);
    let step = none["lost"][0]["step"].as_u64().unwrap();
    assert!((2..30).contains(&step), "{step}");
    assert_eq!(none["relative"], Value::Null);
    assert_eq!(classic["finished"], true);
    assert_eq!(classic["against_none"], Value::Null);
}

#[test]
fn what_is_asked_for_wrongly_is_said() {
    let machine = Machine::new(&[]);
    for (line, code, told) in [
        ("replay --generated --policy clasic", 2, "classic"),
        ("replay --generated --policy clasic", 2, "openhands"),
        ("replay", 2, "<SESSION>"),
        ("replay --generated 5 --window much", 2, "200k"),
        ("replay --generated 0", 2, "STEPS"),
        ("replay --generated 5 --explain 6", 2, "the session has 5"),
        ("replay --generated 5 --explain 0", 2, "the session has 5"),
        ("replay --model x session.jsonl", 2, "[SESSION]..."),
        ("replay --generated 5 --model x", 4, "`x`"),
        ("replay --policy none missing.jsonl", 3, "missing.jsonl"),
        ("replay --generated 3 --plot no/where.svg", 1, "where.svg"),
    ] {
        let run = machine.run(line);
        assert_eq!(run.code, code, "{line}: {run:?}");
        assert!(run.stderr.contains(told), "{line}: {run:?}");
    }
}

#[test]
fn the_plot_is_well_formed_with_two_lines_for_each_policy() {
    let machine = Machine::new(&[]);
    let text = machine.stdout(&format!(
        "{SMALL} --policy none,economic,gemini --plot p.svg"
    ));
    assert!(text.contains("plot: p.svg"), "{text}");
    let svg = machine.read("project/p.svg");
    let names = elements(&svg);
    assert_eq!(names.iter().filter(|name| *name == "polyline").count(), 6);
    for name in ["none", "economic", "gemini"] {
        for shows in ["size", "cost"] {
            let line = format!("data-policy=\"{name}\" data-shows=\"{shows}\"");
            assert_eq!(svg.matches(&line).count(), 1, "{line}");
        }
    }
    assert!(svg.contains("none (lost)") && svg.contains("prefers-color-scheme: dark"));
    // Compactions are marked.
    assert!(svg.contains("<path class=\"m2\""), "{svg}");
    for points in svg.split("points=\"").skip(1) {
        let points = points.split('"').next().unwrap();
        for point in points.split(' ') {
            let (x, y) = point.split_once(',').unwrap();
            let (x, y): (f64, f64) = (x.parse().unwrap(), y.parse().unwrap());
            assert!(
                (0.0..=960.0).contains(&x) && (0.0..=700.0).contains(&y),
                "{point}"
            );
        }
    }
}

/// The names of all elements, which must close in the order in which they open.
fn elements(xml: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut open = Vec::new();
    for tag in xml.split('<').skip(1) {
        let (tag, text) = tag.split_once('>').unwrap();
        assert!(!text.contains('&') || text.contains(';'), "{text}");
        assert_eq!(tag.matches('"').count() % 2, 0, "{tag}");
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop().as_deref(), Some(name));
            continue;
        }
        let name = tag.split([' ', '/']).next().unwrap().to_owned();
        if !tag.ends_with('/') {
            open.push(name.clone());
        }
        names.push(name);
    }
    assert!(open.is_empty(), "{open:?}");
    names
}

#[test]
fn an_explanation_names_every_layer_and_does_the_sums() {
    let machine = Machine::new(&[]).with_variable("COLUMNS", "80");
    let text = machine.stdout(&format!("{SMALL} --explain 24"));
    for told in [
        "economic · request 24 of 30",
        "classic · request 24 of 30",
        "before the request",
        "at the end of the turn",
        "1 offload",
        "2 clear",
        "3 notes",
        "4 compact",
        "figures",
        "W* =",
    ] {
        assert!(text.contains(told), "{told} in\n{text}");
    }
    let json = machine.json(&format!("{SMALL} --policy codex --explain 24 --json"));
    let explained = &json["explained"][0];
    assert_eq!(explained["policy"], "codex");
    let layers = explained["moments"][0]["layers"].as_array().unwrap().iter();
    let layers: Vec<&str> = layers
        .map(|layer| layer["layer"].as_str().unwrap())
        .collect();
    assert_eq!(layers, ["offload", "clear", "compact", "notes"]);
}

#[test]
fn without_a_model_for_forks_compactions_are_made_offline() {
    let report = Machine::new(&[]).json(&format!("{SMALL} --policy classic --offline --json"));
    let classic = &report["policies"][0];
    assert_eq!(classic["finished"], true, "{classic}");
    assert_eq!(keys(&classic["by_purpose"]), ["conversation"]);
    assert_eq!(classic["notes_updates"], 0);
}

#[test]
fn several_sessions_are_added_up() {
    let machine = Machine::new(&[]);
    let transcript = include_str!("../data/two-requests.jsonl");
    machine.write("project/a.jsonl", transcript);
    machine.write("project/b.jsonl", transcript);
    let one = machine.json("replay a.jsonl --policy none --json");
    let both = machine.json("replay a.jsonl b.jsonl --policy none --plot p.svg --json");
    let cost = |report: &Value| report["policies"][0]["cost_usd"].as_f64().unwrap();
    assert!((cost(&both) - 2.0 * cost(&one)).abs() < 1e-9);
    assert_eq!(both["files"].as_array().unwrap().len(), 2);
    for (at, plot) in [(0, "p-1.svg"), (1, "p-2.svg")] {
        assert_eq!(both["files"][at]["plot"], plot);
        elements(&machine.read(&format!("project/{plot}")));
    }
    let text = machine.stdout("replay a.jsonl b.jsonl --policy none");
    assert!(text.contains("All 2 sessions"), "{text}");
}

/// Two generated sessions; sums, ratios and costs come from the same figures.
#[test]
fn many_sessions_are_summed_by_half_and_shape() {
    let machine = Machine::new(&[]);
    let report = machine.json("replay --sessions 5..7 --policy none,classic,economic --json");
    let sessions = report["sessions"].as_array().unwrap();
    assert_eq!(sessions.len(), 2);
    let all = &report["groups"].as_array().unwrap()[2];
    assert_eq!(
        (&all["shape"], &all["sessions"]),
        (&"all".into(), &2.into())
    );
    let sum = |policy: &str| -> f64 {
        let costs = sessions.iter().map(|session| &session["costs_usd"][policy]);
        costs.map(|cost| cost.as_f64().unwrap()).sum()
    };
    let of_classic = all["of_classic"].as_f64().unwrap();
    assert!((of_classic - sum("economic") / sum("classic")).abs() < 1e-9);
    assert!(all["median"].as_f64().unwrap() <= all["worst"].as_f64().unwrap());
    for bad in [
        "replay --sessions 10001",
        "replay --half seen",
        "replay --sessions 3 --turns",
    ] {
        assert_eq!(machine.run(bad).code, 2, "{bad}");
    }
}

#[test]
fn each_layer_is_switched_off_alone() {
    let machine = Machine::new(&[]).with_variable("COLUMNS", "40");
    let ask = "replay --generated 40 --window 60k --ablate";
    let report = machine.json(&format!("{ask} --json"));
    let [policy] = report["policies"].as_array().unwrap().as_slice() else {
        panic!("{report}")
    };
    assert_eq!(policy["policy"], "economic");
    let variants = policy["variants"].as_array().unwrap();
    let layers: Vec<&Value> = variants.iter().map(|variant| &variant["without"]).collect();
    assert!(layers[0].is_null());
    assert_eq!(layers.len(), 1 + dormouse_replay::ABLATIONS.len());
    let of = |layer: &str| variants.iter().find(|variant| variant["without"] == layer);
    // Without compaction nothing is compacted, and the window is too small to do without.
    let without = of("compaction").unwrap();
    assert!(variants[0]["compactions"].as_u64() > without["compactions"].as_u64());
    assert_eq!(variants[0]["lost"], 0);
    for variant in variants {
        let (inside, reach) = (&variant["in_prompt"], &variant["within_reach"]);
        assert!(inside.as_f64() <= reach.as_f64(), "{variant}");
    }
    let text = machine.stdout(ask);
    for line in text.lines() {
        assert!(line.chars().count() <= 40, "{line}");
    }
}

#[test]
fn caches_that_are_none_or_perfect_change_the_bill() {
    let machine = Machine::new(&[]);
    let cost = |more: &str| {
        let ask = format!("replay --generated 24 --window 200k --policy none {more} --json");
        let report = machine.json(&ask);
        let policy = report["policies"][0].clone();
        (policy["cost_usd"].as_f64().unwrap(), policy)
    };
    let (usual, _) = cost("");
    let (without, flat) = cost("--no-cache");
    let (perfect, kept) = cost("--perfect-cache");
    let (automatic, unmarked) = cost("--automatic-cache");
    // Writing is free there, and nothing is written at its price.
    assert!(automatic < usual, "{automatic} {usual}");
    assert_eq!(unmarked["cache_write_tokens"], 0, "{unmarked}");
    assert!(
        perfect <= usual && usual * 3.0 < without,
        "{perfect} {usual} {without}"
    );
    // Every token of the prompt costs five dollars a million there, every token of an answer 25.
    let tokens = |name: &str| flat[name].as_f64().unwrap();
    let expected = (tokens("prompt_tokens") * 5.0 + tokens("output_tokens") * 25.0) / 1e6;
    assert!((without - expected).abs() < 1e-6, "{without} {expected}");
    // Nothing is sent past a cache that takes all.
    assert_eq!(kept["uncached_tokens"], 0);
}

#[test]
fn a_folder_stands_for_its_sessions_and_their_spread_is_told() {
    let sample = include_str!("../../../../../docs/sample.jsonl");
    let machine = Machine::new(&[
        ("all/a.jsonl", sample),
        ("all/b.jsonl", sample),
        (
            "all/c.jsonl",
            "{\"type\":\"summary\",\"summary\":\"no figures\",\"leafUuid\":\"x\"}\n",
        ),
    ]);
    let folder = machine.home().join("all");
    let ask = format!("replay {} --policy none,classic,economic", folder.display());
    let run = machine.run(&format!("{ask} --json"));
    // A session that tells no figures is left out, and said so.
    assert!(run.stderr.contains("c.jsonl"), "{}", run.stderr);
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(report["files"].as_array().unwrap().len(), 2);
    let spread = report["spread"].as_array().unwrap();
    assert_eq!(spread.len(), 3);
    for policy in spread {
        assert_eq!(policy["sessions"], 2);
        // Both sessions are the same, so their ratios are.
        assert_eq!(policy["median"], policy["worst"], "{policy}");
    }
    assert!(machine.run(&ask).stdout.contains("95 %"));
}

#[test]
fn no_line_is_wider_than_a_screen_of_40_columns() {
    let sample = include_str!("../../../../../docs/sample.jsonl");
    let machine = Machine::new(&[("a.jsonl", sample), ("b.jsonl", sample)]);
    let machine = machine.with_variable("COLUMNS", "40");
    let file = |name: &str| machine.home().join(name).display().to_string();
    let (a, b) = (file("a.jsonl"), file("b.jsonl"));
    for ask in [
        format!("context {a}"),
        format!("replay {a} {b} --policy all"),
        format!("{SMALL} --policy all"),
    ] {
        for line in machine.stdout(&ask).lines() {
            assert!(line.chars().count() <= 40, "{ask}: {line}");
        }
    }
}
