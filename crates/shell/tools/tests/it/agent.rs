//! Tools of the conversation, on a real disk with real commands.
#![expect(
    clippy::disallowed_methods,
    reason = "a scene on a real file system, which the tools must not be used to build"
)]

use crate::kit::call;
use bytes::Bytes;
use dormouse_context::offload::ToolOutput;
use dormouse_core::id::CallId;
use dormouse_drive::{ToolCall, ToolHost as _};
use dormouse_system::{Room, System};
use dormouse_tools::{
    AGENT_TOOLS, AgentPlaces, AgentTools, Changes, Confine, NoChanges, TodoState, Unconfined,
    agent_definitions,
};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use tempfile::TempDir;

/// Content of a file before a change.
type Before = (PathBuf, Option<Bytes>);

#[derive(Debug, Default)]
struct Kept {
    seen: Mutex<Vec<Before>>,
    full: bool,
}

impl Changes for Kept {
    fn before(
        &self,
        _: &CallId,
        path: &Path,
        content: Option<&Bytes>,
        _: &Bytes,
    ) -> Result<(), String> {
        if self.full {
            return Err("the disk is full".to_owned());
        }
        let entry = (path.to_owned(), content.cloned());
        self.seen.lock().unwrap().push(entry);
        Ok(())
    }
}

struct Scene {
    place: TempDir,
    tools: AgentTools,
}

impl Scene {
    fn new() -> Self {
        Self::with(Arc::new(NoChanges), Arc::new(Unconfined))
    }

    fn with(changes: Arc<dyn Changes>, confine: Arc<dyn Confine>) -> Self {
        let place = TempDir::new().unwrap();
        let folder = fs::canonicalize(place.path()).unwrap().join("work");
        fs::create_dir(&folder).unwrap();
        let places = AgentPlaces {
            folder,
            results: place.path().join("results"),
            mark: place.path().display().to_string(),
        };
        let tools = AgentTools::new(&System::real(), places, changes, confine);
        Self { place, tools }
    }

    fn path(&self, name: &str) -> PathBuf {
        fs::canonicalize(self.place.path())
            .unwrap()
            .join("work")
            .join(name)
    }

