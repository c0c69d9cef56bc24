//! The contract that real files and files in memory share. Every case runs against both.

use dormouse_core::units::Millis;
use dormouse_system::{
    Access, FileError, FileKind, FileResult, Files, MemoryFiles, Operation, OptionalFile as _,
    RealFiles, is_temporary, lock_path,
};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tempfile::TempDir;

#[path = "contract_of_walks.rs"]
mod walks;
use walks::{
    a_date_is_there_with_the_content, a_walk_does_not_enter_what_is_skipped,
    a_walk_finds_every_file_in_order, a_walk_of_nothing_is_an_error,
    files_beneath_a_directory_stay_there, files_beneath_files_beneath, stamps_tell_states_apart,
    waiting_for_a_lock_ends,
};

/// A directory to work in, and the files it lies in.
struct Place {
    files: Arc<dyn Files>,
    root: PathBuf,
    _directory: Option<TempDir>,
}

impl Place {
    fn real() -> Self {
        let directory = TempDir::new().unwrap();
        Self {
            files: Arc::new(RealFiles),
            root: directory.path().to_owned(),
            _directory: Some(directory),
        }
    }

    fn memory() -> Self {
        let files = MemoryFiles::default();
        let root = PathBuf::from("/outer/place");
        files.create_dir_all(&root, Access::Private).unwrap();
        Self {
            files: Arc::new(files),
            root,
            _directory: None,
        }
    }

    /// The files below a directory, and one that lies in it.
    fn beneath(files: Arc<dyn Files>, directory: Option<TempDir>) -> Self {
        let root = PathBuf::from("place");
        files.create_dir_all(&root, Access::Private).unwrap();
        Self {
            files,
            root,
            _directory: directory,
        }
    }

    fn real_beneath() -> Self {
        let directory = TempDir::new().unwrap();
        let files = RealFiles.beneath(directory.path()).unwrap();
        Self::beneath(files, Some(directory))
    }

    #[cfg(unix)]
    fn real_beneath_by_name() -> Self {
        let directory = TempDir::new().unwrap();
        let files = RealFiles.beneath_by_name(directory.path()).unwrap();
        Self::beneath(files, Some(directory))
    }

