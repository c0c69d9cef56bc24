//! Index as bytes.
//!
//! # Model
//! A segment is written once ([`Segment::build`]) and read where it lies: opening it looks at the
//! head and the checksums, nothing is decoded or copied. Behind the head lies the body in pages, so
//! that a process with a single question reads the few it needs (`pages`). A document consists of
//! *units*: one for a short text, for a long one its passages. Everything is addressed by number:
//!
//! | section | per | holds |
//! |---|---|---|
//! | documents | document | first unit, lengths of the fields, parent, order, time, prior, cue, place of its payload |
//! | units | unit | document, length, end of its words |
//! | terms | term, sorted | ends of its text and its postings, number of documents that have it |
//! | postings | term and unit | unit, count in the body, counts in name and description |
//! | words | word of a unit | number of the term, in order: for words that stand together |
//! | payloads | document | bytes of the caller |
//!
//! # Not here
//! Files. An index that cannot be opened is rebuilt by the caller.

mod build;
mod open;
mod pages;

pub use build::TooLarge;
pub(crate) use open::{DocumentEntry, Postings};
pub use open::{OpenError, Segment};
pub use pages::Source;

/// First bytes of every segment, so that another file is recognised before its checksum is read.
const MAGIC: [u8; 4] = *b"DMRI";
/// Version that this code writes and reads. Any change of the layout, of the analysis of text or of
/// the cues is a new version: an index is cheap to build and never converted.
const VERSION: u32 = 3;
/// Bytes of the header: magic, version, checksum (16), language, 3 spare, three counts, and the
/// ends of the sections. The checksums of the pages follow, then the body, in which sections lie.
const HEADER: usize = 4 + 4 + 16 + 4 + 4 * 3 + 4 * SECTIONS;
/// Offset from which the checksum counts, up to the body: behind magic, version and the checksum
/// itself.
const CHECKED_FROM: usize = 24;
/// Bytes of a page: those of the file system's cache. A memory's words fill a fraction of one, and a
/// larger page would mostly hold those of others.
const PAGE: usize = 4096;
/// Bytes of a page's checksum.
const SUM: usize = 8;
/// Number of sections, in this order.
const SECTIONS: usize = 8;
const DOCUMENTS: usize = 0;
const UNITS: usize = 1;
const TERMS: usize = 2;
const TEXTS: usize = 3;
const POSTINGS: usize = 4;
const WORDS: usize = 5;
const PAYLOAD_ENDS: usize = 6;
const PAYLOADS: usize = 7;

/// Bytes of a document's entry: ten numbers of two to eight bytes.
const DOCUMENT: usize = 44;
/// Offset of the last of them, the place of the payload among all in order.
const PLACE: usize = 40;
/// Bytes of a unit's entry: three numbers of four bytes.
const UNIT: usize = 12;
/// Bytes of a term's entry: three numbers of four bytes.
const TERM: usize = 12;
/// Bytes of a posting: unit (4), body count (1), name and description counts (4 bits each).
const POSTING: usize = 6;
/// Bytes of the number of a term. Three hold sixteen million words and save a quarter of the
/// largest section.
const WORD: usize = 3;
/// Mark between the fields of a document instead of a word; the largest number of three bytes.
pub(crate) const GAP: u32 = 0x00FF_FFFF;
