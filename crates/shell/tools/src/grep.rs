//! Grep: files by their content.
//!
//! # Model
//! Files come from the walk, one by one, and are searched as streams with bounded memory. Limits on
//! time, lines and bytes end the search early, and the result says which one did.
//!
//! # Not here
//! The walk and its ignore rules (`walk`); matching names (`glob`).

use crate::glob::Wanted;
use crate::host::Desk;
use crate::input::{self, Mode, bounded};
use crate::limits::{
    LARGEST_REGEX, LARGEST_SEARCHED, LONGEST_LINE, LONGEST_PATTERN, LONGEST_SEARCH, MATCHES_SHOWN,
    MOST_CONTEXT, SEARCH_MEMORY,
};
use crate::lines::{Line, Sequential};
use crate::places::Spot;
use crate::reply::{Failure, Page, Reply};
use crate::walk::walk;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{
    BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkContextKind, SinkMatch,
};
use std::io;
use std::ops::ControlFlow;
use std::path::Path;

pub(crate) fn grep(desk: &Desk, input: &input::Grep) -> Reply {
    let matcher = compile(input)?;
    let wanted = input.glob.as_deref().map(Wanted::new).transpose()?;
    let working = desk.places.working().display().to_string();
    let place = input.path.as_deref().unwrap_or(&working);
    let (spot, _) = desk
        .places
        .with(place, |spot| spot.files.metadata(&spot.path))?;
    let mut search = Search {
        spot: &spot,
        matcher,
        searcher: searcher(input),
        mode: input.output_mode,
        numbers: input.numbers.unwrap_or(true),
        // Zero is a model's way to say "no limit", which a result cannot have.
        room: match input.head_limit {
            None | Some(0) => MATCHES_SHOWN,
            Some(limit) => bounded(limit, usize::MAX),
        },
        page: Page::default(),
        full: false,
        left_out: 0,
    };
    let start = desk.clock.ticks();
    let mut late = false;
    let walked = walk(&spot, &mut |path, facts| {
        // Asked at every file: one that is slow must not hide the time limit behind it.
        late = desk.clock.ticks().since(start) > LONGEST_SEARCH;
        if late {
            return ControlFlow::Break(());
        }
        match &wanted {
            Some(wanted) if !wanted.includes(path, &spot.path) => ControlFlow::Continue(()),
            // Counted and reported, so that the model does not take silence for "no match".
            _ if facts.len > LARGEST_SEARCHED => {
                search.left_out += 1;
                ControlFlow::Continue(())
            }
            _ => search.file(path),
        }
    })?;
    let late = late.then(|| format!("stopped after {} seconds", LONGEST_SEARCH.as_secs()));
    Ok(search.finish([late, walked.note()]))
}

fn compile(input: &input::Grep) -> Result<RegexMatcher, Failure> {
    if input.pattern.len() > LONGEST_PATTERN {
        let message = format!("A pattern has at most {LONGEST_PATTERN} bytes.");
        return Err(Failure::failed(message));
    }
    let mut builder = RegexMatcherBuilder::new();
    builder
        .case_insensitive(input.ignore_case)
        .multi_line(true)
        .dot_matches_new_line(input.multiline)
        // A pattern of a few letters can compile to gigabytes (`\w{1000}{1000}`).
        .size_limit(LARGEST_REGEX)
        .dfa_size_limit(LARGEST_REGEX);
    // A match must not cross a line end, and the searcher is faster if the matcher knows that.
    if !input.multiline {
        builder.line_terminator(Some(b'\n'));
    }
    builder
        .build(&input.pattern)
        .map_err(|error| Failure::failed(format!("This is no regular expression: {error}")))
}

fn searcher(input: &input::Grep) -> Searcher {
    let context = |lines: Option<u64>| match input.output_mode {
        Mode::Content => bounded(lines.or(input.around).unwrap_or(0), MOST_CONTEXT),
        Mode::FilesWithMatches | Mode::Count => 0,
    };
    SearcherBuilder::new()
        .line_number(true)
        .multi_line(input.multiline)
        .before_context(context(input.before))
        .after_context(context(input.after))
        .heap_limit(Some(SEARCH_MEMORY))
        // A NUL byte: the rest of the file is no text.
        .binary_detection(BinaryDetection::quit(0))
        // One match is enough to name a file.
        .max_matches((input.output_mode == Mode::FilesWithMatches).then_some(1))
        .build()
}

