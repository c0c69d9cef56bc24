//! Text of boundaries by reference: which lines a new boundary repeats, and blocks from lines.
//!
//! # Model
//! A view knows the text of every boundary that its blocks are made of (`Texts`). A new boundary
//! names the lines that stand there and writes the others. Text that is mostly out of date is
//! given up: the lines of it that are still used are written again, so that a resume reads a
//! bounded multiple of what is live. The format is described in `core/src/record/splice.rs`.
//!
//! Not here: the layout, which names a spliced block like any other (`layout`).

use crate::layout::place_range;
use crate::segment::{Place, Segment};
use dormouse_core::block::{Block, BlockKind};
use dormouse_core::id::{Seq, SessionId};
use dormouse_core::record::{Body, KeptRange, LineRun, Record};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// Fewest bytes that are referred to instead of written: a run takes about 16 bytes in a line.
const LEAST: usize = 24;
/// Part of a text that has to be in use; below it the text is given up. With a quarter a resume
/// reads at most four times what is live, and a line is written again about once in its life.
const IN_USE: usize = 4;
/// Most bytes written again in one boundary, so that giving up texts makes no line much longer.
const MOVED: usize = 4 * 1024;
/// Texts above which the least used ones are given up too, as far as [`MOVED`] allows: each is a
/// place in the log to read when resuming.
const MOST_TEXTS: usize = 6;
/// Positions of a line that are tried for the longest match. Lines like a closing brace stand
/// everywhere; trying all of their positions would take quadratic time.
const TRIED: usize = 8;
/// Text in place of lines whose record is damaged.
const LOST: &str = "[… these lines were in a damaged record of the log]";

/// Text of one boundary, with the records that its own blocks refer to.
#[derive(Debug)]
struct Known {
    place: Arc<Place>,
    lines: Vec<String>,
    needs: BTreeSet<Seq>,
}

/// Texts that the blocks of a view are made of, by the boundary that wrote them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Texts {
    known: BTreeMap<Seq, Arc<Known>>,
}

/// Blocks as the boundary record stores them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Spliced {
    /// All blocks as they are, if the bytes of one of them could not be made again from lines.
    pub whole: Vec<Block>,
    /// Lines that the boundary writes first.
    pub text: Vec<String>,
    /// Blocks as runs of lines, in the order given.
    pub blocks: Vec<Vec<LineRun>>,
}

impl Texts {
    /// Takes the text of a boundary; other records have none.
    pub(crate) fn learn(&mut self, record: &Record, place: &Arc<Place>) {
        let Body::Boundary(boundary) = &record.body else {
            return;
        };
        if boundary.spliced.is_empty() {
            return;
        }
        let known = Known {
            place: Arc::clone(place),
            lines: boundary.text.clone(),
            needs: needed(&boundary.spliced, record.seq),
        };
        self.known.insert(record.seq, Arc::new(known));
    }

