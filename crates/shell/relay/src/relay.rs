//! The relay: recognition of requests and the book of their replies.
//!
//! # Model
//! One lock around the recogniser, held for some hash lookups and never across an await. Reading a
//! body and hashing its blocks happens outside of it.
//!
//! # Not here
//! Sockets and the order of events of one exchange: the door.

use crate::book::{Book, BookError, days, scan};
use crate::entry::{Ended, Entry, VERSION};
use crate::figures::Figures;
use crate::layers::Rewrites;
use dormouse_core::hash::Hash;
use dormouse_core::models::ModelTable;
use dormouse_core::units::Millis;
use dormouse_core::usage::{TokenUsage, Usd};
use dormouse_model::anthropic::Observed;
use dormouse_recognise::{Caller, Chain, Footprint, Recognised, Recogniser, Seen};
use dormouse_system::{Access, System};
use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Requests that are kept for recognition: 2,000 conversations of 100 requests, in some 60 MB.
const NODES: usize = 200_000;
/// Bytes of the secret's file: 64 digits, with room for an editor's line end.
const LONGEST_SECRET: u64 = 256;

/// The relay. See the module documentation.
pub struct Relay {
    /// Key of the MAC over credentials.
    secret: Hash,
    recogniser: Mutex<Recogniser>,
    figures: Mutex<Figures>,
    book: Book,
    models: Arc<ModelTable>,
}

// The secret stays out of every log.
impl fmt::Debug for Relay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Relay").finish_non_exhaustive()
    }
}

/// A request that was read, understood or not.
#[derive(Clone, Debug)]
pub struct Recognition {
    seen: Option<(Arc<Seen>, Recognised)>,
}

impl Recognition {
    /// A request that is not to be read.
    pub const fn unread() -> Self {
        Self { seen: None }
    }

    /// The digests of the request with its conversation, if it was understood.
    pub fn seen(&self) -> Option<(Arc<Seen>, Recognised)> {
        let (seen, recognised) = self.seen.as_ref()?;
        Some((Arc::clone(seen), *recognised))
    }

    /// The conversation and the relation, if the request was understood.
    pub fn recognised(&self) -> Option<&Recognised> {
        self.seen.as_ref().map(|(_, recognised)| recognised)
    }
}

/// Facts of an exchange that only its connection knows.
#[derive(Clone, Debug)]
pub struct Exchange {
    /// Id of the request.
    pub request: String,
    /// Time at which the request had arrived.
    pub at: Millis,
    /// Milliseconds to the end of the reply.
    pub ms: u64,
    /// Status of the reply; 0 if there was none.
    pub status: u16,
    /// Way in which it ended.
    pub ended: Ended,
    /// Bytes of the request's body.
    pub sent: u64,
    /// Bytes of the reply's body.
    pub received: u64,
    /// Usage of the gateway's own questions for this request.
    pub beside: Option<TokenUsage>,
    /// Usage that the client's own prompt would have had.
    pub untouched: Option<TokenUsage>,
}

impl Relay {
    /// Opens the book in a folder, and reads the newest requests back from it.
    ///
    /// # Errors
    /// When another gateway uses the folder, or it cannot be read or written.
    pub fn open(
        system: &System,
        folder: &Path,
        models: Arc<ModelTable>,
    ) -> Result<Self, BookError> {
        let book = Book::open(system, folder)?;
        let mut recogniser = Recogniser::new(NODES);
        // A day at a time from the newest, until enough is known; then in the order they came.
        let mut newest: Vec<Vec<Footprint>> = Vec::new();
        let mut count = 0;
        for path in days(&*system.files, folder)?.into_iter().rev() {
            let mut of_day = Vec::new();
            scan(&*system.files, &path, |entry| {
                of_day.extend(entry.footprint);
            })?;
            count += of_day.len();
            newest.push(of_day);
            if count >= NODES {
                break;
            }
        }
        for footprint in newest.into_iter().rev().flatten() {
            recogniser.restore(footprint);
        }
        Ok(Self {
            secret: secret(system, folder)?,
            recogniser: Mutex::new(recogniser),
            figures: Mutex::default(),
            book,
            models,
        })
    }

    /// MAC of a credential: the same for the same key on this installation, and nothing elsewhere.
    pub fn mac(&self, credential: &[u8]) -> Hash {
        self.secret.link(0, Hash::of(credential))
    }

