//! Any sequence of commands, edits by hand, removals and undos: an undo restores exactly what its
//! command changed or refuses, and nothing of a person's is lost.

use crate::kit::{open, path};
use dormouse_core::hash::Hash;
use dormouse_guard::paths::SafePath;
use dormouse_memdir::{MemdirError, MemoryDir};
use dormouse_memory::journal::{JournalEntry, UndoError, newest_command};
use dormouse_memory::snapshot::{INDEX, Snapshot};
use dormouse_memory::transaction::{Author, Transaction, between};
use dormouse_memory::write::{forget, pin, retext, unpin};
use dormouse_system::MemorySystem;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

const ROOT: &str = "/m/memory";

/// One step; names are few, so that steps meet.
#[derive(Clone, Debug)]
enum Step {
    /// A command writes a memory and its line.
    Write(u8),
    /// A command forgets several memories at once.
    Forget(Vec<u8>),
    /// A command moves a memory, and its line follows.
    Pin(u8),
    /// A person saves a file.
    EditByHand(u8),
    /// A person removes a file.
    RemoveByHand(u8),
    /// A person writes a line into the index, at its top or its end.
    LineByHand(bool),
    /// `undo` without an id.
    Undo,
    /// `undo` of any entry of the journal.
    UndoOne(prop::sample::Index),
}

fn step() -> impl Strategy<Value = Step> {
    let name = || 0..4_u8;
    prop_oneof![
        3 => name().prop_map(Step::Write),
        2 => prop::collection::vec(name(), 1..3).prop_map(Step::Forget),
        1 => name().prop_map(Step::Pin),
        2 => name().prop_map(Step::EditByHand),
        1 => name().prop_map(Step::RemoveByHand),
        1 => any::<bool>().prop_map(Step::LineByHand),
        4 => Just(Step::Undo),
        1 => any::<prop::sample::Index>().prop_map(Step::UndoOne),
    ]
}

fn file(name: u8) -> String {
    format!("topic_{name}.md")
}

/// A directory, and the person who writes in it beside Dormouse.
struct World {
    machine: MemorySystem,
    dir: MemoryDir,
    /// Files whose present bytes a person wrote.
    by_hand: BTreeSet<SafePath>,
    /// Lines that a person wrote into the index.
    lines: Vec<String>,
    count: usize,
}

impl World {
    fn new() -> Self {
        let machine = MemorySystem::new();
        let dir = open(&machine.system(), ROOT.as_ref());
        Self {
            machine,
            dir,
            by_hand: BTreeSet::new(),
            lines: Vec::new(),
            count: 0,
        }
    }

    fn text(&mut self) -> String {
        self.count += 1;
        format!(
            "---\nname: N{0}\ndescription: about {0}\n---\nText {0}.\n",
            self.count
        )
    }

    fn put(&mut self, name: &str, text: &str) {
        self.machine.files.put(format!("{ROOT}/{name}"), text);
        self.by_hand.insert(path(name));
    }

    fn command(
        &mut self,
        change: impl Fn(&Snapshot) -> Option<Transaction>,
    ) -> Option<JournalEntry> {
        let none = || Transaction::by(Author::User, "nothing");
        let made = self
            .dir
            .update(|now| Ok::<_, MemdirError>(change(now).unwrap_or_else(none)));
        let entry = made.unwrap();
        for change in entry.iter().flat_map(|entry| &entry.changes) {
            self.by_hand.remove(&change.path);
        }
        entry
    }