    /// Forgets the texts that no block of these segments is made of.
    pub(crate) fn retain<'a>(&mut self, segments: impl IntoIterator<Item = &'a Segment>) {
        if self.known.is_empty() {
            return;
        }
        let mut used = BTreeSet::new();
        for segment in segments {
            if let Some(known) = self.known.get(&segment.place.seq)
                && used.insert(segment.place.seq)
            {
                used.extend(known.needs.iter().copied());
            }
        }
        self.known.retain(|seq, _| used.contains(seq));
    }

    /// Texts that new blocks refer to; those of segments are added one by one.
    pub(crate) fn needs(&self, spliced: &[Vec<LineRun>]) -> Needs<'_> {
        Needs {
            texts: self,
            seqs: spliced.iter().flatten().map(|run| run.0).collect(),
        }
    }

    /// Block made of lines. Runs whose record is not there are counted in `missing`, and a line
    /// says so in their place: the rest of a summary is worth more than none.
    pub(crate) fn block(&self, runs: &[LineRun], missing: &mut usize) -> Block {
        let mut lines: Vec<&str> = Vec::new();
        for run in runs {
            let found = self.known.get(&run.0);
            if let Some(found) = found.and_then(|known| run.of(&known.lines)) {
                lines.extend(found.iter().map(String::as_str));
            } else {
                *missing += 1;
                lines.push(LOST);
            }
        }
        Block::text(&lines.join("\n"))
    }

    /// Splits text blocks into lines, and names those that a known text has. If one of the blocks
    /// is no text as this crate writes it, all stay whole.
    pub(crate) fn splice(&self, own: Seq, blocks: &[Block]) -> Spliced {
        let texts = blocks.iter().map(|block| {
            let text = block.readable_text()?;
            let same = block.kind() == BlockKind::Text && Block::text(&text) == *block;
            same.then_some(text)
        });
        let Some(texts) = texts.collect::<Option<Vec<String>>>() else {
            return Spliced {
                whole: blocks.to_vec(),
                ..Spliced::default()
            };
        };
        let mut allowed: BTreeSet<Seq> = self.known.keys().copied().collect();
        let all = self.spliced(own, &texts, &allowed);
        // Fewest bytes in use first, so that as many texts as possible are given up for the same
        // number of bytes written again.
        let used = self.known.keys().map(|seq| (self.in_use(&all, *seq), *seq));
        // A text that is not used is not named; nothing is to be written again for it.
        let mut used: Vec<(usize, Seq)> = used.filter(|(used, _)| *used > 0).collect();
        used.sort_unstable();
        let mut moved = 0;
        let mut left = used.len();
        for (used, seq) in used {
            let whole = self.known.get(&seq).map_or(0, |known| bytes(&known.lines));
            let stale = used * IN_USE < whole || left > MOST_TEXTS;
            if stale && moved + used <= MOVED {
                moved += used;
                left -= 1;
                allowed.remove(&seq);
            }
        }
        if allowed.len() == self.known.len() {
            return all;
        }
        self.spliced(own, &texts, &allowed)
    }

    /// Bytes of a text that blocks refer to.
    fn in_use(&self, spliced: &Spliced, seq: Seq) -> usize {
        let Some(known) = self.known.get(&seq) else {
            return 0;
        };
        let runs = spliced.blocks.iter().flatten().filter(|run| run.0 == seq);
        runs.filter_map(|run| run.of(&known.lines)).map(bytes).sum()
    }

    fn spliced(&self, own: Seq, texts: &[String], allowed: &BTreeSet<Seq>) -> Spliced {
        let mut index: HashMap<&str, Vec<(Seq, u32)>> = HashMap::new();
        // Newest texts first: of equal matches the one that stays in use longest is taken.
        for (seq, known) in self.known.iter().rev() {
            if allowed.contains(seq) {
                for (number, line) in (0_u32..).zip(&known.lines) {
                    let places = index.entry(line).or_default();
                    if places.len() < TRIED {
                        places.push((*seq, number));
                    }
                }
            }
        }
        let mut out = Spliced::default();
        for text in texts {
            let lines: Vec<&str> = text.split('\n').collect();
            let mut runs: Vec<LineRun> = Vec::new();
            let mut at = 0;
            while at < lines.len() {
                let found = self.longest(&index, &lines[at..]);
                let found = found.filter(|(_, count)| bytes(&lines[at..at + count]) >= LEAST);
                let (run, count) = if let Some(((seq, first), count)) = found {
                    (LineRun(seq, first, short(count)), count)
                } else {
                    out.text.push(lines[at].to_owned());
                    (LineRun(own, short(out.text.len() - 1), 1), 1)
                };
                at += count;
                match runs.last_mut() {
                    Some(last) if last.0 == run.0 && last.1 + last.2 == run.1 => last.2 += run.2,
                    _ => runs.push(run),
                }
            }
            out.blocks.push(runs);
        }
        out
    }

    /// Longest run of known lines that the given ones begin with.
    fn longest(
        &self,
        index: &HashMap<&str, Vec<(Seq, u32)>>,
        lines: &[&str],
    ) -> Option<((Seq, u32), usize)> {
        let places = index.get(lines.first()?)?;
        let matches = places.iter().filter_map(|(seq, first)| {
            let known = self.known.get(seq)?;
            let there = known.lines.get(usize::try_from(*first).ok()?..)?;
            let same = there.iter().zip(lines).take_while(|(a, b)| a == b).count();
            Some(((*seq, *first), same))
        });
        // The first of equal ones, which is the newest.
        matches.reduce(|best, next| if next.1 > best.1 { next } else { best })
    }
}

/// Texts that segments are made of.
#[derive(Debug)]
pub(crate) struct Needs<'a> {
    texts: &'a Texts,
    seqs: BTreeSet<Seq>,
}

impl Needs<'_> {
    /// Adds the texts that a segment is made of, if it is of a boundary.
    pub(crate) fn add(&mut self, segment: &Segment) {
        if let Some(known) = self.texts.known.get(&segment.place.seq) {
            self.seqs.extend(known.needs.iter().copied());
        }
    }

    /// Ranges of the records that hold the texts.
    pub(crate) fn ranges(&self, own_session: Option<&SessionId>) -> Vec<KeptRange> {
        let places = self.seqs.iter().filter_map(|seq| self.texts.known.get(seq));
        places
            .map(|known| place_range(&known.place, own_session))
            .collect()
    }
}

/// Records that blocks refer to, without the boundary itself.
fn needed(blocks: &[Vec<LineRun>], own: Seq) -> BTreeSet<Seq> {
    let named = blocks.iter().flatten().map(|run| run.0);
    named.filter(|seq| *seq != own).collect()
}

/// Bytes of lines, with their line feeds.
fn bytes<T: AsRef<str>>(lines: &[T]) -> usize {
    lines.iter().map(|line| line.as_ref().len() + 1).sum()
}

/// A count of lines, which is far below the limit.
fn short(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

#[cfg(test)]
#[path = "splice_tests.rs"]
mod tests;
