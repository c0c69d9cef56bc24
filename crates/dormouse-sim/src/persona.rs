//! The built-in persona: does some work with the tools it is offered, then says so.
//!
//! It is a function of the seed and the prompt. The same conversation gets the same answer on every
//! machine, and a conversation that went on gets a different one.

use crate::answer::AnswerBlock;
use crate::config::AnswerConfig;
use crate::digest::Digest;
use crate::request::ToolChoice;
use bytes::Bytes;
use serde_json::{Map, Value, json};

const TOOL_ROUNDS: u64 = 3;
const TEXT_CHARS: usize = 160;
const THINKING_CHARS: usize = 240;

const WORDS: [&str; 24] = [
    "the", "test", "passes", "after", "this", "change", "because", "parser", "reads", "one",
    "line", "more", "and", "writes", "result", "into", "table", "which", "keeps", "order", "of",
    "every", "entry", "stable",
];

/// A tool the persona may call.
#[derive(Clone, Debug)]
pub(crate) struct Offer {
    pub(crate) name: String,
    /// The definition, as it stands in the request.
    pub(crate) definition: Bytes,
}

/// What the persona knows of a request.
#[derive(Clone, Debug)]
pub(crate) struct Scene {
    pub(crate) offers: Vec<Offer>,
    pub(crate) choice: ToolChoice,
    /// Tool results since the user last said something.
    pub(crate) rounds: u64,
    pub(crate) thinks: bool,
    /// The whole prompt.
    pub(crate) prompt: Digest,
}

/// Numbers that follow from a digest.
struct Dice(Digest);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.then(b'd', self.0);
        let sides = sides.max(1) as u128;
        usize::try_from(self.0.0 % sides).unwrap_or(0)
    }

    fn prose(&mut self, chars: usize) -> String {
        let mut text = String::with_capacity(chars + 16);
        while text.len() < chars {
            text.push_str(if text.is_empty() { "" } else { " " });
            text.push_str(WORDS[self.roll(WORDS.len())]);
        }
        text.push('.');
        text
    }
}

/// Speaks.
pub(crate) fn answer(seed: u64, scene: &Scene, config: &AnswerConfig) -> Vec<AnswerBlock> {
    let mut dice = Dice(scene.prompt.then(b'p', Digest(u128::from(seed))));
    let mut blocks = Vec::new();
    if scene.thinks {
        let chars = config.thinking_chars.unwrap_or(THINKING_CHARS);
        blocks.push(AnswerBlock::thinking(&dice.prose(chars)));
    }
    let text = |dice: &mut Dice| {
        let chars = config.text_chars.unwrap_or(TEXT_CHARS);
        AnswerBlock::text(&dice.prose(chars))
    };
    match choose(&mut dice, scene, config) {
        Some(offer) => {
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
    let schema = if definition["input_schema"].is_object() {
        &definition["input_schema"]
    } else {
        &definition["function"]["parameters"]
    };
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
    if let Some(choices) = schema["enum"].as_array().filter(|list| !list.is_empty()) {
        return choices[dice.roll(choices.len())].clone();
    }
    match schema["type"].as_str() {
        Some("integer" | "number") => json!(1 + dice.roll(100)),
        Some("boolean") => json!(dice.roll(2) == 0),
        Some("array") => json!([]),
        // Schemas may refer to themselves; nobody needs more than a few levels.
        Some("object") if depth < 4 => object_for(dice, schema, depth + 1),
        Some("object") => json!({}),
        _ if name.contains("path") || name.contains("file") => {
            json!(format!("src/part_{}.rs", dice.roll(50)))
        }
        _ if name.contains("command") => json!(format!("cargo test part_{}", dice.roll(50))),
        _ if name.contains("pattern") || name.contains("query") => {
            json!(WORDS[dice.roll(WORDS.len())])
        }
        _ => json!(dice.prose(20)),
    }
}
