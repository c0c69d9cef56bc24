//! Memory for a session of another agent, through that agent's hooks.
//!
//! # Model
//! A guest is an agent that calls Dormouse at certain moments of its session and puts the answer into
//! its own conversation. [`Host::attend`] answers within milliseconds and without a runtime: it takes
//! the index of memory as it is, and never asks a model. What has to be learned from the session goes
//! into a spool ([`SpoolTask`]), which a detached process works off ([`Host::work_off`]).
//!
//! Text that was injected stays in the guest's prompt until a compaction, so that nothing is the usual
//! answer, and each session remembers what it was given (`given`).
//!
//! # Not here
//! Reading the event and printing the answer: the door. Choosing memories: `dormouse-recall`.

mod event;
mod given;
mod spool;
mod start;
mod study;
mod surroundings;

pub use event::{GuestAnswer, GuestEvent, GuestMoment};
pub use spool::{SpoolTask, Spooled};

use crate::error::HostError;
use crate::host::Host;
use crate::place::Which;
use dormouse_core::fragment::{REMINDER, close, open, sent};
use dormouse_core::models::BytesPerToken;
use dormouse_core::settings::keys;
use dormouse_keeper::figures::{self, Figure};
use dormouse_keeper::recaller::{Library, Owner, Question, Shown};
use dormouse_memdir::MemoryDir;
use dormouse_recall::{Skip, Work};
use given::Given;

/// Characters of one answer. Claude Code replaces an answer of more than 10,000 by a preview and the
/// path of a file, which the model would have to read.
const LONGEST_ANSWER: usize = 9_500;
/// Bytes of a prompt that are looked at, half of them from its end. A pasted file of megabytes says
/// no more about the task than its beginning and its end.
const LONGEST_PROMPT: usize = 32 * 1024;
/// Most bytes of a word at the seam between both ends: longer than any word of prose.
const LONGEST_WORD: usize = 64;

/// Memory of a project as a hook uses it.
struct Shelves {
    /// The user's own directory, in which the state of sessions is kept.
    own: MemoryDir,
    library: Library,
}

impl Host {
    /// Answers a moment of another agent's session.
    ///
    /// # Errors
    /// When the event or the memory cannot be used. The agent is to go on as if nothing had been
    /// asked.
    pub fn attend(&self, event: &GuestEvent) -> Result<GuestAnswer, HostError> {
        match event.moment {
            GuestMoment::SessionStart => self.guest_began(event),
            GuestMoment::UserPromptSubmit => self.guest_asked(event),
            GuestMoment::SubagentStart => self.guest_split(event),
            GuestMoment::PostToolUse => self.guest_worked(event),
            GuestMoment::PreCompact => {
                if let Some(shelves) = self.shelves()? {
                    // Evidence of an earlier compaction would be taken for that of this one.
                    Given::of(&shelves.own, event).drop_evidence();
                    let task = |transcript| SpoolTask::Evidence { transcript };
                    return self.hand_over(event, task);
                }
                Ok(GuestAnswer::default())
            }
            GuestMoment::Stop => self.hand_over(event, |transcript| SpoolTask::Learn {
                transcript,
                over: false,
            }),
            GuestMoment::SessionEnd => self.hand_over(event, |transcript| SpoolTask::Learn {
                transcript,
                over: true,
            }),
        }
    }

    /// Index and rules at the beginning; after a compaction rules and evidence.
    fn guest_began(&self, event: &GuestEvent) -> Result<GuestAnswer, HostError> {
        let Some(shelves) = self.shelves()? else {
            return Ok(GuestAnswer::default());
        };
        let given = Given::of(&shelves.own, event);
        let _lock = given.lock();
        // The same bytes as before: a client drops a text that its conversation has already.
        if event.source == "resume"
            && let Some(text) = given.start()
        {
            return Ok(GuestAnswer::with(text, false));
        }
        let evidence = match event.source.as_str() {
            "compact" => given.evidence(),
            _ => None,
        };
        let budget = match evidence {
            // Evidence has to fit beside it.
            Some(_) => LONGEST_ANSWER / 3,
            None => self.start_budget(),
        };
        let mut text = self.start_text(&shelves, budget);
        if let Some(evidence) = evidence {
            text = Some(match text {
                Some(text) => format!("{text}\n\n{evidence}"),
                None => evidence,
            });
        }
        let text = text.map(|text| start::fitting(text, LONGEST_ANSWER));
        let tokens = text.as_deref().map_or(0, tokens_of);
        given.begin(tokens, text.as_deref(), self.now());
        let mut answer = GuestAnswer {
            context: text,
            work: false,
        };
        self.count(&shelves.own, &answer, 0);
        answer.work = self.spool_refresh(&shelves.library)?;
        Ok(answer)
    }

