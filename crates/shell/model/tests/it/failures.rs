//! Refusals, the one attempt of a client, and the hints of the server in the attempts of a driver.

use crate::attempts::{TICK, ask_again, persist};
use crate::material::{ANSWER, BODY, SHORT, ask, client, client_with, name, options};
use crate::server::{Reply, Server, Step};
use dormouse_model::retry::{GiveUp, Retries, RetryPolicy};
use dormouse_model::{Connecting, Connector, Event, Model, ModelError, Origin, Request, Timeouts};
use pretty_assertions::assert_eq;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

fn error(status: u16, headers: &[(&str, &str)], kind: &str, message: &str) -> Reply {
    let body = format!(
        r#"{{"type":"error","error":{{"type":"{kind}","message":"{message}"}},"request_id":"req_9"}}"#
    );
    Reply::json(status, headers, &body)
}

fn overloaded() -> Reply {
    error(529, &[], "overloaded_error", "Overloaded")
}

/// An error event in a stream that has shown `shown` bytes of the answer.
fn broken_off(shown: &str) -> Reply {
    let event = "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\
                 \"message\":\"Overloaded\"}}\n\n";
    Reply::stream()
        .chunk(shown.as_bytes())
        .chunk(event.as_bytes())
        .end()
}

fn up_to(phrase: &str) -> &'static str {
    &ANSWER[..ANSWER.find(phrase).unwrap()]
}

/// Attempts until the end: the error's name or the answer's id, the requests, the time.
async fn outcome(replies: Vec<Reply>) -> (String, usize, Duration) {
    let server = Server::new(replies);
    let start = Instant::now();
    let run = ask_again(&client(&server)).await;
    let text = run
        .outcome
        .map_or_else(|error| name(&error), |response| response.id.to_string());
    let requests = server.requests().len();
    assert_eq!(requests, run.attempts.len(), "an attempt is one request");
    (text, requests, start.elapsed())
}

