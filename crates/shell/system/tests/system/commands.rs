//! Command lines that may change things, on the real machine.

use dormouse_system::{
    Access, Commands as _, Confinement, End, Files as _, Order, RealCommands, RealFiles, Room,
    Running, SandboxError,
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
            confined_to: Some(Room {
                writable: vec![self.path().to_owned()],
                hidden: Vec::new(),
            }),
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

/// True if a process is dead, also one that nobody has looked after yet.
fn gone(pid: &str) -> bool {
    let stat = RealFiles.read(Path::new(&format!("/proc/{pid}/stat")), 65_536);
    stat.map_or(true, |stat| String::from_utf8_lossy(&stat).contains(") Z"))
}

#[cfg(target_os = "linux")]
#[test]
fn children_of_the_program_around_are_left_alone() {
    use std::os::unix::process::CommandExt as _;
    let place = Place::new();
    // Children as a program would have them that embeds the tools: in groups of their own, without a
    // mark, one of them an orphan.
    let mut own = std::process::Command::new("sleep")
        .arg("1000")
        .process_group(0)
        .env_clear()
        .spawn()
        .unwrap();
    let orphan = std::process::Command::new("/bin/sh")
        .args(["-c", "setsid sleep 1000 > /dev/null 2>&1 & echo $!"])
        .env_clear()
        .output()
        .unwrap();
    let orphan = String::from_utf8(orphan.stdout).unwrap();
    for confined in [false, true] {
        let line = "sleep 1000 > /dev/null 2>&1 & echo $!";
        let order = if confined && !matches!(RealCommands.confinement(), Confinement::None(_)) {
            place.confined(line)
        } else {
            place.order(line)
        };
        let (_, swept, _) = run(&order);
        assert_eq!(RealCommands.sweep(&order.mark), 1, "{confined}");
        assert!(gone(swept.trim()), "{confined}: {swept}");
        assert!(!gone(&own.id().to_string()) && !gone(orphan.trim()));
    }
    own.kill().unwrap();
    own.wait().unwrap();
    std::process::Command::new("kill")
        .arg(orphan.trim())
        .status()
        .unwrap();
}

#[cfg(target_os = "linux")]
#[test]
fn a_process_that_sheds_every_sign_is_still_of_its_session() {
    let place = Place::new();
    if RealCommands.confinement() != Confinement::Full {
        eprintln!("skipped: the kernel does not hold signals back");
        return;
    }
    // No environment, no open files, a session of its own, and a parent that is gone.
    let perl = "use POSIX; pipe(R, W); if (fork) { close W; print scalar <R>; exit } setsid; \
                exit if fork; print W \"$$\\n\"; close W; POSIX::close($_) for 0..255; \
                exec \"/usr/bin/sleep\", \"1000\"";
    let order = place.confined(&format!("env -i /usr/bin/perl -e '{perl}'"));
    let (end, pid, _) = run(&order);
    assert_eq!(end, Some(End::Exit(0)), "{pid}");
    assert!(!pid.trim().is_empty() && !gone(pid.trim()), "{pid}");
    // The process between the two may still be on its way out.
    assert!(RealCommands.sweep(&order.mark) >= 1);
    assert!(gone(pid.trim()));
}

#[test]
fn hidden_places_cannot_be_read_and_everything_else_can() {
    let place = Place::new();
    if let Confinement::None(why) = RealCommands.confinement() {
        eprintln!("skipped: {why}");
        return;
    }
    let home = Place::new();
    for name in [
        ".ssh/id",
        ".config/gh/hosts.yml",
        ".config/app.toml",
        "notes.txt",
    ] {
        let path = home.path().join(name);
        RealFiles
            .create_dir_all(path.parent().unwrap(), Access::Private)
            .unwrap();
        RealFiles
            .replace(&path, b"content", Access::Private)
            .unwrap();
    }
    let at = home.path().display();
    let order = |line: String| Order {
        confined_to: Some(Room {
            writable: vec![place.path().to_owned()],
            hidden: dormouse_system::secret_places(Some(home.path())),
        }),
        ..place.order(&line)
    };
    let hidden = [
        format!("cat {at}/.ssh/id"),
        format!("cat {at}/.config/gh/hosts.yml"),
        format!("ln -s {at}/.ssh way && cat way/id"),
        format!("cd {at}/.ssh && cat id"),
        format!("cat /proc/self/root{at}/.ssh/id"),
        format!("cp -r {at} copy; cat copy/.ssh/id"),
        "cat /etc/shadow".to_owned(),
    ];
    for line in hidden {
        let (end, text, _) = run(&order(line.clone()));
        assert_ne!(end, Some(End::Exit(0)), "{line}");
        assert!(!text.contains("content"), "{line}: {text}");
    }
    let shown = [
        format!("cat {at}/notes.txt"),
        format!("cat {at}/.config/app.toml"),
        format!("ls {at} && echo content"),
        "echo content > new.txt && cat new.txt".to_owned(),
        "/bin/sh -c 'ls / > /dev/null && echo content'".to_owned(),
    ];
    for line in shown {
        let (end, text, _) = run(&order(line.clone()));
        assert_eq!(end, Some(End::Exit(0)), "{line}: {text}");
        assert!(text.contains("content"), "{line}: {text}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn the_environment_of_this_process_is_out_of_reach_also_for_root() {
    let place = Place::new();
    if let Confinement::None(why) = RealCommands.confinement() {
        eprintln!("skipped: {why}");
        return;
    }
    let pid = std::process::id();
    for file in ["environ", "maps", "mem", "auxv"] {
        let line = format!("head -c 10 /proc/{pid}/{file}");
        let (end, text, _) = run(&place.confined(&line));
        assert_ne!(end, Some(End::Exit(0)), "{line}: {text}");
        assert!(
            text.contains("ermission") || text.contains("not permitted"),
            "{line}: {text}"
        );
    }
    let (_, text, _) = run(&place.confined("grep -E 'Cap(Prm|Eff|Inh|Amb)' /proc/self/status"));
    for line in text.lines() {
        let held = u64::from_str_radix(line.split_whitespace().last().unwrap(), 16).unwrap();
        // Owners and rights of files: 0, 1, 3 and 4.
        assert_eq!(held & !0b1_1011, 0, "{line}");
    }
    assert_eq!(text.lines().count(), 4, "{text}");
}
