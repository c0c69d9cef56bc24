//! Events of the agent as updates of the protocol, and prompts of the editor as blocks.

use super::wire::Problem;
use agent_client_protocol_schema::v1::{
    AvailableCommand, AvailableCommandInput, AvailableCommandsUpdate, CompactionStatus,
    CompactionUpdate, ContentBlock, ContentChunk, Cost, CurrentModeUpdate, Diff,
    EmbeddedResourceResource, Plan, PlanEntry, PlanEntryPriority, PlanEntryStatus, SessionUpdate,
    TextContent, ToolCall, ToolCallContent, ToolCallLocation, ToolCallStatus, ToolCallUpdate,
    ToolCallUpdateFields, ToolKind, UnstructuredCommandInput, UsageUpdate,
};
use dormouse_agent::protocol::{CommandFacts, DeltaKind, LayerName, Side};
use dormouse_agent::{ENTER_PLAN, EXIT_PLAN, Event};
use dormouse_core::block::{Block, BlockKind};
use dormouse_core::record::Purpose;
use dormouse_core::units::Tokens;
use dormouse_core::usage::Usd;
use serde_json::{Value, json};

/// Characters of a title, which editors show on one line.
const LONGEST_TITLE: usize = 120;

/// Translator of one session's events.
#[derive(Debug)]
pub(super) struct Teller {
    window: Tokens,
    spent: Usd,
    compactions: u32,
}

impl Teller {
    pub(super) fn new(window: Tokens) -> Self {
        Self {
            window,
            spent: Usd::default(),
            compactions: 0,
        }
    }

    /// Updates for an event as it happens.
    pub(super) fn told(&mut self, event: &Event) -> Vec<SessionUpdate> {
        match event {
            Event::Delta { kind, text, .. } => match kind {
                DeltaKind::Text => vec![SessionUpdate::AgentMessageChunk(chunk(text))],
                DeltaKind::Thinking => vec![SessionUpdate::AgentThoughtChunk(chunk(text))],
                DeltaKind::Input | DeltaKind::Signature => Vec::new(),
            },
            // Its words came in pieces.
            Event::MessageDone { .. } | Event::Said { .. } => Vec::new(),
            event => self.common(event),
        }
    }

    /// Updates for an event of the past.
    pub(super) fn replayed(&mut self, event: &Event) -> Vec<SessionUpdate> {
        match event {
            Event::Said {
                by: Side::User,
                content,
            } => texts(content)
                .map(|text| SessionUpdate::UserMessageChunk(chunk(&text)))
                .collect(),
            Event::MessageDone { content, .. } => texts(content)
                .map(|text| SessionUpdate::AgentMessageChunk(chunk(&text)))
                .collect(),
            event => self.common(event),
        }
    }

    fn common(&mut self, event: &Event) -> Vec<SessionUpdate> {
        match event {
            Event::ToolAsked { call, tool, input } => {
                let asked = ToolCall::new(call.as_str().to_owned(), title(tool, input))
                    .kind(kind(tool))
                    .status(ToolCallStatus::Pending)
                    .content(changes(tool, input))
                    .locations(places(input))
                    .raw_input(input.clone());
                let mut updates = vec![SessionUpdate::ToolCall(asked)];
                updates.extend(plan(tool, input).map(SessionUpdate::Plan));
                updates
            }
            Event::ToolRunning { call } => {
                let fields = ToolCallUpdateFields::new().status(ToolCallStatus::InProgress);
                vec![changed(call.as_str(), fields)]
            }
            Event::ToolDone {
                call,
                is_error,
                content,
            } => {
                let status = if *is_error {
                    ToolCallStatus::Failed
                } else {
                    ToolCallStatus::Completed
                };
                let text = content.readable_text().unwrap_or_default();
                let shown = ToolCallContent::from(ContentBlock::Text(TextContent::new(text)));
                let fields = ToolCallUpdateFields::new()
                    .status(status)
                    .content(vec![shown]);
                vec![changed(call.as_str(), fields)]
            }
            Event::Usage {
                usage,
                cost,
                purpose,
                ..
            } => {
                self.spent += cost.unwrap_or_default();
                if *purpose != Purpose::Turn {
                    return Vec::new();
                }
                let used = usage.prompt() + usage.output;
                let mut update = UsageUpdate::new(used.get(), self.window.get());
                update.cost = Some(Cost::new(self.spent.as_f64(), "USD"));
                vec![SessionUpdate::UsageUpdate(update)]
            }
            Event::LayerActed {
                layer: LayerName::Compaction,
                ..
            } => {
                self.compactions += 1;
                let id = format!("compaction-{}", self.compactions);
                let update = CompactionUpdate::new(id, CompactionStatus::Completed);
                vec![SessionUpdate::CompactionUpdate(update)]
            }
            Event::Changed { mode, .. } => {
                let update = CurrentModeUpdate::new(mode.name());
                vec![SessionUpdate::CurrentModeUpdate(update)]
            }
            _ => Vec::new(),
        }
    }
}

