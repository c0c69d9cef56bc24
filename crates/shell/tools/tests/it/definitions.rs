//! Tests of the definitions that the model gets.

use crate::kit::Kit;
use dormouse_tools::{TOOL_NAMES, definitions};
use pretty_assertions::assert_eq;
use serde_json::{Map, Value, json};

#[test]
fn there_is_one_for_each_tool_in_order() {
    let definitions = definitions();
    let names: Vec<&str> = definitions
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, TOOL_NAMES);
    for tool in &definitions {
        let description = tool["description"].as_str().unwrap();
        assert!(description.len() > 40 && !description.ends_with('\n'));
        let properties = tool["input_schema"]["properties"].as_object().unwrap();
        for name in tool["input_schema"]["required"].as_array().unwrap() {
            assert!(properties.contains_key(name.as_str().unwrap()), "{name}");
        }
    }
}

#[test]
fn what_they_promise_is_understood() {
    let kit = Kit::new();
    for tool in definitions() {
        let properties = tool["input_schema"]["properties"].as_object().unwrap();
        let example = |schema: &Value| match (schema["type"].as_str(), &schema["enum"]) {
            (_, Value::Array(values)) => values[0].clone(),
            (Some("integer"), _) => json!(1),
            (Some("boolean"), _) => json!(true),
            _ => json!("a"),
        };
        let input: Map<String, Value> = properties
            .iter()
            .map(|(name, schema)| (name.clone(), example(schema)))
            .collect();
        let text = kit.call(tool["name"].as_str().unwrap(), &json!(input)).text;
        assert!(!text.contains("does not fit"), "{text}");
    }
}

#[test]
fn the_prompt_is_as_reviewed() {
    let rendered: Vec<String> = definitions()
        .iter()
        .map(|tool| {
            let properties = tool["input_schema"]["properties"].as_object().unwrap();
            let names: Vec<&str> = properties.keys().map(String::as_str).collect();
            format!(
                "{}({})\n{}\n",
                tool["name"].as_str().unwrap(),
                names.join(", "),
                tool["description"].as_str().unwrap()
            )
        })
        .collect();
    assert_eq!(rendered.join("\n"), include_str!("definitions.txt"));
}
