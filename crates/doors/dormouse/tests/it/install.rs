//! `dormouse install` and `uninstall`: settings of other programs, changed and restored.

use crate::program::Machine;
use dormouse_system::{Access, Files as _, RealFiles};
use pretty_assertions::assert_eq;
use serde_json::json;
use std::os::unix::fs::{PermissionsExt as _, symlink};

/// Clients that get an entry, with the file, a text that a user may have there, and the entry's key.
const CLIENTS: [(&str, &str, &str, &str); 10] = [
    (
        "codex",
        ".codex/config.toml",
        "# mine\nmodel   = \"gpt\" # best\n\n[mcp_servers.other]\nargs = [ \"a\",\n  \"b\" ]\n\n[tui]\ntheme=\"dark\"",
        "[mcp_servers.dormouse]",
    ),
    (
        "opencode",
        ".config/opencode/opencode.jsonc",
        "{\n\t// mine\n\t\"theme\": \"x\",\n\t\"mcp\": {},\n}\n",
        "\"dormouse\"",
    ),
    (
        "qwen",
        ".qwen/settings.json",
        "{\n   \"ui\" : {\"theme\": \"x\"}\n}\n",
        "\"mcpServers\"",
    ),
    (
        "gemini",
        ".gemini/settings.json",
        "{\"mcpServers\": {\"a\": {\"command\": \"b\"}}}",
        "\"dormouse\"",
    ),
    ("kimi", ".kimi-code/mcp.json", "{}", "\"mcpServers\""),
    (
        "cursor",
        ".cursor/mcp.json",
        "{\r\n  \"mcpServers\": {\r\n    \"a\": {}\r\n  }\r\n}\r\n",
        "\"dormouse\"",
    ),
    (
        "vscode",
        ".config/Code/User/mcp.json",
        "{ \"inputs\": [], \"servers\": { } }",
        "\"stdio\"",
    ),
    (
        "zed",
        ".config/zed/settings.json",
        "// Zed settings\n{\n  \"vim_mode\": true, // yes\n  /* servers */\n  \"context_servers\": {\n    \"a\": { \"source\": \"custom\", \"command\": \"b\" },\n  },\n}\n",
        "\"custom\"",
    ),
    (
        "windsurf",
        ".codeium/windsurf/mcp_config.json",
        "\n{\n}",
        "\"mcpServers\"",
    ),
    (
        "pi",
        ".pi/agent/mcp.json",
        "{ \"mcpServers\": {} }\n",
        "\"dormouse\"",
    ),
];

/// Everything below the home but Dormouse's own folder and the project: paths and bytes.
fn tree(machine: &Machine) -> Vec<(String, Vec<u8>)> {
    let skip =
        |path: &std::path::Path| path.starts_with(".dormouse") || path.starts_with("project");
    let home = machine.home();
    let files = RealFiles.walk(&home, &skip).unwrap();
    let read =
        |path: &std::path::Path| RealFiles.read(&home.join(path), u64::MAX).unwrap().to_vec();
    files
        .into_iter()
        .map(|file| (file.path.display().to_string(), read(&file.path)))
        .collect()
}

#[test]
fn every_client_gets_its_entry_and_loses_it_again_to_the_byte() {
    for (client, file, text, key) in CLIENTS {
        let machine = Machine::new(&[(file, text)]);
        let before = tree(&machine);
        let plan = machine.stdout(&format!("install {client} --dry-run"));
        assert!(
            plan.contains("Nothing was changed") && plan.contains("+ "),
            "{plan}"
        );
        assert_eq!(tree(&machine), before, "{client}: a dry run");
        let said = machine.json(&format!("--json install {client}"));
        assert_eq!(said["state"], "installed", "{client}");
        let after = machine.read(file);
        assert!(
            after.contains(key) && after.contains("mcp\""),
            "{client}: {after}"
        );
        let again = machine.json(&format!("--json install {client}"));
        assert_eq!(again["state"], "unchanged", "{client}");
        assert_eq!(machine.read(file), after, "{client}: the second time");
        let gone = machine.json(&format!("--json uninstall {client}"));
        assert_eq!(gone["files"][0]["restored"], true, "{client}");
        assert_eq!(tree(&machine), before, "{client}");
    }
}

