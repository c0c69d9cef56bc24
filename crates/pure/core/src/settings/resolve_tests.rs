use super::*;
use crate::units::Tokens;
use pretty_assertions::assert_eq;
use proptest::prelude::*;

fn file(kind: FileLayer, text: &str) -> Layer {
    let path = match kind {
        FileLayer::Managed => "m.toml",
        FileLayer::User => "u.toml",
        FileLayer::Project => "p.toml",
        FileLayer::ProjectLocal => "l.toml",
    };
    let (layer, mut issues) = parse_layer(kind, path, text);
    // Scopes and merging of a reserved setting hold before anything reads it.
    issues.retain(|issue| !matches!(issue, SettingsIssue::NoEffect { .. }));
    assert_eq!(issues, []);
    layer
}

fn flags(pairs: &[&str]) -> Layer {
    let (layer, issues) = flags_layer(pairs.iter().copied());
    assert_eq!(issues, []);
    layer
}

fn env(name: &'static str, text: &'static str) -> Layer {
    let (layer, issues) = env_layer(|asked| (asked == name).then(|| text.to_owned()));
    assert_eq!(issues, []);
    layer
}

/// Everything about one value, in one line each.
fn story(settings: &Settings, key: &str) -> Vec<String> {
    let entry = settings.entry(key).unwrap();
    let mut lines = vec![format!("{} from {}", entry.shown(), entry.origin)];
    lines.extend(
        entry
            .parts
            .iter()
            .map(|part| format!("with {}", part.origin)),
    );
    lines.extend(
        entry
            .shadowed
            .iter()
            .map(|given| format!("over {} from {}", given.value, given.origin)),
    );
    lines.extend(entry.ignored.iter().map(|ignored| {
        format!(
            "not {} from {}: {}",
            ignored.given.value, ignored.given.origin, ignored.reason
        )
    }));
    lines
}

#[test]
fn later_layers_win_and_say_what_they_overrode() {
    // In any order: their kinds decide.
    let layers = [
        flags(&["notes.start=6"]),
        file(FileLayer::ProjectLocal, "notes.start = 4"),
        file(FileLayer::Managed, "notes.start = 1"),
        file(FileLayer::Project, "\nnotes.start = 3"),
        file(FileLayer::User, "notes.start = 2"),
    ];
    let settings = resolve(&layers, Trust::Untrusted);
    assert_eq!(settings.get(keys::NOTES_START), Tokens(6));
    assert_eq!(
        story(&settings, "notes.start"),
        [
            "6 from command-line flag",
            "over 10000 from built-in default",
            "over 1 from m.toml:1",
            "over 2 from u.toml:1",
            "over 3 from p.toml:2",
            "over 4 from l.toml:1",
        ]
    );
    assert_eq!(
        story(&settings, "notes.growth"),
        ["5000 from built-in default"]
    );
    assert_eq!(story(&settings, "model"), ["not set from built-in default"]);
}

#[test]
fn the_environment_beats_files_and_flags_beat_it() {
    let layers = [
        file(FileLayer::User, "model = \"a\""),
        env("DORMOUSE_MODEL", "b"),
    ];
    assert_eq!(
        resolve(&layers, Trust::Untrusted).get(keys::MODEL).unwrap(),
        "b"
    );
    let layers = [env("DORMOUSE_MODEL", "b"), flags(&["model=c"])];
    assert_eq!(
        resolve(&layers, Trust::Untrusted).get(keys::MODEL).unwrap(),
        "c"
    );
}

#[test]
fn a_lock_beats_environment_and_flags() {
    let layers = [
        file(
            FileLayer::Managed,
            "locked = [\"compact*\", \"model\"]\nmodel = \"a\"",
        ),
        file(FileLayer::User, "model = \"b\"\ncompact.auto = false"),
        env("DORMOUSE_MODEL", "c"),
        flags(&["model=d", "notes=false"]),
    ];
    let settings = resolve(&layers, Trust::Trusted);
    assert_eq!(
        story(&settings, "model"),
        [
            "\"a\" from m.toml:2",
            "not \"b\" from u.toml:1: locked by m.toml:1",
            "not \"c\" from environment variable DORMOUSE_MODEL: locked by m.toml:1",
            "not \"d\" from command-line flag: locked by m.toml:1",
        ]
    );
    assert_eq!(
        story(&settings, "compact.auto"),
        [
            "true from built-in default",
            "not false from u.toml:2: locked by m.toml:1"
        ]
    );
    assert!(!settings.get(keys::NOTES));
}

