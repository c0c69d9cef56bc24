//! Tests of Read: lines, limits, odd files.

use crate::kit::{Kit, call};
use dormouse_drive::{ToolHost as _, ToolTraits};
use dormouse_system::MemorySystem;
use dormouse_tools::limits::{LONGEST_LINE, LONGEST_RESULT};
use dormouse_tools::{ForkTools, MemoryWrites, Roots, TOOL_NAMES};
use serde_json::json;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread;

#[test]
fn lines_come_with_numbers() {
    let kit = Kit::new();
    kit.put("project/src/a.rs", "fn a() {}\n\n// ende");
    let shown = "     1\tfn a() {}\n     2\t\n     3\t// ende";
    for path in [
        "src/a.rs",
        "./src/../src/a.rs",
        &kit.text("project/src/a.rs"),
    ] {
        assert_eq!(kit.says("Read", &json!({ "file_path": path })), shown);
    }
}

#[test]
fn a_part_of_a_file_and_how_to_go_on() {
    let kit = Kit::new();
    let lines: Vec<String> = (1..=10).map(|number| format!("line {number}")).collect();
    kit.put("transcripts/t", lines.join("\n"));
    let path = kit.text("transcripts/t");
    let read = |offset: u64, limit: u64| {
        let input = json!({ "file_path": path, "offset": offset, "limit": limit });
        kit.says("Read", &input)
    };
    assert_eq!(
        read(3, 2),
        "     3\tline 3\n     4\tline 4\n[more from line 5 on; use offset to go on]"
    );
    assert_eq!(read(10, 2), "    10\tline 10");
    assert_eq!(read(11, 2), "[The file has only 10 lines.]");
    assert!(read(0, 0).starts_with("     1\tline 1\n["));
    assert_eq!(read(u64::MAX, u64::MAX), "[The file has only 10 lines.]");
}

#[test]
fn long_lines_and_long_files_are_cut() {
    let kit = Kit::new();
    kit.put("project/long", "x".repeat(LONGEST_LINE + 5));
    let text = kit.says("Read", &json!({ "file_path": "long" }));
    assert!(text.ends_with("x [5 more bytes]"));
    kit.put("project/many", "0123456789".repeat(12).repeat(20) + "\n");
    kit.put(
        "project/many",
        "a line of text that is repeated\n".repeat(5_000),
    );
    let text = kit.says("Read", &json!({ "file_path": "many", "limit": 5_000 }));
    assert!(text.len() < LONGEST_RESULT + 200);
    assert!(text.contains("[cut: ") && text.contains("use offset to go on]"));
}

#[test]
fn what_is_no_text_file() {
    let kit = Kit::new();
    kit.put("project/empty", "");
    let empty = kit.says("Read", &json!({ "file_path": "empty" }));
    assert_eq!(empty, "[The file is empty.]");
    kit.put("project/binary", b"ELF\0\x01");
    let binary = kit.fails("Read", &json!({ "file_path": "binary" }));
    assert_eq!(binary, "This is not a text file.");
    kit.put("project/latin", b"gr\xfc\xdfe");
    let latin = kit.says("Read", &json!({ "file_path": "latin" }));
    assert_eq!(latin, "     1\tgr\u{fffd}\u{fffd}e");
    assert!(
        kit.fails("Read", &json!({ "file_path": "src" }))
            .contains("directory")
    );
    let missing = kit.fails("Read", &json!({ "file_path": "missing" }));
    assert!(missing.starts_with("failed to open `missing`"), "{missing}");
    assert_eq!(
        kit.fails("Read", &json!({ "file_path": "" })),
        "The path is empty."
    );
}

#[test]
fn inputs_that_do_not_fit() {
    let kit = Kit::new();
    for (input, said) in [
        (json!({}), "`file_path` is missing; it must be a text."),
        (
            json!({ "file_path": 3 }),
            "`file_path` is a number; it must be a text.",
        ),
        (
            json!({ "file_path": "a", "offset": -1 }),
            "`offset` is a number; it must be a whole number, not below 0.",
        ),
        (json!("a"), "The input is a text; it must be an object."),
        (json!(null), "The input is missing; it must be an object."),
    ] {
        assert_eq!(kit.fails("Read", &input), said);
    }
}

