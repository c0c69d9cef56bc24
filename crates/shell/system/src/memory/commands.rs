//! Command lines that run nothing and answer as told.

use super::files::MemoryFiles;
use super::world::locked;
use crate::commands::{Commands, Order, Output, Piped, PipedOrder, Running};
use crate::files::{Access, Files as _};
use crate::sandbox::{Confinement, End, SandboxError};
use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Answers by script, and remembers its orders. Clones share both.
#[derive(Clone, Debug)]
pub struct ScriptedCommands {
    files: MemoryFiles,
    inner: Arc<Mutex<Script>>,
}

#[derive(Debug, Default)]
struct Script {
    answers: BTreeMap<String, (String, Option<End>)>,
    ran: Vec<Order>,
    detached: Vec<Vec<String>>,
}

impl ScriptedCommands {
    pub(super) fn new(files: MemoryFiles) -> Self {
        Self {
            files,
            inner: Arc::default(),
        }
    }

    /// From now on this line prints this text and ends so; `None` runs until it is stopped.
    pub fn answer(&self, line: impl Into<String>, text: impl Into<String>, end: Option<End>) {
        let answer = (text.into(), end);
        locked(&self.inner).answers.insert(line.into(), answer);
    }

    /// Every order so far, in order.
    pub fn ran(&self) -> Vec<Order> {
        locked(&self.inner).ran.clone()
    }

    /// Arguments of every process that was to go on by itself, in order.
    pub fn detached(&self) -> Vec<Vec<String>> {
        locked(&self.inner).detached.clone()
    }
}

impl Commands for ScriptedCommands {
    fn start(&self, order: &Order) -> Result<Arc<dyn Running>, SandboxError> {
        let answer = {
            let mut script = locked(&self.inner);
            script.ran.push(order.clone());
            script.answers.get(&order.line).cloned()
        };
        let failed = |source: io::Error| SandboxError::Start {
            program: order.line.clone(),
            directory: order.directory.clone(),
            source,
        };
        // An unknown line fails like a missing program, so that a test notices it.
        let (text, end) = answer.ok_or_else(|| failed(io::ErrorKind::NotFound.into()))?;
        let mut file = self
            .files
            .create_new(&order.output, Access::Private)
            .map_err(|error| failed(io::Error::other(error)))?;
        file.append(text.as_bytes())
            .map_err(|error| failed(io::Error::other(error)))?;
        Ok(Arc::new(ScriptedRunning {
            end: Mutex::new(end),
            kept: text.len() as u64,
            confined: order.confined_to.is_some(),
        }))
    }

    /// Streams of a process cannot be made without one.
    fn converse(&self, order: &PipedOrder) -> Result<Piped, SandboxError> {
        Err(SandboxError::Start {
            program: order.program.clone(),
            directory: order.directory.clone(),
            source: io::ErrorKind::NotFound.into(),
        })
    }

    fn capture(
        &self,
        line: &str,
        directory: &Path,
        _: Duration,
    ) -> Result<Option<(End, Vec<u8>)>, SandboxError> {
        let answer = locked(&self.inner).answers.get(line).cloned();
        let (text, end) = answer.ok_or_else(|| SandboxError::Start {
            program: line.to_owned(),
            directory: directory.to_owned(),
            source: io::ErrorKind::NotFound.into(),
        })?;
        Ok(end.map(|end| (end, text.into_bytes())))
    }

    /// Noted and not started.
    fn detach(&self, arguments: &[String], _: &Path) -> Result<(), SandboxError> {
        locked(&self.inner).detached.push(arguments.to_vec());
        Ok(())
    }

    fn sweep(&self, _: &str) -> usize {
        0
    }

    fn confinement(&self) -> Confinement {
        Confinement::Full
    }
}

#[derive(Debug)]
struct ScriptedRunning {
    end: Mutex<Option<End>>,
    kept: u64,
    confined: bool,
}

impl Running for ScriptedRunning {
    fn wait(&self, _: Duration) -> Option<End> {
        *locked(&self.end)
    }

    fn stop(&self) {
        locked(&self.end).get_or_insert(End::Signal(9));
    }

    fn output(&self) -> Output {
        Output {
            kept: self.kept,
            dropped: 0,
        }
    }

    fn confinement(&self) -> Confinement {
        if self.confined {
            Confinement::Full
        } else {
            Confinement::None("the order asks for none".to_owned())
        }
    }
}
