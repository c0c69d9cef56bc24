use super::*;
use crate::units::Tokens;
use pretty_assertions::assert_eq;
use std::collections::BTreeSet;
use std::time::Duration;

#[test]
fn rows_are_well_formed() {
    let mut seen = BTreeSet::new();
    let mut variables = BTreeSet::new();
    for setting in all_settings() {
        let key = setting.key;
        assert!(seen.insert(key), "{key} twice");
        let parts: Vec<&str> = key.split('.').collect();
        assert!(
            parts
                .iter()
                .all(|part| !part.is_empty() && *part != "enabled"),
            "{key}"
        );
        assert!(
            setting.doc().ends_with('.') && setting.doc().len() > 15,
            "{key}: {}",
            setting.doc()
        );
        assert!(!setting.doc().contains("  "), "{key}: {}", setting.doc());
        for variable in setting.env {
            assert!(variables.insert(variable.name), "{} twice", variable.name);
            assert!(!variable.negates || setting.kind == Kind::Flag, "{key}");
        }
        assert!(
            setting.needs.is_empty() || setting.kind == Kind::Flag,
            "{key}"
        );
        if setting.scope == Scope::ProjectOff {
            assert_eq!(setting.kind, Kind::Flag, "{key}");
        }
        if setting.merge == Merge::Combine {
            assert!(
                matches!(setting.kind, Kind::List | Kind::Structure),
                "{key}"
            );
        }
    }
}

/// A key below another one is readable from a file only if that one is a switch.
#[test]
fn only_switches_have_members() {
    let keys: Vec<&Setting> = all_settings().collect();
    for outer in &keys {
        let prefix = format!("{}.", outer.key);
        let inner = keys.iter().find(|inner| inner.key.starts_with(&prefix));
        assert!(
            inner.is_none() || outer.kind == Kind::Flag,
            "{} and {:?}",
            outer.key,
            inner
        );
    }
}

/// Each default survives being written to a file and read again.
#[test]
fn defaults_are_valid_values() {
    for setting in all_settings() {
        let Some(default) = setting.default_value() else {
            continue;
        };
        let text = match &default {
            Value::Duration(_) => format!("{} = \"{default}\"", setting.key),
            _ => format!("{} = {default}", setting.key),
        };
        let (layer, issues) = parse_layer(FileLayer::Managed, "f", &text);
        assert_eq!(issues, [], "{text}");
        assert_eq!(layer.values[setting.key].value, default, "{text}");
    }
}

#[test]
fn needs_name_switches_and_end() {
    fn depth(key: &str, left: usize) {
        assert!(left > 0, "needs of {key} go in a circle");
        let setting = find_setting(key).unwrap();
        assert_eq!(setting.kind, Kind::Flag, "{key}");
        for need in setting.needs {
            let (Need::On(other) | Need::Off(other)) = need;
            depth(other, left - 1);
        }
    }
    for setting in all_settings().filter(|setting| setting.kind == Kind::Flag) {
        depth(setting.key, 8);
    }
}

#[test]
fn kill_switches_have_their_documented_defaults() {
    let settings = Settings::default();
    let on = "memory offload distil microcompact.idle microcompact.pressure notes notes.compact compact recall instructions \
        extract dream team cache.break_detection compact.auto";
    let off = "microcompact.cache_edits microcompact.api daily_log extract.one_shot simple";
    for (keys, expected) in [(on, true), (off, false)] {
        for key in keys.split_whitespace() {
            assert_eq!(
                settings.entry(key).unwrap().value,
                Some(Value::Flag(expected)),
                "{key}"
            );
        }
    }
}

#[test]
fn figures_have_their_documented_defaults() {
    let settings = Settings::default();
    let window = settings.window_settings();
    assert_eq!(
        window,
        WindowSettings {
            configured_window: None,
            default_window: Tokens(200_000),
            output_reserve: Tokens(20_000),
            compact_reserve: Tokens(13_000),
            warning_margin: Tokens(20_000),
            error_margin: Tokens(20_000),
            auto_compact: true,
            compact_percent: None,
        }
    );
    assert_eq!(window, WindowSettings::default());
    assert_eq!(settings.get(keys::NOTES_WAIT), Duration::from_secs(15));
    assert_eq!(settings.get(keys::CACHE_TTL_PREFIX), CacheTtl::OneHour);
    assert_eq!(settings.get(keys::CACHE_TTL_MESSAGES), MessageTtl::Auto);
    assert_eq!(settings.get(keys::CONTEXT_POLICY), Policy::Economic);
    assert_eq!(
        settings.get(keys::BUDGET_BACKGROUND_DAY).to_string(),
        "$1.00"
    );
    assert_eq!(settings.get(keys::MODEL), None);
    assert_eq!(settings.get(keys::MICROCOMPACT_TOOLS).len(), 8);
}

#[test]
fn tool_limits_come_from_name_declaration_and_default() {
    let (layer, issues) = parse_layer(
        FileLayer::User,
        "f",
        "offload.limit.Bash = 100\noffload.limit.mcp__x = 90_000",
    );
    assert_eq!(issues, []);
    let settings = resolve(&[layer], Trust::Untrusted);
    assert_eq!(settings.offload_limit("Bash", Some(30_000)), 100);
    assert_eq!(settings.offload_limit("mcp__x", Some(10)), 90_000);
    assert_eq!(settings.offload_limit("Grep", None), 20_000);
    assert_eq!(settings.offload_limit("Other", None), 50_000);
    assert_eq!(settings.offload_limit("Other", Some(8_000)), 8_000);
    assert_eq!(settings.offload_limit("Other", Some(80_000)), 50_000);
    assert!(
        settings
            .iter()
            .any(|entry| entry.key == "offload.limit.mcp__x")
    );
    assert!(settings.iter().all(|entry| !entry.key.contains('<')));
}

#[test]
fn a_misspelt_key_finds_its_neighbour() {
    assert_eq!(nearest_key("compact.autp"), Some("compact.auto"));
    assert_eq!(
        nearest_key("microcompact.presure.keep"),
        Some("microcompact.pressure.keep")
    );
    assert_eq!(nearest_key("memroy"), Some("memory"));
    assert_eq!(nearest_key("zzzzzzzz"), None);
}

#[test]
fn the_reference_lists_every_setting() {
    let page = reference_markdown();
    assert_eq!(page.lines().count(), all_settings().count() + 2);
    let row = |key: &str| {
        page.lines()
            .find(|line| line.starts_with(&format!("| `{key}` |")))
            .unwrap()
    };
    assert_eq!(
        row("compact.auto"),
        "| `compact.auto` | `true` | true or false | project | `DISABLE_AUTO_COMPACT` (off) | \
         Compaction happens by itself when the target is reached. |"
    );
    assert_eq!(
        row("context.compact_reserve"),
        "| `context.compact_reserve` | `13_000` | a whole number (tokens) | project |  | \
         Automatic compaction begins this far below the effective window. |"
    );
    assert!(
        page.lines()
            .all(|line| line.replace("\\|", "").matches('|').count() == 7)
    );
}
