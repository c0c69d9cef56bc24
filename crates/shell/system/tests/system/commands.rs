//! Command lines that may change things, on the real machine.

use dormouse_system::{
    Access, Commands as _, Confinement, End, Files as _, Order, RealCommands, RealFiles, Running,
    SandboxError,
};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;

const LONG: Duration = Duration::from_mins(1);

struct Place {
    directory: TempDir,
}

impl Place {
    fn new() -> Self {
        Self {
            directory: TempDir::new().unwrap(),
        }
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }

    fn order(&self, line: &str) -> Order {
        Order {
            line: line.to_owned(),
            directory: self.path().to_owned(),
            output: self.path().join(format!("out-{}", uuid())),
            output_limit: 1024 * 1024,
            folder_file: None,
            mark: format!("test-{}", self.path().display()),
            confined_to: None,
        }
    }

    fn confined(&self, line: &str) -> Order {
        Order {
            confined_to: Some(vec![self.path().to_owned()]),
            ..self.order(line)
        }
    }
}

fn uuid() -> String {
    use std::sync::atomic::{AtomicUsize, Ordering};
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed).to_string()
}

fn read(path: &Path) -> String {
    let bytes = RealFiles.read(path, u64::MAX).unwrap();
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// Starts and waits; the output is what the file holds.
fn run(order: &Order) -> (Option<End>, String, Arc<dyn Running>) {
    let running = RealCommands.start(order).unwrap();
    let end = running.wait(LONG);
    (end, read(&order.output), running)
}

#[test]
fn both_streams_arrive_in_order_and_the_end_is_told() {
    let place = Place::new();
    let (end, text, _) = run(&place.order("echo a; echo b >&2; echo c; exit 3"));
    assert_eq!((end, text.as_str()), (Some(End::Exit(3)), "a\nb\nc\n"));
}

#[test]
fn the_folder_is_left_behind_however_the_line_ends() {
    let place = Place::new();
    for (at, line) in ["mkdir -p x && cd x", "cd x; exit 4", "cd x; false"]
        .iter()
        .enumerate()
    {
        let file = place.path().join(format!("folder-{at}"));
        let order = Order {
            folder_file: Some(file.clone()),
            ..place.order(line)
        };
        run(&order);
        let folder = RealFiles.real_path(&place.path().join("x")).unwrap();
        assert_eq!(read(&file).trim(), folder.display().to_string(), "{line}");
    }
}

#[test]
fn endless_output_fills_neither_memory_nor_disk() {
    let place = Place::new();
    let order = Order {
        output_limit: 10_000,
        ..place.order("head -c 300000000 /dev/zero")
    };
    let (end, text, running) = run(&order);
    assert_eq!((end, text.len()), (Some(End::Exit(0)), 10_000));
    assert_eq!(running.output().dropped, 300_000_000 - 10_000);
}

#[test]
fn a_line_that_runs_on_is_watched_and_stopped_with_its_children() {
    let place = Place::new();
    let order = place.order("echo started; sleep 1000 & sleep 1000");
    let running = RealCommands.start(&order).unwrap();
    // No time at all: it cannot have ended.
    assert_eq!(running.wait(Duration::ZERO), None);
    running.stop();
    assert_eq!(running.wait(LONG), Some(End::Signal(9)));
    // Stopping twice does no harm.
    running.stop();
}

#[test]
fn what_a_line_leaves_in_the_background_goes_on_until_the_sweep() {
    let place = Place::new();
    // A session of its own: killing the group would not reach it.
    let order = place.order("setsid sleep 1000 > /dev/null 2>&1 & echo $!");
    let (end, text, _) = run(&order);
    assert_eq!(end, Some(End::Exit(0)));
    let process = format!("/proc/{}", text.trim());
    assert!(RealFiles.metadata(Path::new(&process)).is_ok());
    assert!(RealCommands.sweep(&order.mark) >= 1);
    // A second sweep finds nothing: the first was thorough.
    assert_eq!(RealCommands.sweep(&order.mark), 0);
    assert_eq!(RealCommands.sweep("another session"), 0);
}

#[test]
fn a_confined_line_writes_in_its_folders_only_and_opens_no_socket() {
    let place = Place::new();
    if let Confinement::None(why) = RealCommands.confinement() {
        eprintln!("skipped: {why}");
        return;
    }
    let other = Place::new();
    let victim = other.path().join("victim");
    RealFiles
        .replace(&victim, b"whole", Access::Private)
        .unwrap();
    let (end, text, _) =
        run(&place
            .confined("echo x > mine && chmod 600 mine && touch -d 2020-01-01 mine && cat mine"));
    assert_eq!((end, text.as_str()), (Some(End::Exit(0)), "x\n"), "{text}");
    for attack in [
        format!("echo gone > {}", victim.display()),
        format!("rm {}", victim.display()),
        format!("ln -s {} link && echo gone > link", victim.display()),
        format!("mv {} .", victim.display()),
        format!("truncate -s 0 {}", victim.display()),
        "echo x > /dev/tcp/127.0.0.1/9".to_owned(),
        "exec 3<>/dev/udp/127.0.0.1/9 && echo x >&3".to_owned(),
    ] {
        let (end, _, _) = run(&place.confined(&attack));
        assert_ne!(end, Some(End::Exit(0)), "{attack}");
        assert_eq!(read(&victim), "whole", "{attack}");
    }
}

#[test]
fn faults_are_told() {
    let place = Place::new();
    let order = Order {
        directory: place.path().join("missing"),
        ..place.order("true")
    };
    let error = RealCommands.start(&order).unwrap_err();
    assert!(matches!(error, SandboxError::Start { .. }), "{error}");
    let order = place.order("true");
    run(&order);
    // The output of another line must not be overwritten.
    assert!(RealCommands.start(&order).is_err());
    let (end, _, _) = run(&place.order("no-such-program-here"));
    assert_eq!(end, Some(End::Exit(127)));
}