#[test]
fn a_client_without_settings_gets_a_file_that_goes_with_its_folders() {
    for (client, file, ..) in CLIENTS {
        let machine = Machine::new(&[]);
        let file = file.replace(".jsonc", ".json");
        let said = machine.json(&format!("--json install {client}"));
        assert_eq!(said["files"][0]["backup"], json!(null), "{client}");
        assert!(machine.read(&file).ends_with('\n'), "{client}");
        machine.stdout(&format!("uninstall {client}"));
        let names = RealFiles.list(&machine.home()).unwrap();
        let names: Vec<_> = names.iter().map(|entry| entry.name.clone()).collect();
        assert_eq!(names, [".dormouse", "project"], "{client}");
    }
}

#[test]
fn later_changes_of_the_user_stay() {
    let machine = Machine::new(&[(".cursor/mcp.json", "{\"mcpServers\": {}}")]);
    machine.stdout("install cursor");
    let with = machine.read(".cursor/mcp.json");
    let changed = with.replace(
        "\"mcpServers\": {",
        "// mine\n\"mcpServers\": {\"later\": {},",
    );
    machine.write(".cursor/mcp.json", &changed);
    let said = machine.stdout("uninstall cursor");
    assert!(said.contains("has changed since"), "{said}");
    let left = machine.read(".cursor/mcp.json");
    assert!(
        left.contains("// mine") && left.contains("later") && !left.contains("dormouse"),
        "{left}"
    );
}

#[test]
fn files_that_cannot_be_parsed_and_entries_of_others_are_refused() {
    let cases = [
        (
            ".qwen/settings.json",
            "{\"a\": ",
            "qwen",
            "was left as it is",
        ),
        (
            ".qwen/settings.json",
            "{\"mcpServers\": []}",
            "qwen",
            "holds no entries",
        ),
        (".codex/config.toml", "a = [", "codex", "was left as it is"),
        (
            ".codex/config.toml",
            "[mcp_servers.dormouse]\ncommand = \"other\"\n",
            "codex",
            "not from this installation",
        ),
        (
            ".cursor/mcp.json",
            "\u{fffe}\u{0}",
            "cursor",
            "was left as it is",
        ),
    ];
    for (file, text, client, words) in cases {
        let machine = Machine::new(&[(file, text)]);
        let before = tree(&machine);
        let run = machine.run(&format!("install {client}"));
        assert_eq!((run.code, run.stdout.as_str()), (5, ""), "{text}");
        assert!(run.stderr.contains(words), "{text}: {}", run.stderr);
        assert_eq!(tree(&machine), before, "{text}");
    }
}

#[test]
fn an_entry_made_by_hand_is_recognised_by_its_command() {
    let text = "{\"mcpServers\": {\"dormouse\": {\"command\": \"/opt/dormouse\", \"args\": [\"mcp\"]}, \"a\": {}}}";
    let machine = Machine::new(&[(".gemini/settings.json", text)]);
    machine.stdout("uninstall gemini --dry-run");
    assert_eq!(machine.read(".gemini/settings.json"), text);
    machine.stdout("uninstall gemini");
    let left = machine.read(".gemini/settings.json");
    assert!(
        left.contains("\"a\"") && !left.contains("dormouse"),
        "{left}"
    );
    let run = machine.run("uninstall gemini");
    assert_eq!(run.code, 4);
    assert!(
        run.stderr.contains("nothing is installed"),
        "{}",
        run.stderr
    );
}

#[test]
fn a_link_is_followed_and_permissions_stay() {
    let machine = Machine::new(&[("dotfiles/qwen.json", "{}\n")]);
    let target = machine.home().join("dotfiles/qwen.json");
    let private = std::fs::Permissions::from_mode(0o640);
    std::fs::set_permissions(&target, private).unwrap();
    let folder = machine.home().join(".qwen");
    RealFiles.create_dir_all(&folder, Access::Private).unwrap();
    symlink(&target, machine.home().join(".qwen/settings.json")).unwrap();
    machine.stdout("install qwen");
    assert!(machine.read("dotfiles/qwen.json").contains("dormouse"));
    let facts = std::fs::symlink_metadata(machine.home().join(".qwen/settings.json")).unwrap();
    assert!(facts.file_type().is_symlink());
    let mode = RealFiles.metadata(&target).unwrap().mode.unwrap();
    assert_eq!(mode & 0o777, 0o640);
    machine.stdout("uninstall qwen");
    assert_eq!(machine.read("dotfiles/qwen.json"), "{}\n");
}

