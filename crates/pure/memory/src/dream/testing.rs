//! Helpers that the tests of dreams share.

use super::{CheckLimits, Declared, FileTimes, OfflineFacts, Writing};
use crate::index::{IndexPast, Limits};
use crate::snapshot::{Snapshot, StoredFile};
use crate::trust::{Origin, Speaker};
use dormouse_core::settings::Percent;
use dormouse_core::units::Millis;
use dormouse_guard::paths::SafePath;
use jiff::civil::date;

/// 2026-11-10, a Tuesday: five days before the dreams of the tests.
pub(super) const WRITTEN: Millis = Millis(1_794_312_000_000);

pub(super) fn path(text: &str) -> SafePath {
    SafePath::parse(text).unwrap()
}

pub(super) fn with(files: &[(&str, &str)]) -> Snapshot {
    let mut snapshot = Snapshot::new();
    for (name, text) in files {
        put(&mut snapshot, name, text);
    }
    snapshot
}

pub(super) fn put(snapshot: &mut Snapshot, name: &str, text: &str) {
    let file = StoredFile {
        content: text.to_owned().into(),
        modified: WRITTEN,
    };
    snapshot.insert(path(name), file);
}

pub(super) fn text(snapshot: &Snapshot, name: &str) -> String {
    snapshot.get(&path(name)).unwrap().text().into_owned()
}

pub(super) fn facts() -> OfflineFacts {
    OfflineFacts {
        today: date(2026, 11, 15),
        writing: Writing {
            file_times: FileTimes::Believed,
            ..Writing::default()
        },
        index: Limits {
            lines: 200,
            bytes: 25_000,
        },
        past: IndexPast::default(),
    }
}

pub(super) fn limits() -> CheckLimits {
    let facts = facts();
    CheckLimits {
        index: facts.index,
        loss: Percent::new(25.0).unwrap(),
        today: facts.today,
        writing: facts.writing,
        past: facts.past,
    }
}

pub(super) fn source() -> Origin {
    Origin {
        session: Some("dream".into()),
        message: Some("d1".into()),
        speaker: Speaker::Assistant,
        time: WRITTEN,
    }
}

pub(super) fn declared() -> Declared {
    Declared::from(source())
}
