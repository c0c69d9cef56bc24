//! Evidence of a conversation, read once and asked for each claim.
//!
//! # Model
//! The user's messages are read by what they assert, tool results line by line. A claim is looked
//! for in this order: recalled text, messages of the user, tool results, sentences that were not
//! meant, words of the assistant that the user confirmed. The order is the defence: an echo is one
//! even if the user agreed, and a tool's words are a tool's even if the assistant repeated them.
//!
//! # Not here
//! Taking texts apart (`claims`); joining the verdicts on all claims ([`super::attribute`]).

use super::attribute::RefusedWrite;
use super::claims::{Claim, Place, Read, Reader, exact, has, meet, share};
use super::phrases::Phrases;
use super::sentence::{Sense, sentences};
use super::span::Span;
use crate::trust::{Speaker, Trust};
use dormouse_core::units::Millis;
use dormouse_text::duplicates::Sketch;
use jiff::civil::Date;
use std::collections::BTreeSet;

/// Least share of a claim's terms that a source must have. Fitted to the cases of `trial`: a
/// paraphrase passes, another statement on the same subject does not.
const COVERS: f64 = 0.55;
/// Least share for the application of a rule, which the writer puts into words.
const COVERS_APPLICATION: f64 = 0.34;
/// Least share of the second message when two are needed, so that each has its part.
const COVERS_ALONE: f64 = 0.4;
/// A claim of so few terms must be covered whole: with one word changed it says something else.
const SHORT: usize = 3;
/// A claim with fewer terms is not put together from two messages: one common word would do.
const LONG: usize = 5;
/// Overlap from which a claim repeats a recalled text; the same as for instruction files.
const ECHOES: f64 = 0.6;
/// Claims of fewer words overlap by chance.
const LEAST_ECHO: usize = 4;

/// Spans of a conversation, read.
pub(super) struct Evidence<'a> {
    reader: Reader,
    spans: &'a [Span],
    /// Day on which the memory is written: that of the newest span.
    today: Date,
    users: Vec<Heard>,
    others: Vec<Heard>,
    recalled: Vec<(Sketch, Read)>,
}

/// One span, read once for all claims.
struct Heard {
    at: usize,
    /// Asserted sentences; for other speakers the whole text.
    meant: Read,
    /// Sentences that are not meant as they stand.
    unmeant: Vec<(Sense, Read)>,
    /// Sentence by sentence; filled for other speakers than the user.
    lines: Vec<Read>,
    /// True if it begins with a yes.
    confirms: bool,
}

/// Day of a moment, in UTC, because a log has no time zone.
pub(super) fn day(time: Millis) -> Date {
    jiff::Timestamp::from_millisecond(time.0)
        .map(|at| at.to_zoned(jiff::tz::TimeZone::UTC).date())
        .unwrap_or_default()
}

impl<'a> Evidence<'a> {
    pub(super) fn new(content: &str, spans: &'a [Span], recalled: &[&str]) -> Self {
        let reader = Reader::for_text(content);
        let today = spans
            .iter()
            .map(|span| day(span.time))
            .max()
            .unwrap_or_default();
        let (mut users, mut others) = (Vec::new(), Vec::new());
        // Fragments in the log were recalled or injected, too; memories must not feed on
        // themselves.
        let mut echoes: Vec<&str> = recalled.to_vec();
        for (at, span) in spans.iter().enumerate() {
            if span.trust().is_none() {
                echoes.push(&span.text);
            } else if span.is_users() {
                users.push(hear_user(&reader, at, span));
            } else {
                others.push(hear_other(&reader, at, span));
            }
        }
        let recalled = echoes
            .into_iter()
            .map(|text| (Sketch::new(text), reader.read(text, today)))
            .collect();
        Self {
            reader,
            spans,
            today,
            users,
            others,
            recalled,
        }
    }

    /// Trust of the best span that has the quote. The best, because the quote only lowers the trust
    /// that the claims have.
    pub(super) fn quoted(&self, quote: &str) -> Result<Trust, RefusedWrite> {
        let words = Phrases::of(quote);
        let has = |span: &&Span| Phrases::of(&span.text).has(words.as_str());
        let found: Vec<&Span> = self.spans.iter().filter(has).collect();
        if words.count() == 0 || found.is_empty() {
            return Err(RefusedWrite::QuoteNotFound(quote.to_owned()));
        }
        let best = found.iter().filter_map(|span| span.trust()).max();
        best.ok_or_else(|| RefusedWrite::Echo(quote.to_owned()))
    }