#[test]
fn settings_of_the_command_line_are_those_of_the_installed_one() {
    let machine = Machine::new(&[]);
    machine.stdout("install cursor --set memory.layout=claude");
    let text = machine.read(".cursor/mcp.json");
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    let entry = &value["mcpServers"]["dormouse"];
    assert_eq!(
        entry["args"],
        json!(["mcp", "--set", "memory.layout=claude"])
    );
    assert_eq!(entry["command"], json!(env!("CARGO_BIN_EXE_dormouse")));
    // A program that has moved is written anew, and the first state is still the one restored.
    machine.stdout("install cursor --program /opt/dormouse");
    assert!(machine.read(".cursor/mcp.json").contains("/opt/dormouse"));
    machine.stdout("uninstall cursor");
    assert_eq!(tree(&machine), []);
}

/// A stand-in for Claude Code's program that does this.
fn claude(machine: &Machine, script: &str) -> SearchPath {
    machine.write("bin/claude", &format!("#!/bin/sh\n{script}\n"));
    let program = machine.home().join("bin/claude");
    let runs = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(&program, runs).unwrap();
    SearchPath(format!(
        "{}:/usr/bin:/bin",
        machine.home().join("bin").display()
    ))
}

/// Search path of a machine with such a program.
struct SearchPath(String);

#[test]
fn a_command_of_the_client_that_fails_leaves_nothing_behind() {
    let settings = "{\n   \"theme\" : \"dark\"\n}";
    let machine = Machine::new(&[(".claude/settings.json", settings)]);
    let path = claude(
        &machine,
        "[ \"$2\" = marketplace ] && exit 0\n[ \"$2\" = uninstall ] && exit 0\necho 'no such plugin' >&2\nexit 1",
    );
    let before = tree(&machine);
    let mut command = machine.command("install claude-code");
    let run = machine.ran(command.env("PATH", &path.0));
    assert_eq!(run.code, 1, "{}", run.stderr);
    assert!(run.stderr.contains("no such plugin"), "{}", run.stderr);
    assert_eq!(tree(&machine), before);
    let left = RealFiles.metadata(&machine.home().join(".dormouse/clients"));
    assert!(left.is_err(), "receipt and plugin are gone");
}

#[test]
fn without_the_program_of_claude_code_nothing_is_begun() {
    let machine = Machine::new(&[(".claude/settings.json", "{}")]);
    let run = machine.run("install claude-code");
    assert_eq!(run.code, 3);
    assert!(
        run.stderr.contains("`claude` is not in the search path"),
        "{}",
        run.stderr
    );
}

#[test]
fn a_status_line_of_the_user_stays() {
    let settings = "{\"statusLine\": {\"type\": \"command\", \"command\": \"mine\"}}";
    let machine = Machine::new(&[(".claude/settings.json", settings)]);
    let path = claude(&machine, "exit 0");
    let mut command = machine.command("install claude-code --instead");
    let run = machine.ran(command.env("PATH", &path.0));
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stdout.contains("status line already"), "{}", run.stdout);
    let text = machine.read(".claude/settings.json");
    assert!(text.contains("\"mine\"") && text.contains("CLAUDE_CODE_DISABLE_AUTO_MEMORY"));
    let plugin = machine.read(".dormouse/clients/claude-code/dormouse/hooks/hooks.json");
    assert!(
        plugin.contains("hook user-prompt-submit --set 'memory=true'"),
        "{plugin}"
    );
    let mut command = machine.command("uninstall claude-code");
    machine.ran(command.env("PATH", &path.0));
    assert_eq!(machine.read(".claude/settings.json"), settings);
}

#[test]
fn the_list_names_what_is_there() {
    let machine = Machine::new(&[(".cursor/x", "")]);
    machine.stdout("install cursor");
    let list = machine.json("--json install");
    let of = |name: &str| {
        let all = list["clients"].as_array().unwrap().iter();
        all.clone()
            .find(|state| state["client"] == name)
            .unwrap()
            .clone()
    };
    assert_eq!(of("cursor")["installed"], true);
    assert_eq!(of("codex")["found"], false);
    let run = machine.run("install emacs");
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("claude-code, codex"), "{}", run.stderr);
}
