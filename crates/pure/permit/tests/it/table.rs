//! Verdicts on calls, as a table anyone can read: `cases.toml`.

use dormouse_permit::{
    Action, Behaviour, Call, Ground, Mode, Origin, Rule, RuleError, Rules, Ruling, judge,
};
use proptest::prelude::*;
use std::path::{Path, PathBuf};

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    group: Vec<Group>,
}

/// Cases under one set of rules.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Group {
    name: String,
    #[serde(default)]
    allow: Vec<String>,
    #[serde(default)]
    ask: Vec<String>,
    #[serde(default)]
    deny: Vec<String>,
    #[serde(default)]
    sandbox: bool,
    /// Mode, call and verdict: `["ask", "Bash: git status", "run"]`.
    cases: Vec<[String; 3]>,
}

/// One call, owned, for the table and the property tests.
struct Owned {
    tool: String,
    text: String,
    real: Option<PathBuf>,
}

impl Owned {
    /// `Tool: text`; behind ` -> ` the path that links lead to.
    fn read(line: &str) -> Self {
        let (tool, text) = line.split_once(": ").unwrap_or((line, ""));
        let (text, real) = match text.split_once(" -> ") {
            Some((text, real)) => (text, Some(PathBuf::from(real))),
            None => (text, None),
        };
        Self {
            tool: tool.to_owned(),
            text: text.to_owned(),
            real,
        }
    }

    fn call(&self) -> Call<'_> {
        let path = || Path::new("/home/ada/app").join(&self.text);
        let action = match self.tool.as_str() {
            "Bash" => Action::Shell {
                line: self.text.trim_start_matches("outside "),
                outside: self.text.starts_with("outside "),
            },
            "Read" | "Grep" | "Glob" => Action::Read {
                path: path(),
                real: self.real.clone(),
            },
            "Edit" | "Write" => Action::Edit {
                path: path(),
                real: self.real.clone(),
            },
            "WebFetch" => Action::Fetch { host: &self.text },
            "TodoWrite" | "SearchMemory" => Action::Harmless,
            _ => Action::Other,
        };
        Call::new(&self.tool, action)
    }
}

fn rules(group: &Group) -> Rules {
    let origin = Origin::new("settings.toml", "/home/ada/app");
    let mut rules = Rules::default();
    for (behaviour, texts) in [
        (Behaviour::Allow, &group.allow),
        (Behaviour::Ask, &group.ask),
        (Behaviour::Deny, &group.deny),
    ] {
        for text in texts {
            rules.add(behaviour, Rule::parse(text, &origin).unwrap());
        }
    }
    rules
}

fn ground() -> Ground {
    Ground {
        trusted: true,
        further: vec!["/srv/shared".into()],
        ..Ground::new("/home/ada/app", Some("/home/ada"))
    }
}

fn word(ruling: &Ruling) -> String {
    match ruling {
        Ruling::Run => "run".to_owned(),
        Ruling::RunConfined => "confined".to_owned(),
        Ruling::Ask { lasting } if lasting.is_empty() => "ask".to_owned(),
        Ruling::Ask { lasting } => format!("ask, offers {}", lasting.join(" ")),
        Ruling::Refuse => "refuse".to_owned(),
    }
}

#[test]
fn every_case_of_the_table() {
    let table: Table = toml::from_str(include_str!("cases.toml")).unwrap();
    let mut count = 0;
    let mut wrong = Vec::new();
    for group in &table.group {
        let rules = rules(group);
        let ground = Ground {
            sandbox: group.sandbox,
            ..ground()
        };
        for [mode, line, expected] in &group.cases {
            let call = Owned::read(line);
            let verdict = judge(&call.call(), &rules, mode.parse().unwrap(), &ground);
            count += 1;
            if word(&verdict.ruling) != *expected {
                wrong.push(format!(
                    "{} [{mode}] {line}: {} instead of {expected} ({})",
                    group.name,
                    word(&verdict.ruling),
                    verdict.because
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count >= 150, "only {count} cases");
}

#[test]
fn texts_that_are_no_rules() {
    let origin = Origin::new("settings.toml", "/");
    for text in [
        "",
        "Bash(",
        "Bash()",
        "Bash (x)",
        "(x)",
        "Read(../x)",
        "Read(a[)",
        "WebFetch(x)",
        "TodoWrite(x)",
    ] {
        assert!(Rule::parse(text, &origin).is_err(), "{text}");
    }
    let error = Rule::parse("TodoWrite(x)", &origin).unwrap_err();
    assert!(matches!(error, RuleError::NoPattern { .. }), "{error}");
}

#[test]
fn a_bare_refusal_hides_the_tool() {
    let origin = Origin::new("settings.toml", "/");
    let mut rules = Rules::default();
    rules.add(Behaviour::Deny, Rule::parse("mcp__web", &origin).unwrap());
    rules.add(Behaviour::Deny, Rule::parse("Bash(rm *)", &origin).unwrap());
    assert!(rules.hides("mcp__web__search") && !rules.hides("mcp__webs__search"));
    assert!(!rules.hides("Bash"));
}

proptest! {
    /// A refused command is refused in every mode, wherever in a line it stands.
    #[test]
    fn a_refusal_cannot_be_joined_away(
        before in "[a-z]{1,6}( [a-z]{1,6})?",
        joint in prop::sample::select(vec![" && ", " || ", "; ", " | ", "\n", " & "]),
        wrap in prop::sample::select(vec!["{}", "sudo {}", "timeout 5 {}", "env A=1 {}", "echo $({})",
            "bash -c '{}'", "/bin/{}", "A=1 {}", "({})", "if true; then {}; fi", "echo \"`{}`\""]),
        mode in prop::sample::select(Mode::ORDER.to_vec()),
    ) {
        let reserved = ["if", "do", "in", "fi", "for", "case", "esac", "then", "else", "done", "time",
            "while", "until", "elif", "select"];
        prop_assume!(before.split(' ').all(|word| !reserved.contains(&word)));
        let origin = Origin::new("settings.toml", "/");
        let mut rules = Rules::default();
        rules.add(Behaviour::Deny, Rule::parse("Bash(rm *)", &origin).unwrap());
        rules.add(Behaviour::Allow, Rule::parse("Bash", &origin).unwrap());
        let line = format!("{before}{joint}{}", wrap.replace("{}", "rm -rf x"));
        let action = Action::Shell { line: &line, outside: false };
        let verdict = judge(&Call::new("Bash", action), &rules, mode, &ground());
        prop_assert_eq!(verdict.ruling, Ruling::Refuse, "{}", line);
    }

    /// Without a rule only reading runs in the mode that asks.
    #[test]
    fn nothing_panics_and_nothing_unknown_runs(line in "\\PC{0,60}") {
        let action = Action::Shell { line: &line, outside: false };
        let verdict = judge(&Call::new("Bash", action), &Rules::default(), Mode::Deny, &ground());
        if verdict.ruling == Ruling::Run {
            prop_assert!(dormouse_guard::shell::classify(&line).is_allowed(), "{}", line);
        }
    }
}
