//! Real programs in the real sandbox. Each test looks afterwards at what must not have happened.

use dormouse_system::{
    Access, Confinement, ENVIRONMENT, End, Files as _, Finished, MARK, Program, RealFiles,
    RealSandbox, Sandbox as _, SandboxError, Task,
};
use std::net::{TcpListener, UdpSocket};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::time::Duration;
use tempfile::TempDir;

/// Long enough for anything that ends by itself.
const LONG: Duration = Duration::from_mins(1);

fn task(directory: &Path, line: &str) -> Task {
    Task {
        program: Program::Line(line.to_owned()),
        directory: directory.to_owned(),
        time_limit: LONG,
        output_limit: 10_000,
    }
}

fn run(directory: &Path, line: &str) -> Finished {
    RealSandbox.run(&task(directory, line)).unwrap()
}

fn confined(finished: &Finished) -> bool {
    matches!(finished.confinement, Confinement::Full)
}

#[test]
fn a_program_reads_and_says_so() {
    let directory = TempDir::new().unwrap();
    RealFiles
        .replace(&directory.path().join("note"), b"hello\n", Access::Private)
        .unwrap();
    let finished = run(directory.path(), "cat note; echo oops >&2; exit 3");
    assert_eq!(finished.stdout, "hello\n");
    assert_eq!(finished.stderr, "oops\n");
    assert_eq!((finished.end, finished.dropped), (End::Exit(3), 0));
}

#[test]
fn nothing_can_be_written() {
    let directory = TempDir::new().unwrap();
    let note = directory.path().join("note");
    RealFiles
        .replace(&note, b"precious", Access::Private)
        .unwrap();
    let attempts = [
        "echo x > new",
        "echo x >> note",
        ": > note",
        "rm note",
        "mv note other",
        "mkdir sub",
        "ln -s note link",
        "ln note second",
        "mkfifo pipe",
        "cp note copy",
    ];
    for attempt in attempts {
        let finished = run(directory.path(), attempt);
        if !confined(&finished) {
            return;
        }
        assert_ne!(finished.end, End::Exit(0), "{attempt}");
    }
    assert_eq!(RealFiles.read(&note, 99).unwrap(), "precious");
    assert_eq!(RealFiles.list(directory.path()).unwrap().len(), 1);
}

#[test]
fn what_is_thrown_away_may_be_written() {
    let directory = TempDir::new().unwrap();
    let finished = run(directory.path(), "echo x > /dev/null && echo y 2>/dev/null");
    assert_eq!(
        (finished.end, &*finished.stdout),
        (End::Exit(0), &b"y\n"[..])
    );
}

#[test]
fn nobody_is_reached_over_the_network() {
    let directory = TempDir::new().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port();
    let connect = Task {
        program: Program::Direct {
            program: "bash".into(),
            arguments: vec![
                "-c".into(),
                format!("exec 3<>/dev/tcp/127.0.0.1/{port} && echo connected").into(),
            ],
        },
        ..task(directory.path(), "")
    };
    // Without bash there is no way to try it.
    let Ok(finished) = RealSandbox.run(&connect) else {
        return;
    };
    if confined(&finished) {
        assert_ne!(finished.end, End::Exit(0));
        assert_eq!(finished.stdout, "");
        let arrived = listener.accept().unwrap_err();
        assert_eq!(arrived.kind(), std::io::ErrorKind::WouldBlock);
    }
}

