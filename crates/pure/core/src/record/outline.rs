//! Outlines of records: enough to find a path through a log, without the content.
//!
//! A log without a boundary can be longer than the memory should hold twice. Its path is found over
//! outlines, and the records on it are then read again, one by one.
//!
//! Not here: the path (`dormouse-context`) and the reading (`dormouse-store`).

use super::{Body, Record};

impl Record {
    /// Record with outlines of its blocks. Outlines of two messages are equal if the messages are.
    /// Bodies without a message are short or rare and stay whole.
    #[must_use]
    pub fn outline(mut self) -> Self {
        self.session = None;
        if let Body::Message(message) = &mut self.body {
            for block in &mut message.content {
                *block = block.outline();
            }
        }
        self
    }

    /// Same record with bytes of its own, so that keeping its blocks does not keep the lines around
    /// it in memory.
    #[must_use]
    pub fn detached(mut self) -> Self {
        if let Body::Message(message) = &mut self.body {
            for block in &mut message.content {
                *block = block.detached();
            }
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::Block;
    use bytes::Bytes;

    #[test]
    fn an_outline_keeps_what_ties_lines_together() {
        let line = br#"{"type":"assistant","uuid":"a","parentUuid":"u","sessionId":"s","message":{"id":"m","role":"assistant","model":"x","content":[{"type":"text","text":"long"},{"type":"tool_use","id":"c","name":"Read","input":{}}]}}"#;
        let record = Record::parse(&Bytes::from_static(line), 7).unwrap().record;
        let outline = record.clone().outline();
        assert_eq!((&outline.id, &outline.parent), (&record.id, &record.parent));
        let Body::Message(message) = &outline.body else {
            panic!("a message stays one");
        };
        let calls: Vec<_> = message.content.iter().map(Block::call).collect();
        assert_eq!(calls, [None, Some(&crate::id::CallId::new("c"))]);
        assert_eq!(message.model.as_deref(), Some("x"));
        assert_eq!(outline, record.clone().outline());
        let other = String::from_utf8_lossy(line).replace("long", "else");
        let other = Record::parse(&Bytes::from(other), 7).unwrap().record;
        assert_ne!(outline, other.outline());
        assert_eq!(record.clone().detached(), record);
    }
}
