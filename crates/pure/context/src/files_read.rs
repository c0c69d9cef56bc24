//! Files whose reading is in the prompt.
//!
//! Recall asks before every round which files the model has read itself, so that no memory repeats
//! them. [`FilesRead`] is kept beside the view and follows it: a call that was looked at once is
//! not looked at again, and an update costs what is new. A rewrite makes it walk the calls once
//! more, without parsing those it knows.
//!
//! [`FilePaths`] is what it hands out: a set that does not change any more, shared by pointers, so
//! that a task beside the session can keep it for as long as it likes.
//!
//! Not here: which tools read files (the caller says), and files that were read outside of tool
//! calls (the session's state).

use crate::segment::Segment;
use crate::view::View;
use dormouse_core::block::{Block, BlockKind};
use dormouse_core::hash::Hash;
use dormouse_core::id::BlockKey;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// Names that file tools give to the path in their input, the most usual first.
const PATH_INPUTS: [&str; 2] = ["file_path", "path"];

/// The path that a file tool was called with.
fn path_of(call: &Block) -> Option<Arc<str>> {
    let path = PATH_INPUTS.iter().find_map(|name| call.input_text(name));
    path.map(Arc::from)
}

/// A set of paths. Cloning it copies a few pointers.
#[derive(Clone, Debug, Default)]
pub struct FilePaths {
    /// Disjoint sets, each more than twice as large as the next: adding a path copies it a number
    /// of times that is logarithmic in the size of the set, however many clones there are.
    layers: Vec<Arc<BTreeSet<Arc<str>>>>,
}

impl FilePaths {
    /// Whether the path is in the set.
    pub fn contains(&self, path: &str) -> bool {
        self.layers.iter().any(|layer| layer.contains(path))
    }

    /// All paths, each once, in no particular order.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.layers
            .iter()
            .flat_map(|layer| layer.iter().map(|path| &**path))
    }

    /// Number of paths.
    pub fn len(&self) -> usize {
        self.layers.iter().map(|layer| layer.len()).sum()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.layers.is_empty()
    }

    /// Adds what is new among `paths`.
    fn add(&mut self, paths: impl IntoIterator<Item = Arc<str>>) {
        let new = paths.into_iter().filter(|path| !self.contains(path));
        let mut layer: BTreeSet<Arc<str>> = new.collect();
        if layer.is_empty() {
            return;
        }
        while let Some(smaller) = self.layers.pop_if(|before| before.len() <= 2 * layer.len()) {
            layer.extend(smaller.iter().cloned());
        }
        self.layers.push(Arc::new(layer));
    }
}

/// A call of a file tool that was looked at.
#[derive(Clone, Debug)]
struct Looked {
    call: Block,
    path: Option<Arc<str>>,
}

/// Files whose reading is in the prompt, as a view grows.
#[derive(Clone, Debug, Default)]
pub struct FilesRead {
    /// Tools met so far, and whether they read files.
    tools: BTreeMap<Arc<str>, bool>,
    /// Calls of those that do, in the frozen part of the view.
    looked: HashMap<BlockKey, Looked>,
    /// The same for its open tail.
    open: HashMap<BlockKey, Looked>,
    frozen: FilePaths,
    all: FilePaths,
    seen: usize,
    chain: Hash,
    parsed: u64,
}

impl FilesRead {
    /// Follows the view. `reads_files` says of a tool whether it reads the file its input names;
    /// where it says something else than before, everything is looked at again.
    pub fn update(&mut self, view: &View, reads_files: impl Fn(&str) -> bool) {
        let frozen = view.frozen();
        let mut tools = self.tools.iter();
        let same_tools = tools.all(|(tool, reads)| reads_files(tool) == *reads);
        let is_continued = self.seen <= frozen.len() && self.chain == frozen.chain(self.seen);
        // Calls keep their paths where they are still in view.
        let mut known = std::mem::take(&mut self.open);
        if !(same_tools && is_continued) {
            known.extend(std::mem::take(&mut self.looked));
            self.tools.clear();
            self.frozen = FilePaths::default();
            self.seen = 0;
        }
        let mut new = Vec::new();
        for segment in (self.seen..frozen.len()).filter_map(|at| frozen.get(at)) {
            if self.reads(&segment.block, &reads_files) {
                let looked = self.look(segment, &mut known);
                new.extend(looked.path.clone());
                self.looked.insert(segment.origin, looked);
            }
        }
        self.frozen.add(new);
        self.seen = frozen.len();
        self.chain = frozen.chain(self.seen);

        for segment in &view.tail().response {
            if self.reads(&segment.block, &reads_files) {
                let looked = self.look(segment, &mut known);
                self.open.insert(segment.origin, looked);
            }
        }
        self.all = self.frozen.clone();
        let open = self.open.values().filter_map(|looked| looked.path.clone());
        self.all.add(open);
    }

    /// Inputs of calls parsed so far. Each call is parsed once, whatever happens around it.
    pub fn parsed(&self) -> u64 {
        self.parsed
    }

