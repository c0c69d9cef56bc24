//! Inputs of the tools, as the model gives them. Unknown fields are ignored: models invent some,
//! and a call that is otherwise clear should not fail for it.

use crate::agent::agent_definitions;
use crate::reply::Failure;
use dormouse_drive::ToolCall;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

#[derive(Debug, Deserialize)]
pub(crate) struct Read {
    pub(crate) file_path: String,
    pub(crate) offset: Option<u64>,
    pub(crate) limit: Option<u64>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Grep {
    pub(crate) pattern: String,
    pub(crate) path: Option<String>,
    pub(crate) glob: Option<String>,
    #[serde(default)]
    pub(crate) output_mode: Mode,
    #[serde(rename = "-i", default)]
    pub(crate) ignore_case: bool,
    #[serde(rename = "-n")]
    pub(crate) numbers: Option<bool>,
    #[serde(rename = "-A")]
    pub(crate) after: Option<u64>,
    #[serde(rename = "-B")]
    pub(crate) before: Option<u64>,
    #[serde(rename = "-C")]
    pub(crate) around: Option<u64>,
    #[serde(default)]
    pub(crate) multiline: bool,
    pub(crate) head_limit: Option<u64>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Mode {
    #[default]
    FilesWithMatches,
    Content,
    Count,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Glob {
    pub(crate) pattern: String,
    pub(crate) path: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Bash {
    pub(crate) command: String,
    pub(crate) timeout: Option<u64>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Edit {
    pub(crate) file_path: String,
    pub(crate) old_string: String,
    pub(crate) new_string: String,
    #[serde(default)]
    pub(crate) replace_all: bool,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Write {
    pub(crate) file_path: String,
    pub(crate) content: String,
}

/// Input of a call, in the shape its tool wants.
pub(crate) fn parse<T: DeserializeOwned>(call: &ToolCall) -> Result<T, Failure> {
    let input = given(call);
    T::deserialize(&input).map_err(|error| {
        let definitions = agent_definitions();
        let known = definitions.iter().find(|known| known["name"] == *call.tool);
        let fault = known.and_then(|known| fault(&known["input_schema"], &input, ""));
        Failure::failed(
            fault.unwrap_or_else(|| format!("The input does not fit the tool: {error}")),
        )
    })
}

/// Input of a call as the model wrote it; null if it has none.
pub(crate) fn given(call: &ToolCall) -> Value {
    let mut block: Value = serde_json::from_slice(call.block.bytes()).unwrap_or_default();
    block["input"].take()
}

/// First parameter that is missing or of the wrong kind, with what it has to be. `None` if the value
/// fits the schema, as far as schemas of tools go.
fn fault(schema: &Value, value: &Value, place: &str) -> Option<String> {
    let kind = schema["type"].as_str()?;
    let name = if place.is_empty() { "The input" } else { place };
    let shown = |place: &str| match place {
        "" => "The input".to_owned(),
        place => format!("`{place}`"),
    };
    let fits = match kind {
        "string" => value.is_string(),
        "integer" => value.as_u64().is_some() || (schema["minimum"].is_null() && value.is_i64()),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => true,
    };
    if !fits {
        let is = match value {
            Value::Null => "missing",
            Value::Bool(_) => "true or false",
            Value::Number(_) => "a number",
            Value::String(_) => "a text",
            Value::Array(_) => "a list",
            Value::Object(_) => "an object",
        };
        return Some(format!(
            "{} is {is}; it must be {}.",
            shown(place),
            wanted(schema)
        ));
    }
    if let (Some(choices), Some(text)) = (schema["enum"].as_array(), value.as_str())
        && !choices.iter().any(|choice| choice == text)
    {
        return Some(format!(
            "{} is `{text}`; it must be {}.",
            shown(place),
            wanted(schema)
        ));
    }
    let below = |key: &str| match place {
        "" => key.to_owned(),
        place => format!("{place}.{key}"),
    };
    if let Some(object) = value.as_object() {
        let properties = &schema["properties"];
        let required = schema["required"].as_array();
        for key in required.into_iter().flatten().filter_map(Value::as_str) {
            if object.get(key).is_none_or(Value::is_null) {
                let wanted = wanted(&properties[key]);
                return Some(format!("`{}` is missing; it must be {wanted}.", below(key)));
            }
        }
        return object
            .iter()
            .filter(|(_, value)| !value.is_null())
            .find_map(|(key, value)| fault(&properties[key], value, &below(key)));
    }
    let items = value.as_array().into_iter().flatten().enumerate();
    let mut items = items.map(|(at, item)| (format!("{name}[{at}]"), item));
    items.find_map(|(place, item)| fault(&schema["items"], item, &place))
}

/// Words for the values that a schema allows.
fn wanted(schema: &Value) -> String {
    if let Some(choices) = schema["enum"].as_array() {
        let choices: Vec<&str> = choices.iter().filter_map(Value::as_str).collect();
        return format!("one of {}", choices.join(", "));
    }
    let kind = match schema["type"].as_str() {
        Some("string") => "a text",
        Some("integer") if schema["minimum"].is_null() => "a whole number",
        Some("integer") => "a whole number, not below 0",
        Some("boolean") => "true or false",
        Some("array") => "a list",
        _ => "an object",
    };
    kind.to_owned()
}

/// Count from the model, not above `most`.
pub(crate) fn bounded(count: u64, most: usize) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX).min(most)
}
