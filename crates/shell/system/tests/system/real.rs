//! Cases that only a real file system has: links, pipes, other threads.

use dormouse_system::{Access, FileKind, Files as _, RealFiles, System};
use std::sync::{Arc, Barrier};
use std::thread;
use tempfile::TempDir;

#[cfg(unix)]
#[test]
fn a_real_path_has_no_links() {
    let directory = TempDir::new().unwrap();
    let (target, link) = (
        directory.path().join("target"),
        directory.path().join("link"),
    );
    RealFiles.replace(&target, b"", Access::Private).unwrap();
    std::os::unix::fs::symlink(&target, &link).unwrap();
    assert_eq!(
        RealFiles.real_path(&link).unwrap(),
        RealFiles.real_path(&target).unwrap()
    );
}

#[cfg(unix)]
#[test]
fn replacing_a_link_does_not_follow_it() {
    let directory = TempDir::new().unwrap();
    let (target, link) = (
        directory.path().join("target"),
        directory.path().join("link"),
    );
    RealFiles
        .replace(&target, b"precious", Access::Private)
        .unwrap();
    std::os::unix::fs::symlink(&target, &link).unwrap();
    let kinds = |name: &str| {
        let entries = RealFiles.list(directory.path()).unwrap();
        entries
            .iter()
            .find(|entry| entry.name == name)
            .unwrap()
            .metadata
            .kind
    };
    assert_eq!(kinds("link"), FileKind::Symlink);
    assert_eq!(RealFiles.metadata(&link).unwrap().kind, FileKind::File);

    RealFiles
        .replace(&link, b"diverted", Access::Private)
        .unwrap();
    assert_eq!(RealFiles.read(&target, 99).unwrap(), "precious");
    assert_eq!(kinds("link"), FileKind::File);
}

#[cfg(unix)]
#[test]
fn opening_something_that_is_no_regular_file_fails_instead_of_waiting() {
    let path = std::path::Path::new("/dev/null");
    let error = RealFiles.open(path).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::InvalidInput);
    assert_eq!(RealFiles.metadata(path).unwrap().kind, FileKind::Other);
}

#[cfg(unix)]
#[test]
fn a_device_in_place_of_a_file_is_refused() {
    for path in ["/dev/zero", "/dev/null"] {
        let error = RealFiles.read(path.as_ref(), 1000).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::InvalidInput, "{path}");
    }
}

/// Without another end, opening a pipe would wait for ever; a test that hangs is one that fails.
#[cfg(target_os = "linux")]
#[test]
fn a_pipe_in_place_of_a_file_is_refused_at_once() {
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    let directory = TempDir::new().unwrap();
    let pipe = |name: &str| {
        let path = directory.path().join(name);
        mknodat(CWD, &path, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
        path
    };
    let path = pipe("settings.toml");
    let invalid = std::io::ErrorKind::InvalidInput;
    assert_eq!(RealFiles.read(&path, 99).unwrap_err().kind(), invalid);
    assert_eq!(RealFiles.open(&path).unwrap_err().kind(), invalid);
    // A pipe without a reader is an error of its own kind; the point is that it is one.
    assert!(RealFiles.append(&path, Access::Private).is_err());
    let locked = directory.path().join("log");
    pipe("log.lock");
    assert!(RealFiles.lock_exclusive(&locked).is_err());
    // The way below a directory is another one.
    let beneath = RealFiles.beneath(directory.path()).unwrap();
    assert_eq!(
        beneath
            .read("settings.toml".as_ref(), 99)
            .unwrap_err()
            .kind(),
        invalid
    );
    assert!(beneath.lock_exclusive("log".as_ref()).is_err());
}

#[test]
fn appends_of_many_threads_do_not_interleave() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("log");
    let start = Arc::new(Barrier::new(4));
    let threads: Vec<_> = ["a", "b", "c", "d"]
        .into_iter()
        .map(|letter| {
            let (path, start) = (path.clone(), Arc::clone(&start));
            thread::spawn(move || {
                let mut log = RealFiles.append(&path, Access::Private).unwrap();
                let line = format!("{}\n", letter.repeat(5_000));
                start.wait();
                for _ in 0..20 {
                    log.append(line.as_bytes()).unwrap();
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
    let content = RealFiles.read(&path, 1 << 20).unwrap();
    let text = std::str::from_utf8(&content).unwrap();
    assert_eq!(text.lines().count(), 80);
    for line in text.lines() {
        let first = line.chars().next().unwrap();
        assert!(line.len() == 5_000 && line.chars().all(|letter| letter == first));
    }
}

#[test]
fn one_reader_serves_many_threads() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("data");
    let content: Vec<u8> = (0..=255).collect();
    RealFiles.replace(&path, &content, Access::Private).unwrap();
    let reader = RealFiles.open(&path).unwrap();
    thread::scope(|scope| {
        for offset in 0_u8..8 {
            let reader = &reader;
            scope.spawn(move || {
                for _ in 0..50 {
                    assert_eq!(
                        reader.read_range(u64::from(offset), 1).unwrap(),
                        [offset][..]
                    );
                }
            });
        }
    });
}

#[test]
fn a_bare_name_lies_in_the_current_directory() {
    let nowhere = RealFiles.metadata("no-such-file-beside-the-manifest".as_ref());
    assert!(nowhere.unwrap_err().not_found());
    assert!(RealFiles.metadata("Cargo.toml".as_ref()).is_ok());
}

#[test]
fn the_real_system_is_put_together() {
    let system = System::real();
    let here = system.env.current_dir().unwrap();
    assert_eq!(
        system.files.metadata(&here).unwrap().kind,
        FileKind::Directory
    );
    assert!(system.ids.fresh() < system.ids.fresh());
}
