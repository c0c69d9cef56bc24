//! Edits of settings files, by example and by law.

use super::*;
use pretty_assertions::assert_eq;
use serde_json::json;

fn keys(path: &str) -> Vec<String> {
    path.split('.').map(str::to_owned).collect()
}

fn entry() -> Value {
    json!({"command": "/usr/bin/dormouse", "args": ["mcp"]})
}

#[track_caller]
fn check(notation: Notation, before: &str, path: &str, after: &str) {
    let added = add(notation, before, &keys(path), &entry()).unwrap();
    assert_eq!(added.text, after);
    let removed = remove(notation, &added.text, &keys(path), &added.made).unwrap();
    // Layout of an empty container may differ; the file itself is restored from its backup.
    if notation == Notation::Json {
        let value = |text: &str| whole(text).unwrap().unwrap_or_else(|| json!({}));
        assert_eq!(value(&removed), value(before));
    } else {
        assert_eq!(removed, before);
    }
}

#[test]
fn an_entry_joins_the_others_and_comments_stay() {
    check(
        Notation::Json,
        "{\n  // mine\n  \"theme\": \"dark\",\n  \"mcpServers\": {\n    \"other\": { \"command\": \"x\" } // keep\n  }\n}\n",
        "mcpServers.dormouse",
        "{\n  // mine\n  \"theme\": \"dark\",\n  \"mcpServers\": {\n    \"other\": { \"command\": \"x\" }, // keep\n    \"dormouse\": {\n      \"command\": \"/usr/bin/dormouse\",\n      \"args\": [\"mcp\"]\n    }\n  }\n}\n",
    );
}

#[test]
fn containers_are_made_in_the_indentation_of_the_file() {
    check(
        Notation::Json,
        "{\n\t\"theme\": \"dark\"\n}\n",
        "mcpServers.dormouse",
        "{\n\t\"theme\": \"dark\",\n\t\"mcpServers\": {\n\t\t\"dormouse\": {\n\t\t\t\"command\": \"/usr/bin/dormouse\",\n\t\t\t\"args\": [\"mcp\"]\n\t\t}\n\t}\n}\n",
    );
}

#[test]
fn an_empty_file_gets_an_object() {
    check(
        Notation::Json,
        "",
        "mcpServers.dormouse",
        "{\n  \"mcpServers\": {\n    \"dormouse\": {\n      \"command\": \"/usr/bin/dormouse\",\n      \"args\": [\"mcp\"]\n    }\n  }\n}\n",
    );
}

#[test]
fn a_table_of_codex_stands_behind_its_siblings() {
    check(
        Notation::Toml,
        "# mine\nmodel   = \"gpt\" # best\n\n[mcp_servers.other]\nargs = [ \"a\",\n  \"b\" ]\n\n[tui]\ntheme=\"dark\"\n",
        "mcp_servers.dormouse",
        "# mine\nmodel   = \"gpt\" # best\n\n[mcp_servers.other]\nargs = [ \"a\",\n  \"b\" ]\n\n[mcp_servers.dormouse]\ncommand = \"/usr/bin/dormouse\"\nargs = [\"mcp\"]\n\n[tui]\ntheme=\"dark\"\n",
    );
}

#[test]
fn a_new_table_of_codex_stands_at_the_end() {
    check(
        Notation::Toml,
        "model = \"gpt\"\n",
        "mcp_servers.dormouse",
        "model = \"gpt\"\n\n[mcp_servers.dormouse]\ncommand = \"/usr/bin/dormouse\"\nargs = [\"mcp\"]\n",
    );
}

#[test]
fn a_table_on_one_line_stays_on_one_line() {
    let before = "mcp_servers = { other = { command = \"x\" } }\n";
    let added = add(
        Notation::Toml,
        before,
        &keys("mcp_servers.dormouse"),
        &entry(),
    )
    .unwrap();
    assert_eq!(added.text.lines().count(), 1, "{}", added.text);
    let removed = remove(
        Notation::Toml,
        &added.text,
        &keys("mcp_servers.dormouse"),
        &added.made,
    );
    assert_eq!(removed.unwrap(), before);
}

#[test]
fn a_text_that_is_not_understood_is_refused() {
    let refused = |notation, text: &str| {
        add(notation, text, &keys("mcpServers.dormouse"), &entry()).unwrap_err()
    };
    for text in ["{", "{\"a\": 1 \"b\": 2}", "{'a': 1}", "nonsense", "{} {}"] {
        let refusal = refused(Notation::Json, text);
        assert!(
            matches!(refusal, EditRefusal::Unparsable(_)),
            "{text}: {refusal:?}"
        );
    }
    let refusal = refused(Notation::Toml, "a = ");
    assert!(matches!(refusal, EditRefusal::Unparsable(_)), "{refusal:?}");
    let named = |key: &str| EditRefusal::NotAContainer(key.to_owned());
    assert_eq!(refused(Notation::Json, "[]"), named("the file"));
    assert_eq!(
        refused(Notation::Json, "{\"mcpServers\": null}"),
        named("mcpServers")
    );
    assert_eq!(
        refused(Notation::Toml, "mcpServers = 3"),
        named("mcpServers")
    );
    assert_eq!(
        refused(Notation::Json, "{\"mcpServers\": {}, \"mcpServers\": {}}"),
        EditRefusal::Twice("mcpServers".to_owned())
    );
}

#[test]
fn an_entry_that_others_joined_goes_alone() {
    let added = add(Notation::Json, "{}", &keys("mcpServers.dormouse"), &entry()).unwrap();
    let more = add(
        Notation::Json,
        &added.text,
        &keys("mcpServers.later"),
        &entry(),
    )
    .unwrap();
    let removed = remove(
        Notation::Json,
        &more.text,
        &keys("mcpServers.dormouse"),
        &added.made,
    );
    let value = whole(&removed.unwrap()).unwrap().unwrap();
    assert_eq!(value, json!({"mcpServers": {"later": entry()}}));
}

#[test]
fn line_ends_of_other_systems_stay() {
    let before = "{\r\n  \"a\": 1\r\n}\r\n";
    let added = add(
        Notation::Json,
        before,
        &keys("mcpServers.dormouse"),
        &entry(),
    )
    .unwrap();
    assert_eq!(
        added.text.matches('\n').count(),
        added.text.matches("\r\n").count()
    );
}
