//! Answers of the working tree to the claims of a memory.
//!
//! # Model
//! One walk over the tree, within limits, answers all claims of the memories at hand: names of
//! files, and words that occur in them. A tree that could not be searched whole answers "unknown",
//! never "gone". Ignored files are not looked into, but a path that is named exactly is asked for
//! by itself. Git is asked about a few commits only, and about none after it was slow once.
//!
//! # Not here
//! Finding the claims of a memory, and the consequences of the answers: `dormouse_recall::verify`.

use dormouse_recall::verify::{Claim, ClaimKind, Facts, TreeAnswer};
use dormouse_system::{End, Files, Program, RealSandbox, Sandbox as _, Task};
use ignore::WalkBuilder;
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Most files of a walk. Recall waits for the answer; a larger tree is known in part only.
const MOST_FILES: usize = 5_000;
/// Most bytes that are searched, because the conversation waits meanwhile.
const MOST_BYTES: u64 = 16 * 1024 * 1024;
/// Most bytes of a file that is searched; longer files hold data, not names.
const LONGEST_FILE: u64 = 512 * 1024;
/// Most commits that git is asked about: each starts a process.
const MOST_COMMITS: usize = 16;
/// Timeout of git for one commit; it takes a few milliseconds unless the disk is slow.
const GIT_LIMIT: Duration = Duration::from_millis(500);

/// Working tree, as far as some claims ask for it.
#[derive(Debug)]
pub struct TreeFacts {
    files: Arc<dyn Files>,
    root: PathBuf,
    names: BTreeSet<String>,
    /// By word that was asked for: true if it occurs.
    words: BTreeMap<String, bool>,
    /// True if all files were seen.
    seen_all: bool,
    /// True if all of them were searched.
    searched_all: bool,
    /// Number of questions that git may still be asked.
    git_questions: Cell<usize>,
}

impl TreeFacts {
    /// Looks at the tree for the claims. Without claims nothing is looked at.
    pub fn look(files: &Arc<dyn Files>, root: &Path, claims: &[Claim]) -> Self {
        let mut facts = Self {
            files: Arc::clone(files),
            root: root.to_owned(),
            names: BTreeSet::new(),
            words: claims
                .iter()
                .filter_map(word)
                .map(|word| (word, false))
                .collect(),
            seen_all: true,
            searched_all: true,
            git_questions: Cell::new(MOST_COMMITS),
        };
        // Only a bare name needs the walk; a path is asked for by itself.
        let bare = |claim: &Claim| claim.kind == ClaimKind::Path && !claim.text.contains('/');
        if facts.words.is_empty() && !claims.iter().any(bare) {
            return facts;
        }
        facts.walk();
        facts
    }

    fn walk(&mut self) {
        let (mut count, mut bytes) = (0, 0);
        for entry in WalkBuilder::new(&self.root).hidden(false).build() {
            let Ok(entry) = entry else {
                // A folder that may not be read, or is gone meanwhile.
                self.seen_all = false;
                self.searched_all = false;
                continue;
            };
            // Git's own files contain every word that was ever committed.
            if entry
                .path()
                .components()
                .any(|part| part.as_os_str() == ".git")
            {
                continue;
            }
            count += 1;
            if count > MOST_FILES {
                self.seen_all = false;
                self.searched_all = false;
                return;
            }
            if let Some(name) = entry.file_name().to_str() {
                self.names.insert(name.to_owned());
            }
            let is_file = entry.file_type().is_some_and(|kind| kind.is_file());
            // Every word found: the rest of the walk needs names only.
            if is_file && self.words.values().any(|found| !found) {
                self.search(entry.path(), &mut bytes);
            }
        }
    }

    fn search(&mut self, path: &Path, bytes: &mut u64) {
        if *bytes > MOST_BYTES {
            self.searched_all = false;
            return;
        }
        let Ok(content) = self.files.read(path, LONGEST_FILE) else {
            // Too long, or gone meanwhile: not searched.
            self.searched_all = false;
            return;
        };
        *bytes += content.len() as u64;
        for (word, found) in &mut self.words {
            *found = *found || memchr::memmem::find(&content, word.as_bytes()).is_some();
        }
    }

    fn occurs(&self, word: &str) -> TreeAnswer {
        match self.words.get(word) {
            Some(true) => TreeAnswer::Holds,
            Some(false) if self.searched_all => TreeAnswer::Gone,
            _ => TreeAnswer::Unknown,
        }
    }
}

