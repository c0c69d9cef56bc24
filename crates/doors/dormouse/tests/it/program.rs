//! Running the program on a machine of its own.

use dormouse_system::{Access, Files as _, RealFiles};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// A user's home with a project in it. Nothing of the real environment gets in.
pub(crate) struct Machine {
    directory: TempDir,
    variables: Vec<(&'static str, String)>,
}

/// Output and exit code of a run. Paths of the machine are shown as `~`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Machine {
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        let machine = Self {
            directory: TempDir::new().unwrap(),
            variables: Vec::new(),
        };
        machine.write("project/.git/HEAD", "");
        for (name, text) in files {
            machine.write(name, text);
        }
        machine
    }

    pub(crate) fn with_variable(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.variables.push((name, value.into()));
        self
    }

    /// The real path, so that it reads the same wherever it is shown.
    pub(crate) fn home(&self) -> PathBuf {
        RealFiles.real_path(self.directory.path()).unwrap()
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.home().join(name);
        RealFiles
            .create_dir_all(path.parent().unwrap(), Access::Private)
            .unwrap();
        RealFiles
            .replace(&path, text.as_bytes(), Access::Private)
            .unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> String {
        let bytes = RealFiles.read(&self.home().join(name), u64::MAX).unwrap();
        String::from_utf8(bytes.to_vec()).unwrap()
    }

    pub(crate) fn command(&self, line: &str) -> Command {
        self.command_of(&line.split_whitespace().collect::<Vec<_>>())
    }

    /// The same for arguments that may have blanks in them.
    pub(crate) fn command_of(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_dormouse"));
        command
            .args(arguments)
            .env_clear()
            .env("HOME", self.home())
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .current_dir(self.home().join("project"))
            .stdin(Stdio::null());
        command
    }

    pub(crate) fn run(&self, line: &str) -> Run {
        self.ran(&mut self.command(line))
    }

    /// The same for arguments that may have blanks in them.
    pub(crate) fn run_of(&self, arguments: &[&str]) -> Run {
        self.ran(&mut self.command_of(arguments))
    }

    /// Runs a command and collects its output.
    pub(crate) fn ran(&self, command: &mut Command) -> Run {
        let output = command.output().unwrap();
        let home = self.home();
        let text = |bytes: Vec<u8>| {
            let text = String::from_utf8(bytes).unwrap();
            text.replace(home.to_str().unwrap(), "~")
        };
        Run {
            code: output.status.code().unwrap(),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    }

    /// The result of a run that must succeed and have nothing else to say.
    pub(crate) fn stdout(&self, line: &str) -> String {
        let run = self.run(line);
        assert_eq!((run.code, run.stderr.as_str()), (0, ""), "{line}");
        run.stdout
    }

    /// The same, read as JSON.
    pub(crate) fn json(&self, line: &str) -> serde_json::Value {
        serde_json::from_str(&self.stdout(line)).unwrap()
    }
}
