//! Memories that fit a question, for `recall` and `search`.
//!
//! # Model
//! The private memory and, where the folder is trusted, the team's are ranked together. What is
//! overtaken or not trusted is ranked too and marked, so that the commands can say why it is not
//! among what a session would get.

use super::place::{Found, Which, find};
use crate::app::App;
use crate::error::{Exit, Failure, UserError};
use crate::output::figures;
use bytes::Bytes;
use dormouse_core::settings::Trust as FolderTrust;
use dormouse_core::units::Millis;
use dormouse_keeper::tree::TreeFacts;
use dormouse_memdir::Repository;
use dormouse_memory::snapshot::{Snapshot, is_pinned};
use dormouse_memory::surface::verify::{Mark, claims, mark};
use dormouse_memory::topic::{Kind, Topic};
use dormouse_memory::trust::Trust;
use dormouse_recall::{CONFIDENT, Document, Query, Scratch, Searcher, Segment, language_of};
use dormouse_text::words::{Stemming, StopWords, Tokeniser, detect};
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

/// Memories together with whose they are.
struct Shelf {
    snapshot: Snapshot,
    team: bool,
}

/// Ranks all memories for a question, best first, at most `top`.
pub(crate) fn rank(
    question: &str,
    top: usize,
    which: &Which,
    app: &mut App,
) -> Result<Vec<Ranked>, Failure> {
    let found = find(which, app)?;
    let shelves = shelves(&found, which, app)?;
    let now = app.system.clock.now();
    let texts: Vec<(usize, String, String, Millis)> = shelves
        .iter()
        .enumerate()
        .flat_map(|(at, shelf)| {
            shelf.snapshot.topics().map(move |(path, file)| {
                let text = file.text().into_owned();
                (at, path.to_string(), text, file.modified)
            })
        })
        .collect();
    let topics: Vec<Topic> = texts
        .iter()
        .map(|(_, _, text, _)| Topic::read(text))
        .collect();
    let names: Vec<String> = texts
        .iter()
        .zip(&topics)
        .map(|((_, path, _, _), topic)| searched_name(path, topic))
        .collect();
    let payloads: Vec<[u8; 4]> = (0_u32..)
        .zip(&texts)
        .map(|(at, _)| at.to_be_bytes())
        .collect();
    let documents = texts
        .iter()
        .enumerate()
        .map(|(at, (_, _, text, modified))| Document {
            name: &names[at],
            description: &topics[at].description,
            body: text.get(topics[at].body..).unwrap_or_default(),
            payload: &payloads[at],
            time: modified.0,
            ..Document::default()
        });
    let language = language_of(texts.iter().map(|(_, _, text, _)| text.as_str()));
    let too_large = |error: &dyn std::error::Error| -> Failure {
        UserError::of(Exit::Unsuitable, error)
            .hint("forget or merge memories (`dormouse dream`)")
            .into()
    };
    let segment = Segment::build(language, documents).map_err(|error| too_large(&error))?;
    let segment = Segment::open(Bytes::from(segment)).map_err(|error| too_large(&error))?;
    let query = Query {
        text: question,
        top,
        now: now.0,
    };
    let hits = Searcher::new(segment).search(&query, &mut Scratch::default());
    let root = project(&found, app)?;
    let mut ranked = Vec::new();
    for hit in hits {
        let Some((shelf, path, text, modified)) = texts.get(hit.document) else {
            continue;
        };
        let topic = &topics[hit.document];
        let shelf = &shelves[*shelf];
        ranked.push(Ranked {
            name: topic.name.clone(),
            description: described(topic, text),
            kind: topic.kind.map(Kind::name),
            trust: topic.trust.map(Trust::name),
            modified: modified.to_string(),
            score: hit.score,
            confidence: hit.confidence,
            words: shared(question, &format!("{} {text}", names[hit.document])),
            mark: verified(
                text.get(topic.body..).unwrap_or_default(),
                root.as_deref(),
                app,
            ),
            over: topic.is_over(super::show::day(now)),
            untrusted: topic.trust.is_some_and(|trust| !trust.is_recalled()),
            pinned: shelf
                .snapshot
                .files()
                .any(|(own, _)| own.as_str() == path && is_pinned(own)),
            team: shelf.team,
            path: path.clone(),
            at: *modified,
        });
    }
    // What holds comes before what was overtaken.
    ranked.sort_by_key(|memory| memory.over);
    Ok(ranked)
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

fn shelves(found: &Found, which: &Which, app: &mut App) -> Result<Vec<Shelf>, Failure> {
    let mut shelves = vec![Shelf {
        snapshot: found.snapshot(app)?,
        team: *which == Which::Team,
    }];
    let team = found.place().and_then(|place| place.team.clone());
    if let (Some(_), Which::Private) = (team, which) {
        let team = find(&Which::Team, app)?;
        let exists = team.existing(app)?.is_some();
        if exists && found.config.loaded.trust == FolderTrust::Trusted {
            shelves.push(Shelf {
                snapshot: team.snapshot(app)?,
                team: true,
            });
        } else if exists {
            app.note(
                "team memory is left out until this folder is trusted (`dormouse config trust`)",
            );
        }
    }
    Ok(shelves)
}

/// The working tree that claims are checked against.
fn project(found: &Found, app: &App) -> Result<Option<PathBuf>, Failure> {
    let files = &app.system.files;
    let current = files.real_path(&found.config.loader.places().current_dir)?;
    Ok(Repository::around(&**files, &current)?.map(|repository| repository.worktree))
}

fn verified(text: &str, root: Option<&std::path::Path>, app: &App) -> Mark {
    let Some(root) = root else {
        return Mark::Unverifiable;
    };
    let claims = claims(text);
    if claims.is_empty() {
        return Mark::Unverifiable;
    }
    mark(
        &claims,
        &TreeFacts::look(&Arc::clone(&app.system.files), root, &claims),
    )
}

/// The words that a memory is called by: its name and its path.
fn searched_name(path: &str, topic: &Topic) -> String {
    let stem = path.strip_suffix(".md").unwrap_or(path);
    format!("{} {}", topic.name, stem.replace(['/', '_', '-'], " "))
}

/// What it says of itself, or how it begins.
fn described(topic: &Topic, text: &str) -> String {
    if !topic.description.is_empty() {
        return topic.description.clone();
    }
    let body = text.get(topic.body..).unwrap_or_default();
    let line = body
        .lines()
        .map(|line| line.trim_start_matches(['#', ' ']).trim())
        .find(|line| !line.is_empty());
    line.unwrap_or_default().chars().take(EXCERPT).collect()
}

/// The words of the question that a text has, in any form, as the question has them.
fn shared(question: &str, text: &str) -> Vec<String> {
    let language = detect(text).or_else(|| detect(question));
    let tokeniser = Tokeniser::new(
        language.or(Some(dormouse_text::words::Language::English)),
        StopWords::Drop,
        Stemming::On,
    );
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
