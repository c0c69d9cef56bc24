//! Files whose content the model has read and still has in its prompt.
//!
//! Recall asks before every round, so that no memory repeats such a file. [`FilesRead`] follows the
//! view incrementally: each call's input is parsed once and an update costs what is new. After a
//! rewrite it walks all calls again, without parsing those it knows.
//!
//! [`FilePaths`] is the result: an immutable set, shared by pointers, so that a background task can
//! keep it as long as it runs.
//!
//! Not here: which tools read files (the caller decides), and files read outside of tool calls (in
//! the session's state).

use crate::segment::Segment;
use crate::view::View;
use dormouse_core::block::{Block, BlockKind};
use dormouse_core::hash::Hash;
use dormouse_core::id::BlockKey;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// Input fields that file tools use for the path, the most common first.
const PATH_INPUTS: [&str; 2] = ["file_path", "path"];

/// Path in the input of a file tool's call.
pub(crate) fn path_of(call: &Block) -> Option<Arc<str>> {
    let path = PATH_INPUTS.iter().find_map(|name| call.input_text(name));
    path.map(Arc::from)
}

/// A persistent set of paths. Cloning copies one pointer per layer.
#[derive(Clone, Debug, Default)]
pub struct FilePaths {
    /// Disjoint sets, each more than twice as large as the next: adding n paths copies each O(log
    /// n) times, however many clones are alive.
    layers: Vec<Arc<BTreeSet<Arc<str>>>>,
}

impl FilePaths {
    /// True if the path is in the set; one lookup per layer.
    pub fn contains(&self, path: &str) -> bool {
        self.layers.iter().any(|layer| layer.contains(path))
    }

    /// All paths, each once, in no particular order.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.layers
            .iter()
            .flat_map(|layer| layer.iter().map(|path| &**path))
    }

    /// Number of paths in the set.
    pub fn len(&self) -> usize {
        self.layers.iter().map(|layer| layer.len()).sum()
    }

    /// True if the set has no paths.
    pub fn is_empty(&self) -> bool {
        self.layers.is_empty()
    }

    /// Adds the paths that are not in the set yet.
    fn add(&mut self, paths: impl IntoIterator<Item = Arc<str>>) {
        let new = paths.into_iter().filter(|path| !self.contains(path));
        let mut layer: BTreeSet<Arc<str>> = new.collect();
        if layer.is_empty() {
            return;
        }
        // Merge layers up to twice the size of the new one: this keeps their number logarithmic.
        while let Some(smaller) = self.layers.pop_if(|before| before.len() <= 2 * layer.len()) {
            layer.extend(smaller.iter().cloned());
        }
        self.layers.push(Arc::new(layer));
    }
}

/// A parsed call of a file tool.
#[derive(Clone, Debug)]
struct Looked {
    /// Block that was parsed; another block under the same key is parsed again.
    call: Block,
    /// Path in its input; `None` if it names none.
    path: Option<Arc<str>>,
}

/// An incremental index of the files that a view's calls have read.
#[derive(Clone, Debug, Default)]
pub struct FilesRead {
    /// Tools seen so far, with the caller's answer whether they read files.
    tools: BTreeMap<Arc<str>, bool>,
    /// Parsed calls in the frozen part of the view.
    looked: HashMap<BlockKey, Looked>,
    /// Parsed calls in the open tail; a response may still be cut off or replaced.
    open: HashMap<BlockKey, Looked>,
    /// Paths of the calls in `looked`.
    frozen: FilePaths,
    /// Paths of `looked` and `open` as of the last update.
    all: FilePaths,
    /// Frozen segments already indexed.
    seen: usize,
    /// Hash chain over these segments; another value means that a rewrite changed them.
    chain: Hash,
    parsed: u64,
}

impl FilesRead {
    /// Follows the view. `reads_files` tells whether a tool reads the file that its input names; if
    /// its answer for a known tool changes, the index is rebuilt.
    pub fn update(&mut self, view: &View, reads_files: impl Fn(&str) -> bool) {
        let frozen = view.frozen();
        let mut tools = self.tools.iter();
        let same_tools = tools.all(|(tool, reads)| reads_files(tool) == *reads);
        // The hash chain shows that the indexed part is unchanged, without comparing segments.
        let is_continued = self.seen <= frozen.len() && self.chain == frozen.chain(self.seen);
        // Known calls are moved, not dropped: parsing their inputs again is the expensive part.
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

    /// Number of inputs parsed so far; tests use it to show that each call is parsed once.
    pub fn parsed(&self) -> u64 {
        self.parsed
    }

    /// Paths as of the last update, in constant time.
    pub fn paths(&self) -> FilePaths {
        self.all.clone()
    }

    /// True if the block is a call of a tool that reads files.
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

    /// Takes the parsed call from `known`, or parses it.
    fn look(&mut self, segment: &Segment, known: &mut HashMap<BlockKey, Looked>) -> Looked {
        let before = known.remove(&segment.origin);
        before
            // A rewrite may put another block under the same key.
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

    /// Rounds of the test session: enough that parsing all of them again would be noticed.
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
