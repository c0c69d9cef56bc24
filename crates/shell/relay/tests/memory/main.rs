//! Memory of a relay that knows thousands of idle conversations, opened from its book.
//!
//! The only test of its process, because the figure is the process's. It is skipped with a message
//! where the system does not tell it.

#![expect(
    clippy::disallowed_methods,
    reason = "a test writes a book and asks the system"
)]

#[cfg(test)]
mod tests {
    use dormouse_core::models::ModelTable;
    use dormouse_relay::{Relay, folder};
    use dormouse_system::System;
    use std::fs;
    use std::io::{BufWriter, Write as _};
    use std::sync::Arc;

    /// Conversations and requests of each: 200 messages are 100 requests.
    const CONVERSATIONS: u128 = 2_000;
    const REQUESTS: u128 = 100;
    /// Bytes that the whole process may hold, and files it may have open.
    const BYTES: usize = 100 * 1024 * 1024;
    const FILES: usize = 64;

    /// A figure of the process in bytes, as Linux tells it.
    fn process(name: &str) -> Option<usize> {
        let status = fs::read_to_string("/proc/self/status").ok()?;
        let line = status.lines().find(|line| line.starts_with(name))?;
        let kilobytes: usize = line.split_whitespace().nth(1)?.parse().ok()?;
        Some(kilobytes * 1024)
    }

    #[test]
    fn two_thousand_idle_conversations_fit_a_small_process() {
        let home = tempfile::TempDir::new().unwrap();
        let folder = folder(home.path());
        fs::create_dir_all(&folder).unwrap();
        let book = fs::File::create(folder.join("requests-2026-01-01.jsonl")).unwrap();
        let mut book = BufWriter::new(book);
        for at in 0..CONVERSATIONS * REQUESTS {
            // Chains are hashes: spread over the whole range.
            let chain =
                |nth: u128| (at * 4 + nth).wrapping_mul(0x9E37_79B9_7F4A_7C15_F39C_C060_5CED_C835);
            let conversation =
                (at / REQUESTS + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15_F39C_C060_5CED_C835);
            writeln!(
                book,
                r#"{{"v":1,"at":1767225600000,"request":"req_{at}","client":"0badcafe","conversation":"{conversation:032x}","tip":"{:032x}","bare":"{:032x}","session":"{conversation:032x}","reply":"{:032x}","relation":"continues","known":100,"blocks":102,"model":"claude-sonnet-4-5","status":200,"ended":"whole","ms":900,"sent":100000,"received":2000}}"#,
                chain(1),
                chain(2),
                chain(3)
            )
            .unwrap();
        }
        drop(book);
        let models = Arc::new(ModelTable::builtin().clone());
        let relay = Relay::open(&System::real(), &folder, models).unwrap();
        assert_eq!(
            u128::from(relay.figures(None).kept),
            CONVERSATIONS * REQUESTS
        );
        let Some(held) = process("VmRSS") else {
            println!("skipped: this system does not tell a process's memory");
            return;
        };
        let files = fs::read_dir("/proc/self/fd").unwrap().count();
        println!("{} MB, {files} files", held / 1_000_000);
        assert!(
            held <= BYTES,
            "{held} bytes for {CONVERSATIONS} conversations"
        );
        assert!(files <= FILES, "{files} open files");
    }
}