#[test]
fn a_project_never_redirects_memory_and_needs_trust_for_the_rest() {
    let text = "memory.directory = \"/tmp/x\"\nanthropic.base_url = \"http://x\"\nmemory = true\nextract = false\n\
        anthropic.api_key = \"k\"\nhome = \"/h\"\nproxy = \"http://p\"\nkey_helper = \"h\"\nbudget.background_day = 9\n\
        permissions.allow = [\"Bash\"]\nhooks.Stop = []\nmcp_servers.a = {}\nagents.definitions.a = {}\n\
        memory.extra_guidelines = \"g\"\nteam.directory = \"/t\"\n";
    for kind in [FileLayer::Project, FileLayer::ProjectLocal] {
        // `memory` is both a switch and a group: TOML wants it once.
        let text = text.replace("memory = true\n", "memory.enabled = true\n");
        let layer = file(kind, &text);
        let keys: Vec<String> = layer.values.keys().cloned().collect();
        let untrusted = resolve(std::slice::from_ref(&layer), Trust::Untrusted);
        let trusted = resolve(&[layer], Trust::Trusted);
        let ignored = |settings: &Settings| -> Vec<String> {
            let given = keys.iter().filter_map(|key| settings.entry(key));
            let refused = given.filter(|entry| !entry.ignored.is_empty());
            refused
                .map(|entry| format!("{}: {}", entry.key, entry.ignored[0].reason))
                .collect()
        };
        assert_eq!(
            ignored(&trusted),
            [
                "anthropic.api_key: not allowed in a project's settings",
                "home: only the managed file, the environment or a flag may set this",
                "memory: a project may only switch this off",
                "memory.directory: not allowed in a project's settings",
                "memory.extra_guidelines: not allowed in a project's settings",
                "team.directory: not allowed in a project's settings",
            ]
        );
        let waiting: Vec<String> = ignored(&untrusted)
            .into_iter()
            .filter(|line| line.contains("once"))
            .collect();
        assert_eq!(waiting.len(), 8, "{waiting:?}");
        assert_eq!(
            ignored(&untrusted).len() + 1,
            keys.len(),
            "only `extract = false` counts"
        );
        assert!(!untrusted.get(keys::EXTRACT));
        assert_eq!(untrusted.get(keys::ANTHROPIC_BASE_URL), None);
        assert_eq!(
            trusted.get(keys::ANTHROPIC_BASE_URL).as_deref(),
            Some("http://x")
        );
    }
}

#[test]
fn lists_and_tables_add_up() {
    let layers = [
        file(
            FileLayer::User,
            "permissions.deny = [\"a\", \"b\"]\nmcp_servers.x = { url = \"u\", n = 1 }\nhooks.Stop = [1]",
        ),
        file(
            FileLayer::Project,
            "permissions.deny = [\"b\", \"c\"]\nmcp_servers.x.n = 2\nmcp_servers.y = {}\nhooks.Stop = [2]",
        ),
    ];
    let settings = resolve(&layers, Trust::Trusted);
    assert_eq!(settings.get(keys::PERMISSIONS_DENY), ["a", "b", "c"]);
    assert_eq!(
        story(&settings, "permissions.deny"),
        [
            "[\"a\", \"b\", \"c\"] from p.toml:1",
            "with built-in default",
            "with u.toml:1",
            "with p.toml:1",
        ]
    );
    let servers: toml::Table = "x = { url = \"u\", n = 2 }\ny = {}".parse().unwrap();
    assert_eq!(
        settings.get(keys::MCP_SERVERS),
        Some(toml::Value::Table(servers))
    );
    let hooks: toml::Table = "Stop = [1, 2]".parse().unwrap();
    assert_eq!(settings.get(keys::HOOKS), Some(toml::Value::Table(hooks)));

    let untrusted = resolve(&layers, Trust::Untrusted);
    assert_eq!(
        untrusted.get(keys::PERMISSIONS_DENY),
        ["a", "b", "c"],
        "denying more needs no trust"
    );
    assert_eq!(
        untrusted.entry("hooks").unwrap().origin.to_string(),
        "u.toml:3"
    );
}

