//! Loading of one file with its includes.
//!
//! # Model
//! A found file is judged by its real path before it is read: repeated, waiting for approval, or
//! too many. Then it is read, prepared, and its includes are taken behind it. Rules with patterns
//! are put aside until all files that always hold are known.
//!
//! # Not here
//! Mentions in a text (`markdown`); the places of files (`load`).

use super::load::{Loader, is_markdown, normal};
use super::markdown::Mention;
use super::parts::{File, Loaded, Scope, Waiting};
use super::prepare::{Prepared, prepare};
use super::render::cut_marker;
use super::report::{FileOutcome, ReportLine, tokens};
use super::rules::{Patterns, Rule};
use super::source::SourceResult;
use dormouse_core::hash::Hash;
use dormouse_core::units::Tokens;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Most bytes of a file that is read at all. The limit in characters is far below; this keeps a
/// link to a video out of memory.
const MOST_BYTES: u64 = 4 * 1024 * 1024;

/// Most files of a session, rules included. Each costs a read at every start; no project needs as
/// many, and a folder of generated files ends here.
const MOST_FILES: usize = 1_000;

/// File known by its path, before it is read.
pub(super) struct Found {
    path: PathBuf,
    scope: Scope,
    /// Directory that its real path must lie in; `None` for files of the user's own and of the
    /// machine, which may be anywhere.
    within: Option<PathBuf>,
    /// Directory that a rule's patterns are relative to; `None` for other files.
    base: Option<PathBuf>,
    included_by: Option<Includer>,
}

/// File with the include.
#[derive(Clone)]
struct Includer {
    path: PathBuf,
    /// True if it may include files outside the project.
    is_trusted: bool,
    depth: u64,
}

impl Found {
    /// File of the user's own or of the machine.
    pub(super) fn own(path: &Path, scope: Scope) -> Self {
        Self {
            path: path.to_owned(),
            scope,
            within: None,
            base: None,
            included_by: None,
        }
    }

    /// File in a directory of a project.
    pub(super) fn inside(path: &Path, directory: &Path, scope: Scope) -> Self {
        Self {
            within: Some(directory.to_owned()),
            ..Self::own(path, scope)
        }
    }

    /// Turns it into a rule with patterns relative to `base`.
    pub(super) fn rule(self, base: &Path) -> Self {
        Self {
            base: Some(base.to_owned()),
            ..self
        }
    }

    /// True for a file looked for by its name, as opposed to a rule or an include.
    fn is_named(&self) -> bool {
        self.base.is_none() && self.included_by.is_none()
    }
}

/// File that was read and prepared.
struct Opened {
    found: Found,
    real: PathBuf,
    bytes: u64,
    prepared: Prepared,
}

/// State of a load under way.
pub(super) struct Taking<'a> {
    with: Loader<'a>,
    project: PathBuf,
    pub(super) loaded: Loaded,
    /// Rules with patterns: their includes come last, so that a file that always holds is not
    /// counted as theirs.
    rules: Vec<(Opened, Patterns)>,
    /// Patterns of the rule whose files are being taken.
    condition: Option<Vec<String>>,
    /// Destination of the files that are being taken.
    files: Vec<File>,
    /// Contents of the files with a name of their own, by directory and owner: a project may have
    /// the same text as `AGENTS.md` and as `CLAUDE.md`.
    texts: BTreeSet<(Option<PathBuf>, Scope, Hash)>,
    count: usize,
}

impl<'a> Taking<'a> {
    pub(super) fn new(with: Loader<'a>, project: PathBuf, mut loaded: Loaded) -> Self {
        Self {
            with,
            project,
            files: std::mem::take(&mut loaded.always),
            count: loaded.seen.len(),
            loaded,
            rules: Vec::new(),
            condition: None,
            texts: BTreeSet::new(),
        }
    }

    /// Takes a file and its includes. Returns true if a file is there, taken or not.
    pub(super) fn take(&mut self, found: Found) -> bool {
        if !self.with.source.is_file(&found.path) {
            return false;
        }
        let Some(real) = self.with.source.real_path(&found.path) else {
            return false;
        };
        if let Some(outcome) = self.obstacle(&found, &real) {
            self.note(&found, 0, outcome);
            return true;
        }
        // Past the one report line on the limit; nothing more is read.
        if self.count > MOST_FILES {
            return true;
        }
        let bytes = match self.with.source.read(&real, MOST_BYTES) {
            SourceResult::Missing => return false,
            // A link was put there just now; the next load judges its target.
            SourceResult::Content { real: now, .. } if now != real => return false,
            SourceResult::Content { bytes, .. } => bytes,
            SourceResult::TooLarge { bytes } => {
                self.note(&found, bytes, FileOutcome::TooLarge);
                return true;
            }
            SourceResult::NotText => {
                self.note(&found, 0, FileOutcome::NotText);
                return true;
            }
        };
        let length = bytes.len() as u64;
        if self.is_copy(&found, &bytes) {
            self.note(&found, length, FileOutcome::Repeat);
            return true;
        }
        let Some(prepared) = prepare(&bytes, self.with.limits.file_chars) else {
            self.note(&found, length, FileOutcome::NotText);
            return true;
        };
        // Counted when read: files that only repeat or wait cost nothing.
        self.count += 1;
        let opened = Opened {
            found,
            real,
            bytes: length,
            prepared,
        };
        match &opened.found.base {
            Some(base) if !opened.prepared.patterns.is_empty() => {
                let patterns = Patterns::new(base, opened.prepared.patterns.clone());
                self.rules.push((opened, patterns));
            }
            _ => self.add(opened),
        }
        true
    }

