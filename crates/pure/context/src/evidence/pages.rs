//! Pages of the chronicle: when one is due, its content, and the way back from a manifest.
//!
//! # Model
//! An entry of the chronicle is *at home* in the page record that holds its present version; a
//! change makes it homeless. Once the homeless entries amount to a page's worth they are due as a
//! page, together with the survivors of pages that are mostly out of date. Therefore each entry is
//! written about twice for every change, however many boundaries there are; the pages a manifest
//! names are at least half live; and a manifest holds no more than the entries of the last page's
//! worth of work.
//!
//! # Not here
//! Writing the record (the driver), and the ranges by which a manifest names it
//! ([`crate::conversation::Conversation`]).

use dormouse_core::id::Seq;
use dormouse_core::record::{
    Chronicle, ChroniclePage, CommandFact, Decision, Entries, FileFact, LiveEntries, Mention,
    PagedChronicle, Shelf, ShelfEntry, Source, UserMessage,
};
use std::collections::{BTreeMap, BTreeSet};

/// Calls `$do!(field)` for every shelf of a chronicle; pages and counts have the same fields.
macro_rules! shelves {
    ($do:ident) => {
        $do!(files);
        $do!(commands);
        $do!(searches);
        $do!(tests);
        $do!(errors);
        $do!(urls);
        $do!(values);
        $do!(decisions);
    };
}

/// Page to be written now, once the homeless entries weigh `least` bytes. `sizes` holds the weight
/// of each page when it was written ([`weight`]).
pub(crate) fn due(
    chronicle: &Chronicle,
    sizes: &BTreeMap<Seq, usize>,
    least: usize,
) -> Option<ChroniclePage> {
    let mut homeless = 0;
    let mut live: BTreeMap<Seq, usize> = BTreeMap::new();
    let mut count = |home: Option<Seq>, bytes: usize| match home {
        None => homeless += bytes,
        Some(page) => *live.entry(page).or_default() += bytes,
    };
    for message in &chronicle.user.listed {
        count(message.home, message_weight(message));
    }
    macro_rules! count_shelf {
        ($field:ident) => {
            for (text, entry) in &chronicle.$field.entries {
                count(entry.home, entry_weight(text, entry));
            }
        };
    }
    shelves!(count_shelf);
    if homeless < least {
        return None;
    }
    // Survivors of a page that is mostly out of date move on, so that it need not be read again.
    let thin = |page: Seq| {
        let size = sizes.get(&page).copied().unwrap_or_default();
        live.get(&page).copied().unwrap_or_default() * 2 < size
    };
    let mut page = select(chronicle, |home| home.is_none_or(thin));
    // The record itself is the home; a line does not say it.
    for message in page.user.values_mut() {
        message.home = None;
    }
    macro_rules! release {
        ($field:ident) => {
            for entry in page.$field.values_mut() {
                entry.home = None;
            }
        };
    }
    shelves!(release);
    Some(page)
}

/// Bytes of a page, by the estimate that [`due`] uses.
pub(crate) fn weight(page: &ChroniclePage) -> usize {
    let mut sum: usize = page.user.values().map(message_weight).sum();
    macro_rules! add {
        ($field:ident) => {
            for (text, entry) in &page.$field {
                sum += entry_weight(text, entry);
            }
        };
    }
    shelves!(add);
    sum
}

/// Lays a page over the live chronicle: its entries are at home there from now on.
pub(crate) fn turn(chronicle: &mut Chronicle, page: &ChroniclePage, seq: Seq) {
    let earlier = earlier(chronicle);
    for (number, message) in &page.user {
        let index = number.checked_sub(earlier + 1);
        let listed = index
            .and_then(|index| usize::try_from(index).ok())
            .and_then(|index| chronicle.user.listed.get_mut(index));
        if let Some(listed) = listed {
            *listed = at_home(message, seq);
        }
    }
    macro_rules! lay {
        ($field:ident) => {
            lay_over(&mut chronicle.$field.entries, &page.$field, seq);
        };
    }
    shelves!(lay);
}

/// Form of the chronicle in a manifest: pages are named, all other entries are there.
pub(crate) fn in_manifest(chronicle: &Chronicle) -> Chronicle {
    let pages = homes(chronicle);
    if pages.is_empty() {
        return chronicle.clone();
    }
    let mut stored = Chronicle {
        clock: chronicle.clock,
        project: chronicle.project.clone(),
        open_calls: chronicle.open_calls.clone(),
        ..Chronicle::default()
    };
    stored.user.earlier.clone_from(&chronicle.user.earlier);
    let mut live = LiveEntries {
        user: chronicle.user.listed.len(),
        ..LiveEntries::default()
    };
    macro_rules! store {
        ($field:ident) => {
            stored.$field.dropped = chronicle.$field.dropped;
            live.$field = chronicle.$field.entries.len();
        };
    }
    shelves!(store);
    stored.paged = Some(Box::new(PagedChronicle {
        pages: pages.into_iter().collect(),
        rest: select(chronicle, |home| home.is_none()),
        live,
    }));
    stored
}