/// Search on its way.
struct Search<'a> {
    spot: &'a Spot,
    matcher: RegexMatcher,
    searcher: Searcher,
    mode: Mode,
    numbers: bool,
    /// Lines or files that may still be shown.
    room: usize,
    page: Page,
    full: bool,
    /// Files that are too large, or could not be read.
    left_out: usize,
}

impl Search<'_> {
    fn file(&mut self, path: &Path) -> ControlFlow<()> {
        let Ok(file) = self.spot.files.open(path) else {
            self.left_out += 1;
            return ControlFlow::Continue(());
        };
        let name = self.spot.name(path);
        let mut found = Found {
            name: &name,
            keep: self.mode == Mode::Content,
            numbers: self.numbers,
            room: self.room,
            lines: Vec::new(),
            matches: 0,
            cut: false,
        };
        let matcher = self.matcher.clone();
        let searched = self
            .searcher
            .search_reader(&matcher, Sequential::new(file), &mut found);
        if searched.is_err() {
            self.left_out += 1;
        }
        let Found {
            lines,
            matches,
            cut,
            ..
        } = found;
        self.full |= cut;
        match self.mode {
            // No match: nothing to show, in any mode.
            _ if matches == 0 => {}
            Mode::Content => lines.iter().for_each(|line| self.show(line)),
            Mode::FilesWithMatches => self.show(&name),
            Mode::Count => self.show(&format!("{name}:{matches}")),
        }
        if self.full {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }

    fn show(&mut self, line: &str) {
        if self.room == 0 || !self.page.line(line) {
            self.full = true;
        } else {
            self.room -= 1;
        }
    }

    fn finish(self, notes: [Option<String>; 2]) -> String {
        let nothing = (self.page.is_empty() && !self.full).then(|| "no match".to_owned());
        let full = self
            .full
            .then(|| "there is more; narrow the search or raise head_limit".to_owned());
        let left_out = (self.left_out > 0).then(|| {
            format!(
                "{} files were left out: unreadable, with endless lines, or larger than \
                 {LARGEST_SEARCHED} bytes",
                self.left_out
            )
        });
        let own = [nothing, full, left_out];
        self.page.finish(own.into_iter().chain(notes).flatten())
    }
}

/// Matches of one file, as lines to show.
struct Found<'a> {
    name: &'a str,
    keep: bool,
    numbers: bool,
    room: usize,
    lines: Vec<String>,
    matches: u64,
    cut: bool,
}

impl Found<'_> {
    /// Records lines, with `mark` between name, number and text. Returns false if there is no room.
    fn note(&mut self, first: Option<u64>, bytes: &[u8], mark: char) -> bool {
        for (line, number) in lines_of(bytes).zip(first.unwrap_or(0)..) {
            if self.lines.len() == self.room {
                self.cut = true;
                return false;
            }
            // Cut before it is copied: a minified file may have a line of megabytes.
            let kept = line.get(..LONGEST_LINE).unwrap_or(line);
            let text = Line {
                bytes: kept.to_vec(),
                dropped: line.len() - kept.len(),
            }
            .text();
            let name = self.name;
            self.lines.push(if self.numbers {
                format!("{name}{mark}{number}{mark}{text}")
            } else {
                format!("{name}{mark}{text}")
            });
        }
        true
    }
}

/// Lines of a match, of which there are several if it spans them.
fn lines_of(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let whole = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    whole.split(|byte| *byte == b'\n')
}

impl Sink for Found<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        self.matches += 1;
        Ok(!self.keep || self.note(found.line_number(), found.bytes(), ':'))
    }

    fn context(&mut self, _: &Searcher, context: &SinkContext<'_>) -> io::Result<bool> {
        // Lines that are shown regardless of a match are never asked for.
        let beside = !matches!(context.kind(), SinkContextKind::Other);
        Ok(!(self.keep && beside) || self.note(context.line_number(), context.bytes(), '-'))
    }
}