    /// Reason why a file is not even read.
    fn obstacle(&mut self, found: &Found, real: &Path) -> Option<FileOutcome> {
        // Before anything else: not even its links and its length are looked at.
        if self.with.places.untrusted && matches!(found.scope, Scope::Project | Scope::Local) {
            return Some(FileOutcome::Untrusted);
        }
        // Also the end of an include cycle.
        if self.loaded.seen.contains(real) {
            return Some(FileOutcome::Repeat);
        }
        if !self.may_read(found, real) {
            let includer = found.included_by.as_ref();
            self.loaded.waiting.push(Waiting {
                real: real.to_owned(),
                path: found.path.clone(),
                included_by: includer.map(|includer| includer.path.clone()),
            });
            return Some(FileOutcome::Waiting);
        }
        // Reported once: a thousand lines about the same limit would hide the others.
        (self.count == MOST_FILES).then(|| {
            self.count += 1;
            FileOutcome::TooMany
        })
    }

    fn is_copy(&mut self, found: &Found, bytes: &[u8]) -> bool {
        let text = || (found.within.clone(), found.scope, Hash::of(bytes));
        found.is_named() && !self.texts.insert(text())
    }

    /// Adds the rules behind the files that always hold.
    pub(super) fn finish(mut self) -> Loaded {
        let always = std::mem::take(&mut self.files);
        let seen = self.loaded.seen.clone();
        for (opened, patterns) in std::mem::take(&mut self.rules) {
            if seen.contains(&opened.real) {
                self.note(&opened.found, opened.bytes, FileOutcome::Repeat);
                continue;
            }
            if patterns.is_useless() {
                let problems = patterns.problems;
                let outcome = FileOutcome::BadPatterns { problems };
                self.note(&opened.found, opened.bytes, outcome);
                continue;
            }
            // Another rule may include the same file and hold when this one does not.
            self.loaded.seen.clone_from(&seen);
            self.condition = Some(patterns.written.clone());
            self.add(opened);
            self.loaded.rules.push(Rule {
                files: std::mem::take(&mut self.files),
                patterns,
            });
        }
        self.loaded.seen = seen;
        self.loaded.always = always;
        self.loaded
    }

    /// Adds a file, then its includes.
    fn add(&mut self, opened: Opened) {
        let Opened {
            found,
            real,
            bytes,
            prepared,
        } = opened;
        self.loaded.seen.insert(real.clone());
        // The file's place comes before those of its includes, but its outcome depends on them.
        let (place, row) = (self.files.len(), self.loaded.report.len());
        let says_more = self.add_includes(&found, &real, &prepared);
        let outcome = self.outcome(&prepared, says_more);
        let mut line = line(&found, bytes, outcome);
        if !matches!(line.outcome, FileOutcome::Empty | FileOutcome::OnlyIncludes) {
            let text = match prepared.cut_from {
                Some(of) => cut_marker(&prepared.text, of, &found.path),
                None => prepared.text,
            };
            line.tokens = tokens(&text);
            let file = File {
                path: found.path,
                real,
                scope: found.scope,
                included_by: line.included_by.clone(),
                hash: Hash::of(text.as_bytes()),
                text,
            };
            self.files.insert(place, file);
        }
        self.loaded.report.insert(row, line);
    }

    /// Adds the includes of a file. Returns true if the file says anything besides.
    fn add_includes(&mut self, found: &Found, real: &Path, prepared: &Prepared) -> bool {
        let includer = Includer {
            path: found.path.clone(),
            // A user's file inside the project is the project's: its writers could have put it
            // there.
            is_trusted: found.within.is_none() && !real.starts_with(&self.project),
            depth: 1 + found.included_by.as_ref().map_or(0, |outer| outer.depth),
        };
        let mentions = match whole_path(found, &prepared.text) {
            Some(mention) => vec![mention],
            None => prepared.mentions.clone(),
        };
        let mut own = String::new();
        let mut from = 0;
        for mention in mentions {
            if self.include(found, &includer, &mention) {
                own.push_str(&prepared.text[from..mention.range.start]);
                from = mention.range.end;
            }
        }
        own.push_str(&prepared.text[from..]);
        // The marks of a list of files say nothing either.
        own.contains(|letter: char| {
            !letter.is_whitespace() && !matches!(letter, '-' | '*' | '.' | ',')
        })
    }

