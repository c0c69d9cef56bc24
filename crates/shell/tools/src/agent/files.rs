//! Read, Write and Edit.
//!
//! A file that exists is changed only after the conversation has read it, and only while it is as it
//! was read: a person may have edited it meanwhile. Both are told by the hash of its content.

use super::media::Media;
use super::{Answer, Inner, notebook};
use crate::input;
use crate::limits::{LINES_READ, LONGEST_RESULT};
use crate::lines::Sequential;
use crate::read::show;
use crate::reply::{Failure, Reply, shorten};
use bytes::Bytes;
use dormouse_core::hash::Hash;
use dormouse_core::id::CallId;
use dormouse_core::units::Millis;
use dormouse_system::{Access, FileKind, Files};
use similar::TextDiff;
use std::collections::HashMap;
use std::io::{Cursor, Read};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Most bytes of a file that is edited or replaced: larger ones are data, and tools made for data
/// change them better.
const LARGEST_EDITED: u64 = 16 << 20;
/// Most bytes of a diff in a result; the model wrote the change itself and needs no more.
const LONGEST_DIFF: usize = 4_000;
/// Lines around a change in a diff.
const AROUND: usize = 3;

/// Files that the conversation has read or written, with their state then.
#[derive(Debug, Default)]
pub(super) struct FilesRead(Mutex<HashMap<PathBuf, Known>>);

/// State of a file as the conversation knows it.
#[derive(Clone, Debug)]
struct Known {
    hash: Hash,
    /// Length and time of change, by which a look tells cheaply that nothing happened; `None` after
    /// a resume.
    stamp: Option<(u64, Millis)>,
    /// Content that was told to have come from outside.
    told: Option<Hash>,
}

/// Largest number of files that are looked at after a command; a stat each, some milliseconds.
const MOST_LOOKED_AT: usize = 1_000;

impl FilesRead {
    fn lock(&self) -> MutexGuard<'_, HashMap<PathBuf, Known>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes the content of a file; true if it is news.
    fn note(&self, files: &dyn Files, path: &Path, content: &[u8]) -> bool {
        let hash = Hash::of(content);
        let facts = files.metadata(path).ok();
        let known = Known {
            hash,
            stamp: facts.map(|facts| (facts.len, facts.modified)),
            told: None,
        };
        let before = self.lock().insert(path.to_owned(), known);
        before.is_none_or(|before| before.hash != hash)
    }

    fn of(&self, path: &Path) -> Option<Hash> {
        self.lock().get(path).map(|known| known.hash)
    }

    /// Takes over the files that a resumed conversation has read.
    pub(super) fn restore(&self, read: impl Iterator<Item = (PathBuf, Hash)>) {
        let known = |hash| Known {
            hash,
            stamp: None,
            told: None,
        };
        self.lock()
            .extend(read.map(|(path, hash)| (path, known(hash))));
    }

    /// Files that are not as the conversation knows them, each state once. A file that is gone
    /// counts.
    pub(super) fn changed(&self, files: &dyn Files) -> Vec<(PathBuf, Option<Hash>)> {
        let mut all = self.lock();
        let mut changed = Vec::new();
        for (path, known) in all.iter_mut().take(MOST_LOOKED_AT) {
            let facts = files.metadata(path).ok();
            let stamp = facts.map(|facts| (facts.len, facts.modified));
            if stamp.is_some() && stamp == known.stamp {
                continue;
            }
            let content = files.read(path, LARGEST_EDITED).ok();
            let now = content.map(|content| Hash::of(&content));
            if now == Some(known.hash) {
                known.stamp = stamp;
                continue;
            }
            // A file that is gone is told under a hash that no content has.
            let state = now.unwrap_or_else(|| Hash::of(b"gone").link(0, Hash::of(b"")));
            if known.told != Some(state) {
                known.told = Some(state);
                changed.push((path.clone(), now));
            }
        }
        changed.sort();
        changed
    }
}

impl Inner {
    pub(super) fn read(&self, input: &input::Read) -> Answer {
        let path = self.path(&input.file_path)?;
        let facts = self.system.files.metadata(&path)?;
        if facts.kind == FileKind::Directory {
            return Err(Failure::failed(format!(
                "`{}` is a folder; list it with Glob or `ls`.",
                path.display()
            )));
        }
        if let Some(media) = Media::of(&path) {
            return self.show_media(&path, media, facts.len);
        }
        if path.extension().is_some_and(|end| end == "ipynb")
            && let Ok(content) = self.system.files.read(&path, LARGEST_EDITED)
            && let Some(text) = notebook::text(&content)
        {
            self.note_read(&path, &content);
            return lines(Box::new(Cursor::new(text)), input).map(|text| (text, Vec::new()));
        }
        // A file that could be edited is hashed as it is shown; a larger one is shown all the same.
        let source: Box<dyn Read> = match self.system.files.read(&path, LARGEST_EDITED) {
            Ok(content) => {
                self.note_read(&path, &content);
                Box::new(Cursor::new(content))
            }
            Err(error) if error.too_large() => {
                Box::new(Sequential::new(self.system.files.open(&path)?))
            }
            Err(error) => return Err(error.into()),
        };
        lines(source, input).map(|text| (text, Vec::new()))
    }

    fn show_media(&self, path: &Path, media: Media, len: u64) -> Answer {
        let name = path.display();
        if len > media.limit() {
            return Err(Failure::failed(format!(
                "`{name}` has {len} bytes; at most {} can be shown. Make it smaller first.",
                media.limit()
            )));
        }
        let content = self.system.files.read(path, media.limit())?;
        match media.block(&content) {
            Some(block) => Ok((format!("[{name}, {len} bytes]"), vec![block])),
            None => Err(Failure::failed(format!("`{name}` cannot be shown."))),
        }
    }