    fn put(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    fn call(&self, tool: &str, input: &Value) -> ToolOutput {
        self.tools.run_blocking(&call(tool, input))
    }

    #[track_caller]
    fn says(&self, tool: &str, input: &Value) -> String {
        let output = self.call(tool, input);
        assert!(!output.is_error, "{}", output.text);
        output.text
    }

    #[track_caller]
    fn fails(&self, tool: &str, input: &Value) -> String {
        let output = self.call(tool, input);
        assert!(output.is_error, "{}", output.text);
        output.text
    }

    fn bash(&self, line: &str) -> String {
        self.says("Bash", &json!({ "command": line }))
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        self.tools.close();
    }
}

#[test]
fn a_file_is_changed_only_as_it_was_read() {
    let scene = Scene::new();
    scene.put("a.txt", "one\ntwo\n");
    let edit = json!({ "file_path": "a.txt", "old_string": "two", "new_string": "zwei" });
    assert!(scene.fails("Edit", &edit).contains("was not read yet"));
    assert!(
        scene
            .says("Read", &json!({ "file_path": "a.txt" }))
            .contains("2\ttwo")
    );
    let said = scene.says("Edit", &edit);
    assert!(said.contains("-two\n+zwei"), "{said}");
    assert_eq!(scene.text("a.txt"), "one\nzwei\n");
    // A person edits it meanwhile.
    scene.put("a.txt", "one\ntwo, by hand\n");
    assert!(scene.fails("Edit", &edit).contains("has changed since"));
    let write = json!({ "file_path": "a.txt", "content": "new" });
    assert!(scene.fails("Write", &write).contains("has changed since"));
    assert_eq!(scene.text("a.txt"), "one\ntwo, by hand\n");
    scene.says("Read", &json!({ "file_path": scene.path("a.txt") }));
    assert!(scene.says("Write", &write).contains("+new"));
    // Written by the conversation itself: known.
    let again = json!({ "file_path": "a.txt", "old_string": "new", "new_string": "newer" });
    scene.says("Edit", &again);
}

#[test]
fn a_text_must_be_there_once() {
    let scene = Scene::new();
    scene.put("a.txt", "x x\r\ny\r\n");
    scene.says("Read", &json!({ "file_path": "a.txt" }));
    let edit = |old: &str, new: &str, all: bool| json!({ "file_path": "a.txt", "old_string": old, "new_string": new, "replace_all": all });
    assert!(
        scene
            .fails("Edit", &edit("z", "a", false))
            .contains("does not occur")
    );
    assert!(
        scene
            .fails("Edit", &edit("x", "a", false))
            .contains("occurs 2 times")
    );
    assert!(
        scene
            .fails("Edit", &edit("", "a", false))
            .contains("is empty")
    );
    assert!(
        scene
            .fails("Edit", &edit("x", "x", false))
            .contains("are the same")
    );
    scene.says("Edit", &edit("x", "b", true));
    // The file keeps its line ends though the model writes plain ones.
    scene.says("Edit", &edit("b\ny", "c\nd", false));
    assert_eq!(scene.text("a.txt"), "b c\r\nd\r\n");
    assert!(
        scene
            .fails(
                "Edit",
                &json!({ "file_path": "no", "old_string": "a", "new_string": "b" })
            )
            .contains("Use Write")
    );
}

#[test]
fn the_old_content_is_kept_before_the_change() {
    let kept = Arc::new(Kept::default());
    let scene = Scene::with(Arc::clone(&kept) as Arc<dyn Changes>, Arc::new(Unconfined));
    scene.says(
        "Write",
        &json!({ "file_path": "deep/new.txt", "content": "1" }),
    );
    scene.says(
        "Write",
        &json!({ "file_path": "deep/new.txt", "content": "2" }),
    );
    let path = scene.path("deep/new.txt");
    assert_eq!(
        *kept.seen.lock().unwrap(),
        [(path.clone(), None), (path, Some(Bytes::from_static(b"1")))]
    );
    let full = Arc::new(Kept {
        full: true,
        ..Kept::default()
    });
    let scene = Scene::with(full, Arc::new(Unconfined));
    let said = scene.fails("Write", &json!({ "file_path": "a", "content": "1" }));
    assert!(said.contains("the disk is full"), "{said}");
    assert!(!scene.path("a").exists());
}

#[test]
fn a_link_is_followed_and_stays_a_link() {
    let scene = Scene::new();
    scene.put("real.txt", "old");
    std::os::unix::fs::symlink(scene.path("real.txt"), scene.path("link.txt")).unwrap();
    scene.says("Read", &json!({ "file_path": "link.txt" }));
    scene.says(
        "Edit",
        &json!({ "file_path": "link.txt", "old_string": "old", "new_string": "new" }),
    );
    assert_eq!(scene.text("real.txt"), "new");
    assert!(
        fs::symlink_metadata(scene.path("link.txt"))
            .unwrap()
            .is_symlink()
    );
}

#[test]
fn images_notebooks_and_folders() {
    let scene = Scene::new();
    scene.put("a.png", "\u{1}not checked here");
    let shown = scene.call("Read", &json!({ "file_path": "a.png" }));
    assert_eq!((shown.is_error, shown.media.len()), (false, 1));
    let cells = json!({ "cells": [
        { "cell_type": "code", "source": ["1 +\n", " 1"], "outputs": [{ "data": { "text/plain": ["2"] } }] },
        { "cell_type": "markdown", "source": "# Title" },
    ] });
    scene.put("n.ipynb", &cells.to_string());
    let said = scene.says("Read", &json!({ "file_path": "n.ipynb" }));
    assert!(
        said.contains("[cell 1, code]") && said.contains("[output]") && said.contains("# Title"),
        "{said}"
    );
    assert!(
        scene
            .fails("Read", &json!({ "file_path": "." }))
            .contains("is a folder")
    );
    assert!(
        scene
            .fails("Read", &json!({ "file_path": "missing" }))
            .contains("missing")
    );
    assert!(
        scene
            .fails("Read", &json!({ "file": 1 }))
            .contains("`file_path` is missing")
    );
}

#[test]
fn commands_keep_their_folder_below_the_work() {
    let scene = Scene::new();
    assert_eq!(scene.bash("mkdir -p sub && cd sub && echo in"), "in");
    assert!(scene.bash("pwd").ends_with("/work/sub"));
    // A folder that is gone does not stop the conversation.
    scene.bash("cd .. && rmdir sub && mkdir other && cd other");
    fs::remove_dir(scene.path("other")).unwrap();
    assert!(scene.bash("pwd").ends_with("/work"));
    let said = scene.bash("cd / && pwd");
    assert!(said.starts_with("/\n[the folder is "), "{said}");
    assert!(scene.bash("pwd").ends_with("/work"));
}

#[test]
fn the_end_of_a_command_is_told() {
    let scene = Scene::new();
    assert_eq!(
        scene.fails("Bash", &json!({ "command": "echo a; exit 3" })),
        "a\n[exit code 3]"
    );
    assert_eq!(scene.bash("true"), "[no output]");
    scene.put("a.txt", "x\n");
    // An answer, not a failure.
    assert_eq!(scene.bash("grep y a.txt"), "[exit code 1]");
    assert_eq!(scene.bash("ls a.txt | grep y"), "[exit code 1]");
    scene.fails("Bash", &json!({ "command": "grep y missing.txt" }));
    scene.fails("Bash", &json!({ "command": "cat missing.txt" }));
}

#[test]
fn long_output_is_shown_in_part_and_kept_whole() {
    let scene = Scene::new();
    let said = scene.bash("echo first; head -c 5000000 /dev/zero | tr '\\0' x; echo; echo last");
    assert!(
        said.starts_with("first\n") && said.ends_with("\nlast"),
        "{}",
        &said[said.len() - 50..]
    );
    assert!(said.len() < 31_000, "{}", said.len());
    let at = said.find("is in ").unwrap() + "is in ".len();
    let file = said[at..].split(']').next().unwrap();
    assert_eq!(fs::metadata(file).unwrap().len(), 5_000_012);
}

#[test]
fn a_command_that_takes_too_long_goes_on_in_the_background() {
    let scene = Scene::new();
    let said = scene.says(
        "Bash",
        &json!({ "command": "echo begun; read line < pipe || sleep 1000", "timeout": 300 }),
    );
    assert!(said.contains("background as bash_1"), "{said}");
    assert_eq!(scene.tools.running().len(), 1);
    let output = scene.says("BashOutput", &json!({ "bash_id": "bash_1" }));
    assert!(output.ends_with("[it still runs]"), "{output}");
    let ended = scene.says("KillShell", &json!({ "shell_id": "bash_1" }));
    assert!(ended.contains("bash_1"), "{ended}");
    assert!(
        scene
            .fails("KillShell", &json!({ "shell_id": "bash_1" }))
            .contains("There is no command")
    );
    assert_eq!(scene.tools.running(), []);
}

#[test]
fn output_in_the_background_is_shown_once() {
    let scene = Scene::new();
    let said = scene.says(
        "Bash",
        &json!({ "command": "echo one; echo two", "run_in_background": true }),
    );
    assert!(said.contains("bash_1"), "{said}");
    let mut all = said;
    // Output arrives at its own time; the command has an end.
    while !all.contains("[it has ended well]") {
        all.push_str(&scene.says("BashOutput", &json!({ "bash_id": "bash_1", "filter": "o" })));
    }
    assert_eq!(
        (all.matches("one").count(), all.matches("two").count()),
        (1, 1),
        "{all}"
    );
}

#[test]
fn a_turn_that_is_stopped_ends_its_command() {
    let scene = Scene::new();
    let call = call(
        "Bash",
        &json!({ "command": "echo $$ > pid; exec sleep 1000" }),
    );
    {
        let mut run = pin!(scene.tools.run(call));
        let mut context = Context::from_waker(Waker::noop());
        while !scene.path("pid").exists() || scene.text("pid").is_empty() {
            assert!(matches!(run.as_mut().poll(&mut context), Poll::Pending));
            std::thread::yield_now();
        }
    }
    // Gone, or a zombie on its way.
    let stat = format!("/proc/{}/stat", scene.text("pid").trim());
    let alive = || fs::read_to_string(&stat).is_ok_and(|text| text.contains("(sleep) S"));
    while alive() {
        std::thread::yield_now();
    }
}

#[derive(Debug)]
struct Below(PathBuf);

impl Confine for Below {
    fn room(&self, _: &ToolCall) -> Option<Room> {
        Some(Room {
            writable: vec![self.0.clone()],
            hidden: Vec::new(),
        })
    }
}

#[test]
fn a_confined_command_stays_in_its_folder() {
    let outside = TempDir::new().unwrap();
    let scene = Scene::new();
    let confined = AgentTools::new(
        &System::real(),
        AgentPlaces {
            folder: scene.path("."),
            results: scene.place.path().join("confined"),
            mark: scene.place.path().display().to_string(),
        },
        Arc::new(NoChanges),
        Arc::new(Below(scene.place.path().to_owned())),
    );
    let run = |line: String| confined.run_blocking(&call("Bash", &json!({ "command": line })));
    let inside = run("echo x > inside.txt".to_owned());
    if inside.text.contains("nothing confines") {
        eprintln!("skipped: {}", inside.text);
        return;
    }
    assert!(!inside.is_error, "{}", inside.text);
    let target = outside.path().join("x");
    assert!(run(format!("echo x > {}", target.display())).is_error);
    assert!(!target.exists());
}

#[test]
fn the_list_of_to_dos_is_kept() {
    let scene = Scene::new();
    let said = scene.says(
        "TodoWrite",
        &json!({ "todos": [
        { "content": "Run the tests", "status": "completed", "activeForm": "Running the tests" },
        { "content": "Write the notes", "status": "in_progress" },
    ] }),
    );
    assert_eq!(said, "1 done, 1 under way, 0 left.");
    assert_eq!(scene.tools.todos()[1].status, TodoState::InProgress);
    let many: Vec<Value> = (0..101)
        .map(|_| json!({ "content": "x", "status": "pending" }))
        .collect();
    assert!(
        scene
            .fails("TodoWrite", &json!({ "todos": many }))
            .contains("101 entries")
    );
}

#[test]
fn unknown_tools_are_named() {
    let scene = Scene::new();
    assert!(
        scene
            .fails("Frobnicate", &json!({}))
            .contains("there are Read, Write")
    );
}

#[test]
fn the_definitions_are_short_and_complete() {
    let definitions = agent_definitions();
    let names: Vec<&str> = definitions
        .iter()
        .map(|it| it["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, AGENT_TOOLS);
    let bytes: usize = definitions.iter().map(|it| it.to_string().len()).sum();
    // About four bytes a token: half of the room that prompt and tools have together.
    assert!(bytes / 4 < 2_500, "{bytes}");
}
