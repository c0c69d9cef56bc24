//! Layers, as they lie on a machine in memory.

use dormouse_config::{ConfigIssue, Loaded, Loader, LoaderError, SourceState};
use dormouse_core::settings::{Trust, keys};
use dormouse_system::{Fault, MemorySystem, Operation};
use pretty_assertions::assert_eq;
use std::error::Error as _;
use std::path::Path;

const MANAGED: &str = "/etc/dormouse/settings.toml";
const USER: &str = "/home/dormouse/.dormouse/settings.toml";
const PROJECT: &str = "/project/.dormouse/settings.toml";
const LOCAL: &str = "/project/.dormouse/settings.local.toml";
const TRUST: &str = "/home/dormouse/.dormouse/trust.toml";
const MODELS: &str = "/home/dormouse/.dormouse/models.toml";

fn machine(files: &[(&str, &str)]) -> MemorySystem {
    let machine = MemorySystem::new();
    for (path, text) in files {
        machine.files.put(path, text);
    }
    machine
}

fn loader(machine: &MemorySystem, flags: &[&str]) -> Result<Loader, LoaderError> {
    let flags = flags.iter().map(|flag| (*flag).to_owned()).collect();
    Loader::new(&machine.system(), MANAGED, flags)
}

fn load(machine: &MemorySystem, flags: &[&str]) -> Loaded {
    loader(machine, flags).unwrap().load()
}

fn shown(loaded: &Loaded, key: &str) -> String {
    let entry = loaded.settings.entry(key).unwrap();
    format!("{} from {}", entry.shown(), entry.origin)
}

fn issues(loaded: &Loaded) -> Vec<String> {
    loaded.issues.iter().map(ToString::to_string).collect()
}

#[test]
fn later_layers_win() {
    let machine = machine(&[]);
    let mut expected = Vec::new();
    let mut found = Vec::new();
    let mut see = |flags: &[&str], text: &str| {
        found.push(shown(&load(&machine, flags), "model"));
        expected.push(text.to_owned());
    };
    see(&[], "not set from built-in default");
    for (name, path) in [("m", MANAGED), ("u", USER), ("p", PROJECT), ("l", LOCAL)] {
        machine.files.put(path, format!("model = \"{name}\""));
        see(&[], &format!("\"{name}\" from {path}:1"));
    }
    machine.env.set("DORMOUSE_MODEL", "e");
    see(&[], "\"e\" from environment variable DORMOUSE_MODEL");
    see(&["model=f"], "\"f\" from command-line flag");
    assert_eq!(found, expected);
}

#[test]
fn the_managed_file_locks() {
    let machine = machine(&[
        (MANAGED, "locked = [\"model\"]\nmodel = \"m\""),
        (USER, "model = \"u\""),
    ]);
    let loaded = load(&machine, &["model=f"]);
    assert_eq!(shown(&loaded, "model"), format!("\"m\" from {MANAGED}:2"));
    assert_eq!(loaded.settings.entry("model").unwrap().ignored.len(), 2);
}

#[test]
fn a_project_gains_by_trust() {
    let machine = machine(&[(PROJECT, "anthropic.base_url = \"http://p\"")]);
    let loaded = load(&machine, &[]);
    assert_eq!(loaded.trust, Trust::Untrusted);
    assert_eq!(loaded.settings.get(keys::ANTHROPIC_BASE_URL), None);

    machine.files.put(TRUST, "trusted = [\"/project\"]");
    let loaded = load(&machine, &[]);
    assert_eq!(loaded.trust, Trust::Trusted);
    let url = loaded.settings.get(keys::ANTHROPIC_BASE_URL);
    assert_eq!(url.as_deref(), Some("http://p"));

    for list in ["trusted = [\"/\"]", "trusted = [\"/project/sub\"]"] {
        machine.files.put(TRUST, list);
        assert_eq!(load(&machine, &[]).trust, Trust::Untrusted, "{list}");
    }
}

#[test]
fn home_is_said_by_flag_environment_or_the_managed_file() {
    let machine = machine(&[]);
    let home = |flags: &[&str]| loader(&machine, flags).unwrap().places().home.clone();
    assert_eq!(home(&[]), Path::new("/home/dormouse/.dormouse"));
    machine.files.put(MANAGED, "home = \"/srv/d\"");
    assert_eq!(home(&[]), Path::new("/srv/d"));
    machine.env.set("DORMOUSE_HOME", "~/d");
    assert_eq!(home(&[]), Path::new("/home/dormouse/d"));
    assert_eq!(home(&["home=here"]), Path::new("/project/here"));
    machine
        .files
        .put(MANAGED, "locked = [\"home\"]\nhome = \"/srv/d\"");
    assert_eq!(home(&["home=here"]), Path::new("/srv/d"));
}

#[test]
fn nothing_to_stand_on_is_an_error() {
    let machine = machine(&[]);
    let fail = |flags: &[&str]| loader(&machine, flags).unwrap_err().to_string();
    assert_eq!(
        fail(&["modle=x"]),
        "command-line flag: unknown setting `modle`; did you mean `model`?"
    );
    assert_eq!(fail(&["model"]), "`model` is not of the form key=value");
    machine.env.set_home(None);
    assert_eq!(fail(&[]), "there is no home directory");
    assert!(loader(&machine, &["home=/d"]).is_ok());
    machine.env.set_current_dir(None);
    assert_eq!(
        fail(&["home=/d"]),
        "failed to determine the current directory"
    );
}

