//! Opening of a conversation, new or resumed.
//!
//! Not here: finding and reading the log (`store`).

use crate::config::{Config, Current};
use crate::driver::Driver;
use crate::error::DriveError;
use crate::journal::{Journal, Keeping};
use crate::layers::AIM_FACT;
use crate::notice::Notice;
use crate::outbox::Outbox;
use dormouse_context::conversation::Conversation;
use dormouse_context::economy::Lessons;
use dormouse_context::files_read::FilesRead;
use dormouse_context::layers::LayerState;
use dormouse_context::ledger::Ledger;
use dormouse_context::plan;
use dormouse_context::prefix::RenderedPrefix;
use dormouse_context::target::Target;
use dormouse_core::id::{RecordId, Seq, SessionId};
use dormouse_core::json::RawJson;
use dormouse_core::record::{Body, FORMAT, MarkerPlace, Prefix, Record, SessionStart, Ttl};
use dormouse_core::settings::Settings;
use dormouse_core::units::{Millis, Tokens};
use dormouse_core::usage::Usd;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// State of the log as found by the host.
#[derive(Debug, Default)]
pub struct LogStart {
    /// Newest record; none for a new log.
    pub head: Option<(RecordId, Seq)>,
    /// Length of the log in bytes.
    pub len: u64,
    /// Bytes after the newest record that a resume can start at.
    pub since_carrier: u64,
    /// Records that the conversation is rebuilt from.
    pub recorded: Recorded,
}

/// Live part of a log.
#[derive(Debug, Default)]
pub struct Recorded {
    /// Record with the manifest to start from. Without one, the tail is the whole log.
    pub carrier: Option<Record>,
    /// Earlier records that the manifest names, with the session of their log.
    pub kept: Vec<(Option<SessionId>, Record)>,
    /// Records after the carrier, in log order.
    pub tail: Vec<Record>,
    /// Prefix named by the log, if all its parts were found.
    pub prefix: Option<Arc<RenderedPrefix>>,
}

impl Recorded {
    /// Prefix used last, as recorded.
    pub fn prefix_record(&self) -> Option<&Prefix> {
        let in_tail = self
            .tail
            .iter()
            .rev()
            .find_map(|record| match &record.body {
                Body::Prefix(prefix) => Some(prefix),
                _ => None,
            });
        in_tail.or_else(|| {
            self.carrier
                .as_ref()?
                .body
                .manifest()?
                .state
                .prefix
                .as_ref()
        })
    }
}

/// Kind of opening, for the host's message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opened {
    /// Conversation without earlier records.
    New,
    /// Conversation continued from a log.
    Resumed,
}

impl Driver {
    /// Opens a conversation. Poll for effects afterwards: a new log is started, a new prefix saved.
    ///
    /// # Errors
    /// When the request parameters cannot be serialised.
    pub fn open(
        config: Config,
        settings: Arc<Settings>,
        log: LogStart,
        now: Millis,
    ) -> Result<(Self, Opened), DriveError> {
        let params = config
            .params
            .to_json()
            .map_err(|error| DriveError::Params(error.to_string()))?;
        let target = Target::new(&config.models, &config.model);
        let mut journal = Journal::new(
            config.session.clone(),
            config.line.clone(),
            config.seed,
            Keeping::Log,
        );
        let Some(head) = log.head else {
            let conversation = Arc::new(Conversation::new(target));
            let settings = Current::new(settings, &config, None);
            let mut driver = Self::assembled(config, params, settings, conversation, journal);
            driver.now = now;
            driver.begin()?;
            driver.settle_opening();
            return Ok((driver, Opened::New));
        };
        journal.behind(head, log.len, log.since_carrier);
        let recorded = log.recorded;
        let kept = recorded
            .kept
            .iter()
            .map(|(session, record)| (session.as_ref(), record));
        let conversation =
            Conversation::resumed(recorded.carrier.as_ref(), kept, &recorded.tail, target);
        let settings = Current::new(settings, &config, conversation.window_evidence());
        let mut driver = Self::assembled(config, params, settings, Arc::new(conversation), journal);
        driver.now = now;
        driver.layers = LayerState::resumed(driver.recorded_aim());
        driver.resume_prefix(recorded.prefix);
        driver.remember_summary();
        driver.settle_opening();
        Ok((driver, Opened::Resumed))
    }

    /// Driver with no turn, job or effect.
    pub(crate) fn assembled(
        config: Config,
        params: RawJson,
        settings: Current,
        conversation: Arc<Conversation>,
        journal: Journal,
    ) -> Self {
        Self {
            config,
            params,
            settings,
            conversation,
            ledger: Ledger::default(),
            layers: LayerState::default(),
            journal,
            outbox: Outbox::default(),
            now: Millis(0),
            turn: None,
            job: None,
            notes: None,
            notes_waiters: Vec::new(),
            asks: BTreeMap::new(),
            calls: Vec::new(),
            results: VecDeque::new(),
            commands: VecDeque::new(),
            steering: Vec::new(),
            rewrites_cache: false,
            untouchable: false,
            usage: Vec::new(),
            files: FilesRead::default(),
            not_distilled: None,
            told_stopped: false,
            budget_ends: Usd::default(),
            taught: 0,
            summaries: Vec::new(),
        }
    }