#[test]
fn no_datagram_leaves_and_no_socket_with_a_path_is_reached() {
    let directory = TempDir::new().unwrap();
    let datagrams = UdpSocket::bind("127.0.0.1:0").unwrap();
    datagrams.set_nonblocking(true).unwrap();
    let path = directory.path().join("socket");
    let streams = UnixListener::bind(&path).unwrap();
    streams.set_nonblocking(true).unwrap();
    let program = |program: &str, script: String| Task {
        program: Program::Direct {
            program: program.into(),
            arguments: vec![
                if program == "bash" { "-c" } else { "-e" }.into(),
                script.into(),
            ],
        },
        ..task(directory.path(), "")
    };
    let port = datagrams.local_addr().unwrap().port();
    let attempts = [
        program("bash", format!("echo x > /dev/udp/127.0.0.1/{port}")),
        program(
            "perl",
            format!(
                "use Socket; socket(S, PF_UNIX, SOCK_STREAM, 0) or die; connect(S, sockaddr_un('{}')) or die",
                path.display()
            ),
        ),
    ];
    for attempt in attempts {
        // Without the program there is no way to try it.
        let Ok(finished) = RealSandbox.run(&attempt) else {
            eprintln!("skipped: {:?} is not here", attempt.program);
            continue;
        };
        if confined(&finished) {
            assert_ne!(finished.end, End::Exit(0), "{attempt:?}");
        }
    }
    let nothing = std::io::ErrorKind::WouldBlock;
    assert_eq!(datagrams.recv(&mut [0; 8]).unwrap_err().kind(), nothing);
    assert_eq!(streams.accept().unwrap_err().kind(), nothing);
}

#[test]
fn rights_and_times_of_files_stay() {
    let directory = TempDir::new().unwrap();
    let note = directory.path().join("note");
    RealFiles.replace(&note, b"x", Access::Private).unwrap();
    let before = rustix::fs::stat(&note).unwrap();
    for line in [
        "chmod 777 note",
        "touch -d 2001-01-01 note",
        "touch -a note",
    ] {
        let finished = run(directory.path(), line);
        if confined(&finished) {
            assert_ne!(finished.end, End::Exit(0), "{line}");
        }
    }
    let after = rustix::fs::stat(&note).unwrap();
    assert_eq!(
        (before.st_mode, before.st_mtime, before.st_atime),
        (after.st_mode, after.st_mtime, after.st_atime)
    );
}

#[test]
fn of_the_settings_of_the_machine_only_the_needed_are_read() {
    let directory = TempDir::new().unwrap();
    let readable = [directory.path().to_owned()];
    let below = |line: &str| RealSandbox.run_below(&task(directory.path(), line), &readable);
    let Ok(finished) = below("cat /etc/hosts /etc/hostname /etc/environment /etc/fstab; ls /etc")
    else {
        eprintln!("skipped: nothing confines programs here");
        return;
    };
    assert_eq!(finished.stdout, "");
    assert_ne!(finished.end, End::Exit(0));
    // Names of users and the time zone still work, and git does without the machine's settings.
    let finished = below("ls -l . && date && git --version").unwrap();
    assert_eq!(finished.end, End::Exit(0), "{finished:?}");
}

#[test]
fn the_environment_counts_its_own_settings() {
    let keys = ENVIRONMENT
        .iter()
        .filter(|(name, _)| name.starts_with("GIT_CONFIG_KEY_"));
    let count = ENVIRONMENT
        .iter()
        .find(|(name, _)| *name == "GIT_CONFIG_COUNT");
    assert_eq!(
        count.map(|(_, count)| *count),
        Some(keys.count().to_string().as_str())
    );
}

#[test]
fn nothing_is_read_but_what_was_said() {
    let directory = TempDir::new().unwrap();
    let (inner, outer) = (directory.path().join("in"), directory.path().join("out"));
    for place in [&inner, &outer] {
        RealFiles.create_dir_all(place, Access::Private).unwrap();
        RealFiles
            .replace(&place.join("note"), b"hello", Access::Private)
            .unwrap();
    }
    std::os::unix::fs::symlink("../out/note", inner.join("link")).unwrap();
    let readable = [inner.clone()];
    let run = |line: &str| {
        RealSandbox
            .run_below(&task(&inner, line), &readable)
            .unwrap()
    };
    assert_eq!(run("cat note && ls").stdout, "hellolink\nnote\n");
    for line in [
        "cat link",
        "cat ../out/note",
        "ls ../out",
        "cp /bin/ls x; ./x",
    ] {
        let finished = run(line);
        if confined(&finished) {
            assert_ne!(finished.end, End::Exit(0), "{line}");
            assert_eq!(finished.stdout, "", "{line}");
        }
    }
}

