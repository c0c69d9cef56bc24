//! `dormouse config` as the user sees it. The order of layers is tested where they are loaded.

use crate::program::Machine;
use dormouse_system::{Files as _, RealFiles};
use pretty_assertions::assert_eq;
use std::path::Path;

/// The user's settings file, below the home.
const USER: &str = ".dormouse/settings.toml";
/// The project's settings file, committed with it.
const PROJECT: &str = "project/.dormouse/settings.toml";
/// The project's settings file for this checkout.
const LOCAL: &str = "project/.dormouse/settings.local.toml";

/// The part of the screen before the switches.
fn head(text: &str) -> &str {
    text.split("\n\nSWITCH").next().unwrap()
}

#[test]
fn on_a_fresh_machine_all_is_built_in() {
    let text = Machine::new(&[]).stdout("config show");
    assert_eq!(
        head(&text),
        "home                ~/.dormouse\n\
         project             ~/project (not trusted)\n\
         user file           ~/.dormouse/settings.toml (not there)\n\
         project file        ~/project/.dormouse/settings.toml (not there)\n\
         project local file  ~/project/.dormouse/settings.local.toml (not there)\n\
         \n\
         Every setting has its built-in default."
    );
    assert!(text.contains("\nmemory                    on\n"), "{text}");
    assert!(text.contains("\nsimple                    off\n"), "{text}");
}

#[test]
fn each_value_says_where_it_comes_from_and_what_it_pushed_aside() {
    let machine = Machine::new(&[
        (USER, "model = \"from-user\"\noffload.limit.Bash = 40_000\n"),
        (
            PROJECT,
            "model = \"from-project\"\nanthropic.base_url = \"http://elsewhere\"\n",
        ),
        (LOCAL, "notes = false\n"),
    ])
    .with_variable("DISABLE_AUTO_COMPACT", "1");
    let text = machine.stdout("--set simple=on config show");
    assert_eq!(
        head(&text),
        "\
home                ~/.dormouse
project             ~/project (not trusted)
user file           ~/.dormouse/settings.toml
project file        ~/project/.dormouse/settings.toml
project local file  ~/project/.dormouse/settings.local.toml

SETTING             VALUE              FROM
anthropic.base_url  not set            built-in default
    ignored \"http://elsewhere\" from ~/project/.dormouse/settings.toml:2: counts once the project's folder is trusted
compact.auto        false              environment variable DISABLE_AUTO_COMPACT
model               \"from-project\"     ~/project/.dormouse/settings.toml:1
    overrode \"from-user\" from ~/.dormouse/settings.toml:1
notes               false              ~/project/.dormouse/settings.local.toml:1
offload.limit.Bash  40_000 characters  ~/.dormouse/settings.toml:2
simple              true               command-line flag"
    );
    assert!(
        text.contains("\nnotes.compact             off    because of `notes`\n"),
        "{text}"
    );
}

#[test]
fn one_setting_is_shown_in_full() {
    let machine = Machine::new(&[(USER, "compact.auto = false\n")]);
    assert_eq!(
        machine.stdout("config show notes.compact"),
        "\
notes.compact = true
    from built-in default
    has no effect because of `compact.auto`

Session notes serve as the summary of a compaction, without a model call.

takes           true or false
default         true
who may set it  project
"
    );
    let unset = machine.stdout("config show offload.limit.Anything");
    assert!(
        unset.starts_with("offload.limit.Anything = not set\n\n"),
        "{unset}"
    );
    let group = machine.stdout("config show microcompact");
    assert!(
        group
            .lines()
            .skip(1)
            .all(|line| line.starts_with("microcompact.")),
        "{group}"
    );
    let all = machine.stdout("config show --all");
    assert!(all.lines().count() > 60, "{all}");
}

#[test]
fn problems_are_listed_with_a_remedy_and_the_rest_counts() {
    let machine = Machine::new(&[
        (USER, "modle = \"x\"\nsmall_model = \"s\"\n"),
        (PROJECT, "notes = \n"),
        (".dormouse/models.toml", "version = 9\n"),
    ]);
    let text = machine.stdout("config show");
    let (_, problems) = text.split_once("\n\nProblems").unwrap();
    assert_eq!(
        problems,
        " (everything else counts):
  ~/.dormouse/settings.toml:1: unknown setting `modle`; did you mean `model`?
    hint: correct the name, or take it out
  ~/project/.dormouse/settings.toml:1:9: string values must be quoted, expected literal string; the whole file is ignored
    hint: mend the line; the file counts again after that
  the model file `~/.dormouse/models.toml` is left out
    because: version 9 of the model file is newer than 1, the newest this program reads
    hint: mend the file; the built-in models count until then
"
    );
    assert!(head(&text).contains("small_model  \"s\""), "{text}");
    let aside = machine.run("config show model").stderr;
    assert_eq!(
        aside,
        "note: 3 problems with the settings; see `dormouse config show`\n"
    );
}

