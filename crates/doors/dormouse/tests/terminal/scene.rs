//! A machine of its own with a scripted provider and a terminal.
#![expect(
    clippy::disallowed_methods,
    reason = "a test makes the files that the program works on"
)]

use dormouse_testkit_terminal::{Pty, Step, lint};
use serde_json::{Value, json};
use std::ffi::{OsStr, OsString};
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;

/// Home of a person, with a project and a provider that answers by a script.
pub(crate) struct Scene {
    folder: TempDir,
    provider: Option<Child>,
    variables: Vec<(String, OsString)>,
}

pub(crate) fn says(text: &str) -> Value {
    json!({ "content": [{ "text": text }] })
}

pub(crate) fn calls(tool: &str, input: &Value) -> Value {
    json!({ "content": [{ "tool": tool, "input": input }] })
}

impl Scene {
    /// A machine without a provider.
    pub(crate) fn bare() -> Self {
        let folder = TempDir::new().unwrap();
        std::fs::create_dir_all(folder.path().join("project/.git")).unwrap();
        std::fs::create_dir_all(folder.path().join("temporary")).unwrap();
        let mut scene = Self {
            folder,
            provider: None,
            variables: Vec::new(),
        };
        scene.write("project/.git/HEAD", "ref: refs/heads/main\n");
        let home = scene.home();
        scene.set("HOME", home.as_os_str());
        scene.set("TMPDIR", home.join("temporary").as_os_str());
        scene.set("PATH", "/usr/local/bin:/usr/bin:/bin");
        scene.set("TERM", "xterm-256color");
        // The emulator cuts rows as xterm does.
        scene.set("XTERM_VERSION", "XTerm(390)");
        scene
    }

    /// A machine whose provider answers by a script, with lines of the simulator's settings.
    pub(crate) fn new(script: &[Value], settings: &str) -> Self {
        let mut scene = Self::bare();
        let lines: Vec<String> = script.iter().map(ToString::to_string).collect();
        scene.write("script.jsonl", &lines.join("\n"));
        scene.write(
            "sim.toml",
            &format!("{settings}\n[answers]\ntool_rounds = 0\n"),
        );
        let home = scene.home();
        let mut provider = Command::new(env!("CARGO_BIN_EXE_dormouse"));
        provider.args(["sim", "--listen", "127.0.0.1:0", "--json", "--config"]);
        provider
            .arg(home.join("sim.toml"))
            .arg("--script")
            .arg(home.join("script.jsonl"));
        provider
            .env_clear()
            .env("HOME", &home)
            .stdin(Stdio::null())
            .stdout(Stdio::piped());
        let mut provider = provider.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(provider.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        let ready: Value = serde_json::from_str(&line).unwrap();
        scene.set("ANTHROPIC_BASE_URL", ready["listening"].as_str().unwrap());
        scene.set("ANTHROPIC_API_KEY", "any");
        scene.set("ANTHROPIC_MODEL", "claude-opus-4-6");
        scene.provider = Some(provider);
        scene
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap()
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        self.write_bytes(name, text.as_bytes());
    }

    pub(crate) fn write_bytes(&self, name: &str, bytes: &[u8]) {
        std::fs::write(self.home().join(name), bytes).unwrap();
    }

    /// The same in a folder that may have to be made.
    pub(crate) fn put(&self, name: &str, text: &str) {
        let folder = self.home().join(name);
        std::fs::create_dir_all(folder.parent().unwrap()).unwrap();
        self.write(name, text);
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.home().join(name)).unwrap()
    }

    /// Names in a folder.
    pub(crate) fn entries(&self, name: &str) -> Vec<String> {
        let entries = std::fs::read_dir(self.home().join(name)).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name());
        names
            .map(|name| name.to_string_lossy().into_owned())
            .collect()
    }

    pub(crate) fn set(&mut self, name: &str, value: impl AsRef<OsStr>) {
        self.variables.retain(|(known, _)| known != name);
        self.variables
            .push((name.to_owned(), value.as_ref().to_owned()));
    }

    /// Starts the program on a terminal of a size.
    pub(crate) fn open(&self, arguments: &[&str], size: (u16, u16)) -> Pty {
        let variables = self
            .variables
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_os_str()));
        let program = PathBuf::from(env!("CARGO_BIN_EXE_dormouse"));
        Pty::start(
            &program,
            arguments,
            variables,
            &self.home().join("project"),
            size,
        )
    }

    /// The screen with paths and figures of this machine and run made equal.
    pub(crate) fn shown(&self, pty: &Pty) -> String {
        pty.screen().replace(self.home().to_str().unwrap(), "~")
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        if let Some(provider) = &mut self.provider {
            provider.kill().unwrap();
            provider.wait().unwrap();
        }
    }
}

/// Leaves the program by its command and checks what it leaves behind: marks that stand once each,
/// and a terminal as it was. The life of the terminal is kept for other emulators.
pub(crate) fn leave(mut pty: Pty, name: &str, once: &[&str]) -> Vec<String> {
    pty.send("/exit\r");
    let (status, mut recording, lines) = pty.ended();
    assert!(status.success(), "{status:?}: {lines:#?}");
    assert_eq!(lint(&recording.bytes(), true), [""; 0], "{name}");
    for mark in once {
        let count = lines.iter().filter(|line| line.contains(mark)).count();
        assert_eq!(count, 1, "{mark:?} of {name}: {lines:#?}");
    }
    // Rows are cut here; a recording with several sizes is for a terminal that cuts them too.
    let sizes = recording
        .steps
        .iter()
        .filter(|step| matches!(step, Step::Size(..)));
    if sizes.count() == 1 {
        recording.once = once.iter().map(|mark| (*mark).to_owned()).collect();
        recording.keep(name);
    }
    lines
}

/// Parts of a screen that differ from run to run or from machine to machine.
const DIFFERS: [(&str, &str); 7] = [
    (r"\$\d+\.\d+", "COST"),
    (r"\d+(\.\d+)?[kM]?/(\d+(\.\d+)?[kM]) \d+%", "USED/$2 N%"),
    (r"compacts in \d+(\.\d+)?[kM]?", "compacts in N"),
    (r"cache \d+%", "cache N%"),
    (r"[0-9a-f]{8}…", "SESSION"),
    (r"\b\d+ (s|min) ago|\bjust now\b", "AGE"),
    (r"\d+ (mo|d|h|y) ago", "AGE"),
];

/// Compares the whole screen with a picture that a person has looked at. `INSTA_UPDATE=always` takes
/// new ones.
pub(crate) fn screen_is(name: &str, scene: &Scene, pty: &Pty) {
    let shown = scene.shown(pty);
    insta::with_settings!({ filters => DIFFERS.to_vec(), prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!(name, shown);
    });
}
