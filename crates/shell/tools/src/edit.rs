//! Edit and Write: changes of memory files.
//!
//! # Not here
//! Checking and writing: this decides only on the file and its new content; the caller's
//! [`MemoryWrites`](crate::MemoryWrites) does the rest.

use crate::host::Workshop;
use crate::input;
use crate::limits::LARGEST_WRITTEN;
use crate::reply::{Failure, Reply};
use bytes::Bytes;
use dormouse_guard::paths::SafePath;

pub(crate) fn write(workshop: &Workshop, input: input::Write) -> Reply {
    let path = workshop.desk.places.memory_path(&input.file_path)?;
    hand_over(workshop, &path, input.content)
}

pub(crate) fn edit(workshop: &Workshop, input: &input::Edit) -> Reply {
    let path = workshop.desk.places.memory_path(&input.file_path)?;
    let content = workshop.writes.read(&path).map_err(Failure::Failed)?;
    let Some(content) = content else {
        return Err(Failure::failed(format!(
            "There is no file `{path}`. Use Write to make it."
        )));
    };
    let text = str::from_utf8(&content)
        .map_err(|_| Failure::failed(format!("`{path}` is not a text file.")))?;
    let (old, new) = (&*input.old_string, &*input.new_string);
    // It would match between any two characters.
    if old.is_empty() {
        return Err(Failure::failed(
            "old_string is empty: name the text to replace.",
        ));
    }
    // Said plainly: a model that reads "done" would believe that the file has changed.
    if old == new {
        return Err(Failure::failed("old_string and new_string are the same."));
    }
    let changed = match text.matches(old).count() {
        0 => {
            let message = format!("old_string does not occur in `{path}`. Read the file again.");
            return Err(Failure::failed(message));
        }
        1 => text.replacen(old, new, 1),
        times if input.replace_all => {
            // Many short replacements by a long text could ask for any amount of memory.
            let grown = times.saturating_mul(new.len());
            check_length(&path, grown)?;
            text.replace(old, new)
        }
        times => {
            return Err(Failure::failed(format!(
                "old_string occurs {times} times in `{path}`. Give more of the text around the \
                 right one, or set replace_all."
            )));
        }
    };
    hand_over(workshop, &path, changed)
}

fn hand_over(workshop: &Workshop, path: &SafePath, content: String) -> Reply {
    check_length(path, content.len())?;
    workshop
        .writes
        .write(path, Bytes::from(content))
        .map_err(Failure::Failed)
}

fn check_length(path: &SafePath, length: usize) -> Result<(), Failure> {
    if length <= LARGEST_WRITTEN {
        return Ok(());
    }
    Err(Failure::failed(format!(
        "`{path}` would have {length} bytes; a memory file has at most {LARGEST_WRITTEN}."
    )))
}
