//! Layers on the screen: a quiet line when one acts, the share of facts that a compaction kept, work in
//! the background; and news for a person who looks elsewhere.

use crate::cell::Cell;
use crate::model::{Effect, Model};
use dormouse_agent::protocol::{LayerName, TaskState};
use dormouse_core::units::Tokens;
use dormouse_core::usage::Usd;

/// Share of facts, in percent, below which taking a compaction back is offered: long sessions keep all
/// of them, and one in ten lost is more than a person would leave out of a summary.
const LOW: u64 = 90;

/// The text with the last part of each path only: the folder of the memories is no news.
fn without_folders(text: &str) -> String {
    let words = text.split(' ').map(|word| {
        let is_path = word.starts_with('/');
        let last = word.rsplit('/').next().filter(|_| is_path);
        last.unwrap_or(word)
    });
    words.collect::<Vec<_>>().join(" ")
}

impl Model {
    pub(crate) fn layer(
        &mut self,
        layer: LayerName,
        what: &str,
        freed: Tokens,
        cost: Option<Usd>,
        undo: bool,
    ) -> Vec<Effect> {
        let mut effects = Vec::new();
        let mut text = match layer {
            LayerName::Offload => format!("offload: {what}"),
            LayerName::Distil => format!("distil: {what}"),
            LayerName::Clear => format!("clear: {what}"),
            LayerName::Notes => format!("notes: {what}"),
            LayerName::Compaction => {
                effects.push(Effect::ReadKept);
                format!("compaction: {what}")
            }
            LayerName::Recall => format!("recall: {}", without_folders(what)),
            LayerName::Undo => format!("undo: {what}"),
        };
        if freed.0 > 0 {
            text.push_str(" · ");
            text.push_str(&crate::status::thousands(freed.0));
            text.push_str(" tokens freed");
        }
        if let Some(cost) = cost {
            text.push_str(" · ");
            text.push_str(&cost.to_string());
        }
        if undo {
            text.push_str(" · Ctrl+O shows it · /undo");
        } else if layer == LayerName::Recall {
            text.push_str(" · Ctrl+O 3 says why");
        }
        self.note(text);
        effects
    }

    /// Tells how many of the user's names and figures a compaction kept.
    pub(crate) fn kept(&mut self, before: u64, after: u64) {
        let Some(share) = (after * 100).checked_div(before) else {
            return;
        };
        let text = format!(
            "{after} of {before} names and figures of yours are still in the prompt ({share}%)"
        );
        if share < LOW {
            self.warn(format!("{text}: /undo takes the compaction back"));
        } else {
            self.note(text);
        }
    }

    pub(crate) fn task(&mut self, task: String, what: String, state: TaskState) {
        self.tasks.retain(|(id, _)| *id != task);
        match state {
            TaskState::Running => self.tasks.push((task, what)),
            TaskState::Ended => self.note(format!("{what} has ended")),
            TaskState::Killed => self.note(format!("{what} was killed")),
        }
    }

    pub(crate) fn list_tasks(&mut self) {
        if self.tasks.is_empty() {
            self.note("no background task runs");
            return;
        }
        let lines: Vec<String> = self
            .tasks
            .iter()
            .map(|(id, what)| format!("{id}  {what}"))
            .collect();
        self.put(Cell::Output {
            title: "/tasks (end one with /kill ID)".to_owned(),
            text: lines.join("\n"),
            failed: false,
        });
    }

    /// A sound, and a message of the desktop if another window has the keyboard.
    pub(crate) fn call_person(&self, news: &str) -> Vec<Effect> {
        let mut effects = vec![Effect::Bell];
        if self.away {
            effects.push(Effect::Notify(format!(
                "dormouse: {}",
                crate::text::clean(news)
            )));
        }
        effects
    }

    /// Title of the terminal: the folder, and a mark while work goes on or an answer is wanted.
    pub(crate) fn title(&self) -> String {
        let mark = if !self.dialogs.is_empty() {
            "? "
        } else if self.is_busy() {
            "● "
        } else {
            ""
        };
        format!("{mark}dormouse {}", crate::text::clean(&self.start.folder))
    }
}
