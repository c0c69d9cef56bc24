use super::*;
use crate::path::{Leaf, path};
use bytes::Bytes;
use proptest::prelude::*;
use serde_json::{Value, json};

/// A line of a transcript, by what a client may write next.
#[derive(Clone, Debug)]
enum Step {
    /// Message of the user behind the newest line.
    Says,
    /// Response of so many calls, one line each, whose results hang on the lines of their calls.
    Calls(u8),
    /// Message that hangs on an earlier line: a rewind.
    Rewinds(u8),
    /// Line of bookkeeping, without id and parent.
    Keeps,
    /// Message of a side conversation.
    Aside,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => Just(Step::Says),
        3 => (1..4_u8).prop_map(Step::Calls),
        1 => any::<u8>().prop_map(Step::Rewinds),
        1 => Just(Step::Keeps),
        1 => Just(Step::Aside),
    ]
}

/// Lines of a log in the making.
#[derive(Default)]
struct Lines {
    values: Vec<Value>,
    chain: Vec<String>,
}

impl Lines {
    fn of(steps: &[Step]) -> Vec<Record> {
        let mut lines = Self::default();
        for step in steps {
            lines.take(step);
        }
        records(&lines.values)
    }

    fn push(&mut self, parent: Option<&String>, side: bool, message: &Value) -> String {
        let id = format!("l{}", self.values.len());
        let kind = message["role"].clone();
        self.values
            .push(json!({ "type": kind, "uuid": id, "parentUuid": parent,
            "isSidechain": side, "message": message }));
        id
    }

    fn take(&mut self, step: &Step) {
        let newest = self.chain.last().cloned();
        let said = json!({ "role": "user", "content": format!("words {}", self.values.len()) });
        match step {
            Step::Says => {
                let id = self.push(newest.as_ref(), false, &said);
                self.chain.push(id);
            }
            Step::Rewinds(back) => {
                let at = usize::from(*back) % (self.chain.len() + 1);
                self.chain.truncate(at);
                let id = self.push(self.chain.last().cloned().as_ref(), false, &said);
                self.chain.push(id);
            }
            Step::Calls(count) => {
                let response = format!("msg_{}", self.values.len());
                let mut made = Vec::new();
                for call in 0..*count {
                    let call = format!("{response}_{call}");
                    let use_ =
                        json!({ "type": "tool_use", "id": call, "name": "Read", "input": {} });
                    let parent = self.chain.last().cloned();
                    let message = json!({ "role": "assistant", "id": response,
                        "model": "claude-opus-4-6", "content": [use_] });
                    let id = self.push(parent.as_ref(), false, &message);
                    self.chain.push(id.clone());
                    made.push((id, call));
                }
                let mut last = None;
                for (line, call) in made {
                    let result =
                        json!({ "type": "tool_result", "tool_use_id": call, "content": "r" });
                    let message = json!({ "role": "user", "content": [result] });
                    last = Some(self.push(Some(&line), false, &message));
                }
                self.chain.extend(last);
            }
            Step::Keeps => self
                .values
                .push(json!({ "type": "file-history-snapshot", "n": 1 })),
            Step::Aside => {
                self.push(None, true, &said);
            }
        }
    }
}

fn records(lines: &[Value]) -> Vec<Record> {
    let mut offset = 0;
    let mut records = Vec::new();
    for line in lines {
        let text = Bytes::from(line.to_string());
        records.push(Record::parse(&text, offset).unwrap().record);
        offset += text.len() as u64 + 1;
    }
    records
}

fn traced(records: &[Record]) -> Option<Vec<u64>> {
    let mut table = LinkTable::new(None);
    for record in records {
        table.push(record);
    }
    table.trace().map(|traced| traced.offsets)
}

fn by_records(records: &[Record]) -> Vec<u64> {
    let on_path = path(records, Leaf::Newest);
    on_path.iter().map(|record| record.offset).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// Sound logs have one path, whichever way it is found.
    #[test]
    fn the_table_finds_the_path_of_the_records(steps in prop::collection::vec(step(), 1..40)) {
        let records = Lines::of(&steps);
        prop_assert_eq!(traced(&records), Some(by_records(&records)));
    }

    /// From a line of the path on, the path is its end, or the table gives up.
    #[test]
    fn a_path_leads_back_to_its_carrier(
        steps in prop::collection::vec(step(), 2..40),
        at in any::<prop::sample::Index>(),
    ) {
        let records = Lines::of(&steps);
        let at = at.index(records.len());
        let mut table = LinkTable::new(Some(&records[at]));
        for record in &records[at + 1..] {
            table.push(record);
        }
        if let Some(traced) = table.trace() {
            let behind = path(&records[at..], Leaf::Newest);
            let behind: Vec<u64> = behind.iter().map(|record| record.offset).collect();
            prop_assert_eq!(traced.offsets, behind);
        }
    }

    /// A log whose links are damaged is left to the tracing that bridges gaps.
    #[test]
    fn a_damaged_log_is_given_up_or_traced_the_same(
        steps in prop::collection::vec(step(), 2..30),
        lost in any::<prop::sample::Index>(),
        twice in any::<prop::sample::Index>(),
    ) {
        let mut records = Lines::of(&steps);
        records.remove(lost.index(records.len()));
        if let Some(found) = traced(&records) {
            prop_assert_eq!(found, by_records(&records));
        }
        if !records.is_empty() {
            let mut copy = records[twice.index(records.len())].clone();
            copy.offset = 1_000_000;
            records.push(copy);
            if let Some(found) = traced(&records) {
                prop_assert_eq!(found, by_records(&records));
            }
        }
    }
}

#[test]
fn the_newest_model_is_known() {
    let mut lines = Lines::default();
    lines.take(&Step::Calls(1));
    let parent = lines.chain.last().cloned();
    let message = json!({ "role": "assistant", "id": "m", "model": "<synthetic>", "content": [] });
    lines.push(parent.as_ref(), false, &message);
    let mut table = LinkTable::new(None);
    for record in &records(&lines.values) {
        table.push(record);
    }
    let traced = table.trace().unwrap();
    assert_eq!(traced.model.as_deref(), Some("claude-opus-4-6"));
    assert!(size_of::<Link>() <= 40);
}