#[test]
fn switches_depend_on_one_another() {
    let with = |pairs: &[&str]| resolve(&[flags(pairs)], Trust::Untrusted);
    let off = |because| Switch::Off { because };
    assert_eq!(with(&[]).switch(keys::NOTES_COMPACT), Switch::On);
    assert_eq!(
        with(&["compact=false"]).switch(keys::NOTES_COMPACT),
        off("compact")
    );
    assert_eq!(
        with(&["compact.auto=false"]).switch(keys::NOTES),
        off("compact.auto")
    );
    assert_eq!(with(&["memory=off"]).switch(keys::RECALL), off("memory"));
    assert_eq!(with(&["simple=1"]).switch(keys::DREAM), off("simple"));
    assert_eq!(with(&["dream=0"]).switch(keys::DREAM), off("dream"));
    assert_eq!(with(&["simple=1"]).switch(keys::COMPACT_AUTO), Switch::On);
    assert!(!with(&["compact=false"]).window_settings().auto_compact);
    assert!(
        with(&["compact=false"]).get(keys::COMPACT_AUTO),
        "the value itself stays as set"
    );
}

#[test]
fn changes_are_found_by_value() {
    let old = resolve(
        &[file(FileLayer::User, "notes.start = 1\nmodel = \"a\"")],
        Trust::Untrusted,
    );
    let new = resolve(
        &[
            file(FileLayer::User, "notes.start = 10_000\noffload.limit.X = 1"),
            flags(&["model=a"]),
        ],
        Trust::Untrusted,
    );
    assert_eq!(changed(&old, &new), ["notes.start", "offload.limit.X"]);
    assert_eq!(changed(&new, &new), [""; 0]);
}

// Random layers over keys of every scope.

const KEYS: &[&str] = &[
    "notes.start",        // project
    "memory.index.lines", // project
    "memory",             // project, off only
    "extract",            // project, off only
    "model",              // project
    "anthropic.base_url", // trusted project
    "permissions.allow",  // trusted project, combined
    "permissions.deny",   // project, combined
    "memory.directory",   // user
    "anthropic.api_key",  // user, secret
    "home",               // machine
    "offload.limit.X",    // pattern
];

const KINDS: [LayerKind; 6] = [
    LayerKind::Managed,
    LayerKind::User,
    LayerKind::Project,
    LayerKind::ProjectLocal,
    LayerKind::Environment,
    LayerKind::Flags,
];

fn some_value(key: &str, number: u64) -> Value {
    match find_setting(key).unwrap().kind {
        Kind::Flag => Value::Flag(number.is_multiple_of(2)),
        Kind::Count { .. } => Value::Count(number),
        Kind::Text => Value::Text(number.to_string()),
        Kind::List => Value::List(vec![number.to_string()]),
        Kind::Secret => Value::Secret(Secret::new(number.to_string())),
        other => panic!("no test values for {other:?}"),
    }
}

fn origin_of(kind: LayerKind) -> Origin {
    match kind {
        LayerKind::Environment => Origin::Variable { name: "X" },
        LayerKind::Flags => Origin::Flag,
        kind => Origin::File {
            kind,
            path: kind.to_string(),
            line: None,
        },
    }
}

prop_compose! {
    fn some_layers()(
        given in proptest::collection::vec((0..KINDS.len(), 0..KEYS.len(), 0_u64..6), 0..30),
        locks in proptest::collection::btree_set(0..KEYS.len(), 0..4),
    ) -> Vec<Layer> {
        let mut layers: Vec<Layer> = KINDS
            .iter()
            .map(|kind| Layer { kind: *kind, values: std::collections::BTreeMap::new(), locks: Vec::new() })
            .collect();
        for (layer, key, number) in given {
            let (kind, key) = (KINDS[layer], KEYS[key]);
            let given = Given { value: some_value(key, number), origin: origin_of(kind) };
            layers[layer].values.insert(key.to_owned(), given);
        }
        layers[0].locks = locks
            .into_iter()
            .map(|key| Lock { pattern: KEYS[key].to_owned(), origin: origin_of(LayerKind::Managed) })
            .collect();
        layers
    }
}

fn is_locked(layers: &[Layer], key: &str) -> bool {
    layers[0].locks.iter().any(|lock| lock.pattern == key)
}