    /// The paths, as of the last update. Takes no longer for more files.
    pub fn paths(&self) -> FilePaths {
        self.all.clone()
    }

    /// Whether the block is a call that reads a file.
    fn reads(&mut self, block: &Block, reads_files: &impl Fn(&str) -> bool) -> bool {
        let tool = block.tool().filter(|_| block.kind() == BlockKind::ToolUse);
        tool.is_some_and(|tool| {
            self.tools.get(tool).copied().unwrap_or_else(|| {
                let reads = reads_files(tool);
                self.tools.insert(Arc::from(tool), reads);
                reads
            })
        })
    }

    fn look(&mut self, segment: &Segment, known: &mut HashMap<BlockKey, Looked>) -> Looked {
        let before = known.remove(&segment.origin);
        before
            .filter(|looked| looked.call == segment.block)
            .unwrap_or_else(|| {
                self.parsed += 1;
                Looked {
                    call: segment.block.clone(),
                    path: path_of(&segment.block),
                }
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::Target;
    use dormouse_core::models::ModelTable;
    use dormouse_core::record::{Body, ClearedBlock, Clearing};
    use dormouse_testkit::LogBuilder;
    use dormouse_testkit::blocks::{call, result};
    use dormouse_testkit::conversation::{Shape, session};
    use proptest::prelude::*;
    use serde_json::json;

    const ROUNDS: u64 = 500;

    fn followed() -> (LogBuilder, View, FilesRead) {
        let log = session(Shape {
            messages: usize::try_from(ROUNDS * 2).unwrap(),
            result_chars: 4,
            text_chars: 4,
        });
        let target = Target::new(&Arc::new(ModelTable::builtin().clone()), "model");
        let view = View::fold(log.records(), target);
        let mut files = FilesRead::default();
        files.update(&view, |tool| tool == "Read");
        (log, view, files)
    }

    #[test]
    fn an_update_parses_what_is_new() {
        let (mut log, mut view, mut files) = followed();
        assert_eq!(files.parsed(), ROUNDS);
        let input = json!({ "file_path": "/src/new.rs" });
        view.apply(log.assistant("msg_new", vec![call("new", "Read", &input)]));
        files.update(&view, |tool| tool == "Read");
        assert_eq!(files.parsed(), ROUNDS + 1);
        assert!(files.paths().contains("/src/new.rs"));
    }

    #[test]
    fn a_rewrite_parses_nothing_it_knows() {
        let (mut log, mut view, mut files) = followed();
        let of_results =
            |segment: &&crate::segment::Segment| segment.block.kind() == BlockKind::ToolResult;
        let results = view.frozen().iter().filter(of_results);
        let blocks = results.map(|segment| ClearedBlock {
            key: segment.origin,
            block: result(segment.block.call().unwrap().as_str(), "[cleared]"),
        });
        let blocks = blocks.collect();
        view.apply(log.push(Body::Cleared(Clearing {
            blocks,
            ..Clearing::default()
        })));
        let before = files.paths().len();
        files.update(&view, |tool| tool == "Read");
        assert_eq!(files.paths().len(), before);
        assert_eq!(files.parsed(), ROUNDS);
    }

    #[test]
    fn another_word_about_a_tool_counts_for_what_was_seen() {
        let (_, view, mut files) = followed();
        files.update(&view, |_| false);
        assert!(files.paths().is_empty());
        files.update(&view, |tool| tool == "Read");
        assert_eq!(files.paths().len(), 97);
    }

    #[test]
    fn a_snapshot_stays_as_it_was_and_shares_what_it_can() {
        let (mut log, mut view, mut files) = followed();
        let before = files.paths();
        let input = json!({ "path": "/src/new.rs" });
        view.apply(log.assistant("msg_new", vec![call("new", "Read", &input)]));
        files.update(&view, |tool| tool == "Read");
        let after = files.paths();
        assert!(!before.contains("/src/new.rs"));
        assert!(Arc::ptr_eq(&before.layers[0], &after.layers[0]));
    }

    proptest! {
        #[test]
        fn paths_are_a_set(batches in prop::collection::vec(prop::collection::vec(0_u8..60, 0..9), 0..30)) {
            let mut paths = FilePaths::default();
            let mut model: BTreeSet<String> = BTreeSet::new();
            for batch in batches {
                let named: Vec<String> = batch.iter().map(|n| format!("/{n}")).collect();
                model.extend(named.iter().cloned());
                paths.add(named.iter().map(|path| Arc::from(path.as_str())));
                prop_assert_eq!(paths.len(), model.len());
                prop_assert!(model.iter().all(|path| paths.contains(path)));
                let listed: BTreeSet<String> = paths.iter().map(str::to_owned).collect();
                prop_assert_eq!(&listed, &model);
                // 60 paths fit into six layers that more than double.
                prop_assert!(paths.layers.len() <= 6);
            }
        }
    }
}
