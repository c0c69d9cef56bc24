//! Read: lines of a file, with their numbers.

use crate::host::Workshop;
use crate::input;
use crate::limits::{DEEPEST_READ, LINES_READ, LONGEST_LINE};
use crate::lines::{Lines, Sequential};
use crate::reply::{Failure, Page, Reply};
use std::io::{self, Read};

pub(crate) fn read(workshop: &Workshop, input: &input::Read) -> Reply {
    let source = open(workshop, &input.file_path)?;
    // Models count from zero at times; line 0 means the first.
    let first = input.offset.unwrap_or(1).max(1);
    let most = input
        .limit
        .map_or(LINES_READ, |limit| input::bounded(limit.max(1), usize::MAX));
    show(source, first, most).map_err(|error| {
        Failure::failed(format!("`{}` could not be read: {error}", input.file_path))
    })?
}

/// Opens a file. The caller's content of a memory file comes before the disk: the task may have
/// written it a moment ago.
fn open(workshop: &Workshop, path: &str) -> Result<Box<dyn Read>, Failure> {
    if let Ok(memory) = workshop.desk.places.memory_path(path) {
        let content = workshop.writes.read(&memory).map_err(Failure::Failed)?;
        if let Some(content) = content {
            return Ok(Box::new(io::Cursor::new(content)));
        }
    }
    let (_, file) = workshop
        .desk
        .places
        .with(path, |spot| spot.files.open(&spot.path))?;
    Ok(Box::new(Sequential::new(file)))
}

/// Lines of a source from `first` on, with their numbers.
pub(crate) fn show(source: Box<dyn Read>, first: u64, most: usize) -> io::Result<Reply> {
    let mut lines = Lines::new(source.take(DEEPEST_READ), LONGEST_LINE);
    if !lines.begins_as_text()? {
        return Ok(Err(Failure::failed("This is not a text file.")));
    }
    let mut page = Page::default();
    let mut number = 0_u64;
    let mut shown = 0;
    let mut more = false;
    while let Some(line) = lines.next()? {
        number += 1;
        // Lines before the offset are read and dropped: files have no index of lines.
        if number < first {
            continue;
        }
        if shown == most || !page.line(&format!("{number:>6}\t{}", line.text())) {
            more = true;
            break;
        }
        shown += 1;
    }
    // Told apart, so that a model with a wrong offset does not believe the file to be empty.
    if page.is_empty() && !more {
        let said = match number {
            0 => "The file is empty.".to_owned(),
            lines => format!("The file has only {lines} lines."),
        };
        return Ok(Ok(format!("[{said}]")));
    }
    let note = more.then(|| format!("more from line {number} on; use offset to go on"));
    Ok(Ok(page.finish(note)))
}
