//! Input of the tool, read strictly: a field that is missing, of the wrong type or unknown is
//! named, so that the model can put it right.
//!
//! # Not here
//! Paths (`place`); carrying a command out (`view`, `edit`, `remove`).

use super::place::ToolPath;
use dormouse_core::show;
use serde_json::{Map, Value};
use thiserror::Error;

/// Most characters of an unknown name that are repeated to the model: enough to recognise a typo,
/// and a whole text sent as a name does not come back.
const SHOWN: usize = 60;

/// Request of the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Show a directory or a file.
    View {
        /// Directory or file to show.
        path: ToolPath,
        /// Lines of a file; all when absent.
        range: Option<LineRange>,
    },
    /// Create a file with this content.
    Create {
        /// Path of the new file.
        path: ToolPath,
        /// Content of the new file.
        file_text: String,
    },
    /// Replace a text that occurs exactly once.
    StrReplace {
        /// File that has the text.
        path: ToolPath,
        /// Text to be replaced.
        old_str: String,
        /// Text in its place; empty to delete.
        new_str: String,
    },
    /// Insert a text between two lines.
    Insert {
        /// File that has the line.
        path: ToolPath,
        /// Line behind which it goes; 0 is the top.
        insert_line: i64,
        /// Text to be inserted, as whole lines.
        insert_text: String,
    },
    /// Remove a file, or a directory with its content.
    Delete {
        /// File or directory to remove.
        path: ToolPath,
    },
    /// Move a file or a directory.
    Rename {
        /// Present path of it.
        old_path: ToolPath,
        /// New path; nothing may be there.
        new_path: ToolPath,
    },
}

/// Lines, counted from 1. Checked only against a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineRange {
    /// First line shown, at least 1.
    pub first: i64,
    /// Last line shown; -1 is the end of the file.
    pub last: i64,
}

/// Behaviour of `create` for a file that exists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Overwrite {
    /// Answers with the documented error.
    #[default]
    Refuse,
    /// Replaces the content, as the description of the tool lets the model expect.
    Allow,
}

/// Reason why an input is no command. Shown to the model as it is.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum InputError {
    /// Input other than a JSON object.
    #[error("Error: The input must be an object with a field `command`")]
    NotAnObject,
    /// Required field that is absent or `null`.
    #[error("Error: The field `{0}` is missing")]
    Missing(&'static str),
    /// Field of the wrong type.
    #[error("Error: The field `{field}` must be {expected}")]
    WrongType {
        /// Name of the field.
        field: &'static str,
        /// Type that it must have.
        expected: &'static str,
    },
    /// Field that the command does not have.
    #[error("Error: Unknown field `{field}` for the command `{command}`; it takes {takes}")]
    UnknownField {
        /// Name of the field, shortened.
        field: String,
        /// Name of the command.
        command: &'static str,
        /// Fields that the command has.
        takes: String,
    },
    /// Name that is no command, shortened.
    #[error(
        "Error: Unknown command `{0}`; there are view, create, str_replace, insert, delete, rename"
    )]
    UnknownCommand(String),
    /// Path that may not be used, with the remedy.
    #[error("{0}")]
    Path(String),
}

impl Command {
    /// Reads the input of a call.
    pub fn parse(input: &Value) -> Result<Self, InputError> {
        let fields = Fields(input.as_object().ok_or(InputError::NotAnObject)?);
        match fields.text("command")? {
            "view" => {
                fields.only("view", &["path", "view_range"])?;
                Ok(Self::View {
                    path: fields.place("path")?,
                    range: fields.range("view_range")?,
                })
            }
            "create" => {
                fields.only("create", &["path", "file_text"])?;
                Ok(Self::Create {
                    path: fields.place("path")?,
                    file_text: fields.text("file_text")?.to_owned(),
                })
            }
            "str_replace" => {
                fields.only("str_replace", &["path", "old_str", "new_str"])?;
                Ok(Self::StrReplace {
                    path: fields.place("path")?,
                    old_str: fields.text("old_str")?.to_owned(),
                    new_str: fields
                        .optional_text("new_str")?
                        .unwrap_or_default()
                        .to_owned(),
                })
            }
            "insert" => {
                fields.only("insert", &["path", "insert_line", "insert_text"])?;
                Ok(Self::Insert {
                    path: fields.place("path")?,
                    insert_line: fields.number("insert_line")?,
                    insert_text: fields.text("insert_text")?.to_owned(),
                })
            }
            "delete" => {
                fields.only("delete", &["path"])?;
                Ok(Self::Delete {
                    path: fields.place("path")?,
                })
            }
            "rename" => {
                fields.only("rename", &["old_path", "new_path"])?;
                Ok(Self::Rename {
                    old_path: fields.place("old_path")?,
                    new_path: fields.place("new_path")?,
                })
            }
            other => Err(InputError::UnknownCommand(
                show::shortened(other, SHOWN).into_owned(),
            )),
        }
    }

    /// True if it could change anything.
    pub fn writes(&self) -> bool {
        !matches!(self, Self::View { .. })
    }
}

/// Fields of the input. `null` counts as absent, because models fill optional fields with it.
struct Fields<'a>(&'a Map<String, Value>);

impl<'a> Fields<'a> {
    fn get(&self, field: &str) -> Option<&'a Value> {
        self.0.get(field).filter(|value| !value.is_null())
    }

    /// Refuses unknown fields: ignored, a misspelt one would do something else than the model
    /// meant.
    fn only(&self, command: &'static str, known: &[&str]) -> Result<(), InputError> {
        let unknown = self
            .0
            .keys()
            .find(|key| *key != "command" && !known.contains(&key.as_str()));
        match unknown {
            None => Ok(()),
            Some(field) => Err(InputError::UnknownField {
                field: show::shortened(field, SHOWN).into_owned(),
                command,
                takes: known.join(", "),
            }),
        }
    }

    fn optional_text(&self, field: &'static str) -> Result<Option<&'a str>, InputError> {
        let text = |value: &'a Value| {
            value.as_str().ok_or(InputError::WrongType {
                field,
                expected: "a text",
            })
        };
        self.get(field).map(text).transpose()
    }

    fn text(&self, field: &'static str) -> Result<&'a str, InputError> {
        self.optional_text(field)?.ok_or(InputError::Missing(field))
    }

    fn place(&self, field: &'static str) -> Result<ToolPath, InputError> {
        ToolPath::parse(self.text(field)?).map_err(InputError::Path)
    }

    fn number(&self, field: &'static str) -> Result<i64, InputError> {
        let value = self.get(field).ok_or(InputError::Missing(field))?;
        value.as_i64().ok_or(InputError::WrongType {
            field,
            expected: "a whole number",
        })
    }

    fn range(&self, field: &'static str) -> Result<Option<LineRange>, InputError> {
        let Some(value) = self.get(field) else {
            return Ok(None);
        };
        let ends = match value.as_array().map(Vec::as_slice) {
            Some([first, last]) => first.as_i64().zip(last.as_i64()),
            _ => None,
        };
        let (first, last) = ends.ok_or(InputError::WrongType {
            field,
            expected: "a list of two whole numbers, the first and the last line",
        })?;
        Ok(Some(LineRange { first, last }))
    }
}