    /// Relates a request to earlier ones. Requests are to be given in the order in which they
    /// arrived: the next one of a conversation is recognised by those before.
    pub fn recognise(&self, caller: &Caller, seen: Seen) -> Recognition {
        let recognised = lock(&self.recogniser).take(caller, &seen);
        let seen = Some((Arc::new(seen), recognised));
        Recognition { seen }
    }

    /// The conversation that a request belongs to, if it is known. Nothing is kept of the request.
    pub fn find(&self, caller: &Caller, seen: &Seen) -> Option<Chain> {
        lock(&self.recogniser).find(caller, seen)
    }

    /// Books an exchange that has ended, and returns its entry.
    pub fn book(
        &self,
        caller: &Caller,
        recognition: Recognition,
        observed: Option<&Observed>,
        exchange: Exchange,
    ) -> Entry {
        let (seen, recognised) = recognition.seen.unzip();
        let mut footprint = recognised.map(|recognised| recognised.footprint);
        if let (Some(seen), Some(footprint), Some(observed)) = (&seen, &mut footprint, observed) {
            let blocks = observed.blocks.iter().map(|block| &block.bytes()[..]);
            footprint.reply = lock(&self.recogniser).replied(caller, seen, blocks);
        }
        let asked = seen.as_ref().and_then(|seen| seen.model.clone());
        let mut client = caller.credential.to_string();
        client.truncate(8);
        let entry = Entry {
            v: VERSION,
            at: exchange.at,
            request: exchange.request,
            client,
            footprint,
            relation: recognised.map(|recognised| recognised.relation),
            of: recognised.and_then(|recognised| recognised.of),
            known: recognised.map_or(0, |recognised| recognised.known as u64),
            blocks: seen.as_ref().map_or(0, |seen| seen.len() as u64),
            model: observed
                .map(|observed| observed.model.to_string())
                .or(asked),
            status: exchange.status,
            ended: exchange.ended,
            usage: observed.map(|observed| observed.billed),
            beside: exchange.beside,
            untouched: exchange.untouched,
            ms: exchange.ms,
            sent: exchange.sent,
            received: exchange.received,
        };
        let untouched = cost_untouched(&self.models, &entry);
        lock(&self.figures).count(&entry, self.cost(&entry), untouched);
        self.book.write(entry.clone());
        entry
    }

    /// Cost of an exchange by the table of models; `None` where usage or price is unknown.
    pub fn cost(&self, entry: &Entry) -> Option<Usd> {
        cost(&self.models, entry)
    }

    /// Figures since the relay was opened, with those of the layers.
    pub fn figures(&self, rewrites: Option<Rewrites>) -> Figures {
        let mut figures = lock(&self.figures).clone();
        figures.lost = self.book.lost();
        figures.rewrites = rewrites;
        figures.kept = lock(&self.recogniser).len() as u64;
        figures
    }
}

/// Cost of an entry by a table of models. A question of the gateway's own costs also where its client
/// left before the request itself was sent.
pub(crate) fn cost(models: &ModelTable, entry: &Entry) -> Option<Usd> {
    let info = models.lookup(entry.model.as_deref()?).info;
    let beside = entry.beside.and_then(|beside| info.cost(&beside));
    match entry.usage {
        Some(usage) => Some(info.cost(&usage)? + beside.unwrap_or(Usd::ZERO)),
        None => beside,
    }
}

/// Cost that an entry would have had untouched by the layers.
pub(crate) fn cost_untouched(models: &ModelTable, entry: &Entry) -> Option<Usd> {
    let Some(untouched) = entry.untouched else {
        let own = Entry {
            beside: None,
            ..entry.clone()
        };
        return cost(models, &own);
    };
    models.lookup(entry.model.as_deref()?).info.cost(&untouched)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The secret of this installation, made at the first start.
fn secret(system: &System, folder: &Path) -> Result<Hash, BookError> {
    let path = folder.join("secret");
    match system.files.read(&path, LONGEST_SECRET) {
        Ok(bytes) => {
            let text = String::from_utf8_lossy(&bytes);
            if let Some(secret) = Hash::parse(text.trim()) {
                return Ok(secret);
            }
            // A damaged secret tells all conversations apart from their past, and nothing more.
        }
        Err(error) if error.not_found() => {}
        Err(error) => return Err(error.into()),
    }
    // Ids have 74 random bits each.
    let fresh: String = (0..4).map(|_| system.ids.fresh()).collect();
    let secret = Hash::of(fresh.as_bytes());
    let text = format!("{secret}\n");
    system
        .files
        .replace(&path, text.as_bytes(), Access::Private)?;
    Ok(secret)
}