    /// Supporting spans of a claim with their least trust.
    pub(super) fn support(&self, claim: &Claim) -> Result<(Trust, Vec<usize>), RefusedWrite> {
        let read = self.reader.read(&claim.text, self.today);
        let exact = exact(&claim.text, self.today);
        let wanted = Wanted {
            covers: match claim.place {
                Place::How => COVERS_APPLICATION,
                Place::Statement | Place::Why if read.terms.len() <= SHORT => 1.0,
                Place::Statement | Place::Why => COVERS,
            },
            read: &read,
            exact: &exact,
        };
        // First: a recalled memory that the user confirms is still no new memory.
        if self.echoes(claim, &wanted) {
            return Err(RefusedWrite::Echo(claim.text.clone()));
        }
        if let Some(used) = self.by_user(&wanted) {
            if claim.place != Place::How && self.turned(&wanted, &used) {
                return Err(RefusedWrite::Turned(claim.text.clone()));
            }
            return Ok(self.tainted(&wanted, used));
        }
        if let Some((trust, used)) = self.by_tool(&wanted) {
            return Ok((trust, used));
        }
        // Behind the tools: a user who asks about a tool's words has not said them.
        if let Some(sense) = self.unmeant(&wanted) {
            return Err(match sense {
                Sense::ForNow => RefusedWrite::ForNow(claim.text.clone()),
                _ => RefusedWrite::NotMeant(claim.text.clone()),
            });
        }
        self.by_assistant(&wanted)
            .ok_or_else(|| RefusedWrite::Unsupported(claim.text.clone()))
    }

    /// True if recalled text has the claim. Names, days and negation must agree as well, because an
    /// update of a recalled fact has most of its words.
    fn echoes(&self, claim: &Claim, wanted: &Wanted<'_>) -> bool {
        if Phrases::of(&claim.text).count() < LEAST_ECHO {
            return false;
        }
        let sketch = Sketch::new(&claim.text);
        self.recalled.iter().any(|(other, read)| {
            let exact = wanted.exact.iter().all(|word| read.folded.contains(word));
            let days = wanted
                .read
                .days
                .iter()
                .all(|days| read.days.iter().any(|other| meet(*days, *other)));
            let turned = wanted.read.clauses.iter().any(|(turned, terms)| {
                clause_for(terms, read).is_some_and(|found| !found.contains(turned))
            });
            sketch.overlap(other).of_this >= ECHOES && exact && days && !turned
        })
    }

    /// Messages of the user that cover a claim: one, or two of which each has its part.
    fn by_user(&self, wanted: &Wanted<'_>) -> Option<Vec<usize>> {
        let mut ranked: Vec<(f64, &Heard)> = self
            .users
            .iter()
            .map(|heard| (share(&wanted.read.terms, &heard.meant.terms), heard))
            .collect();
        // Best first, so that the first fit is the strongest; ties keep the order of the
        // conversation.
        ranked.sort_by(|a, b| b.0.total_cmp(&a.0));
        let one = ranked
            .iter()
            .find(|(share, heard)| *share >= wanted.covers && wanted.exact_in(&[&heard.meant]));
        if let Some((_, heard)) = one {
            return Some(vec![heard.at]);
        }
        let (first, rest) = ranked.split_first()?;
        if wanted.read.terms.len() < LONG {
            return None;
        }
        rest.iter()
            .take_while(|(share, _)| *share >= COVERS_ALONE)
            .find_map(|(_, other)| {
                let both: BTreeSet<String> = first
                    .1
                    .meant
                    .terms
                    .union(&other.meant.terms)
                    .cloned()
                    .collect();
                let covers = share(&wanted.read.terms, &both) >= wanted.covers.max(COVERS);
                (covers && wanted.exact_in(&[&first.1.meant, &other.meant]))
                    .then(|| vec![first.1.at, other.at])
            })
    }

    /// True if the source says the contrary of the same thing.
    fn turned(&self, wanted: &Wanted<'_>, used: &[usize]) -> bool {
        let sources: Vec<&Heard> = self
            .users
            .iter()
            .filter(|heard| used.contains(&heard.at))
            .collect();
        wanted.read.clauses.iter().any(|(turned, terms)| {
            let found: Vec<bool> = sources
                .iter()
                .filter_map(|heard| clause_for(terms, &heard.meant))
                .flatten()
                .collect();
            // A source that says both is no contradiction of either.
            !found.is_empty() && !found.contains(turned)
        })
    }

    /// Lowers the trust if the terms that the user's words leave open come from a tool.
    fn tainted(&self, wanted: &Wanted<'_>, mut used: Vec<usize>) -> (Trust, Vec<usize>) {
        let mut trust = Trust::User;
        let covered = |term: &&String| {
            let mut sources = self.users.iter().filter(|heard| used.contains(&heard.at));
            sources.any(|heard| has(&heard.meant.terms, term))
        };
        let terms = wanted.read.terms.iter();
        let open: BTreeSet<String> = terms.filter(|term| !covered(term)).cloned().collect();
        for heard in self.tools() {
            let source = heard.lines.iter().any(|line| {
                // Two open terms, and half of the claim in one line: one shared word is chance.
                open.intersection(&line.terms).count() >= 2
                    && share(&wanted.read.terms, &line.terms) >= 0.5
            });
            if source {
                trust = trust.min(self.spans[heard.at].trust().unwrap_or(Trust::External));
                used.push(heard.at);
            }
        }
        (trust, used)
    }

    fn tools(&self) -> impl Iterator<Item = &Heard> {
        let is_tool = |heard: &&Heard| self.spans[heard.at].speaker == Speaker::Tool;
        self.others.iter().filter(is_tool)
    }

