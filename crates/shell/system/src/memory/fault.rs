//! Faults that a test can inject into a disk.

use crate::error::Operation;
use std::io;
use std::path::{Path, PathBuf};

/// One fault, striking once, at a chosen place.
///
/// ```
/// use dormouse_system::{Fault, MemorySystem, Operation};
/// use std::io::ErrorKind;
///
/// let memory = MemorySystem::new();
/// // The second write into the session's log finds the disk full.
/// memory.files.inject(
///     Fault::fail(ErrorKind::StorageFull).on(Operation::Write).at("/s.jsonl").nth(2),
/// );
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    effect: Effect,
    operation: Option<Operation>,
    path: Option<PathBuf>,
    /// Matching operations that still go well.
    spared: u64,
    lasting: bool,
    struck: bool,
}

/// Effect of a fault on the operation it strikes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    /// It fails and changes nothing.
    Fail(io::ErrorKind),
    /// It writes this many bytes and says so.
    Short(usize),
    /// It writes this many bytes, if it writes, and the machine goes down.
    GoDown(usize),
}

impl Fault {
    /// The operation fails with this kind of error and changes nothing.
    pub fn fail(kind: io::ErrorKind) -> Self {
        Self::new(Effect::Fail(kind), None)
    }

    /// A write call takes only this many bytes.
    pub fn short_write(bytes: usize) -> Self {
        Self::new(Effect::Short(bytes), Some(Operation::Write))
    }

    /// The machine goes down in the middle of a write call, after this many bytes of it.
    /// [`Survives`] decides whether they are on disk then.
    pub fn torn_write(bytes: usize) -> Self {
        Self::new(Effect::GoDown(bytes), Some(Operation::Write))
    }

    /// The machine goes down before the operation does anything.
    pub fn go_down() -> Self {
        Self::new(Effect::GoDown(0), None)
    }

    /// Strikes this operation only. Without it, any.
    #[must_use]
    pub fn on(mut self, operation: Operation) -> Self {
        self.operation = Some(operation);
        self
    }

    /// Strikes this path and what lies below it only. Without it, everywhere.
    #[must_use]
    pub fn at(mut self, path: impl AsRef<Path>) -> Self {
        self.path = Some(super::tree::normal(path.as_ref()));
        self
    }

    /// Strikes the n-th matching operation, counted from one, instead of the first.
    #[must_use]
    pub fn nth(mut self, n: u64) -> Self {
        self.spared = n.saturating_sub(1);
        self
    }

    /// From then on strikes every time.
    #[must_use]
    pub fn lasting(mut self) -> Self {
        self.lasting = true;
        self
    }

    fn new(effect: Effect, operation: Option<Operation>) -> Self {
        Self {
            effect,
            operation,
            path: None,
            spared: 0,
            lasting: false,
            struck: false,
        }
    }

    fn concerns(&self, operation: Operation, path: &Path) -> bool {
        self.operation.is_none_or(|wanted| wanted == operation)
            && self
                .path
                .as_ref()
                .is_none_or(|wanted| path.starts_with(wanted))
    }
}

/// The faults still to come.
#[derive(Debug, Default)]
pub(super) struct Script(Vec<Fault>);

impl Script {
    pub(super) fn add(&mut self, fault: Fault) {
        self.0.push(fault);
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// Faults that have not struck yet.
    pub(super) fn waiting(&self) -> Vec<Fault> {
        self.0
            .iter()
            .filter(|fault| !fault.struck)
            .cloned()
            .collect()
    }

    /// Effect on this operation. Every matching fault counts it; the first due one strikes, and
    /// others that are due as well wait for the next.
    pub(super) fn strike(&mut self, operation: Operation, path: &Path) -> Option<Effect> {
        let mut struck = None;
        for (index, fault) in self.0.iter_mut().enumerate() {
            if !fault.concerns(operation, path) {
                continue;
            }
            // Every matching fault counts the operation, also when another one strikes.
            if fault.spared > 0 {
                fault.spared -= 1;
            } else if struck.is_none() {
                struck = Some(index);
            }
        }
        let index = struck?;
        let fault = self.0.get_mut(index)?;
        fault.struck = true;
        let effect = fault.effect;
        if !fault.lasting {
            self.0.remove(index);
        }
        Some(effect)
    }
}

/// Unsynced bytes and entries that a crash leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Survives {
    /// The process was killed: the operating system still has everything it was given.
    Written,
    /// The power went: only synced bytes and entries are there.
    Synced,
    /// The power went, but the disk had already taken up to this many bytes more of each file.
    SyncedAnd(usize),
}

/// An operation that was attempted, for tests that care about order or number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Performed {
    /// The step that was attempted.
    pub operation: Operation,
    /// The path on the disk, not the caller's relative one.
    pub path: PathBuf,
}