    pub(super) fn write(&self, call: &CallId, input: input::Write) -> Reply {
        let path = self.path(&input.file_path)?;
        let before = self.known(&path)?;
        let content = Bytes::from(input.content);
        if before.as_ref() == Some(&content) {
            return Ok(format!("`{}` already has this content.", path.display()));
        }
        self.replace(call, &path, before.as_ref(), &content)?;
        let lines = content.split(|byte| *byte == b'\n').count();
        Ok(match before {
            None => format!("Made `{}`, {lines} lines.", path.display()),
            Some(before) => changed(&path, &before, &content),
        })
    }

    pub(super) fn edit(&self, call: &CallId, input: &input::Edit) -> Reply {
        let path = self.path(&input.file_path)?;
        let name = path.display();
        let Some(before) = self.known(&path)? else {
            return Err(Failure::failed(format!(
                "There is no file `{name}`. Use Write to make it."
            )));
        };
        let text = str::from_utf8(&before)
            .map_err(|_| Failure::failed(format!("`{name}` is not a text file.")))?;
        let (mut old, mut new) = (input.old_string.clone(), input.new_string.clone());
        if old.is_empty() {
            return Err(Failure::failed(
                "old_string is empty: name the text to replace.",
            ));
        }
        if old == new {
            return Err(Failure::failed("old_string and new_string are the same."));
        }
        // Models write plain line ends; the file keeps its own.
        if text.contains("\r\n") && !old.contains('\r') {
            (old, new) = (old.replace('\n', "\r\n"), new.replace('\n', "\r\n"));
        }
        let after = match text.matches(&old).count() {
            0 => {
                return Err(Failure::failed(format!(
                    "old_string does not occur in `{name}`. Read the file again and copy the text \
                     exactly, without line numbers."
                )));
            }
            1 => text.replacen(&old, &new, 1),
            times if input.replace_all => {
                // Many short replacements by a long text could ask for any amount of memory.
                let grown = times.saturating_mul(new.len()) as u64;
                if grown > LARGEST_EDITED {
                    return Err(Failure::failed(format!(
                        "`{name}` would grow beyond {LARGEST_EDITED} bytes."
                    )));
                }
                text.replace(&old, &new)
            }
            times => {
                return Err(Failure::failed(format!(
                    "old_string occurs {times} times in `{name}`. Give more of the text around the \
                     right one, or set replace_all."
                )));
            }
        };
        let after = Bytes::from(after);
        self.replace(call, &path, Some(&before), &after)?;
        Ok(changed(&path, &before, &after))
    }

    fn note_read(&self, path: &Path, content: &[u8]) {
        // Once for each content: reading on in a long file is no news.
        if self.read.note(&*self.system.files, path, content) {
            self.changes.read(path, Hash::of(content));
        }
    }

    /// Path of a file as the disk knows it: links are followed, since replacing one would leave its
    /// target as it was.
    fn path(&self, text: &str) -> Result<PathBuf, Failure> {
        let spot = self.desk.places.locate(text)?;
        Ok(self.system.files.real_path(&spot.path).unwrap_or(spot.path))
    }

    /// Content of a file that the conversation knows; `None` if there is no such file.
    fn known(&self, path: &Path) -> Result<Option<Bytes>, Failure> {
        let name = path.display();
        let content = match self.system.files.read(path, LARGEST_EDITED) {
            Ok(content) => content,
            Err(error) if error.not_found() => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        match self.read.of(path) {
            None => Err(Failure::failed(format!(
                "`{name}` exists and was not read yet. Read it first."
            ))),
            Some(hash) if hash != Hash::of(&content) => Err(Failure::failed(format!(
                "`{name}` has changed since it was read, by a person or a command. Read it again."
            ))),
            Some(_) => Ok(Some(content)),
        }
    }

    fn replace(
        &self,
        call: &CallId,
        path: &Path,
        before: Option<&Bytes>,
        after: &Bytes,
    ) -> Result<(), Failure> {
        // First the way back, then the change.
        self.changes
            .before(call, path, before, after)
            .map_err(|why| Failure::failed(format!("The old content cannot be kept: {why}.")))?;
        let files = &self.system.files;
        if let Some(folder) = path.parent() {
            files.create_dir_all(folder, Access::Shared)?;
        }
        files.replace(path, after, Access::Shared)?;
        self.read.note(&**files, path, after);
        Ok(())
    }
}

/// Lines of a source as the input asks for them.
fn lines(source: Box<dyn Read>, input: &input::Read) -> Reply {
    // Models count from zero at times; line 0 means the first.
    let first = input.offset.unwrap_or(1).max(1);
    let most = input
        .limit
        .map_or(LINES_READ, |limit| input::bounded(limit.max(1), usize::MAX));
    let name = &input.file_path;
    show(source, first, most)
        .map_err(|error| Failure::failed(format!("`{name}` could not be read: {error}")))?
}

/// The change as a diff.
fn changed(path: &Path, before: &[u8], after: &[u8]) -> String {
    let (before, after) = (
        String::from_utf8_lossy(before),
        String::from_utf8_lossy(after),
    );
    let diff = TextDiff::from_lines(&before, &after);
    let text = diff.unified_diff().context_radius(AROUND).to_string();
    let kept = shorten(&text, LONGEST_DIFF.min(LONGEST_RESULT));
    let rest = if kept.len() < text.len() {
        "\n[the diff goes on]"
    } else {
        ""
    };
    format!("Changed `{}`:\n{}{rest}", path.display(), kept.trim_end())
}