/// Chronicle of a manifest that a live session meets: the entries at home in its pages are those
/// the session holds.
pub(crate) fn from_live(stored: &Chronicle, live: &Chronicle) -> Chronicle {
    let Some(paged) = &stored.paged else {
        return stored.clone();
    };
    let named: BTreeSet<Seq> = paged.pages.iter().copied().collect();
    let held = select(live, |home| home.is_some_and(|page| named.contains(&page)));
    assemble(stored, paged, held)
}

/// Chronicle of a manifest, put together from the pages it names. Pages that could not be read are
/// missing with their entries.
pub(crate) fn from_pages<'a>(
    stored: &Chronicle,
    pages: impl Fn(Seq) -> Option<&'a ChroniclePage>,
) -> Chronicle {
    let Some(paged) = &stored.paged else {
        return stored.clone();
    };
    let mut held = ChroniclePage::default();
    // Oldest first: the version in a newer page replaces an earlier one.
    for seq in &paged.pages {
        let Some(page) = pages(*seq) else {
            continue;
        };
        for (number, message) in &page.user {
            held.user.insert(*number, at_home(message, *seq));
        }
        macro_rules! lay {
            ($field:ident) => {
                lay_over(&mut held.$field, &page.$field, *seq);
            };
        }
        shelves!(lay);
    }
    assemble(stored, paged, held)
}

/// Counters of a manifest, the entries of its pages, and the remainder over them. Entries that were
/// evicted since their page was written are older than all live ones and fall off.
fn assemble(stored: &Chronicle, paged: &PagedChronicle, mut held: ChroniclePage) -> Chronicle {
    let mut chronicle = Chronicle {
        paged: None,
        ..stored.clone()
    };
    let rest = paged.rest.clone();
    held.user.extend(rest.user);
    let first = earlier(stored) + 1;
    let listed = held.user.into_iter().filter(|(number, _)| *number >= first);
    let listed = listed.map(|(_, message)| message).take(paged.live.user);
    chronicle.user.listed = listed.collect();
    macro_rules! fill {
        ($field:ident) => {
            held.$field.extend(rest.$field);
            keep_newest(&mut chronicle.$field, held.$field, paged.live.$field);
        };
    }
    shelves!(fill);
    chronicle
}

fn keep_newest<T>(shelf: &mut Shelf<T>, entries: Entries<T>, live: usize) {
    shelf.entries = entries;
    let excess = shelf.entries.len().saturating_sub(live);
    if excess > 0 {
        for text in shelf.oldest(excess) {
            shelf.entries.remove(&text);
        }
    }
}

/// Page records that hold entries of this chronicle.
pub(crate) fn homes(chronicle: &Chronicle) -> BTreeSet<Seq> {
    let listed = chronicle.user.listed.iter();
    let mut homes: BTreeSet<Seq> = listed.filter_map(|message| message.home).collect();
    macro_rules! gather {
        ($field:ident) => {
            homes.extend(chronicle.$field.entries.values().filter_map(|e| e.home));
        };
    }
    shelves!(gather);
    homes
}

/// Entries of a chronicle whose home passes the test, with their keys.
fn select(chronicle: &Chronicle, which: impl Fn(Option<Seq>) -> bool) -> ChroniclePage {
    let mut page = ChroniclePage::default();
    let numbered = (earlier(chronicle) + 1..).zip(&chronicle.user.listed);
    let chosen = numbered.filter(|(_, message)| which(message.home));
    page.user = chosen
        .map(|(number, message)| (number, message.clone()))
        .collect();
    macro_rules! take {
        ($field:ident) => {
            let entries = chronicle.$field.entries.iter();
            let chosen = entries.filter(|(_, entry)| which(entry.home));
            page.$field = chosen
                .map(|(text, entry)| (text.clone(), entry.clone()))
                .collect();
        };
    }
    shelves!(take);
    page
}

/// Number of the user's messages that are no longer listed.
fn earlier(chronicle: &Chronicle) -> u64 {
    let earlier = chronicle.user.earlier.as_ref();
    earlier.map_or(0, |earlier| earlier.count)
}

fn lay_over<T: Clone>(entries: &mut Entries<T>, page: &Entries<T>, seq: Seq) {
    for (text, entry) in page {
        let entry = ShelfEntry {
            home: Some(seq),
            ..entry.clone()
        };
        entries.insert(text.clone(), entry);
    }
}

fn at_home(message: &UserMessage, seq: Seq) -> UserMessage {
    UserMessage {
        home: Some(seq),
        ..message.clone()
    }
}

/// Bytes of a message in a line: its text, and about 220 for number, record, hash and names.
fn message_weight(message: &UserMessage) -> usize {
    message.text.len() + 220
}

/// Bytes of an entry in a line: its texts, and about 110 for figures and names.
fn entry_weight<T: Texts>(text: &str, entry: &ShelfEntry<T>) -> usize {
    text.len() + entry.fact.bytes() + 110
}

/// Facts by the bytes of the texts in them.
trait Texts {
    fn bytes(&self) -> usize {
        0
    }
}

impl Texts for FileFact {}
impl Texts for CommandFact {}
impl Texts for Decision {}

impl Texts for Source {
    fn bytes(&self) -> usize {
        self.call.len()
    }
}

impl Texts for Mention {
    fn bytes(&self) -> usize {
        self.around.len()
    }
}

#[cfg(test)]
#[path = "pages_tests.rs"]
mod tests;
