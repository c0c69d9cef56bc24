//! Peak memory of reading a log without a boundary, against the bytes of its view.
//!
//! The only test of its process, because the peak is the process's. It is skipped with a message
//! where the system does not tell the peak.

#![expect(
    clippy::disallowed_methods,
    reason = "a test writes a log and asks the system"
)]

#[cfg(test)]
mod tests {
    use dormouse_core::models::ModelTable;
    use dormouse_host::Transcripts;
    use dormouse_system::System;
    use serde_json::json;
    use std::fmt::Write as _;
    use std::fs;
    use std::sync::Arc;

    /// Lines of the log: enough that the view dwarfs the buffers of the reading.
    const LINES: usize = 100_000;
    /// Bytes of text in a message; real messages and results average more. A segment of the view
    /// takes some 560 bytes beside its text, so that shorter ones would measure the view and not
    /// the reading.
    const TEXT: usize = 600;

    /// A figure of the process in bytes, as Linux tells it.
    fn process(name: &str) -> Option<usize> {
        let status = fs::read_to_string("/proc/self/status").ok()?;
        let line = status.lines().find(|line| line.starts_with(name))?;
        let kilobytes: usize = line.split_whitespace().nth(1)?.parse().ok()?;
        Some(kilobytes * 1024)
    }

    /// A log of another tool: messages with long envelopes, every tenth answer beside the path, and
    /// lines of bookkeeping that no prompt contains.
    fn log() -> String {
        let words = "word ".repeat(TEXT / 5);
        let mut text = String::new();
        let mut parent = None;
        for at in 0..LINES {
            let id = format!("{at:08x}-0000-4000-8000-000000000000");
            let message = if at % 2 == 0 {
                json!({ "role": "user", "content": format!("{at} {words}") })
            } else {
                let content = [json!({ "type": "text", "text": format!("{at} {words}") })];
                json!({ "role": "assistant", "id": format!("msg_{at}"), "model": "claude-opus-4-6",
                    "content": content, "usage": { "input_tokens": 10, "output_tokens": 5 } })
            };
            let line = json!({
                "type": if at % 2 == 0 { "user" } else { "assistant" },
                "uuid": id, "parentUuid": parent, "isSidechain": false, "message": message,
                "sessionId": "5e551011-0000-4000-8000-000000000000", "version": "2.0.1",
                "cwd": "/home/user/project", "gitBranch": "main", "userType": "external",
                "timestamp": "2026-01-01T00:00:00.000Z", "requestId": "req_0000000000000000",
                "toolUseResult": "bookkeeping of the tool ".repeat(5),
            });
            writeln!(text, "{line}").unwrap();
            // Abandoned: the next message hangs on the one before.
            if at % 20 != 19 {
                parent = Some(id);
            }
        }
        text
    }

    #[test]
    fn reading_a_log_without_a_boundary_takes_about_its_view() {
        let Some((peak, bytes)) = peak_and_view() else {
            eprintln!("skipped: this system does not tell the peak of a process");
            return;
        };
        assert!(
            peak <= 2 * bytes,
            "a view of {bytes} bytes took {peak} bytes to read"
        );
    }

    /// Peak of reading the log, and the bytes of its view.
    fn peak_and_view() -> Option<(usize, usize)> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("s.jsonl");
        fs::write(&file, log()).unwrap();
        let models = Arc::new(ModelTable::builtin().clone());
        let transcripts = Transcripts::new(&System::real(), models);
        // Resets the peak to what is in use now.
        fs::write("/proc/self/clear_refs", "5").ok()?;
        let before = process("VmHWM")?;
        let transcript = transcripts.live(&file).unwrap();
        let peak = process("VmHWM").unwrap() - before;
        let view = transcript.conversation.view();
        let segments = view.segments();
        let bytes: usize = segments.iter().map(|it| it.block.bytes().len()).sum();
        assert!(
            segments.len() * 10 > LINES * 9,
            "{} segments",
            segments.len()
        );
        Some((peak, bytes))
    }
}
