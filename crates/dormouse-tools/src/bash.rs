//! Bash: command lines that only read.
//!
//! The line is judged first, by its text; what passes runs in the sandbox as well. Where the kernel
//! has none the judgement stands alone, and the result says so.

use crate::host::Workshop;
use crate::input;
use crate::limits::{COMMAND_OUTPUT, COMMAND_TIME, LONGEST_COMMAND_TIME};
use crate::reply::{Failure, Page, Reply, in_full};
use dormouse_guard::shell::{Policy, Reach, Verdict, classify_with};
use dormouse_system::{Confinement, End, Finished, Program, Task};
use std::time::Duration;

pub(crate) fn bash(workshop: &Workshop, input: &input::Bash) -> Reply {
    let policy = Policy {
        reach: Reach::Below(workshop.places.readable().to_vec()),
        network: false,
    };
    if let Verdict::Refuse(reason) = classify_with(&input.command, &policy) {
        return Err(Failure::denied(&input.command, reason.to_string()));
    }
    let asked = input.timeout.map_or(COMMAND_TIME, Duration::from_millis);
    let task = Task {
        program: Program::Line(input.command.clone()),
        directory: workshop.places.working().to_owned(),
        time_limit: asked.min(LONGEST_COMMAND_TIME),
        output_limit: COMMAND_OUTPUT,
    };
    let finished = workshop
        .sandbox
        .run(&task)
        .map_err(|error| Failure::failed(in_full(&error)))?;
    let text = describe(&finished, task.time_limit);
    match finished.end {
        End::Exit(0) => Ok(text),
        End::Exit(_) | End::Signal(_) | End::TimedOut => Err(Failure::Failed(text)),
    }
}

fn describe(finished: &Finished, time_limit: Duration) -> String {
    let mut page = Page::default();
    for stream in [&finished.stdout, &finished.stderr] {
        let text = String::from_utf8_lossy(stream);
        if !text.is_empty() {
            page.text(text.trim_end_matches('\n'));
        }
    }
    let end = match finished.end {
        End::Exit(0) => None,
        End::Exit(code) => Some(format!("exit code {code}")),
        End::Signal(signal) => Some(format!("ended by signal {signal}")),
        End::TimedOut => Some(format!(
            "stopped after {} milliseconds; a command has at most {}",
            time_limit.as_millis(),
            LONGEST_COMMAND_TIME.as_millis()
        )),
    };
    let dropped = (finished.dropped > 0).then(|| {
        let dropped = finished.dropped;
        format!("{dropped} bytes were left out; {COMMAND_OUTPUT} are kept")
    });
    let confinement = match &finished.confinement {
        Confinement::Full => None,
        Confinement::Partial(why) => Some(format!("the sandbox was incomplete: {why}")),
        Confinement::None(why) => Some(format!("there was no sandbox: {why}")),
    };
    page.finish([end, dropped, confinement].into_iter().flatten())
}
