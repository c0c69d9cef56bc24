//! Tools by words: a search over names and descriptions.

use crate::clean::ServerTool;

/// Beginning of a query that names its tools.
const SELECT: &str = "select:";
/// Weight of a word in a name; a description mentions many things.
const IN_NAME: usize = 4;

/// Tools that fit a query, best first. `select:` and names, with commas between, gives just those; no
/// words give all.
pub fn search<'a>(tools: &'a [ServerTool], query: &str) -> Vec<&'a ServerTool> {
    let query = query.trim();
    if let Some(names) = query.strip_prefix(SELECT) {
        let names: Vec<&str> = names.split(',').map(str::trim).collect();
        let named = |tool: &&ServerTool| names.contains(&tool.name.as_str());
        return tools.iter().filter(named).collect();
    }
    let words: Vec<String> = query
        .split(|char: char| !char.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect();
    if words.is_empty() {
        return tools.iter().collect();
    }
    let mut found: Vec<(usize, &ServerTool)> = tools
        .iter()
        .map(|tool| (score(tool, &words), tool))
        .filter(|(score, _)| *score > 0)
        .collect();
    // Stable: tools of one score stay in their order.
    found.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
    found.into_iter().map(|(_, tool)| tool).collect()
}

fn score(tool: &ServerTool, words: &[String]) -> usize {
    let (name, description) = (tool.name.to_lowercase(), tool.description.to_lowercase());
    let of = |word: &String| {
        let in_name = if name.contains(word) { IN_NAME } else { 0 };
        in_name + usize::from(description.contains(word))
    };
    words.iter().map(of).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use serde_json::json;

    #[test]
    fn names_count_more_than_descriptions_and_exact_names_count_alone() {
        let listed = [
            json!({ "name": "add", "description": "Sum of two numbers" }),
            json!({ "name": "sum_all", "description": "Everything together" }),
            json!({ "name": "draw", "description": "A picture" }),
        ];
        let (tools, _) = crate::server_tools("calc", &listed);
        let found = |query: &str| {
            let found = search(&tools, query).into_iter();
            found.map(|tool| tool.own_name.as_str()).collect::<Vec<_>>()
        };
        assert_eq!(found("Sum numbers"), ["sum_all", "add"]);
        assert_eq!(found("select:mcp__calc__draw, mcp__calc__none"), ["draw"]);
        assert_eq!(found(""), ["add", "draw", "sum_all"]);
        assert_eq!(found("zebra"), [""; 0]);
    }
}