    /// Memories that help with the prompt, if recall is certain of any.
    fn guest_asked(&self, event: &GuestEvent) -> Result<GuestAnswer, HostError> {
        // Clients send notices about background agents and output of commands as prompts, too.
        let prompt = sent(&ends_of(&event.prompt));
        if prompt.trim().is_empty() {
            return Ok(GuestAnswer::default());
        }
        let Some(shelves) = self.shelves()? else {
            return Ok(GuestAnswer::default());
        };
        let given = Given::of(&shelves.own, event);
        let _lock = given.lock();
        let before = given.read();
        if before.ignored {
            return Ok(GuestAnswer::default());
        }
        let settings = self.settings();
        let recalled = shelves.library.recall(&Question {
            prompt: &prompt,
            work: &Work::new(),
            seen: &before.seen,
            most: None,
            settings: &settings,
        });
        let (mut shown, mut candidates) = (Vec::new(), 0);
        for mut found in recalled.brought {
            if found.surfacing.skipped == Some(Skip::ToldToIgnore) {
                given.ignore(self.now());
            }
            candidates += found.surfacing.now.len() + found.surfacing.candidates.len();
            shown.append(&mut found.shown);
        }
        self.give(&shelves, &given, shown, candidates)
    }

    /// Rules that belong to the file or command that was just touched.
    fn guest_worked(&self, event: &GuestEvent) -> Result<GuestAnswer, HostError> {
        let settings = self.settings();
        if !settings.switch(keys::RECALL).is_on() {
            return Ok(GuestAnswer::default());
        }
        let Some(shelves) = self.shelves()? else {
            return Ok(GuestAnswer::default());
        };
        let mut work = Work::new();
        work.add_call(&event.tool_name, &event.tool_input);
        let given = Given::of(&shelves.own, event);
        let _lock = given.lock();
        let before = given.read();
        if before.ignored {
            return Ok(GuestAnswer::default());
        }
        let mut shown = Vec::new();
        let _decided = shelves.library.called_for(
            &Question {
                prompt: "",
                work: &work,
                seen: &before.seen,
                most: None,
                settings: &settings,
            },
            &mut shown,
        );
        self.give(&shelves, &given, shown, 0)
    }

    /// Rules for a sub-agent, which sees neither the beginning nor the prompts of its session.
    fn guest_split(&self, event: &GuestEvent) -> Result<GuestAnswer, HostError> {
        let Some(shelves) = self.shelves()? else {
            return Ok(GuestAnswer::default());
        };
        let text = start::rules_text(&shelves, self.start_budget() / 2);
        let given = Given::of(&shelves.own, event);
        let tokens = text.as_deref().map_or(0, tokens_of);
        given.begin(tokens, None, self.now());
        let answer = GuestAnswer {
            context: text,
            work: false,
        };
        self.count(&shelves.own, &answer, 0);
        Ok(answer)
    }

    /// Notes memories as given and renders them, as many as one answer holds.
    fn give(
        &self,
        shelves: &Shelves,
        given: &Given<'_>,
        shown: Vec<Shown>,
        candidates: usize,
    ) -> Result<GuestAnswer, HostError> {
        let mut text = String::new();
        let mut memories = Vec::new();
        for memory in shown {
            let bare = bare(&memory.injection.text);
            let length = text.chars().count() + bare.chars().count();
            if length > LONGEST_ANSWER {
                continue;
            }
            if !text.is_empty() {
                text.push_str("\n\n");
            }
            text.push_str(bare);
            memories.extend(memory.injection.memories);
        }
        let tokens = tokens_of(&text);
        let number = memories.len();
        if number > 0 {
            given.note(memories, tokens, self.now());
        }
        let mut answer = GuestAnswer {
            context: (number > 0).then_some(text),
            work: false,
        };
        if candidates > 0 {
            let figure = Figure {
                at: self.now(),
                candidates: count(candidates),
                chosen: count(number),
                ..Figure::default()
            };
            figures::note(&shelves.own, &figure);
        }
        self.count(&shelves.own, &answer, number);
        answer.work = self.spool_refresh(&shelves.library)?;
        Ok(answer)
    }

