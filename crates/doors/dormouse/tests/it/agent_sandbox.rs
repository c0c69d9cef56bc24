//! Attacks of a confined command, through the real tool: writing outside, the network, outliving the
//! session, the kernel's files; and outputs of gigabytes.
#![cfg(target_os = "linux")]

use crate::agent::{Scene, calls, result_of, says};
use dormouse_system::{Files as _, RealFiles};
use serde_json::{Value, json};
use std::io::ErrorKind;
use std::net::{TcpListener, UdpSocket};
use std::os::unix::net::UnixListener;

fn bash(line: &str) -> Value {
    calls("Bash", &json!({ "command": line }))
}

/// Results of lines, each run by Bash in the mode `sandbox`, and whether something confines here. Where
/// nothing does, every line must have been refused.
fn attacked(lines: &[String], files: &[(&str, &str)]) -> (Scene, Vec<String>, bool) {
    let mut script: Vec<Value> = lines.iter().map(|line| bash(line)).collect();
    script.push(says("Done."));
    let scene = Scene::new(&script, files);
    let frames = scene.frames(&["--mode", "sandbox", "-p", "go"]);
    let results: Vec<String> = frames
        .iter()
        .filter(|frame| frame["type"] == "user")
        .map(|frame| result_of(frame).to_owned())
        .collect();
    assert_eq!(results.len(), lines.len());
    let refused = |text: &String| text.contains("nothing confines commands");
    let confined = !results.iter().any(refused);
    if !confined {
        eprintln!("refused instead of confined: nothing confines commands on this machine");
        assert!(results.iter().all(refused), "{results:?}");
    }
    (scene, results, confined)
}

#[test]
fn nothing_is_written_outside() {
    let lines: Vec<String> = [
        "echo x > ../outside.txt",
        "echo x > $HOME/outside.txt",
        "ln -s ../victim.txt link && echo x > link",
        "ln ../victim.txt hard && echo x > hard",
        "echo x > /proc/self/cwd/../outside.txt",
        "echo x > /proc/self/root$HOME/outside.txt",
        "mv ../victim.txt stolen.txt",
        "rm -f ../victim.txt",
        "chmod 777 ../victim.txt && touch -d 2001-01-01 ../victim.txt && echo x >> ../victim.txt",
        "mkdir ../made",
        "cp /bin/true ../outside.txt",
        "(cd .. && echo x > outside.txt)",
        "bash -c 'bash -c \"echo x > ../outside.txt\"'",
        "truncate -s 0 ../victim.txt",
        "echo x > /dev/shm/outside-of-dormouse",
    ]
    .map(str::to_owned)
    .to_vec();
    let (scene, results, confined) = attacked(&lines, &[("victim.txt", "safe\n")]);
    for (line, result) in lines.iter().zip(&results).filter(|_| confined) {
        // The way out is offered.
        assert!(
            result.contains("dangerouslyDisableSandbox"),
            "{line}: {result}"
        );
    }
    assert_eq!(scene.machine.read("victim.txt"), "safe\n");
    assert!(!scene.machine.home().join("outside.txt").exists());
    assert!(!scene.machine.home().join("made").exists());
}

#[test]
fn no_socket_is_opened() {
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    tcp.set_nonblocking(true).unwrap();
    let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
    udp.set_nonblocking(true).unwrap();
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("s");
    let unix = UnixListener::bind(&path).unwrap();
    unix.set_nonblocking(true).unwrap();
    let (tcp_port, udp_port) = (
        tcp.local_addr().unwrap().port(),
        udp.local_addr().unwrap().port(),
    );
    let perl = "use Socket; socket(S, PF_UNIX, SOCK_STREAM, 0) or exit 3; \
                connect(S, sockaddr_un($ARGV[0])) or exit 4; print S 1;";
    let lines = vec![
        format!("exec 3<>/dev/tcp/127.0.0.1/{tcp_port} && echo x >&3"),
        format!("echo x > /dev/udp/127.0.0.1/{udp_port}"),
        format!("perl -e '{perl}' {}", path.display()),
        format!("setsid bash -c 'echo x > /dev/tcp/127.0.0.1/{tcp_port}'"),
    ];
    let (_scene, results, confined) = attacked(&lines, &[]);
    for (line, result) in lines.iter().zip(&results).filter(|_| confined) {
        assert!(
            result.contains("dangerouslyDisableSandbox"),
            "{line}: {result}"
        );
    }
    assert_eq!(tcp.accept().unwrap_err().kind(), ErrorKind::WouldBlock);
    assert_eq!(
        udp.recv(&mut [0; 8]).unwrap_err().kind(),
        ErrorKind::WouldBlock
    );
    assert_eq!(unix.accept().unwrap_err().kind(), ErrorKind::WouldBlock);
}

