//! Attacks on files beneath a directory. After each the whole neighbourhood is looked at: nothing
//! outside may have changed, whatever the handle said.
#![expect(
    clippy::disallowed_methods,
    reason = "an attacker does not go through the ports"
)]

use dormouse_core::units::Millis;
use dormouse_system::{Access, Files, RealFiles, is_temporary};
use rustix::fs::{CWD, FileType, Mode, RenameFlags};
use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;
use tempfile::TempDir;

/// Swaps of a directory and a link by the attacker: enough to hit every gap on a slow machine.
const SWAPS: u32 = 20_000;

/// A root with a file in it, and a precious neighbour.
struct Scene {
    place: TempDir,
    files: Arc<dyn Files>,
    before: BTreeMap<PathBuf, Facts>,
}

/// All that would show a change: kind and mode, inode, length, both times, content.
type Facts = (u32, u64, u64, i64, i64, Option<Vec<u8>>);

impl Scene {
    fn new(beneath: impl Fn(&Path) -> Arc<dyn Files>) -> Self {
        let place = TempDir::new().unwrap();
        for directory in ["root/sub", "outside/deep"] {
            fs::create_dir_all(place.path().join(directory)).unwrap();
        }
        fs::write(place.path().join("root/sub/file"), "inside").unwrap();
        fs::write(place.path().join("outside/secret"), "precious").unwrap();
        fs::write(place.path().join("outside/deep/secret"), "precious").unwrap();
        let files = beneath(&place.path().join("root"));
        Self {
            place,
            files,
            before: BTreeMap::new(),
        }
        .settled()
    }

    /// Remembers the state outside, which must stay.
    fn settled(mut self) -> Self {
        self.before = facts(&self.outside(""));
        self
    }

    fn root(&self, name: &str) -> PathBuf {
        self.place.path().join("root").join(name)
    }

    fn outside(&self, name: &str) -> PathBuf {
        self.place.path().join("outside").join(name)
    }

    #[track_caller]
    fn assert_unharmed(&self, what: &str) {
        assert_eq!(facts(&self.outside("")), self.before, "{what}");
        let names = fs::read_dir(self.place.path()).unwrap().count();
        assert_eq!(names, 2, "{what}: something new beside root and outside");
        let walked = RealFiles.walk(&self.root(""), &|_| false).unwrap();
        let stray = |path: &Path| path.file_name().is_some_and(is_temporary);
        assert!(!walked.iter().any(|file| stray(&file.path)), "{what}");
    }
}

fn facts(directory: &Path) -> BTreeMap<PathBuf, Facts> {
    let mut found = BTreeMap::new();
    let mut waiting = vec![directory.to_owned()];
    while let Some(path) = waiting.pop() {
        let meta = fs::symlink_metadata(&path).unwrap();
        if meta.is_dir() {
            waiting.extend(
                fs::read_dir(&path)
                    .unwrap()
                    .map(|entry| entry.unwrap().path()),
            );
        }
        let content = meta.is_file().then(|| fs::read(&path).unwrap());
        let times = (meta.mtime_nsec(), meta.ctime_nsec());
        let facts = (
            meta.mode(),
            meta.ino(),
            meta.len(),
            times.0,
            times.1,
            content,
        );
        found.insert(path, facts);
    }
    found
}

/// Runs an attack against both ways of resolving.
fn each(attack: impl Fn(&Scene)) {
    for scene in [
        Scene::new(|root| RealFiles.beneath(root).unwrap()),
        Scene::new(|root| RealFiles.beneath_by_name(root).unwrap()),
    ] {
        attack(&scene);
        scene.assert_unharmed("after the attack");
    }
}