    /// Counts an answer for the statistics.
    fn count(&self, own: &MemoryDir, answer: &GuestAnswer, memories: usize) {
        if let Some(text) = &answer.context {
            let figure = Figure {
                at: self.now(),
                answers: 1,
                given: count(memories),
                given_tokens: tokens_of(text),
                ..Figure::default()
            };
            figures::note(own, &figure);
        }
    }

    /// The directories that a hook looks at; `None` if memory is off or there is none yet.
    fn shelves(&self) -> Result<Option<Shelves>, HostError> {
        let mut found = match self.find(&Which::Private) {
            Ok(found) => found,
            Err(error) if error.is_off() => return Ok(None),
            Err(error) => return Err(error),
        };
        let team = self.trusted_team(&found).map(|dir| (dir, Owner::Team));
        let own = match found.existing()? {
            Some(own) => own,
            // The state of the session needs a place as soon as there is something to give.
            None if team.is_some() => found.open()?,
            None => return Ok(None),
        };
        let directories = [(own.clone(), Owner::Person)].into_iter().chain(team);
        let root = self.places().project.root.clone();
        let library = Library::for_hook(self.system(), root, directories);
        Ok(Some(Shelves { own, library }))
    }
}

/// Text of a memory without the tags of a reminder: clients put their own around it.
fn bare(text: &str) -> &str {
    let text = text.trim();
    let inner = text.strip_prefix(&open(&REMINDER));
    let inner = inner.and_then(|text| text.strip_suffix(&close(&REMINDER)));
    inner.unwrap_or(text).trim()
}

/// Beginning and end of a long prompt.
fn ends_of(prompt: &str) -> String {
    if prompt.len() <= LONGEST_PROMPT {
        return prompt.to_owned();
    }
    let half = LONGEST_PROMPT / 2;
    let head = prompt.floor_char_boundary(half);
    let tail = prompt.ceil_char_boundary(prompt.len() - half);
    let (head, tail) = (&prompt[..head], &prompt[tail..]);
    // Half a word would be one that no memory has, and weigh against all of them. Scripts without
    // spaces have none nearby.
    let behind = head.rfind(char::is_whitespace);
    let behind = behind.filter(|at| head.len() - at <= LONGEST_WORD);
    let before = tail.find(char::is_whitespace);
    let before = before.filter(|at| *at <= LONGEST_WORD);
    let head = behind.map_or(head, |at| &head[..at]);
    let tail = before.map_or(tail, |at| &tail[at..]);
    format!("{head}\n{}", tail.trim_start())
}

/// Tokens of a text, estimated: the guest's model is not known here.
fn tokens_of(text: &str) -> u64 {
    let bytes = u64::try_from(text.len()).unwrap_or(u64::MAX);
    BytesPerToken::default().text.tokens_of(bytes).get()
}

fn count(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_prompt_keeps_its_ends_and_whole_characters() {
        let prompt = format!("begin {} end", "é".repeat(LONGEST_PROMPT));
        let ends = ends_of(&prompt);
        assert!(ends.starts_with("begin ") && ends.ends_with(" end"));
        assert!(ends.len() <= LONGEST_PROMPT + 1);
        assert_eq!(ends_of("short"), "short");
        // No word is cut in two.
        let prompt = format!("begin {}end", "word ".repeat(LONGEST_PROMPT));
        let strange = |word: &&str| !["begin", "word", "end"].contains(word);
        assert_eq!(ends_of(&prompt).split_whitespace().find(strange), None);
    }

    #[test]
    fn tags_of_a_reminder_go_and_other_text_stays() {
        let text = dormouse_core::fragment::render(&REMINDER, "A rule.");
        assert_eq!(bare(&text), "A rule.");
        assert_eq!(bare("No tags."), "No tags.");
    }
}
