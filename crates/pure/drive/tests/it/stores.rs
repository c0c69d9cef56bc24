//! Stores behind one trait: in memory, in files, and one that fails.

use dormouse_core::id::SessionId;
use dormouse_core::record::{Batch, LineContext, Record};
use dormouse_drive::{LogStart, Recorded, StoreFailure};
use dormouse_store::{FileLog, MemoryLog, SessionLog};
use dormouse_system::{MemorySystem, Survives};
use std::fmt;

/// Path of the log on the in-memory disk.
const LOG: &str = "/home/dormouse/projects/p/s.jsonl";

/// Log that outlives its driver.
pub(crate) trait Store: fmt::Debug {
    /// Appends a batch atomically.
    fn append(&mut self, batch: &Batch) -> Result<(), StoreFailure>;

    /// Every record that was confirmed, or written before a kill.
    fn records(&self) -> Vec<Record>;

    /// State of the log for a driver that opens it.
    fn start(&self) -> LogStart;

    /// Simulates the end of the process that wrote the log.
    fn killed(&mut self) {}

    /// True if an append ends only after all other effects.
    fn is_late(&self) -> bool {
        false
    }
}

fn appended(log: &mut dyn SessionLog, batch: &Batch) -> Result<(), StoreFailure> {
    log.append_batch(batch)
        .map_err(|error| StoreFailure::Conflict(error.to_string()))
}

fn start(log: &dyn SessionLog) -> LogStart {
    let Some(head) = log.head() else {
        return LogStart::default();
    };
    let resumed = log.resume().unwrap();
    assert!(resumed.issues.is_empty(), "{:?}", resumed.issues);
    LogStart {
        head: Some((head.id.clone(), head.seq)),
        len: log.len(),
        since_carrier: log.bytes_since_checkpoint(),
        recorded: Recorded {
            carrier: resumed.carrier,
            kept: resumed.kept,
            tail: resumed.tail,
            prefix: None,
        },
    }
}

/// Log in memory that confirms at once.
#[derive(Debug)]
pub(crate) struct InMemory(MemoryLog);

impl InMemory {
    pub(crate) fn new() -> Self {
        Self(MemoryLog::new(SessionId::new("s")))
    }
}

impl Store for InMemory {
    fn append(&mut self, batch: &Batch) -> Result<(), StoreFailure> {
        appended(&mut self.0, batch)
    }

    fn records(&self) -> Vec<Record> {
        self.0.records().to_vec()
    }

    fn start(&self) -> LogStart {
        start(&self.0)
    }
}

/// Log in memory that confirms after all other effects.
#[derive(Debug)]
pub(crate) struct Late(pub(crate) InMemory);

impl Store for Late {
    fn append(&mut self, batch: &Batch) -> Result<(), StoreFailure> {
        self.0.append(batch)
    }

    fn records(&self) -> Vec<Record> {
        self.0.records()
    }

    fn start(&self) -> LogStart {
        self.0.start()
    }

    fn is_late(&self) -> bool {
        true
    }
}

/// Log in a file of the in-memory disk.
#[derive(Debug)]
pub(crate) struct InFiles {
    machine: MemorySystem,
    /// None while the process that held it is being replaced.
    log: Option<FileLog>,
}

impl InFiles {
    pub(crate) fn new() -> Self {
        let mut store = Self {
            machine: MemorySystem::new(),
            log: None,
        };
        store.open();
        store
    }

    fn open(&mut self) {
        let (system, session) = (self.machine.system(), SessionId::new("s"));
        let log = FileLog::open(&system, LOG.as_ref(), LineContext::default(), session);
        self.log = Some(log.unwrap());
    }

    fn log(&self) -> &FileLog {
        self.log.as_ref().unwrap()
    }
}

impl Store for InFiles {
    fn append(&mut self, batch: &Batch) -> Result<(), StoreFailure> {
        appended(self.log.as_mut().unwrap(), batch)
    }

    fn records(&self) -> Vec<Record> {
        self.log().read().unwrap().records
    }

    fn start(&self) -> LogStart {
        start(self.log())
    }

    fn killed(&mut self) {
        self.log = None;
        self.machine.files.crash_with(Survives::Written);
        self.open();
    }
}

/// Log in memory that rejects everything from one append on.
#[derive(Debug)]
pub(crate) struct Failing {
    log: InMemory,
    /// Number of appends that still succeed.
    left: usize,
}

impl Failing {
    pub(crate) fn after(appends: usize) -> Self {
        Self {
            log: InMemory::new(),
            left: appends,
        }
    }
}

impl Store for Failing {
    fn append(&mut self, batch: &Batch) -> Result<(), StoreFailure> {
        let Some(left) = self.left.checked_sub(1) else {
            return Err(StoreFailure::Failed("the disk is full".to_owned()));
        };
        self.left = left;
        self.log.append(batch)
    }

    fn records(&self) -> Vec<Record> {
        self.log.records()
    }

    fn start(&self) -> LogStart {
        self.log.start()
    }

    fn killed(&mut self) {
        self.left = usize::MAX;
    }
}