#[test]
fn what_cannot_be_used_is_said_and_the_rest_counts() {
    let machine = machine(&[
        (USER, "model = \"u\"\nsmall_model = 7"),
        (PROJECT, "model = "),
        (MODELS, "version = 99"),
        (TRUST, "trusted = 1"),
    ]);
    machine.files.put(LOCAL, [0xff, 0xfe]);
    let loaded = load(&machine, &[]);
    assert_eq!(shown(&loaded, "model"), format!("\"u\" from {USER}:1"));
    assert_eq!(
        issues(&loaded),
        [
            format!("{USER}:2: `small_model` must be a text, not `7`"),
            format!(
                "{PROJECT}:1:9: string values must be quoted, expected literal string; the whole file is ignored"
            ),
            format!("the file `{LOCAL}` is not text and is left out"),
            "the list of trusted folders is left out".to_owned(),
            format!("the model file `{MODELS}` is left out"),
        ]
    );
    let states: Vec<_> = loaded
        .sources
        .iter()
        .map(|source| (source.name.as_str(), source.state))
        .collect();
    assert_eq!(
        states,
        [
            ("managed", SourceState::Missing),
            ("user", SourceState::Read),
            ("project", SourceState::Unusable),
            ("project local", SourceState::Unusable),
            ("trust", SourceState::Unusable),
            ("models", SourceState::Unusable),
        ]
    );
}

#[test]
fn an_unreadable_file_is_left_out() {
    let machine = machine(&[(USER, "model = \"u\""), (PROJECT, "small_model = \"p\"")]);
    let loader = loader(&machine, &[]).unwrap();
    machine.files.inject(
        Fault::fail(std::io::ErrorKind::PermissionDenied)
            .on(Operation::Read)
            .at(USER),
    );
    let loaded = loader.load();
    assert_eq!(machine.files.waiting_faults(), []);
    assert_eq!(
        shown(&loaded, "small_model"),
        format!("\"p\" from {PROJECT}:1")
    );
    assert_eq!(shown(&loaded, "model"), "not set from built-in default");
    let [issue] = loaded.issues.as_slice() else {
        panic!("{:?}", loaded.issues)
    };
    assert_eq!(
        issue.to_string(),
        format!("the settings file `{USER}` is left out")
    );
    assert_eq!(
        issue.source().unwrap().to_string(),
        format!("failed to read `{USER}`")
    );
}

#[cfg(unix)]
#[test]
fn a_variable_that_is_no_text_is_said() {
    use std::os::unix::ffi::OsStringExt as _;
    let machine = machine(&[]);
    machine
        .env
        .set("DORMOUSE_HOME", std::ffi::OsString::from_vec(vec![0xff]));
    let issue = ConfigIssue::NotUnicode {
        name: "DORMOUSE_HOME",
    };
    assert_eq!(load(&machine, &[]).issues, [issue]);
}

#[test]
fn models_come_from_the_file_in_force() {
    const WINDOW: &str = "[models.mine]\nwindow = 50_000\n";
    let machine = machine(&[
        (MODELS, WINDOW),
        ("/project/m.toml", &WINDOW.replace('5', "6")),
    ]);
    let window = |loaded: &Loaded| loaded.models.lookup("mine").info.window.get();
    assert_eq!(window(&load(&machine, &[])), 50_000);
    assert_eq!(window(&load(&machine, &["models_file=m.toml"])), 60_000);
    machine.files.put(USER, "models_file = \"m.toml\"");
    let missing = load(&machine, &[]);
    assert_eq!(
        issues(&missing),
        ["there is no model file `/home/dormouse/.dormouse/m.toml`"]
    );
    assert!(!missing.models.lookup("mine").is_known());
}

#[test]
fn what_breaks_later_stays_as_it_was() {
    let machine = machine(&[
        (MANAGED, "locked = [\"microcompact.api\"]"),
        (USER, "compact = false\nmodel = \"u\""),
        (PROJECT, "anthropic.base_url = \"http://p\""),
        (TRUST, "trusted = [\"/project\"]"),
        (MODELS, "[models.mine]\nwindow = 50_000\n"),
    ]);
    let loader = loader(&machine, &[]).unwrap();
    let first = loader.load();
    assert_eq!(first.issues, []);

    machine.files.put(MANAGED, "locked = 5");
    machine
        .files
        .put(USER, "compact = \"maybe\"\nmodel = \"v\"");
    machine.files.put(PROJECT, "anthropic.base_url");
    machine.files.put(TRUST, "trusted");
    machine
        .files
        .put(MODELS, "[models.mine]\nwindow = \"wide\"\n");
    let second = loader.reload(&first);
    assert_eq!(second.issues.len(), 5);
    assert!(
        !second.settings.get(keys::COMPACT),
        "a wrong value leaves the good one"
    );
    assert_eq!(second.settings.get(keys::MODEL).as_deref(), Some("v"));
    assert_eq!(second.trust, Trust::Trusted);
    assert_eq!(
        second.settings.get(keys::ANTHROPIC_BASE_URL).as_deref(),
        Some("http://p")
    );
    assert_eq!(second.models, first.models);

    machine.files.put(USER, "microcompact.api = true");
    let third = loader.reload(&second);
    assert!(
        !third.settings.get(keys::MICROCOMPACT_API),
        "the lock still holds"
    );
    assert!(
        third.settings.get(keys::COMPACT),
        "a value taken out is gone"
    );
}