    fn outcome(&self, prepared: &Prepared, says_more: bool) -> FileOutcome {
        match (&self.condition, prepared.cut_from) {
            // A text that was cut is never taken for empty: its rest may say something.
            (_, None) if prepared.text.trim().is_empty() => FileOutcome::Empty,
            (_, None) if !says_more => FileOutcome::OnlyIncludes,
            (Some(patterns), _) => FileOutcome::Conditional {
                patterns: patterns.clone(),
            },
            (None, Some(of)) => FileOutcome::Cut {
                shown: prepared.text.chars().count() as u64,
                of,
            },
            (None, None) => FileOutcome::Loaded,
        }
    }

    /// Includes the file that a mention names. Returns true if there is one.
    fn include(&mut self, outer: &Found, includer: &Includer, mention: &Mention) -> bool {
        let directory = outer.path.parent().unwrap_or(Path::new("/"));
        let candidates = mention.candidates();
        for written in &candidates {
            let path = match written.strip_prefix("~/") {
                Some(rest) => match &self.with.places.user_home {
                    Some(home) => home.join(rest),
                    None => continue,
                },
                None => directory.join(written),
            };
            let found = Found {
                path: normal(&path),
                // An include inherits the owner: text must not gain priority by being included.
                scope: outer.scope,
                within: outer.within.clone(),
                base: None,
                included_by: Some(includer.clone()),
            };
            if includer.depth > self.with.limits.include_depth {
                // Only files worth a line: a name in prose is no include.
                if self.is_new_file(&found.path) {
                    self.note(&found, 0, FileOutcome::TooDeep);
                    return false;
                }
            } else if self.take(found) {
                return true;
            }
        }
        self.note_missing(outer, includer, &candidates);
        false
    }

    /// Reports a mention that is plainly a path but leads nowhere. A bare name may be a person's,
    /// and many projects write `@/` for their own sources.
    fn note_missing(&mut self, outer: &Found, includer: &Includer, candidates: &[String]) {
        let Some(written) = candidates.get(1).or(candidates.first()) else {
            return;
        };
        if ["./", "../", "~/"]
            .iter()
            .any(|start| written.starts_with(start))
        {
            let found = Found {
                path: PathBuf::from(written),
                scope: outer.scope,
                within: None,
                base: None,
                included_by: Some(includer.clone()),
            };
            self.note(&found, 0, FileOutcome::Missing);
        }
    }

    /// True for a file that is not loaded yet.
    fn is_new_file(&self, path: &Path) -> bool {
        let real = self.with.source.real_path(path);
        self.with.source.is_file(path) && real.is_some_and(|real| !self.loaded.seen.contains(&real))
    }

    /// Permission to read a file, by real paths only, because a link in the project may lead
    /// anywhere.
    fn may_read(&self, found: &Found, real: &Path) -> bool {
        let inside = |directory: &PathBuf| {
            let directory = self.with.source.real_path(directory);
            directory.is_some_and(|directory| real.starts_with(directory))
        };
        let expected = match &found.included_by {
            Some(includer) => includer.is_trusted,
            None => found.within.as_ref().is_none_or(inside),
        };
        expected || real.starts_with(&self.project) || self.with.approvals.0.contains(real)
    }

    fn note(&mut self, found: &Found, bytes: u64, outcome: FileOutcome) {
        self.loaded.report.push(line(found, bytes, outcome));
    }
}

/// Report line about a file that costs nothing.
fn line(found: &Found, bytes: u64, outcome: FileOutcome) -> ReportLine {
    ReportLine {
        path: found.path.clone(),
        scope: found.scope,
        included_by: found.included_by.as_ref().map(|outer| outer.path.clone()),
        bytes,
        tokens: Tokens::ZERO,
        outcome,
    }
}

/// Mention for a file that holds nothing but the path of another one: a link in a repository that
/// was checked out where there are no links.
fn whole_path(found: &Found, text: &str) -> Option<Mention> {
    /// Longest text that is believed to be a former link; a longer one is prose.
    const LONGEST: usize = 255;
    let is_path = text.len() <= LONGEST
        && !text.starts_with(['@', '/'])
        // A file that names itself would be included by itself.
        && !found.path.ends_with(text)
        && is_markdown(Path::new(text))
        && !text.contains(|letter: char| letter.is_whitespace() || letter.is_control());
    (found.is_named() && is_path).then(|| Mention {
        range: 0..text.len(),
        written: text.to_owned(),
    })
}