/// Commands that a person may type, for the editor to offer.
pub(super) fn commands(commands: &[CommandFacts]) -> SessionUpdate {
    let command = |one: &CommandFacts| {
        let hint = one.hint.clone();
        let input = hint
            .map(|hint| AvailableCommandInput::Unstructured(UnstructuredCommandInput::new(hint)));
        AvailableCommand::new(one.name.clone(), one.description.clone()).input(input)
    };
    let all = commands.iter().map(command).collect();
    SessionUpdate::AvailableCommandsUpdate(AvailableCommandsUpdate::new(all))
}

fn chunk(text: &str) -> ContentChunk {
    ContentChunk::new(ContentBlock::Text(TextContent::new(text)))
}

fn changed(call: &str, fields: ToolCallUpdateFields) -> SessionUpdate {
    SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(call.to_owned(), fields))
}

fn texts(content: &[Block]) -> impl Iterator<Item = String> {
    let texts = content
        .iter()
        .filter(|block| block.kind() == BlockKind::Text);
    texts.filter_map(Block::readable_text)
}

/// Sort of a tool, by which editors choose a picture.
pub(super) fn kind(tool: &str) -> ToolKind {
    match tool {
        "Read" => ToolKind::Read,
        "Write" | "Edit" => ToolKind::Edit,
        "Bash" | "BashOutput" | "KillShell" => ToolKind::Execute,
        "Grep" | "Glob" | "SearchMemory" | "WebSearch" => ToolKind::Search,
        "WebFetch" => ToolKind::Fetch,
        "TodoWrite" => ToolKind::Think,
        ENTER_PLAN | EXIT_PLAN => ToolKind::SwitchMode,
        _ => ToolKind::Other,
    }
}

/// A call in one line: the tool and what it is about.
pub(super) fn title(tool: &str, input: &Value) -> String {
    let about = ["command", "file_path", "path", "pattern", "url", "query"];
    let about = about.iter().find_map(|name| input[*name].as_str());
    let line = match about {
        Some(about) => format!("{tool} {}", dormouse_core::show::flat(about)),
        None => tool.to_owned(),
    };
    if line.chars().nth(LONGEST_TITLE).is_none() {
        return line;
    }
    let kept: String = line.chars().take(LONGEST_TITLE - 1).collect();
    format!("{kept}…")
}

/// Files that a call is about.
fn places(input: &Value) -> Vec<ToolCallLocation> {
    let path = input["file_path"].as_str();
    path.map(ToolCallLocation::new).into_iter().collect()
}

/// Content of a call that people look at: changes to a file as a difference, and plans.
pub(super) fn changes(tool: &str, input: &Value) -> Vec<ToolCallContent> {
    let text = |name: &str| input[name].as_str().unwrap_or_default().to_owned();
    let path = text("file_path");
    match tool {
        "Edit" => {
            let diff = Diff::new(path, text("new_string")).old_text(text("old_string"));
            vec![diff.into()]
        }
        "Write" => vec![Diff::new(path, text("content")).into()],
        EXIT_PLAN => {
            let plan = ContentBlock::Text(TextContent::new(text("plan")));
            vec![ToolCallContent::from(plan)]
        }
        _ => Vec::new(),
    }
}

/// A list of to-dos as a plan.
fn plan(tool: &str, input: &Value) -> Option<Plan> {
    let todos = input["todos"].as_array().filter(|_| tool == "TodoWrite")?;
    let entry = |todo: &Value| {
        let status = match todo["status"].as_str() {
            Some("in_progress") => PlanEntryStatus::InProgress,
            Some("completed") => PlanEntryStatus::Completed,
            _ => PlanEntryStatus::Pending,
        };
        let content = todo["content"].as_str().unwrap_or_default();
        PlanEntry::new(content, PlanEntryPriority::Medium, status)
    };
    Some(Plan::new(todos.iter().map(entry).collect()))
}

/// Content of a prompt as blocks of the conversation.
pub(super) fn blocks(prompt: &[ContentBlock]) -> Result<Vec<Block>, Problem> {
    let mut blocks = Vec::new();
    for part in prompt {
        blocks.push(match part {
            ContentBlock::Text(text) => Block::text(&text.text),
            ContentBlock::Image(image) => {
                let source = json!({
                    "type": "base64", "media_type": image.mime_type, "data": image.data,
                });
                let value = json!({ "type": "image", "source": source });
                Block::from_value(&value).map_err(Problem::params)?
            }
            // Named, not read: the model reads the file if it needs it.
            ContentBlock::ResourceLink(link) => {
                Block::text(&format!("[{}]({})", link.name, link.uri))
            }
            ContentBlock::Resource(resource) => match &resource.resource {
                EmbeddedResourceResource::TextResourceContents(text) => {
                    Block::text(&format!("{}:\n{}", text.uri, text.text))
                }
                _ => {
                    return Err(Problem::params(
                        "only text is taken as an embedded resource",
                    ));
                }
            },
            _ => {
                return Err(Problem::params(
                    "text, images, links and embedded text are taken",
                ));
            }
        });
    }
    if blocks.is_empty() {
        return Err(Problem::params("the prompt is empty"));
    }
    Ok(blocks)
}
