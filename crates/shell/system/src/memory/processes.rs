//! Processes that a test starts and ends.

use super::world::locked;
use crate::processes::{ProcessId, ProcessStart, Processes};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// Number of the process a test runs in: no number that a test would pick by chance.
const OWN: u32 = 4_000;

/// A table of processes in memory. Clones share it.
#[derive(Clone, Debug)]
pub struct MemoryProcesses {
    table: Arc<Mutex<Table>>,
}

#[derive(Debug)]
struct Table {
    own: u32,
    running: BTreeMap<u32, ProcessStart>,
    started: u64,
}

impl MemoryProcesses {
    /// Only this process runs.
    pub fn new() -> Self {
        let processes = Self {
            table: Arc::new(Mutex::new(Table {
                own: OWN,
                running: BTreeMap::new(),
                started: 0,
            })),
        };
        processes.start(OWN);
        processes
    }

    /// Starts a process of this number, in place of the one that had it.
    pub fn start(&self, pid: u32) -> ProcessId {
        let mut table = locked(&self.table);
        // A start of its own for each, so that a reused number is another process.
        table.started += 1;
        let start = ProcessStart::new(format!("memory/{}", table.started));
        table.running.insert(pid, start.clone());
        ProcessId { pid, start }
    }

    /// Ends the process of this number.
    pub fn end(&self, pid: u32) {
        locked(&self.table).running.remove(&pid);
    }

    /// From now on the code under test runs in the process of this number, which must be started:
    /// so one test can play several processes.
    pub fn become_process(&self, pid: u32) {
        locked(&self.table).own = pid;
    }
}

impl Default for MemoryProcesses {
    fn default() -> Self {
        Self::new()
    }
}

impl Processes for MemoryProcesses {
    fn own(&self) -> ProcessId {
        let table = locked(&self.table);
        let start = table.running.get(&table.own).cloned();
        ProcessId {
            pid: table.own,
            start: start.unwrap_or_else(ProcessStart::unknown),
        }
    }

    fn start_of(&self, pid: u32) -> Option<ProcessStart> {
        locked(&self.table).running.get(&pid).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_used_again_is_another_process() {
        let processes = MemoryProcesses::new();
        let first = processes.start(7);
        assert!(processes.is_running(&first));
        let second = processes.start(7);
        assert!(!processes.is_running(&first) && processes.is_running(&second));
        processes.end(7);
        assert!(!processes.is_running(&second));
    }

    #[test]
    fn a_test_can_be_several_processes() {
        let processes = MemoryProcesses::new();
        let one = processes.own();
        let two = processes.start(8);
        processes.become_process(8);
        assert_eq!(processes.own(), two);
        assert!(processes.is_running(&one));
    }

    #[test]
    fn a_start_that_is_not_known_may_be_any() {
        let known = ProcessStart::new("boot/1");
        assert!(known.may_be(&ProcessStart::unknown()) && ProcessStart::unknown().may_be(&known));
        assert!(!known.may_be(&ProcessStart::new("boot/2")));
    }
}
