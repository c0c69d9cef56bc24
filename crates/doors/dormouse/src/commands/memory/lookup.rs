//! Memories that fit a question, for `recall` and `search`.
//!
//! # Model
//! The private memory and, where the folder is trusted, the team's are ranked together. What is
//! overtaken or not trusted is ranked too and marked, so that the commands can say why it is not
//! among what a session would get.

use super::place::{Found, Which, find};
use crate::app::App;
use crate::error::Failure;
use crate::output::figures;
use dormouse_core::settings::Trust as FolderTrust;
use dormouse_core::units::Millis;
use dormouse_keeper::tree::TreeFacts;
use dormouse_memdir::{MemoryDir, Repository};
use dormouse_memory::card::Card;
use dormouse_memory::snapshot::is_pinned;
use dormouse_memory::topic::{Kind, Topic};
use dormouse_memory::trust::Trust;
use dormouse_recall::verify::{Mark, claims, mark};
use dormouse_recall::{CONFIDENT, Query, Scratch};
use dormouse_system::Files;
use dormouse_text::words::{Language, Stemming, StopWords, Tokeniser, detect};
use serde::Serialize;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

/// Characters of the text that stands for a memory without a description.
const EXCERPT: usize = 200;

/// How many things that are gone are named.
const GONE: usize = 3;

/// A memory that fits.
#[derive(Debug, Serialize)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "they are independent facts, shown as such"
)]
pub(crate) struct Ranked {
    pub(crate) path: String,
    pub(crate) name: String,
    pub(crate) description: String,
    #[serde(rename = "type")]
    kind: Option<&'static str>,
    trust: Option<&'static str>,
    modified: String,
    pub(crate) score: f32,
    pub(crate) confidence: f32,
    /// Words of the question that it has.
    pub(crate) words: Vec<String>,
    pub(crate) mark: Mark,
    /// Another memory or the calendar has overtaken it.
    pub(crate) over: bool,
    /// It stems from somewhere that nobody vouches for.
    pub(crate) untrusted: bool,
    pinned: bool,
    pub(crate) team: bool,
    #[serde(skip)]
    at: Millis,
}

impl Ranked {
    /// Sure enough, and nothing against it.
    pub(crate) fn is_certain(&self) -> bool {
        self.confidence >= CONFIDENT && !self.over && !self.untrusted
    }

    /// The line that stands for it.
    pub(crate) fn says(&self) -> &str {
        if self.description.is_empty() {
            &self.name
        } else {
            &self.description
        }
    }

    /// What a reader should know of it.
    pub(crate) fn about(&self, now: Millis) -> String {
        let mut about = vec![
            format!("{:.0} % sure", self.confidence * 100.0),
            format!("changed {}", figures::age(now, self.at)),
        ];
        if !self.words.is_empty() {
            about.push(format!("has {}", self.words.join(", ")));
        }
        if self.team {
            about.push("team".to_owned());
        }
        if self.pinned {
            about.push("pinned".to_owned());
        }
        if self.over {
            about.push("overtaken".to_owned());
        }
        if self.untrusted {
            about.push("not trusted".to_owned());
        }
        match &self.mark {
            Mark::Fresh => about.push("fresh".to_owned()),
            Mark::Stale { gone, .. } => about.push(stale(gone)),
            Mark::Unverifiable => {}
        }
        about.join(" · ")
    }
}

/// A directory and whose it is.
struct Shelf {
    dir: MemoryDir,
    team: bool,
}

/// What all memories of a search are judged by.
struct Asked<'a> {
    question: &'a str,
    now: Millis,
    /// The working tree that claims are checked against.
    tree: Option<PathBuf>,
    files: Arc<dyn Files>,
}

/// A memory that fits, before its file was opened.
struct Candidate<'a> {
    card: Card,
    hit: dormouse_recall::Ranked,
    shelf: &'a Shelf,
    over: bool,
}

impl Candidate<'_> {
    fn is_certain(&self) -> bool {
        let untrusted = self.card.trust.is_some_and(|trust| !trust.is_recalled());
        self.hit.confidence >= CONFIDENT && !self.over && !untrusted
    }
}

/// Ranks all memories for a question, best first. Of the best `top`, at most `most` that are certain
/// and as many that are not are opened and given.
pub(crate) fn rank(
    question: &str,
    top: usize,
    most: usize,
    which: &Which,
    app: &mut App,
) -> Result<Vec<Ranked>, Failure> {
    let found = find(which, app)?;
    let asked = Asked {
        question,
        now: app.system.clock.now(),
        tree: tree(&found, app)?,
        files: Arc::clone(&app.system.files),
    };
    let shelves = shelves(&found, which, app)?;
    let mut candidates = Vec::new();
    for shelf in &shelves {
        candidates.extend(asked.candidates(shelf, top, app)?);
    }
    // What holds comes before what was overtaken. Scores of two directories cannot be compared.
    if candidates.iter().any(|candidate| candidate.shelf.team) {
        candidates.sort_by(|a, b| b.hit.confidence.total_cmp(&a.hit.confidence));
    }
    candidates.sort_by_key(|candidate| candidate.over);
    candidates.truncate(top);
    let mut left = [most, most];
    let mut ranked = Vec::new();
    for candidate in candidates {
        let left = &mut left[usize::from(candidate.is_certain())];
        if *left == 0 {
            continue;
        }
        if let Some(file) = candidate.shelf.dir.read(&candidate.card.path)? {
            *left -= 1;
            let team = candidate.shelf.team;
            ranked.push(asked.judge(&candidate.card, &candidate.hit, &file.text(), team));
        }
    }
    Ok(ranked)
}

