//! A sandbox that runs nothing and answers as told.

use super::world::locked;
use crate::sandbox::{Confinement, End, Finished, Program, Sandbox, SandboxError, Task};
use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

/// Answers by script, and remembers its tasks. Clones share both.
#[derive(Clone, Debug, Default)]
pub struct ScriptedSandbox {
    inner: Arc<Mutex<Script>>,
}

#[derive(Debug, Default)]
struct Script {
    answers: BTreeMap<String, Finished>,
    ran: Vec<Task>,
    readable: Vec<Vec<PathBuf>>,
}

impl ScriptedSandbox {
    /// From now on this line (or program without arguments) ends like this.
    pub fn answer(&self, line: impl Into<String>, finished: Finished) {
        locked(&self.inner).answers.insert(line.into(), finished);
    }

    /// From now on this line prints this text and ends well, fully confined.
    pub fn print(&self, line: impl Into<String>, text: impl Into<String>) {
        let finished = Finished {
            end: End::Exit(0),
            stdout: text.into().into(),
            stderr: "".into(),
            dropped: 0,
            confinement: Confinement::Full,
        };
        self.answer(line, finished);
    }

    /// Every task so far, in order.
    pub fn ran(&self) -> Vec<Task> {
        locked(&self.inner).ran.clone()
    }

    /// Paths that each task run below some directories was allowed to read, in order.
    pub fn readable(&self) -> Vec<Vec<PathBuf>> {
        locked(&self.inner).readable.clone()
    }
}

impl Sandbox for ScriptedSandbox {
    fn run(&self, task: &Task) -> Result<Finished, SandboxError> {
        let mut script = locked(&self.inner);
        // Recorded even if there is no answer: the test may expect the failure.
        script.ran.push(task.clone());
        let program = match &task.program {
            Program::Line(line) => line.clone(),
            Program::Direct { program, .. } => program.to_string_lossy().into_owned(),
        };
        match script.answers.get(&program) {
            Some(finished) => Ok(finished.clone()),
            // An unknown line fails like a missing program, so that a test notices it.
            None => Err(SandboxError::Start {
                program,
                directory: task.directory.clone(),
                source: io::ErrorKind::NotFound.into(),
            }),
        }
    }

    fn run_below(&self, task: &Task, readable: &[PathBuf]) -> Result<Finished, SandboxError> {
        locked(&self.inner).readable.push(readable.to_vec());
        let finished = self.run(task)?;
        match finished.confinement {
            Confinement::None(why) => Err(SandboxError::Unconfined { why }),
            Confinement::Full | Confinement::Partial(_) => Ok(finished),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn it_answers_as_told_and_knows_nothing_else() {
        let sandbox = ScriptedSandbox::default();
        sandbox.print("ls", "a\n");
        let task = |line: &str| Task {
            program: Program::Line(line.to_owned()),
            directory: "/".into(),
            time_limit: Duration::ZERO,
            output_limit: 0,
        };
        assert_eq!(sandbox.run(&task("ls")).unwrap().stdout, "a\n");
        let error = sandbox.run(&task("rm")).unwrap_err();
        assert_eq!(error.to_string(), "failed to start `rm` in `/`");
        assert_eq!(sandbox.ran(), [task("ls"), task("rm")]);
        let below = ["/a".into()];
        assert_eq!(
            sandbox.run_below(&task("ls"), &below).unwrap().stdout,
            "a\n"
        );
        assert_eq!(
            (sandbox.readable(), sandbox.ran().len()),
            (vec![below.to_vec()], 3)
        );
    }
}