#[test]
fn a_file_that_may_be_read_may_not_be_started() {
    let directory = TempDir::new().unwrap();
    let script = directory.path().join("script");
    RealFiles
        .replace(&script, b"#!/bin/sh\necho started\n", Access::Private)
        .unwrap();
    let mode = rustix::fs::Mode::from_raw_mode(0o700);
    rustix::fs::chmod(&script, mode).unwrap();
    let line = task(directory.path(), "./script");
    assert_eq!(RealSandbox.run(&line).unwrap().stdout, "started\n");
    let readable = [directory.path().to_owned()];
    let finished = RealSandbox.run_below(&line, &readable).unwrap();
    if confined(&finished) {
        assert_eq!(
            (finished.end, &*finished.stdout),
            (End::Exit(126), &b""[..])
        );
    }
}

#[test]
fn this_process_keeps_its_rights() {
    let directory = TempDir::new().unwrap();
    run(directory.path(), "true");
    RealFiles
        .replace(&directory.path().join("note"), b"x", Access::Private)
        .unwrap();
    assert!(TcpListener::bind("127.0.0.1:0").is_ok());
}

#[test]
fn the_environment_is_small_and_the_input_empty() {
    let directory = TempDir::new().unwrap();
    let finished = run(directory.path(), "cat; env | cut -d= -f1 | sort");
    let text = String::from_utf8(finished.stdout.to_vec()).unwrap();
    for name in text.lines() {
        // The mark keeps the program apart from orphans that commands leave behind.
        let known = ["HOME", "LANG", "PATH", "PWD", "OLDPWD", "SHLVL", "_", MARK];
        let listed = ENVIRONMENT.iter().any(|(listed, _)| *listed == name);
        assert!(known.contains(&name) || listed, "{name}");
    }
    for (name, _) in ENVIRONMENT {
        assert!(text.lines().any(|line| line == name), "{name}");
    }
    let here = run(directory.path(), "pwd -P");
    let real = RealFiles.real_path(directory.path()).unwrap();
    assert_eq!(here.stdout, format!("{}\n", real.display()));
}

#[test]
fn a_program_that_does_not_end_is_ended_with_all_it_started() {
    let directory = TempDir::new().unwrap();
    let endless = Task {
        time_limit: Duration::from_millis(50),
        ..task(directory.path(), "echo started; sleep 1000 & sleep 1000")
    };
    let finished = RealSandbox.run(&endless).unwrap();
    assert_eq!(finished.end, End::TimedOut);
}

#[test]
fn what_stays_in_the_background_is_not_waited_for() {
    let directory = TempDir::new().unwrap();
    let finished = run(directory.path(), "sleep 1000 & echo done");
    assert_eq!(
        (finished.end, &*finished.stdout),
        (End::Exit(0), &b"done\n"[..])
    );
}

#[test]
fn a_signal_is_told_from_an_exit() {
    let directory = TempDir::new().unwrap();
    assert_eq!(run(directory.path(), "kill -TERM $$").end, End::Signal(15));
}

#[test]
fn too_much_output_is_cut_and_counted() {
    let directory = TempDir::new().unwrap();
    let finished = run(directory.path(), "head -c 1000000 /dev/zero");
    assert_eq!(
        (finished.end, finished.stdout.len()),
        (End::Exit(0), 10_000)
    );
    assert_eq!(finished.dropped, 990_000);
}

#[test]
fn what_cannot_start_is_an_error_with_its_name() {
    let directory = TempDir::new().unwrap();
    let missing = Task {
        program: Program::Direct {
            program: "no-such-program-anywhere".into(),
            arguments: Vec::new(),
        },
        ..task(directory.path(), "")
    };
    let error = RealSandbox.run(&missing).unwrap_err();
    assert!(matches!(error, SandboxError::Start { .. }));
    assert!(error.to_string().contains("no-such-program-anywhere"));
    let nowhere = RealSandbox.run(&task(&directory.path().join("missing"), "true"));
    assert!(matches!(nowhere, Err(SandboxError::Start { .. })));
    let zero = RealSandbox.run(&task(directory.path(), "echo a\0b"));
    assert!(matches!(zero, Err(SandboxError::Start { .. })));
}
