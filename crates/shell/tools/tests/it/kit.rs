//! Scene with a project, a memory, a folder of transcripts and files that no tool may reach.
#![expect(
    clippy::disallowed_methods,
    reason = "a test looks at the disk behind the tools' back"
)]

use bytes::Bytes;
use dormouse_context::offload::ToolOutput;
use dormouse_core::block::Block;
use dormouse_drive::ToolCall;
use dormouse_guard::paths::SafePath;
use dormouse_system::System;
use dormouse_tools::{ForkTools, MemoryWrites, Roots};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use tempfile::TempDir;

/// Memory files in memory: so that what appears on disk cannot come from Edit and Write.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    pub(crate) files: Mutex<BTreeMap<String, Bytes>>,
}

impl Notes {
    pub(crate) fn put(&self, path: &str, content: &str) {
        let content = Bytes::copy_from_slice(content.as_bytes());
        self.files.lock().unwrap().insert(path.to_owned(), content);
    }

    pub(crate) fn get(&self, path: &str) -> Option<String> {
        let files = self.files.lock().unwrap();
        let content = files.get(path)?;
        Some(String::from_utf8(content.to_vec()).unwrap())
    }

    pub(crate) fn names(&self) -> Vec<String> {
        self.files.lock().unwrap().keys().cloned().collect()
    }
}

impl MemoryWrites for Notes {
    fn read(&self, path: &SafePath) -> Result<Option<Bytes>, String> {
        Ok(self.files.lock().unwrap().get(path.as_str()).cloned())
    }

    fn write(&self, path: &SafePath, content: Bytes) -> Result<String, String> {
        if path.as_str() == "full.md" {
            return Err("There is no room for `full.md`.".to_owned());
        }
        let old = self
            .files
            .lock()
            .unwrap()
            .insert(path.as_str().to_owned(), content);
        Ok(match old {
            Some(_) => format!("Changed `{path}`."),
            None => format!("Made `{path}`."),
        })
    }
}

pub(crate) struct Kit {
    pub(crate) tools: ForkTools,
    pub(crate) notes: Arc<Notes>,
    place: TempDir,
}

impl Kit {
    pub(crate) fn new() -> Self {
        Self::on(&System::real())
    }

    pub(crate) fn on(system: &System) -> Self {
        let place = TempDir::new().unwrap();
        for directory in ["project/src", "memory", "transcripts", "outside"] {
            fs::create_dir_all(place.path().join(directory)).unwrap();
        }
        fs::write(place.path().join("outside/secret"), "precious").unwrap();
        let roots = Roots {
            working: place.path().join("project"),
            memory: place.path().join("memory"),
            readable: vec![place.path().join("transcripts")],
        };
        let notes = Arc::new(Notes::default());
        let tools = ForkTools::new(system, roots, Arc::clone(&notes) as Arc<dyn MemoryWrites>);
        Self {
            tools,
            notes,
            place,
        }
    }

    /// Other tools in the same scene, with another working directory. The scene must outlive them.
    pub(crate) fn working_in(&self, working: &str) -> Self {
        let other = Self::new();
        let roots = Roots {
            working: self.path(working),
            memory: self.path("memory"),
            readable: Vec::new(),
        };
        let writes = Arc::clone(&other.notes) as Arc<dyn MemoryWrites>;
        let tools = ForkTools::new(&System::real(), roots, writes);
        Self { tools, ..other }
    }

    /// A path of the whole scene.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.place.path().join(name)
    }

    pub(crate) fn text(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_owned()
    }

    pub(crate) fn put(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    pub(crate) fn call(&self, tool: &str, input: &Value) -> ToolOutput {
        self.tools.run_blocking(&call(tool, input))
    }

    /// The text of a call that must go well. The scene's own path is left out of it.
    #[track_caller]
    pub(crate) fn says(&self, tool: &str, input: &Value) -> String {
        let output = self.call(tool, input);
        assert!(!output.is_error, "{}", output.text);
        self.without_place(&output.text)
    }

    /// The text of a call that must fail, without being denied.
    #[track_caller]
    pub(crate) fn fails(&self, tool: &str, input: &Value) -> String {
        let before = self.tools.denial_count();
        let output = self.call(tool, input);
        assert!(output.is_error, "{}", output.text);
        assert_eq!(self.tools.denial_count(), before, "{}", output.text);
        self.without_place(&output.text)
    }

    /// The text of a call that must be denied, and listed.
    #[track_caller]
    pub(crate) fn denies(&self, tool: &str, input: &Value) -> String {
        let before = self.tools.denial_count();
        let output = self.call(tool, input);
        assert!(output.is_error, "{}", output.text);
        assert_eq!(self.tools.denial_count(), before + 1, "{}", output.text);
        let denials = self.tools.denials();
        let denial = denials.last().unwrap();
        assert_eq!(denial.tool, tool);
        assert_eq!(output.text, format!("Not allowed: {}.", denial.reason));
        self.without_place(&output.text)
    }

    fn without_place(&self, text: &str) -> String {
        text.replace(self.place.path().to_str().unwrap(), "")
    }

    /// Everything on disk: paths and contents.
    pub(crate) fn disk(&self) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
        let mut found = BTreeMap::new();
        let mut waiting = vec![self.place.path().to_owned()];
        while let Some(path) = waiting.pop() {
            let facts = fs::symlink_metadata(&path).unwrap();
            if facts.is_dir() {
                waiting.extend(entries(&path));
            }
            let content = facts.is_file().then(|| fs::read(&path).unwrap());
            found.insert(path, content);
        }
        found
    }
}

fn entries(path: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(path).unwrap();
    entries.map(|entry| entry.unwrap().path()).collect()
}

pub(crate) fn call(tool: &str, input: &Value) -> ToolCall {
    let block = json!({ "type": "tool_use", "id": "call-1", "name": tool, "input": input });
    ToolCall {
        id: "call-1".into(),
        tool: tool.to_owned(),
        block: Block::from_value(&block).unwrap(),
    }
}
