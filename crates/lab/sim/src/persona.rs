//! The built-in persona: does some work with the tools it is offered, then says so. If the user
//! asks for a summary or for notes, it writes them (see [`crate::scribe`]).
//!
//! It is a function of the seed and the prompt. The same conversation gets the same answer on every
//! machine, and a conversation that went on gets a different one.
//!
//! # Not here
//! Scripted answers ([`crate::answer`]) and the wire ([`crate::spoken`]).

use crate::answer::{AnswerBlock, SimAnswer};
use crate::config::AnswerConfig;
use crate::dice::Dice;
use crate::digest::Digest;
use crate::request::ToolChoice;
use crate::scribe::Order;
use bytes::Bytes;
use memchr::memmem;
use serde_json::{Map, Value, json};
use std::borrow::Cow;

/// Tool calls of a turn before the persona ends it: enough for a loop, few enough to end.
const TOOL_ROUNDS: u64 = 3;
/// Characters of a text: two or three lines, as agents write between calls.
const TEXT_CHARS: usize = 160;
/// Characters of thinking: longer than the text, as with the models.
const THINKING_CHARS: usize = 240;

/// A tool the persona may call.
#[derive(Clone, Debug)]
pub(crate) struct Offer {
    pub(crate) name: String,
    /// The definition, as it stands in the request.
    pub(crate) definition: Bytes,
}

/// Facts of a request that the persona acts on.
#[derive(Clone, Debug)]
pub(crate) struct Scene {
    pub(crate) offers: Vec<Offer>,
    pub(crate) choice: ToolChoice,
    /// Tool results since the user last said something.
    pub(crate) rounds: u64,
    pub(crate) thinks: bool,
    /// Digest of the whole prompt.
    pub(crate) prompt: Digest,
    /// Text the user ordered, which takes the place of work.
    pub(crate) written: Option<String>,
    /// Body of the request, for answers that are meant for some requests only.
    pub(crate) body: Bytes,
}

impl Scene {
    /// True if a scripted answer is meant for this request.
    pub(crate) fn is_meant(&self, answer: &SimAnswer) -> bool {
        answer.when.as_ref().is_none_or(|text| {
            self.written.is_none() && memmem::find(&self.body, text.as_bytes()).is_some()
        })
    }

    /// Writes the text that the user's last words order, from the conversation before them. Both
    /// are asked for only when they are needed: an order is rare, and a conversation may be long.
    ///
    /// A request that forces a tool gets a call in any case.
    pub(crate) fn with_order<'a>(
        self,
        seed: u64,
        config: &AnswerConfig,
        last_words: Option<&str>,
        said: impl FnOnce() -> Vec<Cow<'a, str>>,
    ) -> Self {
        // A forced tool must be called, or the client would wait for it.
        let forced = matches!(self.choice, ToolChoice::Any | ToolChoice::Tool(_));
        let order = last_words.filter(|_| !forced).and_then(Order::read);
        let written = order.map(|order| {
            let mut dice = Dice::new(seed, self.prompt, b'w');
            order.carry_out(&said(), &mut dice, config)
        });
        Self { written, ..self }
    }
}

/// Blocks of the persona's answer to a scene.
pub(crate) fn answer(seed: u64, scene: &Scene, config: &AnswerConfig) -> Vec<AnswerBlock> {
    let mut dice = Dice::new(seed, scene.prompt, b'p');
    let mut blocks = Vec::new();
    if scene.thinks {
        let chars = config.thinking_chars.unwrap_or(THINKING_CHARS);
        blocks.push(AnswerBlock::thinking(&dice.prose(chars)));
    }
    // Nothing beside it: clients parse the whole text.
    if let Some(written) = &scene.written {
        blocks.push(AnswerBlock::text(written));
        return blocks;
    }
    let text = |dice: &mut Dice| {
        let chars = config.text_chars.unwrap_or(TEXT_CHARS);
        AnswerBlock::text(&dice.prose(chars))
    };
    match choose(&mut dice, scene, config) {
        Some(offer) => {
            // Not with a forced choice: there the model speaks no text before its call.
            if dice.roll(2) == 0 && scene.choice == ToolChoice::Auto {
                blocks.push(text(&mut dice));
            }
            let input = input_for(&mut dice, &offer.definition);
            blocks.push(AnswerBlock::tool(&offer.name, input));
        }
        None => blocks.push(text(&mut dice)),
    }
    blocks
}

fn choose<'a>(dice: &mut Dice, scene: &'a Scene, config: &AnswerConfig) -> Option<&'a Offer> {
    let most = config.tool_rounds.map_or(TOOL_ROUNDS, u64::from);
    let any = |dice: &mut Dice| scene.offers.get(dice.roll(scene.offers.len()));
    match &scene.choice {
        ToolChoice::Tool(name) => scene.offers.iter().find(|offer| offer.name == *name),
        ToolChoice::Any => any(dice),
        ToolChoice::Auto if scene.rounds < most => any(dice),
        ToolChoice::Auto | ToolChoice::None => None,
    }
}

/// An input that fits the tool's schema, as far as its required members go.
fn input_for(dice: &mut Dice, definition: &[u8]) -> Value {
    let definition: Value = serde_json::from_slice(definition).unwrap_or_default();
    // The two faces name it differently.
    let schema = if definition["input_schema"].is_object() {
        &definition["input_schema"]
    } else {
        &definition["function"]["parameters"]
    };
    // A provider's own tool has no schema; most of them run commands.
    if !schema.is_object() {
        return json!({"command": "ls -la"});
    }
    object_for(dice, schema, 0)
}

fn object_for(dice: &mut Dice, schema: &Value, depth: usize) -> Value {
    let mut input = Map::new();
    let required = schema["required"].as_array().map(Vec::as_slice);
    for name in required
        .unwrap_or_default()
        .iter()
        .filter_map(Value::as_str)
    {
        let value = value_for(dice, name, &schema["properties"][name], depth);
        input.insert(name.to_owned(), value);
    }
    Value::Object(input)
}

fn value_for(dice: &mut Dice, name: &str, schema: &Value, depth: usize) -> Value {
    // Any other value would be refused by the tool.
    if let Some(choices) = schema["enum"].as_array().filter(|list| !list.is_empty()) {
        return choices[dice.roll(choices.len())].clone();
    }
    match schema["type"].as_str() {
        Some("integer" | "number") => json!(1 + dice.roll(100)),
        Some("boolean") => json!(dice.roll(2) == 0),
        // Empty is valid for every kind of item.
        Some("array") => json!([]),
        // Schemas may refer to themselves; a few levels are enough for any tool.
        Some("object") if depth < 4 => object_for(dice, schema, depth + 1),
        Some("object") => json!({}),
        _ if name.contains("path") || name.contains("file") => {
            json!(format!("src/part_{}.rs", dice.roll(50)))
        }
        _ if name.contains("command") => json!(format!("cargo test part_{}", dice.roll(50))),
        _ if name.contains("pattern") || name.contains("query") => {
            json!(dice.word())
        }
        _ => json!(dice.prose(20)),
    }
}