impl Asked<'_> {
    fn candidates<'s>(
        &self,
        shelf: &'s Shelf,
        top: usize,
        app: &mut App,
    ) -> Result<Vec<Candidate<'s>>, Failure> {
        let scan = shelf.dir.scan()?;
        for skipped in &scan.skipped {
            let path = skipped.path.display();
            app.note(&format!("{path} is left out: {}", skipped.why));
        }
        let query = Query {
            text: self.question,
            top,
            now: self.now.0,
        };
        let today = super::show::day(self.now);
        let hits = scan.searcher().search(&query, &mut Scratch::default());
        let candidate = |hit: dormouse_recall::Ranked| {
            let card = scan.card(hit.document)?;
            let over = card.is_over(today);
            Some(Candidate {
                card,
                hit,
                shelf,
                over,
            })
        };
        Ok(hits.into_iter().filter_map(candidate).collect())
    }

    fn judge(&self, card: &Card, hit: &dormouse_recall::Ranked, text: &str, team: bool) -> Ranked {
        let topic = Topic::read(text);
        let body = text.get(topic.body..).unwrap_or_default();
        let path = card.path.as_str();
        let called = path.replace(['/', '_', '-', '.'], " ");
        Ranked {
            path: path.to_owned(),
            description: described(&topic, body),
            kind: topic.kind.map(Kind::name),
            trust: topic.trust.map(Trust::name),
            modified: card.modified.to_string(),
            score: hit.score,
            confidence: hit.confidence,
            words: shared(self.question, &format!("{called} {text}")),
            mark: self.verified(body),
            over: topic.is_over(super::show::day(self.now)),
            untrusted: topic.trust.is_some_and(|trust| !trust.is_recalled()),
            pinned: is_pinned(&card.path),
            team,
            at: card.modified,
            name: topic.name,
        }
    }

    fn verified(&self, body: &str) -> Mark {
        let claims = claims(body);
        match &self.tree {
            Some(root) if !claims.is_empty() => {
                mark(&claims, &TreeFacts::look(&self.files, root, &claims))
            }
            _ => Mark::Unverifiable,
        }
    }
}

fn shelves(found: &Found, which: &Which, app: &mut App) -> Result<Vec<Shelf>, Failure> {
    let own = found.existing(app)?.map(|dir| Shelf {
        dir,
        team: *which == Which::Team,
    });
    let mut shelves: Vec<Shelf> = own.into_iter().collect();
    let has_team = found.place().is_some_and(|place| place.team.is_some());
    if *which == Which::Private && has_team {
        let team = find(&Which::Team, app)?.existing(app)?;
        match team {
            Some(dir) if found.config.loaded.trust == FolderTrust::Trusted => {
                shelves.push(Shelf { dir, team: true });
            }
            Some(_) => app.note(
                "team memory is left out until this folder is trusted (`dormouse config trust`)",
            ),
            None => {}
        }
    }
    Ok(shelves)
}

fn tree(found: &Found, app: &App) -> Result<Option<PathBuf>, Failure> {
    let files = &app.system.files;
    let current = files.real_path(&found.config.loader.places().current_dir)?;
    Ok(Repository::around(&**files, &current)?.map(|repository| repository.worktree))
}

/// What it says of itself, or how it begins.
fn described(topic: &Topic, body: &str) -> String {
    if !topic.description.is_empty() {
        return topic.description.clone();
    }
    let line = body
        .lines()
        .map(|line| line.trim_start_matches(['#', ' ']).trim())
        .find(|line| !line.is_empty());
    line.unwrap_or_default().chars().take(EXCERPT).collect()
}

/// Says what is gone, in part if it is much.
fn stale(gone: &[String]) -> String {
    let named: Vec<&str> = gone.iter().take(GONE).map(String::as_str).collect();
    let more = match gone.len() - named.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("stale: no {}{more} here", named.join(", "))
}

/// The words of the question that a text has, in any form, as the question has them.
fn shared(question: &str, text: &str) -> Vec<String> {
    let language = detect(text).or_else(|| detect(question));
    let language = language.unwrap_or(Language::English);
    let tokeniser = Tokeniser::new(Some(language), StopWords::Drop, Stemming::On);
    let has: BTreeSet<String> = tokeniser.terms(text).into_iter().collect();
    let mut words: Vec<String> = Vec::new();
    tokeniser.each(question, |term, range| {
        let word = question[range].to_lowercase();
        if has.contains(term) && !words.contains(&word) {
            words.push(word);
        }
    });
    words
}
