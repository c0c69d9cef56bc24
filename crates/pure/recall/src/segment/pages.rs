//! Bytes of an index, at hand as a whole or read page by page.
//!
//! # Model
//! The body of an index is cut into pages, each with a checksum in the head. A process that lives on
//! has the whole body and checks every page at once. One that answers a single question reads the
//! pages that it asks for, each once, and checks them as they come; a run of pages is one read. The
//! front of the body, of which a search needs all, is one such run.
//!
//! A page that cannot be read, or has another checksum, reads as nothing and marks the index as
//! damaged: an answer that was made from it is to be thrown away.
//!
//! # Not here
//! Files: the caller's [`Source`].

use super::{PAGE, SUM};
use bytes::Bytes;
use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use twox_hash::XxHash3_128;

/// Bytes that an index is read from, as they were when it was opened.
pub trait Source: fmt::Debug + Send + Sync {
    /// Some bytes from an offset on. `None`, or fewer than asked for, if they cannot be read.
    fn read(&self, at: u64, length: usize) -> Option<Bytes>;
}

/// Body of an index.
#[derive(Clone, Debug)]
pub(super) enum Body {
    /// All of it, checked.
    Whole(Bytes),
    /// Pages, checked when they are read.
    Paged(Arc<Pages>),
}

impl Body {
    /// Bytes of a range; empty if it lies outside or cannot be read.
    pub(super) fn get(&self, range: Range<usize>) -> Cow<'_, [u8]> {
        match self {
            Self::Whole(bytes) => Cow::Borrowed(bytes.get(range).unwrap_or_default()),
            Self::Paged(pages) => pages.get(range),
        }
    }

    pub(super) fn is_damaged(&self) -> bool {
        match self {
            Self::Whole(_) => false,
            Self::Paged(pages) => pages.damaged.load(Ordering::Relaxed),
        }
    }
}

/// Pages that were read so far.
pub(super) struct Pages {
    source: Arc<dyn Source>,
    /// Offset of the body.
    first: u64,
    length: usize,
    /// Bytes at the beginning that are read together.
    front_length: usize,
    front: OnceLock<Bytes>,
    /// Checksum of each page.
    sums: Bytes,
    /// By page: its bytes, once they were read.
    known: Box<[OnceLock<Bytes>]>,
    damaged: AtomicBool,
}

impl fmt::Debug for Pages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pages")
            .field("source", &self.source)
            .field("length", &self.length)
            .finish_non_exhaustive()
    }
}

impl Pages {
    /// Pages of a body of some length, which begins at an offset and has a front.
    pub(super) fn new(
        source: Arc<dyn Source>,
        first: u64,
        (length, front_length): (usize, usize),
        sums: Bytes,
    ) -> Self {
        let pages = length.div_ceil(PAGE);
        Self {
            source,
            first,
            length,
            front_length,
            front: OnceLock::new(),
            sums,
            known: (0..pages).map(|_| OnceLock::new()).collect(),
            damaged: AtomicBool::new(false),
        }
    }

    fn get(&self, range: Range<usize>) -> Cow<'_, [u8]> {
        if range.start >= range.end || range.end > self.length {
            return Cow::Borrowed(&[]);
        }
        if range.end <= self.front_length {
            let front = self.front.get_or_init(|| {
                let pages = 0..self.front_length.div_ceil(PAGE);
                let read = self.read(pages.clone());
                let whole = pages
                    .into_iter()
                    .all(|page| self.page(&read, 0, page).is_some());
                if whole { read } else { Bytes::new() }
            });
            return Cow::Borrowed(front.get(range).unwrap_or_default());
        }
        let wanted = range.start / PAGE..range.end.div_ceil(PAGE);
        self.load(wanted.clone());
        let part = |page: usize| {
            let bytes = self.known.get(page).and_then(OnceLock::get)?;
            let begin = page * PAGE;
            let end = range.end.min(begin + PAGE) - begin;
            bytes.get(range.start.saturating_sub(begin)..end)
        };
        if wanted.len() == 1 {
            return Cow::Borrowed(part(wanted.start).unwrap_or_default());
        }
        let mut joined = Vec::with_capacity(range.len());
        for page in wanted {
            let Some(bytes) = part(page) else {
                return Cow::Borrowed(&[]);
            };
            joined.extend_from_slice(bytes);
        }
        Cow::Owned(joined)
    }

    /// Reads the pages of a range that are missing, each run of them at once.
    fn load(&self, wanted: Range<usize>) {
        let missing = |page: &usize| {
            self.known
                .get(*page)
                .is_some_and(|page| page.get().is_none())
        };
        let mut at = wanted.start;
        while let Some(from) = (at..wanted.end).find(missing) {
            let until = (from..wanted.end).find(|page| !missing(page));
            let until = until.unwrap_or(wanted.end);
            let read = self.read(from..until);
            for page in from..until {
                if let Some(place) = self.known.get(page) {
                    // Another thread may have been faster; its bytes are the same.
                    let _known = place.set(self.page(&read, from, page).unwrap_or_default());
                }
            }
            at = until;
        }
    }

    /// Bytes of a run of pages; empty if they cannot be read.
    fn read(&self, run: Range<usize>) -> Bytes {
        let begin = run.start * PAGE;
        let length = self.length.min(run.end * PAGE) - begin;
        let read = self.source.read(self.first + begin as u64, length);
        read.unwrap_or_default()
    }

    /// One page of a run that begins at `first`, if its checksum is right.
    fn page(&self, run: &Bytes, first: usize, page: usize) -> Option<Bytes> {
        let start = (page - first) * PAGE;
        let end = start + PAGE.min(self.length - page * PAGE);
        let bytes = (end <= run.len()).then(|| run.slice(start..end));
        let checksum = self.sums.get(page * SUM..(page + 1) * SUM);
        let bytes = bytes.filter(|bytes| checksum == Some(&sum(bytes)));
        if bytes.is_none() {
            self.damaged.store(true, Ordering::Relaxed);
        }
        bytes
    }
}

/// Checksums of the pages of a body, one behind the other.
pub(super) fn sums(body: &[u8]) -> Vec<u8> {
    body.chunks(PAGE).flat_map(sum).collect()
}

/// Checksum of a page: half of the usual length, since a page is small and there are many.
fn sum(page: &[u8]) -> [u8; SUM] {
    let [low @ .., _, _, _, _, _, _, _, _] = XxHash3_128::oneshot(page).to_le_bytes();
    low
}
