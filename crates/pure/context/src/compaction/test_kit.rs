//! A conversation to compact, for the tests of this module.

use super::{CompactSettings, JobContext, REQUIRED_SECTIONS};
use crate::clear::Measure;
use crate::conversation::Conversation;
use crate::path::{Leaf, path};
use crate::policy::CompactRule;
use crate::segment::SegmentList;
use crate::target::Target;
use dormouse_core::block::Block;
use dormouse_core::id::Seq;
use dormouse_core::models::{BytesPerToken, ModelTable};
use dormouse_core::record::Calibration;
use dormouse_core::settings::Settings;
use dormouse_core::units::Tokens;
use dormouse_core::weight::Weight;
use dormouse_testkit::LogBuilder;
use dormouse_testkit::blocks::{call, result, thinking};
use dormouse_testkit::conversation::prose;
use serde_json::json;
use std::sync::Arc;

/// An answer with all required sections.
pub(super) fn complete_summary() -> String {
    let titles = REQUIRED_SECTIONS.iter().enumerate();
    let sections = titles.map(|(at, title)| format!("{}. {title}:\nport 8080", at + 1));
    let sections: Vec<String> = sections.collect();
    format!("<summary>\n{}\n</summary>", sections.join("\n"))
}

/// Conversion without calibration, so that sizes are exact.
pub(super) fn measure() -> Measure {
    Measure {
        bytes: BytesPerToken::default(),
        calibration: Calibration::default(),
    }
}

/// A log under construction.
#[derive(Clone, Default)]
pub(super) struct Talk {
    pub(super) log: LogBuilder,
}

impl Talk {
    /// Twenty questions, each with a round of tools, all answered.
    pub(super) fn long() -> Self {
        let mut talk = Self::default();
        for n in 0..20 {
            talk.question(n, 300);
        }
        talk
    }

    /// A question, a call with a result of so many tokens, and an answer.
    pub(super) fn question(&mut self, n: usize, tokens: usize) {
        self.log.user(&format!("question {n}"));
        let id = format!("call_{n}");
        let called = call(&id, "Bash", &json!({ "command": "ls" }));
        self.log
            .assistant(&format!("a_{n}"), vec![thinking("hm"), called]);
        self.log
            .user_blocks(vec![result(&id, &prose(n, tokens * 4))]);
        self.log
            .assistant(&format!("b_{n}"), vec![Block::text(&format!("answer {n}"))]);
    }

    pub(super) fn conversation(&self) -> Conversation {
        let models = Arc::new(ModelTable::builtin().clone());
        let records = path(self.log.records(), Leaf::Newest);
        Conversation::fold(&records, Target::new(&models, "model"))
    }

    pub(super) fn segments(&self) -> SegmentList {
        self.conversation().view().segments()
    }

    pub(super) fn messages(&self) -> Vec<Seq> {
        self.conversation().view().messages()
    }

    /// Calls `ask` with the inputs of a job under the policy `classic`.
    pub(super) fn with(&self, ask: impl FnOnce(&JobContext<'_>)) {
        let rule = CompactRule::new(&CompactSettings::new(&Settings::default()));
        self.with_rule(&rule, ask);
    }

    pub(super) fn with_rule(&self, rule: &CompactRule, ask: impl FnOnce(&JobContext<'_>)) {
        let conversation = self.conversation();
        let id = self.log.next_id();
        ask(&JobContext {
            conversation: &conversation,
            prefix: &Weight::default(),
            measure: measure(),
            settings: &CompactSettings::new(&Settings::default()),
            rule,
            target: Tokens(167_000),
            history: "/s/log.jsonl",
            seq: self.log.next_seq(),
            id: &id,
        });
    }
}
