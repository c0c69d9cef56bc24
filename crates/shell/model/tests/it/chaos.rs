//! A thousand requests through random faults: each ends in a complete answer or a typed error,
//! none is sent again once its content was shown, and every pause is the one the server asked for
//! (`Run::check` holds each run to that).

use crate::attempts::{persist, rules};
use crate::material::{ANSWER, BLOCKS, bytes, client};
use crate::server::{Reply, Server, Step};
use dormouse_model::Request;
use dormouse_model::retry::GiveUp;
use std::time::Duration;

/// Numbers that look random and are the same in every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % sides
    }
}

fn reply(dice: &mut Dice) -> Reply {
    let at = dice.roll(ANSWER.len());
    let begun = &ANSWER.as_bytes()[..at];
    let pieces = |size: usize| {
        let chunks = ANSWER.as_bytes().chunks(size);
        chunks.fold(Reply::stream(), Reply::chunk).end()
    };
    match dice.roll(12) {
        0 => Reply::json(429, &[("retry-after", "2")], "{}"),
        1 => Reply::json(529, &[], r#"{"error":{"type":"overloaded_error"}}"#),
        2 => Reply::json(500, &[], "oops"),
        3 => Reply::json(400, &[], r#"{"error":{"type":"invalid_request_error"}}"#),
        4 => Reply::stream().chunk(begun).step(Step::Close),
        5 => Reply::stream().chunk(begun).step(Step::Stall),
        6 => Reply::open_stream().raw(begun).step(Step::Close),
        7 => Reply::stream()
            .chunk(begun)
            .chunk(b"\x00\xFFgarbage\n\n")
            .end(),
        8 => Reply::default().step(Step::Close),
        9 => {
            let pause = Step::Wait(Duration::from_secs(30));
            let chunks = ANSWER.as_bytes().chunks(1 + at / 4);
            let slow = chunks.fold(Reply::stream(), |reply, bytes| {
                reply.chunk(bytes).step(pause.clone())
            });
            slow.end()
        }
        _ => pieces(1 + at),
    }
}

#[tokio::test(start_paused = true)]
async fn a_thousand_requests() {
    let mut dice = Dice(2_026);
    let server = Server::new((0..3_000).map(|_| reply(&mut dice)));
    let client = client(&server);
    let (mut complete, mut broken, mut refused, mut hinted) = (0, 0, 0, 0);
    for number in 0..1_000 {
        let before = server.requests().len();
        let body = format!(r#"{{"n":{number}}}"#);
        let run = persist(&client, &Request::streamed(body.clone()), rules()).await;
        run.check_punctual();
        let last = run.attempts.last().expect("at least one attempt");
        match &run.outcome {
            Ok(response) => {
                assert_eq!(bytes(response), BLOCKS, "request {number}");
                complete += 1;
            }
            Err(error) if last.has_shown() => {
                assert!(error.partial().is_some(), "request {number}: {error:?}");
                assert_eq!(run.gave_up, Some(GiveUp::ContentShown), "request {number}");
                broken += 1;
            }
            Err(error) => {
                assert!(error.partial().is_none(), "request {number}: {error:?}");
                refused += 1;
            }
        }
        let failures = run.attempts.iter().filter_map(|it| it.failure.as_ref());
        hinted += failures.filter(|it| it.retry_after.is_some()).count();
        let sent = server.requests().split_off(before);
        assert_eq!(sent.len(), run.attempts.len(), "request {number}");
        assert!(sent.iter().all(|seen| seen.body == body.as_bytes()));
    }
    assert!(
        complete > 300 && broken > 100 && refused > 50 && hinted > 50,
        "{complete} {broken} {refused} {hinted}"
    );
}
