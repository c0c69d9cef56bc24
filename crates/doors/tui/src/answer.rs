//! The answer that arrives: pieces first, then the whole, which counts.
//!
//! # Model
//! Pieces are shown as they come and may be lost when the client lags. The whole block comes later
//! from the log: what the pieces did not show is shown then. Pieces that do not fit the whole are
//! followed by the whole from the line that differs.

use crate::cell::Cell;
use crate::markdown::{Block, Reader};
use std::collections::VecDeque;

/// Answer whose pieces arrive, and the sources they are compared with.
#[derive(Clone, Debug, Default)]
pub(crate) struct Answer {
    /// Text block whose pieces arrive.
    index: Option<u32>,
    reader: Reader,
    /// Source of the block so far.
    text: String,
    /// True once a part of the block is in a cell.
    begun: bool,
    /// Sources of blocks whose pieces have ended and whose whole has not come.
    ended: VecDeque<String>,
}

impl Answer {
    /// Gives code of later blocks colours, or none.
    pub(crate) const fn set_colourless(&mut self, colourless: bool) {
        self.reader.set_colourless(colourless);
    }

    /// A reader for another text, with colours as here.
    pub(crate) fn fresh_reader(&self) -> Reader {
        Reader::new(self.reader.is_colourless())
    }

    /// Takes a piece of text; returns the cell that is complete.
    pub(crate) fn piece(&mut self, index: u32, piece: &str) -> Vec<Cell> {
        let mut cells = Vec::new();
        if self.index != Some(index) {
            cells.extend(self.end_block());
            self.index = Some(index);
        }
        self.text.push_str(piece);
        let blocks = self.reader.push(piece);
        cells.extend(self.cell(blocks));
        cells
    }

    fn cell(&mut self, blocks: Vec<Block>) -> Option<Cell> {
        if blocks.is_empty() {
            return None;
        }
        let begins = !std::mem::replace(&mut self.begun, true);
        Some(Cell::Answer { begins, blocks })
    }

    /// Ends the block whose pieces arrive.
    pub(crate) fn end_block(&mut self) -> Option<Cell> {
        self.index.take()?;
        let blocks = self.reader.finish();
        let cell = self.cell(blocks);
        self.begun = false;
        self.ended.push_back(std::mem::take(&mut self.text));
        cell
    }

    /// Takes a whole block of text from the log.
    pub(crate) fn whole(&mut self, whole: &str) -> Vec<Cell> {
        let mut cells = Vec::new();
        if self.ended.is_empty() && self.index.is_some() {
            // The end of the pieces was lost, or has not been told yet.
            if let Some(rest) = whole.strip_prefix(self.text.as_str()) {
                let blocks = self.reader.push(rest);
                self.text.push_str(rest);
                cells.extend(self.cell(blocks));
            }
            cells.extend(self.end_block());
        }
        let shown = self.ended.pop_front();
        let begins = shown.is_none();
        let shown = shown.unwrap_or_default();
        let rest = if let Some(rest) = whole.strip_prefix(shown.as_str()) {
            rest
        } else {
            let note = "parts of this answer were skipped; it goes on from there";
            cells.push(Cell::Note(note.to_owned()));
            &whole[common_lines(&shown, whole)..]
        };
        let mut reader = self.fresh_reader();
        let mut blocks = reader.push(rest);
        blocks.extend(reader.finish());
        if !blocks.is_empty() {
            cells.push(Cell::Answer { begins, blocks });
        }
        cells
    }

    /// Ends everything that is under way: the turn is over, or another attempt begins.
    pub(crate) fn end(&mut self) -> Option<Cell> {
        let cell = self.end_block();
        self.ended.clear();
        cell
    }

    /// Blocks that are not complete, for the live part of the screen.
    pub(crate) fn tail(&self) -> Vec<Block> {
        self.reader.tail()
    }

    /// True while pieces of a text arrive.
    pub(crate) const fn is_arriving(&self) -> bool {
        self.index.is_some()
    }
}

/// Bytes of the complete lines that both texts begin with.
fn common_lines(one: &str, other: &str) -> usize {
    let lines = one.split_inclusive('\n').zip(other.split_inclusive('\n'));
    lines
        .take_while(|(one, other)| one == other)
        .map(|(line, _)| line.len())
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn shown(cells: &[Cell]) -> String {
        let lines = cells.iter().flat_map(|cell| cell.lines(60));
        lines.map(|line| line.text() + "\n").collect()
    }

    #[test]
    fn the_whole_repeats_nothing_that_the_pieces_showed() {
        let mut answer = Answer::default();
        let mut cells = answer.piece(0, "one\ntwo\nth");
        cells.extend(answer.piece(0, "ree"));
        cells.extend(answer.whole("one\ntwo\nthree"));
        assert_eq!(shown(&cells), "\none\ntwo\nthree\n");
    }

    #[test]
    fn a_lost_end_comes_with_the_whole() {
        let mut answer = Answer::default();
        let mut cells = answer.piece(0, "one\nt");
        cells.extend(answer.whole("one\ntwo\nthree"));
        assert_eq!(shown(&cells), "\none\ntwo\nthree\n");
        // No piece came at all.
        assert_eq!(shown(&answer.whole("four")), "\nfour\n");
    }

    #[test]
    fn a_gap_is_told_and_filled() {
        let mut answer = Answer::default();
        let mut cells = answer.piece(0, "one\ntwo\n");
        cells.extend(answer.piece(0, "four\n"));
        cells.extend(answer.whole("one\ntwo\nthree\nfour\n"));
        let expected = "\none\ntwo\nfour\n◦ parts of this answer were skipped; it goes on from there\nthree\nfour\n";
        assert_eq!(shown(&cells), expected);
    }

    #[test]
    fn two_blocks_of_text_are_told_apart() {
        let mut answer = Answer::default();
        let mut cells = answer.piece(0, "one");
        cells.extend(answer.piece(2, "two"));
        cells.extend(answer.whole("one"));
        cells.extend(answer.whole("two"));
        assert_eq!(shown(&cells), "\none\n\ntwo\n");
    }
}
