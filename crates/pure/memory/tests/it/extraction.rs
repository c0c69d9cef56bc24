//! Extraction on strings that break things.

use dormouse_core::block::Block;
use dormouse_core::record::{Body, Message};
use dormouse_guard::paths::SafePath;
use dormouse_memory::extract::judge::{Context, Judged, Proposed, Review, judge};
use dormouse_memory::extract::{directive, offline, spans};
use dormouse_memory::snapshot::Snapshot;
use dormouse_memory::transaction::Author;
use dormouse_testkit::LogBuilder;
use dormouse_testkit::blocks::result;
use dormouse_testkit::material::naughty_strings;

/// As messages, as tool results, as files, as quotes and as recalled texts.
#[test]
fn naughty_strings_are_only_strings() {
    let snapshot = Snapshot::new();
    let path = SafePath::parse("a.md").unwrap();
    for text in naughty_strings() {
        let mut log = LogBuilder::new();
        log.user(&text);
        log.user(&format!(
            "Remember that {text} is always here, because {text}."
        ));
        log.push(Body::Message(Message::user(vec![
            result("c1", &text),
            Block::text(&text),
        ])));
        let spans = spans(log.records(), None);
        for proposal in offline::extract(&spans, &snapshot, &[&text]) {
            assert!(!proposal.memory.description.is_empty());
        }
        let recalled = [text.as_str()];
        let context = Context {
            snapshot: &snapshot,
            spans: &spans,
            recalled: &recalled,
            known: &[],
            review: Review::Untrusted,
            author: Author::Extractor,
        };
        let files = [
            text.clone(),
            format!("---\nname: {text}\ndescription: {text}\nsource: {text}\n---\n{text}\n"),
            format!("---\n{text}\n---\n\n**Why:** {text}\n**How to apply:** {text}"),
        ];
        for content in &files {
            let proposed = Proposed::File {
                path: &path,
                content,
            };
            if let Judged::Write(change) = judge(&proposed, &context) {
                assert_eq!(change.vet(&snapshot), Ok(()), "{content:?}");
            }
        }
        assert!(directive::recalled_names(&spans).len() < 3);
    }
}
