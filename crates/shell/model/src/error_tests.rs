//! Every error as the failure a driver sees, as a table.

use super::*;
use dormouse_ask::{Feature, Unfinished};
use dormouse_core::block::Block;
use dormouse_core::id::MessageId;
use dormouse_core::json::RawJson;
use dormouse_core::usage::TokenUsage;
use pretty_assertions::assert_eq;
use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;

/// Any pause of more than a second; the failure must repeat it.
const PAUSE: Duration = Duration::from_millis(1_500);

/// A reply with both hints, so that every variant that carries a reply shows whether it hands
/// them on.
fn reply() -> Box<Reply> {
    Box::new(Reply {
        status: Some(400),
        message: "words".to_owned(),
        retry_after: Some(PAUSE),
        should_retry: Some(true),
        ..Reply::default()
    })
}

fn not_json() -> serde_json::Error {
    serde_json::from_str::<u8>("x").unwrap_err()
}

fn too_long(gap: Option<u64>) -> FailureKind {
    let gap = gap.map(Tokens);
    FailureKind::TooLong { gap }
}

fn prompt_too_long(tokens: Option<u64>, limit: Option<u64>) -> ModelError {
    ModelError::PromptTooLong {
        tokens: tokens.map(Tokens),
        limit: limit.map(Tokens),
        reply: reply(),
    }
}

fn with_status(status: u16) -> Box<Reply> {
    Box::new(Reply {
        status: Some(status),
        ..*reply()
    })
}

fn connection(source: ConnectionError) -> ModelError {
    let host = "h".to_owned();
    ModelError::Connection { host, source }
}

fn compaction(issue: CompactionIssue) -> ModelError {
    let reply = reply();
    ModelError::Compaction { issue, reply }
}

fn thread(issue: ThreadIssue) -> ModelError {
    let reply = reply();
    ModelError::Thread { issue, reply }
}

fn broken(source: ModelError) -> ModelError {
    ModelError::Broken {
        partial: Box::default(),
        source: Box::new(source),
    }
}

/// Position of the variant. No wildcard: a new variant does not compile until it has a row below.
fn variant(error: &ModelError) -> usize {
    match error {
        ModelError::PromptTooLong { .. } => 0,
        ModelError::AnswerTooLong { .. } => 1,
        ModelError::RequestTooLarge(_) => 2,
        ModelError::Overloaded(_) => 3,
        ModelError::RateLimited(_) => 4,
        ModelError::SpendLimit(_) => 5,
        ModelError::Authentication(_) => 6,
        ModelError::Permission(_) => 7,
        ModelError::NotFound(_) => 8,
        ModelError::ThinkingBinding(_) => 9,
        ModelError::Thread { .. } => 10,
        ModelError::Compaction { .. } => 11,
        ModelError::Invalid(_) => 12,
        ModelError::ServerTimeout(_) => 13,
        ModelError::Server(_) => 14,
        ModelError::Connection { .. } => 15,
        ModelError::Stalled(_) => 16,
        ModelError::Deadline(_) => 17,
        ModelError::Cut => 18,
        ModelError::Malformed(_) => 19,
        ModelError::Broken { .. } => 20,
        ModelError::Unsupported(_) => 21,
        ModelError::Request(_) => 22,
        ModelError::Setup(_) => 23,
    }
}
/// Variants of the enum; a new one without a row in the table fails the test.
const VARIANTS: usize = 24;

