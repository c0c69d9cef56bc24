//! End of this program's commands when it is killed.
//!
//! # Model
//! A program that is killed sweeps nothing. With its first command it therefore starts a *warden*: a
//! shell that waits for the end of a pipe whose other end only this program holds, and then kills every
//! process with this program's sign in its environment. It has no sign itself, and ends when it has
//! looked. After an orderly end there is nothing left to kill.
//!
//! A command that gives its children an environment without the sign is not reached; an orderly end
//! finds such processes by other signs (`sweep`).
//!
//! # Not here
//! The end of one session in a program that lives on: `sweep`.

use std::process::{ChildStdin, Command, Stdio};
use std::sync::OnceLock;

/// Variable with the sign of the program that started a command.
const SIGN: &str = "DORMOUSE_HOST";

/// The warden's work: it waits, then looks again until nothing is found. A process may start another
/// between the listing and its own end; more than ten rounds of that cannot be ended by signals.
const SCRIPT: &str = r#"trap '' INT HUP TERM
read -r _
round=0
while [ "$round" -lt 10 ]; do
    round=$((round + 1))
    found=
    for process in /proc/[0-9]*; do
        if grep -zqxF -e "$1" "$process/environ" 2>/dev/null; then
            kill -9 "${process#/proc/}" 2>/dev/null && found=yes
        fi
    done
    [ -n "$found" ] || exit 0
done
"#;

/// Sign of this program, and the pipe whose end wakes the warden.
#[derive(Debug)]
struct Warden {
    sign: String,
    _pipe: Option<ChildStdin>,
}

static WARDEN: OnceLock<Warden> = OnceLock::new();

/// Puts the program's sign on a command, and sees to it that there is a warden.
pub(super) fn sign(command: &mut Command) {
    let warden = WARDEN.get_or_init(start);
    command.env(SIGN, &warden.sign);
}

fn start() -> Warden {
    // Numbers of processes come again, but not with the same start.
    let own = std::process::id();
    let sign = format!("{own}-{}", birth(own).unwrap_or_default());
    let mut command = Command::new("/bin/sh");
    command
        .args(["-c", SCRIPT, "warden", &format!("{SIGN}={sign}")])
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    #[cfg(unix)]
    // A group of its own: an interrupt of the terminal must not end it before the program.
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    // Without a warden commands run all the same.
    let started = command.spawn().ok();
    Warden {
        sign,
        _pipe: started.and_then(|mut child| child.stdin.take()),
    }
}

/// Time of a process's start, in ticks since the machine's: with the number it names the process.
fn birth(process: u32) -> Option<String> {
    let stat = super::sweep::stat(process)?;
    let (_, figures) = stat.rsplit_once(')')?;
    // The twentieth figure behind the name.
    figures.split_whitespace().nth(19).map(str::to_owned)
}