/// Tries everything on a path. The names of what succeeded come back.
fn assault(files: &dyn Files, path: &str) -> Vec<&'static str> {
    let (path, access) = (Path::new(path), Access::Private);
    let attempts: [(&str, bool); 15] = [
        ("read", files.read(path, 1 << 20).is_ok()),
        ("open", files.open(path).is_ok()),
        ("list", files.list(path).is_ok()),
        ("walk", files.walk(path, &|_| false).is_ok()),
        ("metadata", files.metadata(path).is_ok()),
        ("real_path", files.real_path(path).is_ok()),
        ("beneath", files.beneath(path).is_ok()),
        (
            "append",
            files
                .append(path, access)
                .is_ok_and(|mut log| log.append(b"attack").is_ok()),
        ),
        ("create_new", files.create_new(path, access).is_ok()),
        ("replace", files.replace(path, b"attack", access).is_ok()),
        (
            "replace_dated",
            files
                .replace_dated(path, b"attack", access, Millis(1))
                .is_ok(),
        ),
        ("create_dir_all", files.create_dir_all(path, access).is_ok()),
        (
            "lock",
            files
                .lock_waiting(path, Duration::ZERO)
                .is_ok_and(|guard| guard.is_some()),
        ),
        ("remove_dir", files.remove_dir(path).is_ok()),
        ("remove_file", files.remove_file(path).is_ok()),
    ];
    let succeeded = attempts.into_iter().filter(|(_, succeeded)| *succeeded);
    succeeded.map(|(name, _)| name).collect()
}

#[test]
fn the_assault_succeeds_where_it_may() {
    each(|scene| {
        let all = assault(&*scene.files, "sub/new");
        let expected = ["append", "replace", "replace_dated", "lock", "remove_file"];
        assert_eq!(all, expected);
    });
}

#[test]
fn paths_that_name_the_way_out() {
    each(|scene| {
        let absolute = scene.outside("secret");
        let paths = [
            "..",
            "../outside",
            "../outside/secret",
            "sub/../../outside/secret",
            "./../outside/new",
            "sub/file/../../../outside/secret",
            "//outside",
            absolute.to_str().unwrap(),
        ];
        for path in paths {
            assert_eq!(assault(&*scene.files, path), [""; 0], "{path}");
            scene.assert_unharmed(path);
        }
    });
}

#[test]
fn links_anywhere_on_the_way() {
    each(|scene| {
        symlink("../outside", scene.root("first")).unwrap();
        symlink(scene.outside(""), scene.root("absolute")).unwrap();
        symlink("../../outside", scene.root("sub/middle")).unwrap();
        symlink("..", scene.root("sub/up")).unwrap();
        let paths = [
            "first/secret",
            "first/new",
            "first/deep/secret",
            "first/deep/new",
            "absolute/secret",
            "absolute/new",
            "sub/middle/secret",
            "sub/middle/deep/new",
            "sub/up/sub/file",
        ];
        for path in paths {
            assert_eq!(assault(&*scene.files, path), [""; 0], "{path}");
            scene.assert_unharmed(path);
        }
        for error in [
            scene.files.read("first/secret".as_ref(), 99).unwrap_err(),
            scene.files.list("first".as_ref()).unwrap_err(),
            scene.files.metadata("first".as_ref()).unwrap_err(),
            scene.files.beneath("first".as_ref()).unwrap_err(),
            scene.files.remove_file("first/new".as_ref()).unwrap_err(),
        ] {
            assert!(error.permission_denied(), "{error}: {}", error.source);
        }
        assert_eq!(fs::read(scene.root("sub/file")).unwrap(), b"inside");
    });
}

#[test]
fn a_link_at_the_end() {
    each(|scene| {
        let targets = [
            ("file", scene.outside("secret")),
            ("dangling", scene.outside("new")),
            ("directory", scene.outside("deep")),
            ("inner", "sub/file".into()),
            ("loop", "loop".into()),
        ];
        for (name, target) in targets {
            symlink(target, scene.root(name)).unwrap();
            let succeeded = assault(&*scene.files, name);
            // The lock lies beside the link, and removing takes away the link itself.
            assert_eq!(succeeded, ["lock", "remove_file"], "{name}");
            scene.assert_unharmed(name);
        }
        assert_eq!(fs::read(scene.root("sub/file")).unwrap(), b"inside");
    });
}

