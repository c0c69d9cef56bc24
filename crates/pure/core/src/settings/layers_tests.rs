use super::*;
use crate::units::Tokens;
use pretty_assertions::assert_eq;
use std::collections::BTreeMap;
use std::time::Duration;

fn user(text: &str) -> (Layer, Vec<String>) {
    let (layer, issues) = parse_layer(FileLayer::User, "u.toml", text);
    (layer, issues.iter().map(ToString::to_string).collect())
}

fn env(pairs: &[(&str, &str)]) -> (Layer, Vec<String>) {
    let map: BTreeMap<&str, &str> = pairs.iter().copied().collect();
    let (layer, issues) = env_layer(|name| map.get(name).map(|text| (*text).to_owned()));
    (layer, issues.iter().map(ToString::to_string).collect())
}

fn values(layer: &Layer) -> Vec<String> {
    layer
        .values
        .iter()
        .map(|(key, given)| format!("{key} = {}", given.value))
        .collect()
}

#[test]
fn a_file_may_nest_or_dot_its_keys() {
    let (layer, issues) = user(
        "model = \"claude-opus-5\"\nnotes.wait = \"20s\"\n[compact]\nauto = false\npercent = 80.5\n\
         [compact.restore]\nfiles = 3\n[offload.limit]\nBash = 1_000\n[budget]\nbackground_day = 2.5\n",
    );
    assert_eq!(issues, [""; 0]);
    assert_eq!(
        values(&layer),
        [
            "budget.background_day = 2.5",
            "compact.auto = false",
            "compact.percent = 80.5",
            "compact.restore.files = 3",
            "model = \"claude-opus-5\"",
            "notes.wait = 20s",
            "offload.limit.Bash = 1000",
        ]
    );
    let given = &layer.values["compact.restore.files"];
    assert_eq!(given.origin.to_string(), "u.toml:7");
}

#[test]
fn a_switch_with_members_is_called_enabled_inside_its_group() {
    let (layer, issues) = user(
        "offload = false\n[compact]\nenabled = false\n[microcompact.idle]\nkeep = 2\nenabled = true",
    );
    assert_eq!(issues, [""; 0]);
    assert_eq!(
        values(&layer),
        [
            "compact = false",
            "microcompact.idle = true",
            "microcompact.idle.keep = 2",
            "offload = false"
        ]
    );
    assert_eq!(layer.values["compact"].origin.to_string(), "u.toml:3");
}

#[test]
fn what_is_wrong_is_reported_and_the_rest_counts() {
    let (layer, issues) = user(
        "recall.fils = 1\nnotes.start = \"many\"\nmodle = \"x\"\n[compact]\npercent = 0\nbreaker = 0\nevidence_limit = 300\n\
         enabled = \"yes\"\n[nonsense]\na = 1\n[context]\nwindow = 10\npolicy = \"cheap\"\n",
    );
    assert_eq!(values(&layer), ["compact.evidence_limit = 300"]);
    assert_eq!(
        issues,
        [
            "u.toml:1: unknown setting `recall.fils`; did you mean `recall.files`?",
            "u.toml:2: `notes.start` must be a whole number, not `\"many\"`",
            "u.toml:3: unknown setting `modle`; did you mean `model`?",
            "u.toml:5: `compact.percent` must be a number above 0 and up to 100, not `0`",
            "u.toml:6: `compact.breaker` must be a whole number from 1 to 100, not `0`",
            "u.toml:8: `compact` must be true or false, not `\"yes\"`",
            "u.toml:9: unknown setting `nonsense`",
            "u.toml:12: `context.window` must be a whole number from 2000 to 2000000, not `10`",
            "u.toml:13: `context.policy` must be one of \"economic\", \"classic\", not `\"cheap\"`",
        ]
    );
}

#[test]
fn a_dotted_switch_cannot_be_mixed_with_its_group_and_says_so() {
    let (layer, issues) = user("compact = true\n[compact]\nauto = false\n");
    assert_eq!(values(&layer), [""; 0]);
    assert_eq!(issues.len(), 1);
    assert!(issues[0].starts_with("u.toml:2:"), "{}", issues[0]);
}

