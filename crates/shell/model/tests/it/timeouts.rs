//! Silence, and patience with slow servers.

use crate::attempts::ask_again;
use crate::material::{ANSWER, SHORT, ask, client_with, name, options};
use crate::server::{Reply, Server, Step};
use dormouse_model::{Model, Request};
use pretty_assertions::assert_eq;
use std::time::Duration;
use tokio::time::Instant;

async fn outcome(reply: Reply, overall: Option<Duration>) -> (String, u64) {
    let server = Server::new([reply]);
    let mut options = options(&server);
    options.timeouts.overall = overall;
    let start = Instant::now();
    let result = ask(&client_with(&options)).await;
    let text = result.map_or_else(|error| name(&error), |response| response.id.to_string());
    let time = start.elapsed().as_secs();
    server.all_closed().await;
    (text, time)
}

#[tokio::test(start_paused = true)]
async fn silence_ends_the_wait_wherever_it_falls() {
    let begun = &ANSWER.as_bytes()[..900];
    let cases = [
        (Reply::default(), "Stalled"),
        (Reply::default().raw(b"HTTP/1.1 200 OK\r\n"), "Stalled"),
        (Reply::stream(), "Stalled"),
        (Reply::stream().chunk(begun), "Broken Stalled"),
    ];
    for (reply, expected) in cases {
        let outcome = outcome(reply.step(Step::Stall), None).await;
        assert_eq!(outcome, (expected.to_owned(), 300));
    }
}

#[tokio::test(start_paused = true)]
async fn every_byte_counts_as_a_sign_of_life() {
    let nearly = Step::Wait(Duration::from_secs(299));
    let mut reply = Reply::stream();
    // The bytes of a comment, one by one: not even an event is needed.
    for byte in b": still here\n".chunks(1) {
        reply = reply.step(nearly.clone()).chunk(byte);
    }
    let reply = reply.chunk(SHORT.as_bytes()).end().step(Step::Close);
    let (text, seconds) = outcome(reply, None).await;
    assert_eq!((text.as_str(), seconds), ("msg_2", 13 * 299));
}

#[tokio::test(start_paused = true)]
async fn the_deadline_holds_for_a_whole_attempt() {
    let slow = |count: usize| {
        let bytes = ANSWER.as_bytes().chunks(100).take(count);
        bytes.fold(Reply::stream(), |reply, bytes| {
            reply.step(Step::Wait(Duration::from_mins(2))).chunk(bytes)
        })
    };
    let overall = Some(Duration::from_mins(20));
    let (text, seconds) = outcome(slow(100), overall).await;
    assert_eq!((text.as_str(), seconds), ("Broken Deadline", 1_200));
}

#[tokio::test(start_paused = true)]
async fn every_attempt_has_a_deadline_of_its_own() {
    let slow = |Reply(steps): Reply| {
        let wait = Reply::default().step(Step::Wait(Duration::from_secs(15)));
        steps.into_iter().fold(wait, Reply::step)
    };
    let overloaded = Reply::json(529, &[("retry-after", "9")], "{}");
    let server = Server::new([slow(overloaded), slow(Reply::whole_stream(SHORT))]);
    let mut options = options(&server);
    options.timeouts.overall = Some(Duration::from_secs(20));
    let start = Instant::now();
    let run = ask_again(&client_with(&options)).await;
    assert_eq!(run.outcome.unwrap().id.as_str(), "msg_2");
    assert_eq!(start.elapsed().as_secs(), 15 + 9 + 15);
}

#[tokio::test(start_paused = true)]
async fn an_answer_in_one_piece_may_take_longer() {
    let reply = Reply::default().step(Step::Wait(Duration::from_secs(599)));
    let body = r#"{"id":"m","model":"m","content":[],"stop_reason":"end_turn"}"#;
    let Reply(steps) = Reply::json(200, &[], body);
    let reply = steps.into_iter().fold(reply, Reply::step);
    let server = Server::new([reply]);
    let client = client_with(&options(&server));
    let stream = client.stream(Request::whole(&b"{}"[..]));
    assert_eq!(stream.finish().await.unwrap().id.as_str(), "m");
    assert_eq!(server.requests().len(), 1);
}
