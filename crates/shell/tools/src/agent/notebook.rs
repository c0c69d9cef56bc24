//! Notebooks as text: cells with their outputs.

use serde::Deserialize;
use serde_json::Value;
use std::fmt::Write as _;

/// Most bytes of one output that are shown; a table or a trace is told by its beginning.
const LONGEST_OUTPUT: usize = 2_000;

#[derive(Deserialize)]
struct Notebook {
    cells: Vec<Cell>,
}

#[derive(Deserialize)]
struct Cell {
    #[serde(rename = "cell_type")]
    kind: String,
    #[serde(default)]
    source: Lines,
    #[serde(default)]
    outputs: Vec<Value>,
}

/// Text that a notebook keeps as one piece or line by line.
#[derive(Default, Deserialize)]
#[serde(untagged)]
enum Lines {
    One(String),
    Many(Vec<String>),
    #[default]
    None,
}

impl Lines {
    fn text(self) -> String {
        match self {
            Self::One(text) => text,
            Self::Many(lines) => lines.concat(),
            Self::None => String::new(),
        }
    }
}

/// Notebook as text; `None` if the content is none.
pub(super) fn text(content: &[u8]) -> Option<String> {
    let notebook: Notebook = serde_json::from_slice(content).ok()?;
    let mut page = String::new();
    for (at, cell) in notebook.cells.into_iter().enumerate() {
        let number = at + 1;
        // Writing to a string cannot fail.
        let _written = writeln!(page, "[cell {number}, {}]", cell.kind);
        let source = cell.source.text();
        let _written = writeln!(page, "{}", source.trim_end());
        for output in &cell.outputs {
            let text = shown(output);
            let cut = &text[..text.floor_char_boundary(LONGEST_OUTPUT)];
            let _written = writeln!(page, "[output]\n{}", cut.trim_end());
        }
    }
    Some(page)
}

/// Text of an output: printed, or of a result; images are named.
fn shown(output: &Value) -> String {
    let lines = |value: &Value| serde_json::from_value::<Lines>(value.clone()).ok();
    let data = &output["data"];
    let text = [&output["text"], &data["text/plain"], &output["traceback"]]
        .into_iter()
        .find(|value| !value.is_null())
        .and_then(lines);
    if let Some(text) = text {
        return text.text();
    }
    let kinds = data.as_object().into_iter().flatten();
    let kinds: Vec<&str> = kinds.map(|(kind, _)| kind.as_str()).collect();
    format!("({})", kinds.join(", "))
}