/// Errors with their kind, and whether the same request may succeed later.
fn table() -> Vec<(ModelError, FailureKind, bool)> {
    use FailureKind as Kind;
    use ModelError as E;
    let answer = E::AnswerTooLong {
        input: Tokens(150),
        max_tokens: Tokens(60),
        limit: Tokens(200),
        reply: reply(),
    };
    let unsupported = Unsupported {
        feature: Feature::TokenCounting,
    };
    vec![
        (prompt_too_long(Some(12), Some(8)), too_long(Some(4)), false),
        (prompt_too_long(None, Some(8)), too_long(None), false),
        (prompt_too_long(Some(12), None), too_long(None), false),
        (prompt_too_long(None, None), too_long(None), false),
        // Figures that contradict the refusal are no gap: to shorten by nothing would not end.
        (prompt_too_long(Some(8), Some(8)), too_long(None), false),
        (prompt_too_long(Some(7), Some(8)), too_long(None), false),
        (answer, too_long(Some(10)), false),
        (E::RequestTooLarge(reply()), too_long(None), false),
        (E::Overloaded(reply()), Kind::Overloaded, true),
        (E::RateLimited(reply()), Kind::RateLimited, true),
        (E::SpendLimit(reply()), Kind::Denied, false),
        (E::Authentication(reply()), Kind::Denied, false),
        (E::Permission(reply()), Kind::Denied, false),
        (E::NotFound(reply()), Kind::Denied, false),
        (E::ThinkingBinding(reply()), Kind::Rejected, false),
        (thread(ThreadIssue::NotFound), Kind::Rejected, false),
        (thread(ThreadIssue::InFlight), Kind::Rejected, false),
        (
            compaction(CompactionIssue::Unavailable),
            Kind::Rejected,
            true,
        ),
        (
            compaction(CompactionIssue::IncompleteTurn),
            Kind::Rejected,
            false,
        ),
        (E::Invalid(reply()), Kind::Rejected, false),
        (E::Invalid(with_status(408)), Kind::Rejected, true),
        (E::Invalid(with_status(409)), Kind::Rejected, true),
        (E::ServerTimeout(reply()), Kind::Server, true),
        (E::Server(reply()), Kind::Server, true),
        (
            connection(ConnectionError::Connect(io::ErrorKind::NotFound.into())),
            Kind::Connection,
            true,
        ),
        (
            connection(ConnectionError::ConnectTimeout(PAUSE)),
            Kind::Connection,
            true,
        ),
        (E::Stalled(PAUSE), Kind::Connection, true),
        (E::Deadline(PAUSE), Kind::Denied, false),
        (E::Cut, Kind::Connection, true),
        (Malformed::Order("odd").into(), Kind::Malformed, false),
        (
            Malformed::TooLong { limit: 9 }.into(),
            Kind::Malformed,
            false,
        ),
        (broken(E::Cut), Kind::Connection, true),
        (broken(E::Overloaded(reply())), Kind::Overloaded, true),
        (
            broken(Malformed::Order("odd").into()),
            Kind::Malformed,
            false,
        ),
        (unsupported.into(), Kind::Rejected, false),
        (E::Request(not_json()), Kind::Denied, false),
        (SetupError::NoTls.into(), Kind::Denied, false),
    ]
}

#[test]
fn every_variant_has_its_remedy_and_hands_on_the_servers_hints() {
    let mut seen = BTreeSet::new();
    for (error, kind, transient) in table() {
        seen.insert(variant(&error));
        let has_reply = error.reply().is_some();
        let expected = Failure {
            retry_after: has_reply.then_some(PAUSE),
            should_retry: has_reply.then_some(true),
            partial: error.partial().cloned().map(Box::new),
            ..Failure::new(kind, transient, error.chain())
        };
        assert_eq!(error.failure(), expected, "{error:?}");
        let is_broken = matches!(error, ModelError::Broken { .. });
        assert_eq!(error.failure().partial.is_some(), is_broken, "{error:?}");
    }
    assert_eq!(seen.len(), VARIANTS, "variants without a row: {seen:?}");
}

#[test]
fn a_reply_without_hints_gives_none() {
    let failure = ModelError::Overloaded(Box::default()).failure();
    let plain = Failure::new(FailureKind::Overloaded, true, "the provider is overloaded");
    assert_eq!(failure, plain);
}

#[test]
fn a_broken_answer_keeps_everything_that_had_arrived() {
    let head = RawJson::from(&Block::text(""));
    let partial = Partial {
        id: Some(MessageId::from("msg_1")),
        model: Some(Arc::from("m")),
        blocks: vec![Block::text("whole")],
        unfinished: vec![Unfinished {
            head,
            received: "hal".to_owned(),
        }],
        usage: TokenUsage {
            output: Tokens(7),
            ..TokenUsage::default()
        },
    };
    let error = ModelError::Broken {
        partial: Box::new(partial.clone()),
        source: Box::new(ModelError::Overloaded(reply())),
    };
    assert_eq!(error.partial(), Some(&partial));
    let failure = error.failure();
    assert_eq!(failure.partial.as_deref(), Some(&partial));
    let kept = failure.partial.unwrap().keepable();
    assert_eq!(kept, [Block::text("whole"), Block::text("hal")]);
}

#[test]
fn the_reason_names_every_cause_once_and_in_order() {
    let refused = io::Error::from(io::ErrorKind::ConnectionRefused);
    let cases = [
        (
            broken(ModelError::Overloaded(reply())),
            "the answer broke off after it had begun: the provider is overloaded: words",
        ),
        (
            broken(ModelError::Cut),
            "the answer broke off after it had begun: the answer was cut off",
        ),
        (
            connection(ConnectionError::Connect(refused)),
            "the connection to h failed: no connection could be made: connection refused",
        ),
        (
            Malformed::Order("a block starts twice").into(),
            "the provider's answer cannot be read: a block starts twice",
        ),
        (SetupError::NoTls.into(), "this build cannot speak https"),
    ];
    for (error, expected) in cases {
        assert_eq!(error.failure().why, expected);
    }
}
