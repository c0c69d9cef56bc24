//! The static prefix: tools, system prompt, instructions. Its bytes are the same over a session and
//! over the sessions of a project, because the provider's cache goes by them.

use crate::client::ClientTool;
use dormouse_context::prefix::{Part, RenderedPrefix};
use dormouse_core::block::Block;
use dormouse_core::fragment::{self, REMINDER};
use dormouse_host::SessionTexts;
use dormouse_permit::Rules;
use dormouse_tools::Toolset;
use serde_json::Value;
use std::sync::Arc;

/// The agent's own words to the model.
const SYSTEM: &str = include_str!("system.md");
/// The same for a small window, in which every word is paid twice: as cost and as room.
const LEAN_SYSTEM: &str = include_str!("system-lean.md");
/// The section about memory for a small window: there is no tool to write with, extraction saves.
const LEAN_MEMORY: &str = include_str!("memory-lean.md");

/// Words and tools that the opening of a session brings.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Words<'a> {
    /// Words in place of the agent's own.
    pub(crate) system: Option<&'a str>,
    /// Words behind the system prompt.
    pub(crate) append: Option<&'a str>,
    /// Definitions of further tools.
    pub(crate) tools: &'a [ClientTool],
    /// Listing of the skills.
    pub(crate) skills: Option<&'a str>,
}

/// Renders the prefix. Tools that a rule refuses altogether are left out.
pub(crate) fn render(
    texts: &SessionTexts,
    toolset: Toolset,
    rules: &Rules,
    words: &Words<'_>,
) -> Result<Arc<RenderedPrefix>, serde_json::Error> {
    let offered = |definition: &Value| {
        let name = definition["name"].as_str().unwrap_or_default();
        !rules.hides(name)
    };
    let tools = toolset.definitions().into_iter();
    // Behind the agent's own: sessions without them share the bytes before.
    let tools = tools.chain(words.tools.iter().map(|tool| tool.definition.clone()));
    let tools = tools.filter(offered);
    let tools: Result<Vec<Part>, _> = tools.map(|definition| Part::tool(&definition)).collect();
    let own = if toolset.lean { LEAN_SYSTEM } else { SYSTEM };
    let given = words.system.filter(|text| !text.trim().is_empty());
    let own = given.unwrap_or(own).trim_end();
    let mut system = vec![Part::block("system", &Block::text(own))];
    if let Some(memory) = &texts.memory {
        let memory = if toolset.lean { LEAN_MEMORY } else { memory };
        system.push(Part::block("memory", &Block::text(memory.trim_end())));
    }
    // Behind everything else: sessions without such words share the bytes before them.
    if let Some(append) = words.append.filter(|text| !text.trim().is_empty()) {
        system.push(Part::block("appended", &Block::text(append)));
    }
    let instructions = texts.instructions.as_deref();
    let fragments = instructions.map(|text| Part::block("instructions", &Block::text(text)));
    let skills = words
        .skills
        .map(|text| Block::text(&fragment::render(&REMINDER, text)));
    let skills = skills.map(|block| Part::block("skills", &block));
    let fragments = fragments.into_iter().chain(skills).collect();
    let prefix = RenderedPrefix::new(tools?, system, fragments);
    Ok(Arc::new(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;
    use dormouse_context::tokens::estimate;
    use dormouse_core::models::ModelTable;
    use dormouse_memory::prompt;
    use dormouse_tools::SearchBy;

    fn texts() -> SessionTexts {
        let section = prompt::Section {
            directory: "/home/somebody/.dormouse/projects/-home-somebody-code-project/memory",
            team: Some("/home/somebody/code/project/.dormouse/memory"),
            mode: prompt::Mode::Live,
            index: dormouse_memory::index::Limits::from_settings(
                &dormouse_core::settings::Settings::default(),
            ),
            extra_guidelines: None,
        };
        SessionTexts {
            memory: Some(prompt::render(&section)),
            ..SessionTexts::default()
        }
    }

    /// Tokens of a prefix, by the denser tokeniser of the table.
    fn tokens(toolset: Toolset) -> u64 {
        let mut agents = vec![crate::crew::tool(), crate::post::tool()];
        agents.push(crate::skills::tool());
        agents.extend(crate::plan::tools());
        let words = Words {
            tools: if toolset.lean { &[] } else { &agents },
            ..Words::default()
        };
        let prefix = render(&texts(), toolset, &Rules::default(), &words).unwrap();
        let table = ModelTable::builtin();
        let by = |model: &str| {
            let bytes = table.lookup(model).info.bytes_per_token;
            estimate(prefix.weight(), bytes).get()
        };
        by("claude-opus-4-6").max(by("an-unknown-model"))
    }

    #[test]
    fn the_prefix_stays_within_five_thousand_tokens() {
        let counted = [SearchBy::Nothing, SearchBy::Command, SearchBy::Provider].map(|search| {
            tokens(Toolset {
                memory: true,
                search,
                lean: false,
            })
        });
        let fits = counted
            .iter()
            .all(|tokens| (2_000..=5_000).contains(tokens));
        assert!(fits, "{counted:?}");
    }

    #[test]
    fn a_small_window_keeps_room_for_the_work() {
        let lean = Toolset {
            memory: true,
            search: SearchBy::Command,
            lean: true,
        };
        assert_eq!(lean.names(), dormouse_tools::LEAN_TOOLS);
        let tokens = tokens(lean);
        // Fifteen per cent of every window from 4,096 tokens on, the default of local servers.
        assert!(tokens <= 4_096 * 15 / 100, "{tokens}");
    }
}