#[test]
fn memory_is_read_as_the_task_sees_it() {
    let kit = Kit::new();
    kit.put("memory/a.md", "old on disk");
    kit.put("memory/b.md", "only on disk");
    kit.notes.put("a.md", "new in the task");
    let read = |name: &str| kit.says("Read", &json!({ "file_path": kit.text(name) }));
    assert_eq!(read("memory/a.md"), "     1\tnew in the task");
    assert_eq!(read("memory/b.md"), "     1\tonly on disk");
}

#[cfg(unix)]
#[test]
fn a_link_is_read_if_it_stays_among_the_readable() {
    let kit = Kit::new();
    kit.put("project/AGENTS.md", "rules");
    let link = |target: &str, name: &str| {
        std::os::unix::fs::symlink(target, kit.path(name)).unwrap();
    };
    link("AGENTS.md", "project/CLAUDE.md");
    link("../outside/secret", "project/out");
    link("../outside", "project/outer");
    link("nowhere", "project/dangling");
    let text = kit.says("Read", &json!({ "file_path": "CLAUDE.md" }));
    assert_eq!(text, "     1\trules");
    for path in ["out", "outer/secret"] {
        let text = kit.denies("Read", &json!({ "file_path": path }));
        assert!(text.starts_with("Not allowed: only files below"), "{text}");
    }
    let text = kit.fails("Read", &json!({ "file_path": "dangling" }));
    assert!(text.ends_with("symbolic link"), "{text}");
}

/// Wakes the thread that waits.
struct Unpark(thread::Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

#[test]
fn a_caller_gets_its_result_from_another_thread() {
    let kit = Kit::new();
    kit.put("project/a", "x");
    let mut future = pin!(kit.tools.run(call("Read", &json!({ "file_path": "a" }))));
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut context = Context::from_waker(&waker);
    let output = loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(output) => break output,
            Poll::Pending => thread::park(),
        }
    };
    assert_eq!((output.call.as_str(), output.is_error), ("call-1", false));
    assert_eq!(output.text, "     1\tx");
}

#[test]
fn only_tools_that_change_nothing_may_run_beside_each_other() {
    let kit = Kit::new();
    let that = |is: fn(ToolTraits) -> bool| {
        let names = TOOL_NAMES.into_iter().chain(["Task"]);
        names
            .filter(|tool| is(kit.tools.traits(tool)))
            .collect::<Vec<_>>()
    };
    assert_eq!(that(|tool| tool.reads_files), ["Read"]);
    assert_eq!(
        that(|tool| tool.only_reads),
        ["Read", "Grep", "Glob", "Bash"]
    );
}

#[test]
fn the_tools_work_on_a_machine_in_memory() {
    let machine = MemorySystem::new();
    machine.files.put("/project/a.md", "one\ntwo\n");
    machine.files.put("/memory/b.md", "two\n");
    machine.sandbox.print("ls", "a.md\n");
    let roots = Roots {
        working: "/project".into(),
        memory: "/memory".into(),
        readable: Vec::new(),
    };
    let notes = Arc::new(crate::kit::Notes::default());
    let tools = ForkTools::new(&machine.system(), roots, notes as Arc<dyn MemoryWrites>);
    let run = |tool: &str, input| tools.run_blocking(&call(tool, &input)).text;
    assert_eq!(
        run("Read", json!({ "file_path": "a.md" })),
        "     1\tone\n     2\ttwo"
    );
    let grep = json!({ "pattern": "two", "path": "/memory" });
    assert_eq!(run("Grep", grep), "/memory/b.md");
    assert_eq!(run("Glob", json!({ "pattern": "*.md" })), "/project/a.md");
    assert_eq!(run("Bash", json!({ "command": "ls" })), "a.md");
}
