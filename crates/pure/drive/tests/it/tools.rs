//! Scripted tools, and the configuration of a driver that has them.

use crate::model::MODEL;
use dormouse_ask::retry::RetryPolicy;
use dormouse_ask::{Caching, Capabilities, Features, Params};
use dormouse_context::offload::ToolOutput;
use dormouse_context::policy::Classic;
use dormouse_context::prefix::{Part, RenderedPrefix};
use dormouse_core::block::Block;
use dormouse_core::id::SessionId;
use dormouse_core::models::{ModelTable, ThinkingBinding};
use dormouse_core::record::LineContext;
use dormouse_core::settings::{Settings, Trust, flags_layer, resolve};
use dormouse_core::units::{Millis, Tokens};
use dormouse_drive::{
    Config, Driver, HookCatalog, HookMoment, Judge, Judgement, LogStart, NoHookPoints,
    PersonQuestion, Role, SessionFiles, ToolCall, ToolCatalog, ToolTraits,
};
use dormouse_testkit::blocks::call;
use dormouse_testkit::conversation::prose;
use serde_json::json;
use std::sync::Arc;

/// Catalogue in which Read and Grep only read; all other tools write.
#[derive(Debug)]
pub(crate) struct Catalog;

impl ToolCatalog for Catalog {
    fn traits(&self, tool: &str) -> ToolTraits {
        ToolTraits {
            declared_limit: None,
            reads_files: tool == "Read",
            only_reads: tool == "Read" || tool == "Grep",
        }
    }
}

/// Hooks at every moment: faults hit the driver while each of them runs.
#[derive(Debug)]
struct AllHooks;

impl HookCatalog for AllHooks {
    fn wants(&self, _: HookMoment, _: Option<&str>) -> bool {
        true
    }
}

/// Judge that asks a person about Deploy and refuses Format.
#[derive(Debug)]
struct Rules;

impl Judge for Rules {
    fn judge(&self, call: &ToolCall) -> Judgement {
        match &*call.tool {
            "Deploy" => Judgement::Ask(PersonQuestion {
                text: "Deploy now?".to_owned(),
                lasting: vec!["Deploy".to_owned()],
            }),
            "Format" => Judgement::Refuse("Formatting is not allowed.".to_owned()),
            _ => Judgement::Run,
        }
    }
}

/// Call whose tool returns text of this many characters.
pub(crate) fn calls(id: &str, tool: &str, chars: usize) -> Block {
    let input = json!({"file_path": format!("/src/{id}.rs"), "chars": chars});
    call(id, tool, &input)
}

/// Output of a call: a function of the call alone.
pub(crate) fn run(call: &ToolCall) -> ToolOutput {
    let chars = call.block.input_json("chars");
    let chars = chars.and_then(|chars| chars.parse().ok()).unwrap_or(20);
    let seed = call.id.as_str().bytes().map(usize::from).sum();
    let text = format!("Output of {}: {}", call.id, prose(seed, chars));
    ToolOutput::text(call.id.clone(), text)
}

pub(crate) fn settings(pairs: &[&str]) -> Arc<Settings> {
    let (layer, issues) = flags_layer(pairs.iter().copied());
    assert!(issues.is_empty(), "{issues:?}");
    Arc::new(resolve(&[layer], Trust::Trusted))
}

/// Configuration with a window of 40,000 tokens: compaction at 26,800.
pub(crate) fn config() -> Config {
    Config {
        session: SessionId::new("s"),
        place: SessionFiles {
            log: "/home/dormouse/projects/p/s.jsonl".into(),
            folder: "/home/dormouse/projects/p/s".into(),
            project: "/project".to_owned(),
        },
        line: LineContext::default(),
        model: MODEL.to_owned(),
        models: Arc::new(ModelTable::builtin().clone()),
        capabilities: Capabilities {
            window: Tokens(200_000),
            max_output: Tokens(64_000),
            caching: Caching::Markers,
            cache_minimum: Tokens(1_024),
            thinking_binding: ThinkingBinding::None,
            features: Features::default(),
        },
        params: Params::new(MODEL, Tokens(8_000)).unwrap(),
        prefix: Arc::new(prefix()),
        policy: Some(Arc::new(Classic)),
        window: Some(Tokens(40_000)),
        tools: Arc::new(Catalog),
        judge: Arc::new(Rules),
        role: Role::Main,
        most_requests: 40,
        continuations: 2,
        retry: RetryPolicy::default(),
        fallback: None,
        hooks: Arc::new(AllHooks),
        turn_facts: true,
        budget: None,
        recall: true,
        lessons: None,
        explain: false,
        seed: 7,
    }
}

/// Driver whose client runs the tools.
pub(crate) fn relayed(seed: u64, now: Millis) -> Driver {
    let config = Config {
        seed,
        hooks: Arc::new(NoHookPoints),
        recall: false,
        ..config()
    };
    let settings = settings(&["notes=off", "offload.limit.Bash=1000"]);
    let opened = Driver::open(config, settings, LogStart::default(), now);
    opened.unwrap().0
}

/// Result that a client sends.
pub(crate) fn ran_elsewhere(block: Block) -> (String, ToolOutput) {
    let call = block.call().unwrap().clone();
    ("Bash".to_owned(), ToolOutput::of_block(call, block))
}

fn prefix() -> RenderedPrefix {
    let tool = |name: &str| {
        let schema = json!({"type": "object"});
        let tool = json!({"name": name, "description": "A tool.", "input_schema": schema});
        Part::tool(&tool).unwrap()
    };
    RenderedPrefix::new(
        ["Bash", "Read", "Grep", "Deploy", "Format"]
            .map(tool)
            .to_vec(),
        vec![Part::block(
            "system",
            &Block::text("You help with the work."),
        )],
        Vec::new(),
    )
}
