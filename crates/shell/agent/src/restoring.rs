//! Content of a session that a compaction shows again.
//!
//! # Model
//! Files come from the disk as they are now. Skills, plan, to-dos, work in the background, listings and
//! words of servers come from those who told them first. Instruction files and the index of memory are
//! part of the prefix: they are read again into it, and never shown as files
//! (`dormouse_core::instructions`). Words of hooks are added by the hooks themselves. The limits of each
//! kind are `dormouse-context`'s.

use crate::agent::AgentAsk;
use crate::beside::Beside;
use crate::client::ClientTool;
use crate::fragments::Fragments;
use crate::prefix::{self, Words};
use crate::skills::Skills;
use dormouse_context::compaction::RestoredPart;
use dormouse_context::prefix::RenderedPrefix;
use dormouse_engine::{DiskRestorer, Restorer};
use dormouse_host::{Host, SessionTexts};
use dormouse_permit::Rules;
use dormouse_tools::Toolset;
use std::path::Path;
use std::sync::Arc;

/// Everything that a session's prefix was made from.
#[derive(Clone, Debug)]
pub(crate) struct PrefixParts {
    texts: SessionTexts,
    toolset: Toolset,
    rules: Rules,
    system: Option<String>,
    append: Option<String>,
    tools: Vec<ClientTool>,
    skills: Option<String>,
}

impl PrefixParts {
    pub(crate) fn new(
        texts: &SessionTexts,
        toolset: Toolset,
        rules: Rules,
        ask: &AgentAsk,
        tools: &[ClientTool],
        beside: &Beside,
    ) -> Self {
        let skills = beside.skills.as_ref().and_then(Skills::listing);
        Self {
            texts: texts.clone(),
            toolset,
            rules,
            system: ask.system.clone(),
            append: ask.append_system.clone(),
            tools: tools.to_vec(),
            skills: skills.map(str::to_owned),
        }
    }

    pub(crate) fn render(&self) -> Result<Arc<RenderedPrefix>, serde_json::Error> {
        let words = Words {
            system: self.system.as_deref(),
            append: self.append.as_deref(),
            tools: &self.tools,
            skills: self.skills.as_deref(),
        };
        prefix::render(&self.texts, self.toolset, &self.rules, &words)
    }
}

/// Files from the disk, and everything that fragments and tools have told.
#[derive(Debug)]
pub(crate) struct AgentRestorer {
    host: Arc<Host>,
    disk: DiskRestorer,
    fragments: Fragments,
    /// `None` for a fork, whose prefix is that of the agent above.
    parts: Option<PrefixParts>,
}

impl AgentRestorer {
    /// A restorer for a session; nothing of its own `folder` is shown as a file.
    pub(crate) fn new(
        host: &Arc<Host>,
        folder: &Path,
        fragments: &Fragments,
        parts: Option<PrefixParts>,
    ) -> Self {
        let files = Arc::clone(&host.system().files);
        Self {
            host: Arc::clone(host),
            disk: DiskRestorer::new(files, vec![folder.to_owned()]),
            fragments: fragments.clone(),
            parts,
        }
    }
}

impl Restorer for AgentRestorer {
    fn restore(&self, files: &[String]) -> Vec<RestoredPart> {
        // A model may name a file from its folder, which need not be that of the process.
        let folder = &self.host.places().current_dir;
        let files: Vec<String> = files
            .iter()
            .map(|file| folder.join(file).display().to_string())
            .collect();
        let mut parts = self.disk.restore(&files);
        parts.extend(self.fragments.restored());
        parts
    }

    fn prefix(&self) -> Option<Arc<RenderedPrefix>> {
        let before = self.parts.as_ref()?;
        let texts = self.host.session_texts().ok()?;
        // System prompt and tools keep their bytes, because the provider's cache goes by them.
        let parts = PrefixParts {
            texts: SessionTexts {
                instructions: texts.instructions,
                ..before.texts.clone()
            },
            ..before.clone()
        };
        let prefix = parts.render().ok()?;
        self.fragments.forget_instructions();
        Some(prefix)
    }
}
