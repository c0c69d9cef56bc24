//! Figures since the start, as Prometheus reads them.

use crate::entry::{Ended, Entry};
use crate::layers::Rewrites;
use dormouse_core::usage::{TokenUsage, Usd};
use dormouse_recognise::Relation;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Sums over all exchanges since the start. Labels are few and fixed: a label per conversation
/// would grow without bound in the monitoring.
#[derive(Clone, Debug, Default)]
pub struct Figures {
    /// Exchanges by status; 0 for those without a reply.
    pub statuses: BTreeMap<u16, u64>,
    /// Exchanges by the way in which they ended.
    pub ended: BTreeMap<Ended, u64>,
    /// Requests by their relation to earlier ones; `None` for those not understood.
    pub relations: BTreeMap<Option<Relation>, u64>,
    /// Billed tokens of all replies that could be read.
    pub usage: TokenUsage,
    /// Successful replies whose usage could not be read.
    pub unread: u64,
    /// Cost of all replies whose price is known.
    pub cost: Usd,
    /// Cost of the same replies if the layers had changed nothing.
    pub untouched: Usd,
    /// Rewrites of the layers; `None` while they are off.
    pub rewrites: Option<Rewrites>,
    /// Bytes of bodies, to the upstream and back.
    pub bytes: (u64, u64),
    /// Milliseconds of all exchanges together.
    pub ms: u64,
    /// Entries of the book that could not be written.
    pub lost: u64,
    /// Requests kept for recognition.
    pub kept: u64,
}

impl Figures {
    pub(crate) fn count(&mut self, entry: &Entry, cost: Option<Usd>, untouched: Option<Usd>) {
        *self.statuses.entry(entry.status).or_default() += 1;
        *self.ended.entry(entry.ended).or_default() += 1;
        *self.relations.entry(entry.relation).or_default() += 1;
        self.usage += entry.usage.unwrap_or_default();
        self.unread += u64::from(entry.status == 200 && entry.usage.is_none());
        self.usage += entry.beside.unwrap_or_default();
        self.cost += cost.unwrap_or(Usd::ZERO);
        self.untouched += untouched.unwrap_or(Usd::ZERO);
        self.bytes.0 += entry.sent;
        self.bytes.1 += entry.received;
        self.ms += entry.ms;
    }

    /// The figures in the text format of Prometheus.
    pub fn prometheus(&self) -> String {
        let mut text = String::new();
        let mut family = |name: &str, kind: &str, help: &str, rows: Vec<(String, String)>| {
            // Writing to a string cannot fail.
            let _ = writeln!(
                text,
                "# HELP dormouse_{name} {help}\n# TYPE dormouse_{name} {kind}"
            );
            for (labels, value) in rows {
                let _ = writeln!(text, "dormouse_{name}{labels} {value}");
            }
        };
        let one = |value: u64| vec![(String::new(), value.to_string())];
        let rows = self.statuses.iter();
        let rows =
            rows.map(|(status, count)| (format!("{{status=\"{status}\"}}"), count.to_string()));
        family(
            "requests_total",
            "counter",
            "Requests that were passed on, by status.",
            rows.collect(),
        );
        let rows = self
            .ended
            .iter()
            .map(|(ended, count)| (label("ended", ended), count.to_string()));
        family(
            "ended_total",
            "counter",
            "Exchanges by the way they ended.",
            rows.collect(),
        );
        let rows = self.relations.iter().map(|(relation, count)| {
            let label = match relation {
                Some(relation) => label("relation", relation),
                None => "{relation=\"not_understood\"}".to_owned(),
            };
            (label, count.to_string())
        });
        family(
            "relations_total",
            "counter",
            "Requests by relation to earlier ones.",
            rows.collect(),
        );
        let usage = &self.usage;
        let kinds = [
            ("input", usage.input),
            ("cache_read", usage.cache_read),
            ("cache_write_5m", usage.cache_write_5m),
            ("cache_write_1h", usage.cache_write_1h),
            ("output", usage.output),
        ];
        let rows =
            kinds.map(|(kind, tokens)| (format!("{{kind=\"{kind}\"}}"), tokens.0.to_string()));
        family(
            "tokens_total",
            "counter",
            "Billed tokens by kind.",
            rows.to_vec(),
        );
        self.cost_families(&mut family);
        family(
            "unread_replies_total",
            "counter",
            "Replies whose usage could not be read.",
            one(self.unread),
        );
        let rows = [("upstream", self.bytes.0), ("client", self.bytes.1)];
        let rows = rows.map(|(to, bytes)| (format!("{{to=\"{to}\"}}"), bytes.to_string()));
        family(
            "body_bytes_total",
            "counter",
            "Bytes of bodies by receiver.",
            rows.to_vec(),
        );
        family(
            "exchange_ms_total",
            "counter",
            "Milliseconds of all exchanges.",
            one(self.ms),
        );
        family(
            "book_lost_total",
            "counter",
            "Entries of the book not written.",
            one(self.lost),
        );
        family(
            "kept_requests",
            "gauge",
            "Requests kept for recognition.",
            one(self.kept),
        );
        text
    }

    /// Costs, with and without the layers, and the rewrites behind the difference.
    fn cost_families(&self, family: &mut impl FnMut(&str, &str, &str, Vec<(String, String)>)) {
        let cost = vec![(String::new(), self.cost.to_decimal())];
        family("cost_usd_total", "counter", "Cost by list prices.", cost);
        let untouched = vec![(String::new(), self.untouched.to_decimal())];
        family(
            "cost_untouched_usd_total",
            "counter",
            "Estimated cost of the same requests without the layers.",
            untouched,
        );
        if let Some(rewrites) = self.rewrites {
            let rows = [
                ("offload", rewrites.offloaded),
                ("distil", rewrites.distilled),
                ("clear", rewrites.cleared),
                ("compaction", rewrites.compacted),
                ("read", rewrites.read),
                ("recall", rewrites.recalled),
                ("not_saved", rewrites.unsaved),
            ];
            let rows =
                rows.map(|(kind, count)| (format!("{{kind=\"{kind}\"}}"), count.to_string()));
            family(
                "rewrites_total",
                "counter",
                "Rewrites of prompts by kind, and those given up because they could not be saved.",
                rows.to_vec(),
            );
        }
    }
}

/// A label whose value is the name that JSON has for it.
fn label(name: &str, value: &impl serde::Serialize) -> String {
    let value = serde_json::to_value(value).unwrap_or_default();
    format!("{{{name}=\"{}\"}}", value.as_str().unwrap_or_default())
}