/// Permissions of each scope, written down apart from the code under test.
fn may_set(key: &str, kind: LayerKind, value: &Value, trust: Trust) -> bool {
    let project = matches!(kind, LayerKind::Project | LayerKind::ProjectLocal);
    match key {
        "home" => !project && kind != LayerKind::User,
        "memory.directory" | "anthropic.api_key" => !project,
        "anthropic.base_url" | "permissions.allow" => !project || trust == Trust::Trusted,
        "memory" | "extract" => !project || *value == Value::Flag(false),
        _ => true,
    }
}

fn brute_force(layers: &[Layer], key: &str, trust: Trust) -> Option<Value> {
    let mut value = Settings::default()
        .entry(key)
        .and_then(|entry| entry.value.clone());
    for layer in layers {
        let Some(given) = layer.values.get(key) else {
            continue;
        };
        if is_locked(layers, key) && layer.kind != LayerKind::Managed {
            continue;
        }
        if !may_set(key, layer.kind, &given.value, trust) {
            continue;
        }
        value = match (value, &given.value) {
            (Some(Value::List(mut list)), Value::List(more)) => {
                list.extend(
                    more.iter()
                        .filter(|item| !list.contains(item))
                        .cloned()
                        .collect::<Vec<_>>(),
                );
                Some(Value::List(list))
            }
            _ => Some(given.value.clone()),
        };
    }
    value
}

proptest! {
    #[test]
    fn resolving_agrees_with_brute_force(layers in some_layers(), trusted: bool, rotate in 0..6_usize) {
        let trust = if trusted { Trust::Trusted } else { Trust::Untrusted };
        let mut shuffled = layers.clone();
        shuffled.rotate_left(rotate);
        let settings = resolve(&shuffled, trust);
        for key in KEYS {
            let entry = settings.entry(key);
            prop_assert_eq!(entry.and_then(|entry| entry.value.clone()), brute_force(&layers, key, trust), "{}", key);
            let Some(entry) = entry else { continue };
            // The value is the one its origin gave; nothing given is lost from the account.
            let given = layers.iter().filter(|layer| layer.values.contains_key(*key)).count();
            let default = usize::from(entry.setting.default_value().is_some() && *key != "offload.limit.X");
            let used = match entry.setting.merge {
                Merge::Combine => entry.parts.len(),
                Merge::Replace => entry.shadowed.len() + usize::from(entry.value.is_some()),
            };
            prop_assert_eq!(used + entry.ignored.len(), given + default);
            let source = layers.iter().find(|layer| layer.kind == entry.origin.kind());
            if let (Some(source), Merge::Replace) = (source, entry.setting.merge) {
                prop_assert_eq!(Some(&source.values[*key].value), entry.value.as_ref());
            }
        }
    }

    #[test]
    fn locks_always_win(layers in some_layers(), trusted: bool) {
        let trust = if trusted { Trust::Trusted } else { Trust::Untrusted };
        let settings = resolve(&layers, trust);
        let managed_only = resolve(&layers[..1], trust);
        for key in KEYS.iter().filter(|key| is_locked(&layers, key)) {
            let value = |settings: &Settings| settings.entry(key).and_then(|entry| entry.value.clone());
            prop_assert_eq!(value(&settings), value(&managed_only));
        }
    }

    #[test]
    fn a_project_never_sets_restricted_keys(layers in some_layers(), trusted: bool) {
        let trust = if trusted { Trust::Trusted } else { Trust::Untrusted };
        let without: Vec<Layer> = layers.iter().filter(|layer| !layer.kind.is_project()).cloned().collect();
        let (settings, without) = (resolve(&layers, trust), resolve(&without, trust));
        let restricted = |entry: &&ResolvedSetting| match entry.setting.scope {
            Scope::Machine | Scope::User => true,
            Scope::TrustedProject => trust == Trust::Untrusted,
            Scope::ProjectOff | Scope::Project => false,
        };
        for entry in settings.iter().filter(restricted) {
            let alone = without.entry(&entry.key).and_then(|entry| entry.value.clone());
            prop_assert_eq!(&entry.value, &alone, "{}", entry.key);
            prop_assert!(!entry.origin.kind().is_project());
        }
        for entry in settings.iter().filter(|entry| entry.setting.scope == Scope::ProjectOff) {
            let alone = without.entry(&entry.key).and_then(|entry| entry.value.clone());
            prop_assert!(entry.value == alone || entry.value == Some(Value::Flag(false)));
        }
    }
}