    /// Tool results that the claim's words, or a name in it, come from.
    fn by_tool(&self, wanted: &Wanted<'_>) -> Option<(Trust, Vec<usize>)> {
        let said: Vec<&Read> = self.users.iter().map(|heard| &heard.meant).collect();
        // A name that the user said, too, proves nothing about the tool.
        let foreign: Vec<&String> = wanted
            .exact
            .iter()
            .filter(|word| !said.iter().any(|read| read.folded.contains(word.as_str())))
            .collect();
        let mut found: Option<(Trust, Vec<usize>)> = None;
        for heard in self.tools() {
            let named = foreign
                .iter()
                .any(|word| heard.meant.folded.contains(word.as_str()));
            let worded = heard
                .lines
                .iter()
                .any(|line| share(&wanted.read.terms, &line.terms) >= 0.5)
                || share(&wanted.read.terms, &heard.meant.terms) >= COVERS;
            if named || worded {
                let trust = self.spans[heard.at].trust().unwrap_or(Trust::External);
                let (least, used) = found.get_or_insert((trust, Vec::new()));
                *least = (*least).min(trust);
                used.push(heard.at);
            }
        }
        found
    }

    fn unmeant(&self, wanted: &Wanted<'_>) -> Option<Sense> {
        let unmeant = self.users.iter().flat_map(|heard| &heard.unmeant);
        let covers = |read: &Read| share(&wanted.read.terms, &read.terms) >= COVERS;
        unmeant
            .into_iter()
            .find(|(_, read)| covers(read))
            .map(|(sense, _)| *sense)
    }

    /// Words of the assistant that the user confirmed in the next message.
    fn by_assistant(&self, wanted: &Wanted<'_>) -> Option<(Trust, Vec<usize>)> {
        let assistant = self
            .others
            .iter()
            .filter(|heard| self.spans[heard.at].speaker == Speaker::Assistant);
        for heard in assistant {
            let Some(next) = self.users.iter().find(|user| user.at > heard.at) else {
                continue;
            };
            let both: BTreeSet<String> = heard
                .meant
                .terms
                .union(&next.meant.terms)
                .cloned()
                .collect();
            let covers = share(&wanted.read.terms, &both) >= COVERS;
            // Silence is no consent: without a yes the assistant's own words are never a memory.
            if covers && next.confirms && wanted.exact_in(&[&heard.meant, &next.meant]) {
                return Some((Trust::Assistant, vec![heard.at, next.at]));
            }
        }
        None
    }
}

/// Negation of the clauses that share most of these words; `None` if none shares many.
fn clause_for(terms: &BTreeSet<String>, read: &Read) -> Option<Vec<bool>> {
    let shares: Vec<(f64, bool)> = read
        .clauses
        .iter()
        .map(|(turned, other)| (share(terms, other), *turned))
        .collect();
    let most = shares.iter().map(|(share, _)| *share).fold(0.0, f64::max);
    // Below three fifths it is another clause on the same subject.
    (most >= 0.6).then(|| {
        let best = shares
            .into_iter()
            .filter(|(share, _)| *share >= most - f64::EPSILON);
        best.map(|(_, turned)| turned).collect()
    })
}

/// Claim in the form in which it is looked for.
struct Wanted<'a> {
    read: &'a Read,
    exact: &'a [String],
    covers: f64,
}

impl Wanted<'_> {
    /// True if every name, number and day is in one of these.
    fn exact_in(&self, sources: &[&Read]) -> bool {
        let words = self.exact.iter().all(|word| {
            sources
                .iter()
                .any(|read| read.folded.contains(word.as_str()))
        });
        let days = self.read.days.iter().all(|days| {
            sources
                .iter()
                .any(|read| read.days.iter().any(|other| meet(*days, *other)))
        });
        words && days
    }
}

fn hear_user(reader: &Reader, at: usize, span: &Span) -> Heard {
    let today = day(span.time);
    let mut meant = String::new();
    let mut unmeant = Vec::new();
    for sentence in sentences(&span.text) {
        if sentence.sense == Sense::Asserted {
            meant.push_str(&sentence.text);
            meant.push('\n');
        } else {
            unmeant.push((sentence.sense, reader.read(&sentence.text, today)));
        }
    }
    Heard {
        at,
        confirms: confirms(&Phrases::of(&meant)),
        meant: reader.read(&meant, today),
        unmeant,
        lines: Vec::new(),
    }
}

/// True if a message begins with a yes.
pub(super) fn confirms(words: &Phrases) -> bool {
    words.starts(
        "yes|yep|yeah|exactly|right|correct|perfect|that's right|agreed|ok|okay|good|great|\
            ja|genau|richtig|stimmt|perfekt|passt|please do|sounds good|love it|nice",
    )
}

fn hear_other(reader: &Reader, at: usize, span: &Span) -> Heard {
    let today = day(span.time);
    let lines = span.text.lines().filter(|line| !line.trim().is_empty());
    Heard {
        at,
        meant: reader.read(&span.text, today),
        unmeant: Vec::new(),
        lines: lines.map(|line| reader.read(line, today)).collect(),
        confirms: false,
    }
}
