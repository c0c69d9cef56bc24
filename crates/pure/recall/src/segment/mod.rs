//! An index that is bytes.
//!
//! # Model
//! A segment is written once ([`Segment::build`]) and read where it lies: opening it looks at the
//! header and the checksum, nothing is decoded or copied. A document consists of *units*: one for a
//! short text, for a long one its passages. Everything is addressed by number:
//!
//! | section | per | holds |
//! |---|---|---|
//! | documents | document | first unit, lengths of the fields, parent, order, time, prior, cue |
//! | units | unit | document, length, where its words are |
//! | terms | term, sorted | where its text and its postings are, in how many documents it is |
//! | postings | term and unit | unit, count in the body, counts in name and description |
//! | words | word of a unit | number of the term, in order: for what stands next to what |
//! | payloads | document | bytes of the caller |
//!
//! # Not here
//! Files, and what to do about an index that cannot be opened: the caller builds it anew.

mod build;
mod open;

pub use build::TooLarge;
pub(crate) use open::{DocumentEntry, Postings};
pub use open::{OpenError, Segment};

/// The first bytes of every segment.
const MAGIC: [u8; 4] = *b"DMRI";
/// The version this code writes and reads. Any change of the layout, of the analysis of text or of
/// the cues is a new version: an index is cheap to build and never converted.
const VERSION: u32 = 1;
/// Bytes of the header: magic, version, checksum (16), language, 3 spare, three counts, and the
/// ends of the sections.
const HEADER: usize = 4 + 4 + 16 + 4 + 4 * 3 + 4 * SECTIONS;
/// Where the checksum begins to count.
const CHECKED_FROM: usize = 24;
/// Sections, in this order.
const SECTIONS: usize = 8;
const DOCUMENTS: usize = 0;
const UNITS: usize = 1;
const TERMS: usize = 2;
const TEXTS: usize = 3;
const POSTINGS: usize = 4;
const WORDS: usize = 5;
const PAYLOAD_ENDS: usize = 6;
const PAYLOADS: usize = 7;

/// Bytes of a document's entry.
const DOCUMENT: usize = 40;
/// Bytes of a unit's entry.
const UNIT: usize = 12;
/// Bytes of a term's entry.
const TERM: usize = 12;
/// Bytes of a posting.
const POSTING: usize = 6;
/// Bytes of the number of a term.
const WORD: usize = 3;
/// Stands between the fields of a document instead of a word.
pub(crate) const GAP: u32 = 0x00FF_FFFF;