#[test]
fn broken_toml_is_reported_with_its_place() {
    let (layer, issues) = user("model = \"a\"\nnotes = = 1\n");
    assert_eq!(values(&layer), [""; 0]);
    assert_eq!(issues.len(), 1);
    assert!(issues[0].starts_with("u.toml:2:"), "{}", issues[0]);
    assert!(issues[0].ends_with("the whole file is ignored"));
}

#[test]
fn only_the_managed_file_locks() {
    let (layer, issues) = user("locked = [\"compact\"]");
    assert_eq!(layer.locks, []);
    assert_eq!(
        issues,
        ["u.toml:1: only the managed settings file may lock settings"]
    );

    let text = "locked = [\"memory.*\", \"compact.autp\", \"offload.limit.Bash\", \"model\"]";
    let (layer, issues) = parse_layer(FileLayer::Managed, "m.toml", text);
    let patterns: Vec<&str> = layer
        .locks
        .iter()
        .map(|lock| lock.pattern.as_str())
        .collect();
    assert_eq!(patterns, ["memory.*", "offload.limit.Bash", "model"]);
    assert_eq!(
        issues[0].to_string(),
        "m.toml:1: `locked` names `compact.autp`, which is no setting; did you mean `compact.auto`?"
    );
    let (_, issues) = parse_layer(FileLayer::Managed, "m.toml", "locked = true");
    assert_eq!(
        issues[0].to_string(),
        "m.toml:1: `locked` must be a list of texts, not `true`"
    );
}

#[test]
fn the_environment_speaks_through_names_aliases_and_negations() {
    let (layer, issues) = env(&[
        ("CLAUDE_AUTOCOMPACT_PCT_OVERRIDE", "50"),
        ("DORMOUSE_AUTOCOMPACT_PCT", " 75% "),
        ("DORMOUSE_CONTEXT_WINDOW", "500_000"),
        ("DISABLE_COMPACT", "0"),
        ("DISABLE_AUTO_COMPACT", "1"),
        ("CLAUDE_CODE_DISABLE_AUTO_MEMORY", "true"),
        ("DORMOUSE_SIMPLE", ""),
        ("DORMOUSE_MODEL", "claude-opus-5"),
        ("ANTHROPIC_BETAS", "a, b,"),
    ]);
    assert_eq!(issues, [""; 0]);
    assert_eq!(
        values(&layer),
        [
            "anthropic.betas = [\"a\", \"b\"]",
            "compact.auto = false",
            "compact.percent = 75",
            "context.window = 500000",
            "memory = false",
            "model = \"claude-opus-5\"",
        ]
    );
    assert_eq!(
        layer.values["memory"].origin.to_string(),
        "environment variable CLAUDE_CODE_DISABLE_AUTO_MEMORY"
    );
}

#[test]
fn a_wrong_variable_is_reported_and_its_alias_used() {
    let (layer, issues) = env(&[
        ("DORMOUSE_AUTOCOMPACT_PCT", "0"),
        ("CLAUDE_AUTOCOMPACT_PCT_OVERRIDE", "60"),
        ("DISABLE_COMPACT", "maybe"),
    ]);
    assert_eq!(values(&layer), ["compact.percent = 60"]);
    assert_eq!(
        issues,
        [
            "environment variable DISABLE_COMPACT: `compact` must be true or false, not `maybe`",
            "environment variable DORMOUSE_AUTOCOMPACT_PCT: `compact.percent` must be a number above 0 and up to 100, \
             not `0`",
        ]
    );
}

#[test]
fn secrets_are_never_shown() {
    let (layer, _) = env(&[
        ("ANTHROPIC_API_KEY", "sk-1"),
        ("OPENAI_API_KEY", "sk-2"),
        ("ANTHROPIC_AUTH_TOKEN", "sk-3"),
    ]);
    let settings = resolve(std::slice::from_ref(&layer), Trust::Untrusted);
    assert!(!format!("{layer:?}{settings:?}").contains("sk-"));
    assert_eq!(
        settings.entry("openai.api_key").unwrap().shown(),
        "set (hidden)"
    );
    assert_eq!(
        settings.get(keys::ANTHROPIC_API_KEY).unwrap().reveal(),
        "sk-1"
    );
    let (_, issues) = user("anthropic.api_key = [\"sk-4\"]");
    assert_eq!(
        issues,
        ["u.toml:1: `anthropic.api_key` must be a text, never shown, not what it is (hidden)"]
    );
}

