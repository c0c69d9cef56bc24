//! Dropping a stream at any point: the connection closes, nothing is sent again.

use crate::attempts::ask_again;
use crate::material::{ANSWER, BODY, client, collect};
use crate::server::{Reply, Server, Step};
use dormouse_model::{Event, Model, Request};
use std::time::Duration;

#[tokio::test(start_paused = true)]
async fn after_any_number_of_events() {
    for events in 0..18 {
        let answer = &ANSWER.as_bytes()[..ANSWER.find("event: message_stop").unwrap()];
        let server = Server::new([Reply::stream().chunk(answer).step(Step::Stall)]);
        let client = client(&server);
        let mut stream = client.stream(Request::streamed(BODY));
        for _ in 0..events {
            stream.next().await.unwrap().unwrap();
        }
        drop(stream);
        server.all_closed().await;
        tokio::time::sleep(Duration::from_hours(1)).await;
        assert_eq!(server.requests().len(), usize::from(events > 0));
    }
}

#[tokio::test(start_paused = true)]
async fn while_connecting_waiting_or_pausing() {
    let overloaded = Reply::json(529, &[("retry-after", "50")], "{}");
    let replies = [
        vec![Reply::default().step(Step::Stall)],
        vec![Reply::stream().step(Step::Stall)],
        vec![overloaded, Reply::whole_stream(ANSWER)],
    ];
    for replies in replies {
        let server = Server::new(replies);
        let client = client(&server);
        let asking = ask_again(&client);
        let given_up = tokio::time::timeout(Duration::from_secs(10), asking).await;
        assert!(given_up.is_err(), "it ended by itself");
        drop(client);
        server.all_closed().await;
        tokio::time::sleep(Duration::from_hours(1)).await;
        assert_eq!(server.requests().len(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn dropping_the_future_of_an_event_loses_nothing() {
    let mut reply = Reply::stream();
    for bytes in ANSWER.as_bytes().chunks(50) {
        reply = reply.step(Step::Wait(Duration::from_secs(3))).chunk(bytes);
    }
    let server = Server::new([reply.end()]);
    let client = client(&server);
    let mut stream = client.stream(Request::streamed(BODY));
    let (mut events, mut impatient) = (Vec::new(), 0);
    loop {
        match tokio::time::timeout(Duration::from_secs(1), stream.next()).await {
            Err(_) => impatient += 1,
            Ok(Some(event)) => events.push(event.unwrap()),
            Ok(None) => break,
        }
    }
    assert!(impatient > 50, "{impatient}");
    assert!(matches!(events.last(), Some(Event::Done(_))));
    assert_eq!(server.requests().len(), 1);

    let server = Server::new([Reply::whole_stream(ANSWER)]);
    let (unhurried, _) =
        collect(crate::material::client(&server).stream(Request::streamed(BODY))).await;
    let without_id = |events: &[Event]| -> Vec<String> {
        let events = &events[..events.len() - 1];
        events.iter().map(|event| format!("{event:?}")).collect()
    };
    assert_eq!(without_id(&events), without_id(&unhurried));
}

#[tokio::test(start_paused = true)]
async fn while_the_body_is_being_sent_to_a_server_that_does_not_read() {
    let busy = Step::Wait(Duration::from_hours(1));
    let server = Server::new([Reply(vec![Step::Hasty, busy])]);
    let client = client(&server);
    let big = vec![b'x'; 4 * 1024 * 1024];
    let stream = client.stream(Request::streamed(big));
    let given_up = tokio::time::timeout(Duration::from_secs(10), stream.finish()).await;
    assert!(given_up.is_err(), "it ended by itself");
    let closed = tokio::time::timeout(Duration::from_hours(2), server.all_closed()).await;
    assert!(closed.is_ok(), "the connection is still open");
    assert!(
        server.stray() < 1024 * 1024,
        "the rest was sent all the same"
    );
}
