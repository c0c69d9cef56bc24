//! The static prefix: tools, system prompt, instructions. Its bytes are the same over a session and
//! over the sessions of a project, because the provider's cache goes by them.

use dormouse_context::prefix::{Part, RenderedPrefix};
use dormouse_core::block::Block;
use dormouse_host::SessionTexts;
use dormouse_permit::Rules;
use dormouse_tools::agent_definitions;
use serde_json::Value;
use std::sync::Arc;

/// The agent's own words to the model.
const SYSTEM: &str = include_str!("system.md");

/// Renders the prefix. Tools that a rule refuses altogether are left out.
pub(crate) fn render(
    texts: &SessionTexts,
    rules: &Rules,
) -> Result<Arc<RenderedPrefix>, serde_json::Error> {
    let offered = |definition: &Value| {
        let name = definition["name"].as_str().unwrap_or_default();
        !rules.hides(name)
    };
    let tools = agent_definitions().into_iter().filter(offered);
    let tools: Result<Vec<Part>, _> = tools.map(|definition| Part::tool(&definition)).collect();
    let mut system = vec![Part::block("system", &Block::text(SYSTEM.trim_end()))];
    if let Some(memory) = &texts.memory {
        system.push(Part::block("memory", &Block::text(memory)));
    }
    let instructions = texts.instructions.as_deref();
    let fragments = instructions.map(|text| Part::block("instructions", &Block::text(text)));
    let prefix = RenderedPrefix::new(tools?, system, fragments.into_iter().collect());
    Ok(Arc::new(prefix))
}
