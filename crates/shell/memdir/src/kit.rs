//! Helpers that the unit tests of this crate share.

use crate::dir::MemoryDir;
use crate::disk::Disk;
use bytes::Bytes;
use dormouse_guard::paths::SafePath;
use dormouse_system::{Access, MemorySystem};

pub(crate) const ROOT: &str = "/home/dormouse/memory";

/// A memory directory on a disk in memory.
pub(crate) struct Kit {
    pub(crate) machine: MemorySystem,
    pub(crate) dir: MemoryDir,
}

impl Kit {
    pub(crate) fn new() -> Self {
        let machine = MemorySystem::new();
        let dir = MemoryDir::open(&machine.system(), ROOT.as_ref(), Access::Private).unwrap();
        dir.disk.create_own_dir(".journal".as_ref()).unwrap();
        Self { machine, dir }
    }

    pub(crate) fn disk(&self) -> &Disk {
        &self.dir.disk
    }

    pub(crate) fn put(&self, path: &str, content: &[u8]) {
        self.machine.files.put(format!("{ROOT}/{path}"), content);
    }

    pub(crate) fn content(&self, path: &str) -> Option<Bytes> {
        self.machine.files.content(format!("{ROOT}/{path}"))
    }
}

pub(crate) fn path(text: &str) -> SafePath {
    SafePath::parse(text).unwrap()
}