#[test]
fn a_link_in_place_of_the_lock() {
    each(|scene| {
        symlink(scene.outside("new"), scene.root("note.lock")).unwrap();
        symlink(scene.outside("secret"), scene.root("other.lock")).unwrap();
        for name in ["note", "other"] {
            assert!(scene.files.lock_exclusive(name.as_ref()).is_err());
        }
    });
}

#[test]
fn a_walk_reports_no_links_and_follows_none() {
    each(|scene| {
        symlink("../outside", scene.root("out")).unwrap();
        symlink("..", scene.root("sub/up")).unwrap();
        symlink("file", scene.root("sub/link")).unwrap();
        let walked = scene.files.walk("".as_ref(), &|_| false).unwrap();
        let paths: Vec<_> = walked.iter().map(|file| file.path.as_path()).collect();
        assert_eq!(paths, [Path::new("sub/file")]);
    });
}

#[test]
fn a_directory_that_is_swapped_for_a_link_all_the_time() {
    each(|scene| {
        for name in ["sub/secret", "sub/log"] {
            fs::write(scene.root(name), "inside").unwrap();
        }
        symlink("../outside", scene.root("link")).unwrap();
        let (sub, link) = (scene.root("sub"), scene.root("link"));
        let over = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                for _ in 0..SWAPS {
                    rustix::fs::renameat_with(CWD, &sub, CWD, &link, RenameFlags::EXCHANGE)
                        .unwrap();
                }
                over.store(true, Ordering::Release);
            });
            scope.spawn(|| {
                while !over.load(Ordering::Acquire) {
                    if let Ok(content) = scene.files.read("sub/secret".as_ref(), 99) {
                        assert_eq!(content, "inside");
                    }
                }
            });
            let mut count = 0_u64;
            while !over.load(Ordering::Acquire) {
                count += 1;
                let new = format!("sub/{}", count % 50);
                let (new, access) = (Path::new(&new), Access::Private);
                // Success depends on who is faster; the place it happens at does not.
                let _chance = scene.files.append(new, access).map(drop);
                let _chance = scene
                    .files
                    .append("sub/log".as_ref(), access)
                    .and_then(|mut log| log.append(b"x"));
                let _chance = scene.files.replace(new, b"x", access);
                let _chance = scene.files.create_dir_all("sub/made/here".as_ref(), access);
                let _chance = scene
                    .files
                    .replace("sub/secret".as_ref(), b"inside", access);
                let _chance = scene.files.remove_file(new);
            }
        });
    });
}

#[test]
fn a_root_whose_name_is_taken_over_stays_the_same_root() {
    each(|scene| {
        let away = scene.outside("");
        let parked = scene.place.path().join("parked");
        fs::rename(scene.root(""), &parked).unwrap();
        symlink(&away, scene.place.path().join("root")).unwrap();
        scene
            .files
            .replace("new".as_ref(), b"x", Access::Private)
            .unwrap();
        assert_eq!(fs::read(parked.join("new")).unwrap(), b"x");
        fs::remove_file(scene.place.path().join("root")).unwrap();
        fs::rename(parked, scene.root("")).unwrap();
    });
}

#[test]
fn a_file_with_a_second_name_outside() {
    for beneath in [
        |root: &Path| RealFiles.beneath(root).unwrap(),
        |root: &Path| RealFiles.beneath_by_name(root).unwrap(),
    ] {
        let scene = Scene::new(beneath);
        fs::hard_link(scene.outside("secret"), scene.root("hard")).unwrap();
        let scene = scene.settled();
        let (files, path) = (&scene.files, Path::new("hard"));
        for kind in [
            files.read(path, 99).unwrap_err().kind(),
            files.open(path).unwrap_err().kind(),
            files.append(path, Access::Private).unwrap_err().kind(),
            files
                .replace(path, b"attack", Access::Private)
                .unwrap_err()
                .kind(),
        ] {
            assert_eq!(kind, ErrorKind::PermissionDenied);
        }
        scene.assert_unharmed("hard link");
        // Removing takes away the name here; the content stays under the other.
        files.remove_file(path).unwrap();
        assert_eq!(fs::read(scene.outside("secret")).unwrap(), b"precious");
    }
}