    fn memory_beneath() -> Self {
        let outer = Self::memory();
        let files = outer.files.beneath(&outer.root).unwrap();
        Self::beneath(files, None)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    fn write(&self, name: &str, content: &str) -> PathBuf {
        let path = self.path(name);
        self.files
            .replace(&path, content.as_bytes(), Access::Private)
            .unwrap();
        path
    }

    fn text(&self, path: &Path) -> String {
        String::from_utf8(self.files.read(path, 1 << 20).unwrap().to_vec()).unwrap()
    }

    fn names(&self) -> Vec<String> {
        let entries = self.files.list(&self.root).unwrap();
        entries
            .into_iter()
            .map(|entry| entry.name.into_string().unwrap())
            .collect()
    }
}

/// The error of something that must fail, and that it says the right thing.
#[track_caller]
fn fails<T>(result: FileResult<T>, operation: Operation, path: &Path) -> FileError {
    let Err(error) = result else {
        panic!("{operation:?} of {} succeeded", path.display())
    };
    assert_eq!((error.operation, error.path.as_path()), (operation, path));
    error
}

macro_rules! contract {
    (everywhere: [$($case:ident),* $(,)?], by_absolute_path: [$($absolute:ident),* $(,)?]) => {
        mod real {
            $(#[test] fn $case() { super::$case(&super::Place::real()); })*
            $(#[test] fn $absolute() { super::$absolute(&super::Place::real()); })*
        }
        mod memory {
            $(#[test] fn $case() { super::$case(&super::Place::memory()); })*
            $(#[test] fn $absolute() { super::$absolute(&super::Place::memory()); })*
        }
        mod real_beneath {
            $(#[test] fn $case() { super::$case(&super::Place::real_beneath()); })*
        }
        #[cfg(unix)]
        mod real_beneath_by_name {
            $(#[test] fn $case() { super::$case(&super::Place::real_beneath_by_name()); })*
        }
        mod memory_beneath {
            $(#[test] fn $case() { super::$case(&super::Place::memory_beneath()); })*
        }
    };
}

contract![
    everywhere: [
    what_is_appended_can_be_read_back,
    appending_to_an_existing_file_goes_on_at_its_end,
    two_appenders_never_overwrite_each_other,
    creating_anew_refuses_what_exists,
    random_reads_stop_at_the_end,
    an_open_reader_sees_growth_and_survives_removal,
    reading_respects_its_limit,
    replacing_swaps_the_whole_content,
    replacing_leaves_nothing_behind,
    replacing_keeps_an_open_reader_on_the_old_content,
    replacing_a_directory_is_refused_and_cleans_up,
    what_is_created_belongs_to_its_owner_alone,
    replacing_keeps_permissions,
    listings_are_complete_and_ordered,
    metadata_tells_files_from_directories,
    directories_are_created_with_their_parents,
    a_file_in_the_way_of_a_directory_is_reported,
    absence_is_reported_with_operation_and_path,
    a_file_where_a_directory_should_be_counts_as_absence,
    directories_are_not_files,
    removed_files_are_gone,
    only_empty_directories_are_removed,
    a_lock_is_held_by_one_until_dropped,
    locks_of_different_files_do_not_meet,
    an_empty_append_changes_nothing,
    a_date_is_there_with_the_content,
    stamps_tell_states_apart,
    a_walk_finds_every_file_in_order,
    a_walk_does_not_enter_what_is_skipped,
    a_walk_of_nothing_is_an_error,
    waiting_for_a_lock_ends,
    files_beneath_a_directory_stay_there,
    files_beneath_files_beneath,
    ],
    by_absolute_path: [a_real_path_is_one_for_all_ways_there]
];

fn what_is_appended_can_be_read_back(place: &Place) {
    let path = place.path("log");
    let mut log = place.files.append(&path, Access::Private).unwrap();
    assert!(log.is_empty().unwrap());
    log.append(b"one\n").unwrap();
    log.append(b"two\n").unwrap();
    log.sync_data().unwrap();
    assert_eq!(log.len().unwrap(), 8);
    assert_eq!(place.text(&path), "one\ntwo\n");
}

fn appending_to_an_existing_file_goes_on_at_its_end(place: &Place) {
    let path = place.write("log", "old");
    let mut log = place.files.append(&path, Access::Private).unwrap();
    assert_eq!(log.len().unwrap(), 3);
    log.append(b"new").unwrap();
    assert_eq!(place.text(&path), "oldnew");
}

fn two_appenders_never_overwrite_each_other(place: &Place) {
    let path = place.path("log");
    let mut first = place.files.append(&path, Access::Private).unwrap();
    let mut second = place.files.append(&path, Access::Private).unwrap();
    first.append(b"a").unwrap();
    second.append(b"b").unwrap();
    first.append(b"c").unwrap();
    assert_eq!(place.text(&path), "abc");
}

fn creating_anew_refuses_what_exists(place: &Place) {
    let path = place.path("log");
    let mut log = place.files.create_new(&path, Access::Private).unwrap();
    log.append(b"first").unwrap();
    let again = place.files.create_new(&path, Access::Private);
    assert!(fails(again, Operation::CreateFile, &path).already_exists());
    let directory = place.files.create_new(&place.root, Access::Private);
    assert!(fails(directory, Operation::CreateFile, &place.root).already_exists());
    assert_eq!(place.text(&path), "first");
}

fn random_reads_stop_at_the_end(place: &Place) {
    let path = place.write("data", "0123456789");
    let reader = place.files.open(&path).unwrap();
    assert_eq!(reader.len().unwrap(), 10);
    assert!(!reader.is_empty().unwrap());
    let mut buffer = [b'.'; 4];
    assert_eq!(reader.read_at(3, &mut buffer).unwrap(), 4);
    assert_eq!(&buffer, b"3456");
    assert_eq!(reader.read_at(8, &mut buffer).unwrap(), 2);
    assert_eq!(&buffer, b"8956");
    assert_eq!(reader.read_at(99, &mut buffer).unwrap(), 0);
    assert_eq!(reader.read_range(4, 3).unwrap(), "456");
    assert_eq!(reader.read_range(8, u64::MAX).unwrap(), "89");
    assert_eq!(reader.read_range(u64::MAX, u64::MAX).unwrap(), "");
}

fn an_open_reader_sees_growth_and_survives_removal(place: &Place) {
    let path = place.path("log");
    let mut log = place.files.append(&path, Access::Private).unwrap();
    let reader = place.files.open(&path).unwrap();
    assert_eq!(reader.read_range(0, 9).unwrap(), "");
    log.append(b"later").unwrap();
    assert_eq!(reader.read_range(0, 9).unwrap(), "later");
    place.files.remove_file(&path).unwrap();
    assert_eq!(reader.read_range(1, 3).unwrap(), "ate");
}

fn reading_respects_its_limit(place: &Place) {
    let path = place.write("data", "12345");
    assert_eq!(place.files.read(&path, 5).unwrap(), "12345");
    assert!(fails(place.files.read(&path, 4), Operation::Read, &path).too_large());
}

fn replacing_swaps_the_whole_content(place: &Place) {
    let path = place.write("note", "a long first version");
    place.write("note", "short");
    assert_eq!(place.text(&path), "short");
    place.write("note", "");
    assert_eq!(place.text(&path), "");
}

fn replacing_leaves_nothing_behind(place: &Place) {
    place.write("note", "1");
    place.write("note", "2");
    assert_eq!(place.names(), ["note"]);
}

fn replacing_keeps_an_open_reader_on_the_old_content(place: &Place) {
    let path = place.write("note", "old");
    let reader = place.files.open(&path).unwrap();
    place.write("note", "brand new");
    assert_eq!(reader.read_range(0, 99).unwrap(), "old");
}

fn replacing_a_directory_is_refused_and_cleans_up(place: &Place) {
    let path = place.path("sub");
    place.files.create_dir_all(&path, Access::Private).unwrap();
    let error = fails(
        place.files.replace(&path, b"x", Access::Private),
        Operation::Rename,
        &path,
    );
    assert!(error.is_directory());
    assert_eq!(place.names(), ["sub"]);
}

fn what_is_created_belongs_to_its_owner_alone(place: &Place) {
    let directory = place.path("a/b");
    place
        .files
        .create_dir_all(&directory, Access::Private)
        .unwrap();
    let (appended, created, replaced) = (
        directory.join("1"),
        directory.join("2"),
        directory.join("3"),
    );
    drop(place.files.append(&appended, Access::Private).unwrap());
    drop(place.files.create_new(&created, Access::Private).unwrap());
    place
        .files
        .replace(&replaced, b"", Access::Private)
        .unwrap();
    let guard = place.files.lock_exclusive(&appended).unwrap();
    let mode = |path: &Path| place.files.metadata(path).unwrap().mode;
    if cfg!(unix) {
        for file in [&appended, &created, &replaced, &lock_path(&appended)] {
            assert_eq!(mode(file), Some(0o600), "{}", file.display());
        }
        for directory in [&place.path("a"), &directory] {
            assert_eq!(mode(directory), Some(0o700), "{}", directory.display());
        }
    }
    drop(guard);
}

fn replacing_keeps_permissions(place: &Place) {
    let path = place.path("note");
    drop(place.files.create_new(&path, Access::Shared).unwrap());
    let before = place.files.metadata(&path).unwrap().mode;
    place.files.replace(&path, b"x", Access::Private).unwrap();
    assert_eq!(place.files.metadata(&path).unwrap().mode, before);
}

fn listings_are_complete_and_ordered(place: &Place) {
    place.write("b", "22");
    place.write("a", "1");
    place
        .files
        .create_dir_all(&place.path("c/inner"), Access::Private)
        .unwrap();
    let entries = place.files.list(&place.root).unwrap();
    let seen: Vec<_> = entries
        .iter()
        .map(|entry| (entry.name.to_str().unwrap(), entry.metadata.kind))
        .collect();
    assert_eq!(
        seen,
        [
            ("a", FileKind::File),
            ("b", FileKind::File),
            ("c", FileKind::Directory)
        ]
    );
    assert_eq!(entries[1].metadata.len, 2);
    assert!(
        entries
            .iter()
            .all(|entry| entry.metadata.modified > Millis(0))
    );
    assert_eq!(place.files.list(&place.path("c/inner")).unwrap(), []);
}

fn metadata_tells_files_from_directories(place: &Place) {
    let path = place.write("data", "123");
    let file = place.files.metadata(&path).unwrap();
    assert_eq!((file.kind, file.len), (FileKind::File, 3));
    assert!(file.modified > Millis(0));
    let directory = place.files.metadata(&place.root).unwrap();
    assert_eq!(directory.kind, FileKind::Directory);
}

fn a_real_path_is_one_for_all_ways_there(place: &Place) {
    let path = place.write("file", "");
    let real = place.files.real_path(&path).unwrap();
    assert_eq!(place.files.real_path(&real).unwrap(), real);
    let around = place.root.join("..").join(place.root.file_name().unwrap());
    assert_eq!(place.files.real_path(&around.join("./file")).unwrap(), real);
    let missing = place.path("missing");
    let error = fails(
        place.files.real_path(&missing),
        Operation::Metadata,
        &missing,
    );
    assert!(error.not_found());
}

fn directories_are_created_with_their_parents(place: &Place) {
    let path = place.path("a/b/c");
    place.files.create_dir_all(&path, Access::Private).unwrap();
    place.write("a/b/c/file", "x");
    place.files.create_dir_all(&path, Access::Private).unwrap();
    assert_eq!(place.text(&path.join("file")), "x");
}

fn a_file_in_the_way_of_a_directory_is_reported(place: &Place) {
    let file = place.write("file", "x");
    for path in [file.clone(), file.join("below"), file.join("far/below")] {
        let result = place.files.create_dir_all(&path, Access::Private);
        let error = fails(result, Operation::CreateDir, &path);
        assert_eq!(error.kind(), ErrorKind::NotADirectory, "{}", path.display());
    }
}

/// Every way to touch a path that needs something to be there.
#[track_caller]
fn is_absent(place: &Place, path: &Path) {
    let files = &place.files;
    assert!(fails(files.read(path, 9), Operation::Read, path).not_found());
    assert!(fails(files.open(path), Operation::Open, path).not_found());
    assert!(fails(files.metadata(path), Operation::Metadata, path).not_found());
    assert!(fails(files.list(path), Operation::List, path).not_found());
    assert!(fails(files.remove_file(path), Operation::Remove, path).not_found());
    assert!(files.read(path, 9).optional().unwrap().is_none());
}

/// Every way to create something where there is no directory for it.
#[track_caller]
fn has_no_directory(place: &Place, path: &Path) {
    let (files, access) = (&place.files, Access::Private);
    assert!(fails(files.append(path, access), Operation::OpenAppend, path).not_found());
    assert!(fails(files.create_new(path, access), Operation::CreateFile, path).not_found());
    assert!(
        fails(
            files.replace(path, b"", access),
            Operation::CreateFile,
            path
        )
        .not_found()
    );
    assert!(fails(files.lock_exclusive(path), Operation::Lock, path).not_found());
}

fn absence_is_reported_with_operation_and_path(place: &Place) {
    is_absent(place, &place.path("nothing"));
    is_absent(place, &place.path("no/thing"));
    has_no_directory(place, &place.path("no/thing"));
}

fn a_file_where_a_directory_should_be_counts_as_absence(place: &Place) {
    let below = place.write("file", "x").join("below");
    is_absent(place, &below);
    has_no_directory(place, &below);
}

fn directories_are_not_files(place: &Place) {
    let (files, path) = (&place.files, &place.root);
    assert!(fails(files.read(path, 9), Operation::Read, path).is_directory());
    assert!(fails(files.open(path), Operation::Open, path).is_directory());
    let append = files.append(path, Access::Private);
    assert!(fails(append, Operation::OpenAppend, path).is_directory());
    // Unix systems do not agree on the kind.
    fails(files.remove_file(path), Operation::Remove, path);
}

fn removed_files_are_gone(place: &Place) {
    let path = place.write("data", "x");
    place.files.remove_file(&path).unwrap();
    is_absent(place, &path);
    assert_eq!(place.names(), [""; 0]);
}

fn only_empty_directories_are_removed(place: &Place) {
    let inner = place.root.join("a");
    place.files.create_dir_all(&inner, Access::Private).unwrap();
    let file = inner.join("x");
    place.files.replace(&file, b"x", Access::Private).unwrap();
    fails(place.files.remove_dir(&inner), Operation::Remove, &inner);
    fails(place.files.remove_dir(&file), Operation::Remove, &file);
    place.files.remove_file(&file).unwrap();
    place.files.remove_dir(&inner).unwrap();
    assert_eq!(place.names(), [""; 0]);
    fails(place.files.remove_dir(&inner), Operation::Remove, &inner);
}

fn a_lock_is_held_by_one_until_dropped(place: &Place) {
    let path = place.write("log", "");
    let guard = place.files.lock_exclusive(&path).unwrap().unwrap();
    assert_eq!(guard.path(), path);
    assert!(place.files.lock_exclusive(&path).unwrap().is_none());
    // The data stays reachable and replaceable, and the lock holds.
    place.write("log", "x");
    assert!(place.files.lock_exclusive(&path).unwrap().is_none());
    drop(guard);
    assert!(place.files.lock_exclusive(&path).unwrap().is_some());
    assert_eq!(place.names(), ["log", "log.lock"]);
}

fn locks_of_different_files_do_not_meet(place: &Place) {
    let one = place.files.lock_exclusive(&place.path("one")).unwrap();
    let two = place.files.lock_exclusive(&place.path("two")).unwrap();
    assert!(one.is_some() && two.is_some());
    assert!(!place.names().iter().any(|name| is_temporary(name.as_ref())));
}

fn an_empty_append_changes_nothing(place: &Place) {
    let path = place.write("log", "x");
    let mut log = place.files.append(&path, Access::Private).unwrap();
    log.append(b"").unwrap();
    assert_eq!(place.text(&path), "x");
}