/// Word that has to occur in some file for a claim to hold.
fn word(claim: &Claim) -> Option<String> {
    match claim.kind {
        ClaimKind::Symbol => Some(symbol_word(&claim.text).to_owned()),
        ClaimKind::Flag | ClaimKind::UrlHost => Some(claim.text.clone()),
        ClaimKind::Path | ClaimKind::Commit => None,
    }
}

/// Last part of a symbol, without the brackets of a call: `a::b()` is looked for as `b`.
fn symbol_word(symbol: &str) -> &str {
    let bare = symbol.trim_end_matches(['(', ')', '!']);
    let last = bare.rsplit([':', '.', '#']).next();
    last.filter(|last| !last.is_empty()).unwrap_or(bare)
}

impl Facts for TreeFacts {
    fn path(&self, path: &str) -> TreeAnswer {
        let named = path.trim_end_matches('/');
        let named = named.strip_prefix("./").unwrap_or(named);
        // Outside the project: another machine may have it.
        if named.starts_with(['~', '/']) {
            return TreeAnswer::Unknown;
        }
        if self.files.metadata(&self.root.join(named)).is_ok() {
            return TreeAnswer::Holds;
        }
        // A path with a folder names one place; it is not searched for elsewhere.
        if named.contains('/') {
            return TreeAnswer::Gone;
        }
        match self.names.contains(named) {
            true => TreeAnswer::Holds,
            false if self.seen_all => TreeAnswer::Gone,
            false => TreeAnswer::Unknown,
        }
    }

    fn symbol(&self, symbol: &str) -> TreeAnswer {
        self.occurs(symbol_word(symbol))
    }

    fn commit(&self, hash: &str) -> TreeAnswer {
        if self.files.metadata(&self.root.join(".git")).is_err() {
            return TreeAnswer::Unknown;
        }
        // Anything else would be an option or an expression of git's.
        let plain = !hash.is_empty() && hash.chars().all(|c| c.is_ascii_hexdigit());
        let Some(left) = self.git_questions.get().checked_sub(1).filter(|_| plain) else {
            return TreeAnswer::Unknown;
        };
        self.git_questions.set(left);
        let task = Task {
            program: Program::Direct {
                program: "git".into(),
                arguments: vec![
                    "cat-file".into(),
                    "-e".into(),
                    format!("{hash}^{{commit}}").into(),
                ],
            },
            directory: self.root.clone(),
            time_limit: GIT_LIMIT,
            output_limit: 1024,
        };
        match RealSandbox.run(&task).map(|finished| finished.end) {
            Ok(End::Exit(0)) => TreeAnswer::Holds,
            Ok(End::Exit(_)) => TreeAnswer::Gone,
            Ok(End::Signal(_) | End::TimedOut) | Err(_) => {
                // It would be as slow the next time, and the conversation waits.
                self.git_questions.set(0);
                TreeAnswer::Unknown
            }
        }
    }

    fn flag(&self, flag: &str) -> TreeAnswer {
        // A flag of a program that the project does not contain says nothing by its absence.
        match self.occurs(flag) {
            TreeAnswer::Holds => TreeAnswer::Holds,
            TreeAnswer::Gone | TreeAnswer::Unknown => TreeAnswer::Unknown,
        }
    }

    fn host(&self, host: &str) -> TreeAnswer {
        match self.occurs(host) {
            TreeAnswer::Holds => TreeAnswer::Holds,
            TreeAnswer::Gone | TreeAnswer::Unknown => TreeAnswer::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dormouse_recall::verify::{Mark, claims, mark};
    use dormouse_system::{Access, RealFiles};

    #[test]
    fn claims_are_checked_against_the_tree() {
        let root = tempfile::tempdir().unwrap();
        let files: Arc<dyn Files> = Arc::new(RealFiles);
        let put = |name: &str, text: &str| {
            let path = root.path().join(name);
            files
                .create_dir_all(path.parent().unwrap(), Access::Private)
                .unwrap();
            files
                .replace(&path, text.as_bytes(), Access::Private)
                .unwrap();
        };
        put("src/parser.rs", "fn parse_header() {}\n");
        let check = |text: &str| {
            let claims = claims(text);
            mark(&claims, &TreeFacts::look(&files, root.path(), &claims))
        };
        assert_eq!(
            check("The entry is `parse_header()` in `src/parser.rs`."),
            Mark::Fresh
        );
        let gone = check("The entry is `parse_footer()` in `src/parser.rs`.");
        assert!(matches!(gone, Mark::Stale { held: 1, .. }), "{gone:?}");
        let gone = check("See `src/lexer.rs`.");
        assert!(matches!(gone, Mark::Stale { held: 0, .. }), "{gone:?}");
        assert_eq!(check("The user likes short answers."), Mark::Unverifiable);
    }
}