#[test]
fn names_that_no_file_can_have() {
    each(|scene| {
        let long_name = "n".repeat(300);
        let long_path = "d/".repeat(3_000);
        let deep_parent = format!("{}../../x", "d/".repeat(3_000));
        let names = [
            "a\0b",
            "sub/\0",
            "\0",
            &*long_name,
            &*deep_parent,
            &*format!("sub/{long_name}"),
        ];
        for name in names {
            let succeeded = assault(&*scene.files, name);
            assert_eq!(succeeded, [""; 0], "{name:?}");
        }
        assert!(scene.files.read(long_path.as_ref(), 9).is_err());
        let replaced = scene
            .files
            .replace(long_path.as_ref(), b"x", Access::Private);
        assert!(replaced.is_err());
    });
}

#[test]
fn things_that_are_no_files() {
    each(|scene| {
        let mode = Mode::from_raw_mode(0o600);
        rustix::fs::mknodat(CWD, scene.root("pipe"), FileType::Fifo, mode, 0).unwrap();
        let _socket = UnixListener::bind(scene.root("socket")).unwrap();
        // The null device, where the user may make one.
        let null = rustix::fs::makedev(1, 3);
        let made = rustix::fs::mknodat(
            CWD,
            scene.root("device"),
            FileType::CharacterDevice,
            mode,
            null,
        );
        let mut names = vec!["pipe", "socket"];
        names.extend(made.is_ok().then_some("device"));
        for name in names {
            let path = Path::new(name);
            let files = &scene.files;
            assert!(files.read(path, 99).is_err(), "{name}");
            assert!(files.open(path).is_err(), "{name}");
            assert!(files.append(path, Access::Private).is_err(), "{name}");
            let replaced = files.replace(path, b"x", Access::Private);
            assert_eq!(
                replaced.unwrap_err().kind(),
                ErrorKind::InvalidInput,
                "{name}"
            );
            let below = path.join("below");
            assert!(files.create_dir_all(&below, Access::Private).is_err());
        }
    });
}

#[test]
fn a_directory_in_place_of_a_file() {
    each(|scene| {
        let (files, path) = (&scene.files, Path::new("sub"));
        assert!(files.read(path, 99).unwrap_err().is_directory());
        let append = files.append(path, Access::Private);
        assert!(append.unwrap_err().is_directory());
        let replaced = files.replace(path, b"x", Access::Private);
        assert!(replaced.unwrap_err().is_directory());
        assert!(files.remove_file(path).is_err());
        assert_eq!(fs::read(scene.root("sub/file")).unwrap(), b"inside");
    });
}

#[cfg(target_os = "linux")]
#[test]
fn links_of_the_kernel_and_other_file_systems() {
    for files in [
        RealFiles.beneath("/proc/self".as_ref()).unwrap(),
        RealFiles.beneath_by_name("/proc/self".as_ref()).unwrap(),
    ] {
        for path in ["cwd/Cargo.toml", "root/etc/passwd", "fd/0", "exe", "cwd"] {
            let error = files.read(path.as_ref(), 1 << 20).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{path}");
        }
        assert!(!files.read("status".as_ref(), 1 << 20).unwrap().is_empty());
    }
    for files in [
        RealFiles.beneath("/".as_ref()).unwrap(),
        RealFiles.beneath_by_name("/".as_ref()).unwrap(),
    ] {
        for path in ["proc/version", "proc/self/status"] {
            let error = files.read(path.as_ref(), 1 << 20).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{path}");
        }
        assert!(files.metadata("proc".as_ref()).is_err());
        assert!(files.list("proc".as_ref()).is_err());
    }
}