    fn step(&mut self, step: &Step) -> Result<(), TestCaseError> {
        let before = self.dir.snapshot().unwrap();
        match step {
            Step::Write(name) => {
                let (text, file) = (self.text(), path(&file(*name)));
                self.command(|now| Some(retext(now, &file, &text, Author::User, "write")));
            }
            Step::Forget(names) => {
                let entries = self.dir.history().unwrap().entries.len();
                let made = self.command(|now| {
                    let mut after = now.clone();
                    for name in names {
                        if let Ok(one) = forget(&after, &path(&file(*name)), Author::User, "") {
                            after = one.applied(&after, dormouse_core::units::Millis(0));
                        }
                    }
                    Some(between(now, &after, Author::User, "forget"))
                });
                let history = self.dir.history().unwrap().entries;
                let own = history[entries..]
                    .iter()
                    .filter(|e| e.author == Author::User);
                prop_assert_eq!(
                    own.count(),
                    usize::from(made.is_some()),
                    "one command, one entry"
                );
            }
            Step::Pin(name) => {
                let (bare, pinned) = (path(&file(*name)), path(&format!("pinned/{}", file(*name))));
                self.command(|now| match now.get(&bare) {
                    Some(_) => pin(now, &bare).ok(),
                    None => unpin(now, &pinned).ok(),
                });
            }
            Step::EditByHand(name) => {
                let text = self.text();
                self.put(&file(*name), &text);
            }
            Step::RemoveByHand(name) => {
                let path_text = format!("{ROOT}/{}", file(*name));
                drop(self.machine.system().files.remove_file(path_text.as_ref()));
                self.by_hand.remove(&path(&file(*name)));
            }
            Step::LineByHand(top) => {
                self.count += 1;
                let line = format!("My own line {}.\n", self.count);
                let old = before.index();
                let text = if *top {
                    format!("{line}\n{old}")
                } else {
                    format!("{old}\n{line}")
                };
                self.machine.files.put(format!("{ROOT}/{INDEX}"), text);
                self.lines.push(line);
            }
            Step::Undo => {
                let history = self.dir.history().unwrap().entries;
                let newest = newest_command(&history).cloned();
                if let Some(entry) = newest {
                    prop_assert_ne!(entry.author, Author::Outside);
                    self.undo(&entry, &before, true)?;
                }
            }
            Step::UndoOne(index) => {
                let history = self.dir.history().unwrap().entries;
                if !history.is_empty() {
                    let entry = index.get(&history).clone();
                    self.undo(&entry, &before, false)?;
                    if is_by_hand(&entry, &history) {
                        // Asked for by its id: the line of a person's is taken back, and kept.
                        let index = self.dir.snapshot().unwrap().index();
                        self.lines.retain(|line| index.contains(line.as_str()));
                    }
                }
            }
        }
        self.nothing_lost(&before, step)
    }

    fn undo(
        &mut self,
        entry: &JournalEntry,
        before: &Snapshot,
        without_id: bool,
    ) -> Result<(), TestCaseError> {
        let done = match self.dir.undo(&entry.id) {
            Ok(done) => done,
            Err(MemdirError::Undo(UndoError::ChangedSince(obstacles))) => {
                prop_assert!(!obstacles.is_empty());
                for obstacle in &obstacles {
                    prop_assert!(obstacle.by.is_some(), "an obstacle without a name");
                }
                prop_assert_eq!(self.dir.snapshot().unwrap().version(), before.version());
                return Ok(());
            }
            Err(MemdirError::Undo(UndoError::Already(..)) | MemdirError::Refused(_)) => {
                prop_assert_eq!(self.dir.snapshot().unwrap().version(), before.version());
                return Ok(());
            }
            Err(error) => return Err(TestCaseError::fail(format!("{error:?}"))),
        };
        let after = self.dir.snapshot().unwrap();
        let touched: BTreeMap<&SafePath, Option<Hash>> = entry
            .changes
            .iter()
            .map(|change| (&change.path, change.before))
            .collect();
        let all: BTreeSet<&SafePath> = before
            .files()
            .chain(after.files())
            .map(|(path, _)| path)
            .collect();
        for path in all.into_iter().filter(|path| path.as_str() != INDEX) {
            let hash = |snapshot: &Snapshot| snapshot.get(path).map(|file| Hash::of(&file.content));
            let wanted = touched.get(path).copied();
            let wanted = wanted.unwrap_or_else(|| hash(before));
            prop_assert_eq!(hash(&after), wanted, "{}", path);
            if without_id && self.by_hand.contains(path) {
                prop_assert_eq!(hash(&after), hash(before), "{} is a person's", path);
            }
        }
        for change in done.iter().flat_map(|entry| &entry.changes) {
            self.by_hand.remove(&change.path);
        }
        Ok(())
    }