/// Processes whose command line has these words.
fn alive(words: &str) -> usize {
    let all = RealFiles.list("/proc".as_ref()).unwrap();
    let lines = all.into_iter().filter_map(|entry| {
        let file = std::path::Path::new("/proc")
            .join(entry.name)
            .join("cmdline");
        let line = RealFiles.open(&file).ok()?.read_range(0, 4_096).ok()?;
        Some(String::from_utf8_lossy(&line).replace('\0', " "))
    });
    lines.filter(|line| line.trim() == words).count()
}

#[test]
fn nothing_outlives_the_session() {
    // Figures that no other process sleeps for.
    let unique = 70_000_000 + u64::from(std::process::id());
    let sleeps: Vec<String> = (0..6).map(|at| format!("sleep {unique}{at}")).collect();
    let lines = [
        format!("setsid {} > /dev/null 2>&1 &", sleeps[0]),
        format!("nohup {} > /dev/null 2>&1 &", sleeps[1]),
        format!("( ( setsid {} & ) & ) > /dev/null 2>&1", sleeps[2]),
        format!("env -i /usr/bin/setsid {} > /dev/null 2>&1 &", sleeps[3]),
        format!("( ( env -i {} & ) & ) > /dev/null 2>&1", sleeps[4]),
        format!(
            "env -i bash -c 'trap \"\" TERM HUP; {} & disown' > /dev/null 2>&1",
            sleeps[5]
        ),
    ];
    for mode in ["sandbox", "all"] {
        let mut script: Vec<Value> = lines.iter().map(|line| bash(line)).collect();
        script.push(says("Done."));
        let scene = Scene::new(&script, &[]);
        let run = scene.run(&["--mode", mode, "-p", "go"]);
        assert_eq!(run.stdout, "Done.\n", "{run:?}");
        for sleep in &sleeps {
            assert_eq!(alive(sleep), 0, "{mode}: {sleep}");
        }
    }
}

#[test]
fn the_agents_own_process_is_out_of_reach() {
    let lines: Vec<String> = [
        "echo x > /proc/$PPID/mem",
        "kill -0 $PPID",
        // The key of the provider stands in the agent's environment.
        "cat /proc/$PPID/environ",
        "cat /proc/$PPID/maps",
        "readlink -v /proc/$PPID/fd/0",
        "readlink -v /proc/$PPID/exe",
    ]
    .map(str::to_owned)
    .to_vec();
    let (_scene, results, confined) = attacked(&lines, &[]);
    for (line, result) in lines.iter().zip(&results).filter(|_| confined) {
        let refused = ["ermission denied", "not permitted"];
        assert!(
            refused.iter().any(|why| result.contains(why)),
            "{line}: {result}"
        );
        assert!(!result.contains("ANTHROPIC_API_KEY"), "{line}");
    }
}

#[test]
fn keys_are_neither_read_nor_inherited() {
    let key = format!("k{}", std::process::id());
    let lines: Vec<String> = [
        "cat $HOME/.ssh/id_rsa",
        "cat $HOME/.netrc",
        "cat $HOME/.dormouse/settings.toml",
        "tar c $HOME/.aws | cat",
        "env | grep -i api_key",
    ]
    .map(str::to_owned)
    .to_vec();
    let own = format!("anthropic.api_key = \"{key}\"\n");
    let files = [
        (".ssh/id_rsa", key.as_str()),
        (".netrc", key.as_str()),
        (".aws/credentials", key.as_str()),
        (".dormouse/settings.toml", own.as_str()),
    ];
    let (_scene, results, confined) = attacked(&lines, &files);
    for (line, result) in lines.iter().zip(&results).filter(|_| confined) {
        assert!(!result.contains(&key), "{line}: {result}");
        assert!(!result.contains("ANTHROPIC_API_KEY"), "{line}: {result}");
    }
}

#[test]
fn leaving_the_sandbox_is_a_question_and_refused_without_a_person() {
    let outside = calls(
        "Bash",
        &json!({ "command": "touch ../out.txt", "dangerouslyDisableSandbox": true }),
    );
    let scene = Scene::new(&[outside, says("Done.")], &[]);
    let run = scene.run(&["--mode", "sandbox", "-p", "go", "--output-format", "json"]);
    let result: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(
        result["permission_denials"][0]["tool_name"], "Bash",
        "{run:?}"
    );
    assert!(!scene.machine.home().join("out.txt").exists());
}

#[test]
fn two_gigabytes_of_output_do_not_enter_memory() {
    let script = [
        bash("head -c 2147483648 /dev/zero"),
        bash("grep VmHWM /proc/$PPID/status"),
        says("Done."),
    ];
    let scene = Scene::new(&script, &[]);
    let frames = scene.frames(&["--mode", "all", "-p", "go"]);
    let results: Vec<&str> = frames
        .iter()
        .filter(|frame| frame["type"] == "user")
        .map(result_of)
        .collect();
    assert!(results[0].len() < 3 << 20, "{}", results[0].len());
    let peak: u64 = results[1]
        .split_whitespace()
        .find_map(|word| word.parse().ok())
        .unwrap();
    // Kilobytes: the program with its index and some copies of a result of two megabytes.
    assert!(peak < 200 * 1024, "{peak} kB");
}