#[test]
fn a_removed_setting_is_named_and_the_rest_of_the_file_counts() {
    let (layer, issues) = user(
        "notes.start = 7\ncollapse.prepare = 60\n[economic]\ntail = 1\nrestore.files = 2\nnever = 3\n\
         [compact.restore]\nskill_limit = 4\nfiles = 5\n",
    );
    assert_eq!(
        values(&layer),
        ["compact.restore.files = 5", "notes.start = 7"]
    );
    assert_eq!(
        issues,
        [
            "u.toml:2: `collapse.prepare` has no effect: the setting was removed",
            "u.toml:4: `economic.tail` has no effect: the setting was removed",
            "u.toml:5: `economic.restore.files` has no effect: the setting was removed",
            "u.toml:6: unknown setting `economic.never`",
            "u.toml:8: `compact.restore.skill_limit` has no effect: the setting was removed",
        ]
    );
    let (layer, issues) = flags_layer(["economic.tail=1"]);
    assert_eq!(values(&layer), [""; 0]);
    assert_eq!(
        issues[0].to_string(),
        "command-line flag: `economic.tail` has no effect: the setting was removed"
    );
}

#[test]
fn a_reserved_setting_is_checked_and_not_offered() {
    let (layer, issues) = user("snip = true\n[agents]\ndepth = 99\n");
    assert_eq!(values(&layer), ["snip = true"]);
    let not_yet = "has no effect: this version does not use the setting yet";
    assert_eq!(
        issues,
        [
            format!("u.toml:1: `snip` {not_yet}"),
            format!("u.toml:3: `agents.depth` {not_yet}"),
            "u.toml:3: `agents.depth` must be a whole number from 0 to 16, not `99`".to_owned(),
        ]
    );
    let settings = resolve(&[layer], Trust::Untrusted);
    assert!(settings.iter().all(|entry| entry.key != "snip"));
    assert_eq!(nearest_key("snipp"), None);
    assert!(!reference_markdown().contains("`snip`"));
    // The environment of every machine behind a proxy has this variable.
    let proxy = |name: &str| (name == "HTTPS_PROXY").then(|| "http://p".to_owned());
    let (layer, issues) = env_layer(proxy);
    assert_eq!((values(&layer).len(), issues), (1, Vec::new()));
}

#[test]
fn flags_are_pairs() {
    let (layer, issues) = flags_layer([
        "compact.enabled=false",
        "notes.wait=1m",
        "notes.wait=2m",
        "permissions.deny=[\"Bash(rm, -r)\"]",
        "hooks={ Stop = [] }",
        "budget.background_day=-1",
        "compact",
        "modell=x",
        "offload.limit.X=7",
    ]);
    assert_eq!(
        values(&layer),
        [
            "compact = false",
            "hooks = table of 1: Stop",
            "notes.wait = 2m",
            "offload.limit.X = 7",
            "permissions.deny = [\"Bash(rm, -r)\"]",
        ]
    );
    let issues: Vec<String> = issues.iter().map(ToString::to_string).collect();
    assert_eq!(
        issues,
        [
            "command-line flag: `budget.background_day` must be an amount of dollars such as 1.50, not `-1`",
            "`compact` is not of the form key=value",
            "command-line flag: unknown setting `modell`; did you mean `model`?",
        ]
    );
    let settings = resolve(&[layer], Trust::Untrusted);
    assert_eq!(settings.get(keys::NOTES_WAIT), Duration::from_mins(2));
    assert_eq!(settings.get(keys::NOTES_START), Tokens(10_000));
}

#[test]
fn counts_are_written_as_people_do() {
    for (text, expected) in [
        ("200k", "200000"),
        ("1M", "1000000"),
        ("200,000", "200000"),
        ("200_000", "200000"),
    ] {
        let (layer, issues) = flags_layer([format!("context.window={text}").as_str()]);
        assert!(issues.is_empty(), "{text}: {issues:?}");
        assert_eq!(values(&layer), [format!("context.window = {expected}")]);
    }
    for bad in [
        "k",
        "1.5m",
        "+200k",
        "-1",
        "99999999999999999m",
        "1km",
        "3m",
    ] {
        let (layer, issues) = flags_layer([format!("context.window={bad}").as_str()]);
        assert_eq!((values(&layer).len(), issues.len()), (0, 1), "{bad}");
    }
}