    /// Everything that was on disk is there still, or kept by the journal; a person's own removals
    /// apart.
    fn nothing_lost(&self, before: &Snapshot, step: &Step) -> Result<(), TestCaseError> {
        let after = self.dir.snapshot().unwrap();
        let by_person = matches!(
            step,
            Step::EditByHand(_) | Step::RemoveByHand(_) | Step::LineByHand(_)
        );
        for (path, file) in before.files().filter(|_| !by_person) {
            if after.get(path).map(|now| &now.content) != Some(&file.content) {
                let kept = self.dir.content(Hash::of(&file.content)).unwrap();
                prop_assert!(kept.is_some(), "{} is lost", path);
            }
        }
        let index = after.index();
        for line in &self.lines {
            prop_assert!(
                index.contains(line.as_str()),
                "{:?} is gone: {}",
                line,
                index
            );
        }
        let history = self.dir.history().unwrap().entries;
        let ids: BTreeSet<&str> = history.iter().map(|entry| entry.id.as_str()).collect();
        prop_assert_eq!(ids.len(), history.len());
        Ok(())
    }
}

/// True for an edit by hand, its undo, and the undo of that.
fn is_by_hand(entry: &JournalEntry, history: &[JournalEntry]) -> bool {
    let undone = entry.undoes.as_ref();
    let undone = undone.and_then(|id| history.iter().find(|other| other.id == *id));
    entry.author == Author::Outside || undone.is_some_and(|undone| is_by_hand(undone, history))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, ..ProptestConfig::default() })]

    #[test]
    fn an_undo_restores_what_its_command_changed_or_refuses(
        steps in prop::collection::vec(step(), 1..24),
    ) {
        let mut world = World::new();
        for step in &steps {
            world.step(step)?;
        }
    }
}

#[test]
fn an_undo_without_an_id_leaves_edits_by_hand_alone() {
    let mut world = World::new();
    let (one, file_name) = (world.text(), file(0));
    world.command(|now| Some(retext(now, &path(&file_name), &one, Author::User, "add")));
    let edited = format!("{one}By hand.\n");
    world.put(&file_name, &edited);
    // A command on another file notes nothing of it; the history is asked for, and has it then.
    let noted = world.dir.note_outside_changes().unwrap().unwrap();
    assert_eq!(noted.author, Author::Outside);
    let history = world.dir.history().unwrap().entries;
    let newest = newest_command(&history).unwrap();
    assert_eq!(newest.reason, "add");
    let refused = world.dir.undo(&newest.id).unwrap_err().to_string();
    let expected = format!(
        "nothing was undone: `topic_0.md` was changed since without Dormouse (entry {})",
        noted.id
    );
    assert_eq!(refused, expected);
    assert_eq!(
        world.dir.read(&path(&file_name)).unwrap().unwrap().content,
        edited
    );
    // By its id the edit can be taken back, and the journal has it.
    world.dir.undo(&noted.id).unwrap();
    assert_eq!(
        world.dir.read(&path(&file_name)).unwrap().unwrap().content,
        one
    );
    let kept = world.dir.content(Hash::of(edited.as_bytes())).unwrap();
    assert_eq!(kept.unwrap(), edited);
}

#[test]
fn a_persons_file_of_any_bytes_comes_back() {
    let world = World::new();
    // Neither text nor free of what looks like a credential: both are refused from a writer.
    let mut odd = b"\xff\xfe AKIA".to_vec();
    odd.extend(std::iter::repeat_n(b'Q', 16));
    world
        .machine
        .files
        .put(format!("{ROOT}/odd.md"), odd.clone());
    let gone = world.dir.update(|now| {
        Ok::<_, MemdirError>(forget(now, &path("odd.md"), Author::User, "forget").unwrap())
    });
    let gone = gone.unwrap().unwrap();
    assert_eq!(world.dir.read(&path("odd.md")).unwrap(), None);
    world.dir.undo(&gone.id).unwrap();
    assert_eq!(
        world.dir.read(&path("odd.md")).unwrap().unwrap().content,
        odd
    );
}