    fn begin(&mut self) -> Result<(), DriveError> {
        let project = self.config.place.project.clone();
        self.emit(Body::Session(Box::new(SessionStart {
            format: FORMAT,
            project,
            lineage: None,
        })))?;
        // Only for a new session: a resumed one has figures of its own in the log.
        let lessons = self.config.lessons.take();
        // Unreadable lessons are ignored: the policy learns anew.
        let lessons = lessons.map_or_else(Lessons::default, |bytes| Lessons::read(&bytes));
        if let Some(prior) = lessons.prior() {
            self.note(Conversation::prior(&prior))?;
        }
        let fetches = lessons.fetches();
        if !fetches.is_empty() {
            self.note(Conversation::fetched_earlier(fetches))?;
        }
        self.announce_prefix(None);
        Ok(())
    }

    /// Prompt size that the economic policy aimed at when the log was closed.
    fn recorded_aim(&self) -> Option<Tokens> {
        let fact = self.conversation.state().facts.get(AIM_FACT)?;
        fact.as_u64().map(Tokens)
    }

    /// Chooses between the recorded prefix and the configured one.
    ///
    /// While the cache may be warm, or thinking is bound to the prompt it was made under, the
    /// recorded bytes stay in use: another prefix would make the provider process everything again,
    /// or reject the request. Otherwise the new prefix is used, and the cache miss is announced.
    fn resume_prefix(&mut self, recorded: Option<Arc<RenderedPrefix>>) {
        let state = self.conversation.state();
        let known = state.prefix.as_ref().map(|prefix| prefix.id);
        let switched = state
            .model
            .as_ref()
            .is_some_and(|model| *model != self.config.model);
        // A log without a recorded prefix has sent nothing under another one.
        let same = known.is_none_or(|known| known == self.config.prefix.id());
        let wanted = Arc::clone(&self.config.prefix);
        if same {
            self.ledger = self.resumed_ledger(&wanted);
        } else if let Some(recorded) = recorded {
            let warm = !switched && self.may_be_warm();
            // Only thinking in the prompt matters: without any, a changed prefix invalidates
            // nothing.
            let bound = self.conversation.view().target().binds_to_prefix() && self.has_thinking();
            self.ledger = self.resumed_ledger(&recorded);
            if warm || bound {
                self.config.prefix = recorded;
                let why = if bound {
                    "the model's thinking is bound to them"
                } else {
                    "the provider's cache may still hold them"
                };
                self.tell(Notice::PrefixKept {
                    why: why.to_owned(),
                });
            } else {
                self.another_prefix();
            }
        } else {
            self.another_prefix();
        }
        if switched {
            // Caches are per model.
            self.ledger = Ledger::default();
            self.ledger.announce("the model changed");
            self.rewrites_cache = true;
        }
        self.announce_prefix(None);
    }

    fn another_prefix(&mut self) {
        self.ledger
            .announce("resumed with another system prompt, tools or instructions");
        self.rewrites_cache = true;
    }

    /// Ledger of the last request, as far as the log records it.
    fn resumed_ledger(&self, prefix: &Arc<RenderedPrefix>) -> Ledger {
        let state = self.conversation.state();
        let Some(last) = &state.last_request else {
            return Ledger::default();
        };
        let shape = plan::shape(&self.conversation, prefix, &self.params);
        let usage = state.last_usage.as_ref().map(|last| &last.usage);
        Ledger::resumed(&shape, last, usage)
    }

    fn may_be_warm(&self) -> bool {
        let Some(last) = &self.conversation.state().last_request else {
            return false;
        };
        let on_messages = last
            .markers
            .iter()
            .filter(|marker| matches!(marker.place, MarkerPlace::Segment(_)));
        // The longest lifetime decides: any surviving entry is worth keeping the prefix for.
        let ttl = on_messages.map(|marker| marker.ttl).max();
        let life = ttl.unwrap_or(Ttl::FiveMinutes).millis();
        last.at.is_some_and(|at| self.now.since(at) <= life)
    }

    fn has_thinking(&self) -> bool {
        let view = self.conversation.view();
        let mut segments = view.frozen().iter();
        segments.any(|segment| segment.block.kind().is_thinking())
    }

    fn settle_opening(&mut self) {
        if let Some(budget) = self.config.budget {
            self.budget_ends = self.spent() + budget;
        }
        self.keep_ran();
        self.requeue();
        self.ask_again();
        self.advance();
        self.flush();
    }
}
