//! The tools and files of a replayed session: as the recording last showed them.
//!
//! # Not here
//! Running tools: the script has their results.

use dormouse_context::compaction::{RestoredKind, RestoredPart};
use dormouse_context::offload::ToolOutput;
use dormouse_core::block::Block;
use dormouse_drive::{ToolCatalog, ToolTraits};
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// Tools whose results the script has: only their traits are asked for.
#[derive(Debug)]
pub(crate) struct RecordedTools;

impl ToolCatalog for RecordedTools {
    fn traits(&self, tool: &str) -> ToolTraits {
        ToolTraits {
            declared_limit: None,
            reads_files: matches!(tool, "Read" | "read" | "View" | "read_file"),
            // The script gives results in the order of the recording: none runs beside another.
            only_reads: false,
        }
    }
}

/// Files of the session as the script last showed them; stands in for a disk.
#[derive(Debug, Default)]
pub(crate) struct LastRead(Mutex<Shown>);

#[derive(Debug, Default)]
struct Shown {
    asked: HashMap<String, String>,
    texts: HashMap<String, String>,
}

impl LastRead {
    pub(crate) fn calls(&self, answer: &[Block]) {
        let mut shown = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for block in answer {
            let path = block
                .input_text("file_path")
                .or_else(|| block.input_text("path"));
            if let Some((call, path)) = block.call().zip(path) {
                shown.asked.insert(call.as_str().to_owned(), path);
            }
        }
    }

    pub(crate) fn results(&self, results: &[(String, ToolOutput)]) {
        let mut shown = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for (tool, output) in results {
            if RecordedTools.traits(tool).reads_files
                && let Some(path) = shown.asked.get(output.call.as_str()).cloned()
            {
                shown.texts.insert(path, output.text.clone());
            }
        }
    }
}

impl LastRead {
    /// The files that the recording has shown, newest first.
    pub(crate) fn restore(&self, files: &[String]) -> Vec<RestoredPart> {
        let shown = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        files
            .iter()
            .filter_map(|path| {
                Some(RestoredPart {
                    kind: RestoredKind::File,
                    name: path.clone(),
                    text: shown.texts.get(path)?.clone(),
                })
            })
            .collect()
    }
}