#[tokio::test(start_paused = true)]
async fn a_client_makes_one_attempt_whatever_the_server_says() {
    let replies = [
        overloaded(),
        error(529, &[("x-should-retry", "true")], "overloaded_error", "x"),
        error(429, &[("retry-after", "0")], "rate_limit_error", "x"),
        error(500, &[], "api_error", "x"),
        Reply::default().step(Step::Close),
        Reply::stream().step(Step::Close),
        broken_off(""),
    ];
    for reply in replies {
        let server = Server::new([reply.clone(), Reply::whole_stream(SHORT)]);
        let start = Instant::now();
        let error = ask(&client(&server)).await.unwrap_err();
        assert!(error.failure().transient, "{error:?}");
        assert_eq!(server.requests().len(), 1, "{error:?}");

        let server = Server::new([reply, Reply::json(200, &[], r#"{"input_tokens":4}"#)]);
        let client = client(&server);
        client.count_tokens(Request::whole(BODY)).await.unwrap_err();
        assert_eq!(server.requests().len(), 1);
        assert_eq!(start.elapsed(), Duration::ZERO);
    }
}

#[tokio::test(start_paused = true)]
async fn permanent_refusals_are_told_at_once() {
    let edge =
        r#"{"error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}"#;
    let spend = r#"{"type":"error","error":{"type":"rate_limit_error","message":"x","details":{"error_code":"enforced_spend_limit_reached"}}}"#;
    let cases = [
        (
            error(
                400,
                &[],
                "invalid_request_error",
                "prompt is too long: 9 tokens > 8 maximum",
            ),
            "PromptTooLong",
        ),
        (
            error(401, &[], "authentication_error", "invalid x-api-key"),
            "Authentication",
        ),
        (Reply::json(413, &[], edge), "RequestTooLarge"),
        (Reply::json(429, &[], spend), "SpendLimit"),
        (
            error(500, &[("x-should-retry", "false")], "api_error", "x"),
            "Server",
        ),
        (
            error(429, &[("retry-after", "3600")], "rate_limit_error", "x"),
            "RateLimited",
        ),
    ];
    for (reply, expected) in cases {
        let outcome = outcome(vec![reply, Reply::whole_stream(SHORT)]).await;
        assert_eq!(outcome, (expected.to_owned(), 1, Duration::ZERO));
    }
}

#[tokio::test(start_paused = true)]
async fn the_servers_pause_is_kept_to_the_millisecond() {
    let limited = |header: (&str, &str)| error(429, &[header], "rate_limit_error", "slow down");
    let cases = [
        (vec![limited(("retry-after", "7"))], 7_000),
        (vec![limited(("retry-after-ms", "1500"))], 1_500),
        (
            vec![
                limited(("retry-after", "7")),
                limited(("retry-after-ms", "20")),
            ],
            7_020,
        ),
    ];
    for (mut replies, expected) in cases {
        let requests = replies.len() + 1;
        replies.push(Reply::whole_stream(SHORT));
        let (text, seen, time) = outcome(replies).await;
        assert_eq!((text.as_str(), seen), ("msg_2", requests));
        // The clock of the runtime counts in whole milliseconds and rounds up.
        let expected = Duration::from_millis(expected);
        let extra = time.checked_sub(expected).expect("never earlier");
        assert!(extra <= 2 * TICK, "{time:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn two_retries_then_the_error_itself() {
    let (text, requests, time) = outcome(vec![overloaded(); 5]).await;
    assert_eq!((text.as_str(), requests), ("Overloaded", 3));
    let bounds = Duration::from_millis(1_125)..=Duration::from_millis(1_505);
    assert!(bounds.contains(&time), "{time:?}");
}

#[tokio::test(start_paused = true)]
async fn a_refusal_that_wants_to_be_retried_is() {
    let odd = error(
        400,
        &[("x-should-retry", "true")],
        "invalid_request_error",
        "x",
    );
    let (text, requests, _) = outcome(vec![odd, Reply::whole_stream(SHORT)]).await;
    assert_eq!((text.as_str(), requests), ("msg_2", 2));
}

#[tokio::test(start_paused = true)]
async fn an_error_event_is_retried_only_before_the_first_content() {
    let cases = [
        (broken_off(""), "msg_2", 2),
        (broken_off(up_to("event: content_block_start")), "msg_2", 2),
        (broken_off(up_to("event: ping")), "Broken Overloaded", 1),
        (
            broken_off(up_to("event: message_delta")),
            "Broken Overloaded",
            1,
        ),
    ];
    for (reply, expected, requests) in cases {
        let (text, seen, _) = outcome(vec![reply, Reply::whole_stream(SHORT)]).await;
        assert_eq!((text.as_str(), seen), (expected, requests));
    }
}

#[tokio::test(start_paused = true)]
async fn a_failure_has_the_reason_for_the_notice_of_a_retry() {
    let server = Server::new([overloaded(), Reply::whole_stream(SHORT)]);
    let run = ask_again(&client(&server)).await;
    let [notice] = &run.notices[..] else {
        panic!("{:?}", run.notices);
    };
    assert_eq!(notice.attempt, 2);
    assert_eq!(notice.because, "the provider is overloaded: Overloaded");
    assert!(run.attempts[0].events.is_empty());
    let first = &run.attempts[1].events[0];
    assert!(matches!(first, Event::MessageStart { .. }), "{first:?}");
}

#[tokio::test(start_paused = true)]
async fn no_pause_goes_beyond_the_deadline() {
    let limited = error(429, &[("retry-after", "30")], "rate_limit_error", "x");
    let server = Server::new([limited]);
    let deadline = Some(Duration::from_secs(20));
    let rules = Retries::new(RetryPolicy::default(), deadline, 7);
    let start = Instant::now();
    let run = persist(&client(&server), &Request::streamed(BODY), rules).await;
    assert_eq!(name(&run.outcome.unwrap_err()), "RateLimited");
    assert_eq!(run.gave_up, Some(GiveUp::Deadline));
    assert_eq!(start.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn garbage_is_told_apart_and_never_retried_after_content() {
    let cases = [
        (
            Reply::stream()
                .chunk(b"event: message_start\ndata: {]\n\n")
                .end(),
            "Malformed",
            1,
        ),
        (Reply::json(200, &[], "<html>"), "Malformed", 1),
        (
            Reply::json(
                200,
                &[],
                r#"{"type":"error","error":{"type":"overloaded_error"}}"#,
            ),
            "Overloaded",
            3,
        ),
        (
            Reply::default().raw(b"garbage\r\n\r\n").step(Step::Close),
            "Connection",
            3,
        ),
        (
            Reply::stream()
                .chunk(up_to("event: ping").as_bytes())
                .chunk(b"event: content_block_delta\ndata: nonsense\n\n")
                .end(),
            "Broken Malformed",
            1,
        ),
    ];
    for (reply, expected, requests) in cases {
        let (text, seen, _) = outcome(vec![reply; 3]).await;
        assert_eq!((text.as_str(), seen), (expected, requests));
    }
}

#[tokio::test]
async fn a_server_that_refuses_while_the_body_is_still_coming_is_heard() {
    let reply = Reply(vec![Step::Hasty]);
    let Reply(refusal) = error(413, &[("connection", "close")], "request_too_large", "x");
    let reply = refusal
        .into_iter()
        .fold(reply, Reply::step)
        .step(Step::Close);
    let server = Server::new(vec![reply; 2]);
    let big = vec![b' '; 8 * 1024 * 1024];
    let in_memory = client(&server);
    let result = in_memory.stream(Request::streamed(big)).finish().await;
    assert_eq!(name(&result.unwrap_err()), "RequestTooLarge");
}

#[tokio::test]
async fn a_connection_that_the_server_closed_in_the_meantime_is_not_used() {
    let closed = Reply::whole_stream(SHORT).step(Step::Close);
    let server = Server::new([closed, Reply::whole_stream(SHORT)]);
    let client = client(&server);
    ask(&client).await.unwrap();
    server.all_closed().await;
    ask(&client).await.unwrap();
    assert_eq!((server.requests().len(), server.connections()), (2, 2));
}

#[derive(Debug)]
struct Nowhere;

impl Connector for Nowhere {
    fn connect(&self, _: &Origin) -> Connecting {
        Box::pin(async { Err(io::Error::from(io::ErrorKind::ConnectionRefused)) })
    }
}

#[derive(Debug)]
struct Never;

impl Connector for Never {
    fn connect(&self, _: &Origin) -> Connecting {
        Box::pin(std::future::pending())
    }
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_cannot_be_made_is_said_with_its_cause() {
    let server = Server::new([]);
    let mut options = options(&server);
    options.connector = Some(Arc::new(Nowhere));
    let error = ask(&client_with(&options)).await.unwrap_err();
    assert_eq!(
        error.chain(),
        "the connection to model.test failed: no connection could be made: connection refused"
    );
    options.connector = Some(Arc::new(Never));
    options.timeouts = Timeouts {
        connect: Duration::from_secs(5),
        ..Timeouts::default()
    };
    let start = Instant::now();
    let error = ask(&client_with(&options)).await.unwrap_err();
    assert!(matches!(error, ModelError::Connection { .. }), "{error:?}");
    assert_eq!(start.elapsed().as_secs(), 5);
}