#[test]
fn programs_get_all_of_it() {
    let machine = Machine::new(&[(USER, "model = \"u\"\nanthropic.api_key = \"sk-secret\"\n")]);
    let text = machine.stdout("config show --all --json");
    assert!(!text.contains("sk-secret"));
    let report: serde_json::Value = serde_json::from_str(&text).unwrap();
    let settings = report["settings"].as_array().unwrap();
    let model = settings
        .iter()
        .find(|setting| setting["key"] == "model")
        .unwrap();
    assert_eq!(model["value"], "u");
    assert_eq!(
        model["from"],
        serde_json::json!({"layer": "user", "path": "~/.dormouse/settings.toml", "line": 1, "variable": null})
    );
    let names: Vec<&str> = model
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    assert_eq!(
        names,
        [
            "key",
            "value",
            "from",
            "combined_from",
            "overrode",
            "ignored",
            "default",
            "takes",
            "unit",
            "set_by",
            "environment",
            "effective",
            "off_because",
            "members",
            "meaning"
        ]
    );
}

#[test]
fn home_can_be_elsewhere() {
    let machine = Machine::new(&[("other/settings.toml", "model = \"o\"\n")]);
    let text = machine.stdout("--home ../other config show model");
    assert!(text.starts_with("model = \"o\"\n"), "{text}");
    let home = machine.home().join("other");
    let machine = machine.with_variable("DORMOUSE_HOME", home.to_str().unwrap());
    let text = machine.stdout("config show model");
    assert!(
        text.starts_with("model = \"o\"\n    from ~/other/settings.toml:1\n"),
        "{text}"
    );
}

#[test]
fn trust_lets_a_project_in_and_says_what_came_with_it() {
    let machine = Machine::new(&[(PROJECT, "anthropic.base_url = \"http://elsewhere\"\n")]);
    assert_eq!(
        machine.stdout("config trust"),
        "~/project is trusted now.\n\
         These settings changed by it:\n  \
           anthropic.base_url  \"http://elsewhere\"\n"
    );
    assert_eq!(
        machine.stdout("config trust ."),
        "~/project was trusted already.\n"
    );
    assert!(
        machine
            .stdout("config show")
            .contains("~/project (trusted)")
    );
    assert_eq!(
        machine.json("config untrust --json"),
        serde_json::json!({
            "folder": "~/project",
            "trusted": false,
            "changed": true,
            "settings": ["anthropic.base_url"],
        })
    );
    assert_eq!(
        machine.stdout("config untrust"),
        "~/project was not trusted.\n"
    );
}

#[test]
fn the_reference_in_the_repository_is_the_one_the_program_prints() {
    let machine = Machine::new(&[]);
    let printed = machine.stdout("config docs");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/settings.md");
    let stored = RealFiles.read(&root, 1 << 20).unwrap_or_default();
    assert!(
        stored == printed,
        "write it anew: cargo run -- config docs > docs/settings.md"
    );
    assert_eq!(machine.json("config docs --json")["markdown"], printed);
}

#[test]
fn a_setting_is_written_taken_away_and_its_file_named() {
    let machine = Machine::new(&[(USER, "# mine\nmodel = \"m\" # for now\n")]);
    assert_eq!(
        machine.stdout("config set compact.auto off"),
        "compact.auto = false\n  written to ~/.dormouse/settings.toml\n"
    );
    assert_eq!(
        machine.read(USER),
        "# mine\nmodel = \"m\" # for now\n\n[compact]\nauto = false\n"
    );
    let again = machine.json("config set compact.auto off --json");
    assert_eq!(again["changed"], false);
    assert_eq!(
        machine.stdout("config unset compact.auto"),
        "compact.auto = true\n  taken out of ~/.dormouse/settings.toml\n  the value in force is \
         from: built-in default\n"
    );
    assert_eq!(machine.read(USER), "# mine\nmodel = \"m\" # for now\n");
}

#[test]
fn a_setting_that_cannot_count_or_be_written_says_so() {
    let machine = Machine::new(&[(USER, "[compact\n")]);
    // A project that is not trusted may not choose where requests go.
    let run = machine.run("config set anthropic.base_url http://127.0.0.1:1 --project");
    assert!(run.stdout.contains("without effect: "), "{}", run.stdout);
    // The user's own file is broken, which every command says.
    let told = "note: 1 problem with the settings; see `dormouse config show`\n";
    assert_eq!((run.code, run.stderr.as_str()), (0, told));
    for line in [
        "config set compact.auto off",
        "config set compact.atuo off",
        "config set compact.auto perhaps",
    ] {
        let run = machine.run(line);
        assert_ne!(run.code, 0, "{line}");
        assert!(run.stderr.contains("hint: "), "{}", run.stderr);
    }
    assert_eq!(machine.read(USER), "[compact\n");
}
