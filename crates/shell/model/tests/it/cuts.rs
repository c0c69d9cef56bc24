//! A stream that is cut at every byte: a typed error with what had arrived, and one request.

use crate::attempts::ask_again;
use crate::material::{ANSWER, BLOCKS, SHORT, ask, bytes, chat, client, name};
use crate::server::{Reply, Server, Step};
use dormouse_core::block::Block;
use dormouse_model::ModelError;

/// Offset at which the first content is complete enough to be handed out.
fn first_content() -> usize {
    let start = ANSWER.find("event: content_block_start").unwrap();
    start + ANSWER[start..].find("\n\n").unwrap() + 2
}

/// Offset at which everything that counts has arrived.
fn complete() -> usize {
    let start = ANSWER.find("event: message_delta").unwrap();
    start + ANSWER[start..].find("\n\n").unwrap() + 2
}

fn check_partial(error: &ModelError, at: usize) {
    let partial = error.partial().unwrap();
    let blocks = partial.blocks.iter().map(|block| format!("{block:?}"));
    let blocks: Vec<String> = blocks.collect();
    assert_eq!(blocks, BLOCKS[..blocks.len()], "cut at {at}");
    assert_eq!(partial.id.as_ref().unwrap().as_str(), "msg_1");
    assert_eq!(partial.usage.cache_read.get(), 4_000);
    let whole = [
        "Let me look.",
        "Grüße, 世界 \"🐭\"\n",
        "{\"file_path\": \"/a.rs\"}",
    ];
    for open in &partial.unfinished {
        assert!(
            whole[blocks.len()].starts_with(&open.received),
            "cut at {at}: {open:?}"
        );
    }
    let kept = error.failure().partial.unwrap().keepable();
    let (complete, open) = kept.split_at(blocks.len());
    assert_eq!(complete, partial.blocks, "cut at {at}");
    // The text is the second block; of the others nothing can be kept before they are complete.
    let received = match &partial.unfinished[..] {
        [open] if blocks.len() == 1 => open.received.as_str(),
        _ => "",
    };
    let expected = (!received.is_empty()).then(|| Block::text(received));
    assert_eq!(open, expected.as_slice(), "cut at {at}");
}

#[tokio::test(start_paused = true)]
async fn complete_blocks_and_the_text_so_far_are_kept() {
    let text = "Grüße, 世界 \"🐭\"\n";
    let cases = [
        ("event: ping", vec![]),
        ("event: content_block_stop", vec![]),
        (
            "世界",
            vec![
                BLOCKS[0].to_owned(),
                format!("{:?}", Block::text("Grüße, ")),
            ],
        ),
        (
            "event: from_the_future",
            vec![BLOCKS[0].to_owned(), format!("{:?}", Block::text(text))],
        ),
        (
            ".rs\\\"}",
            vec![BLOCKS[0].to_owned(), format!("{:?}", Block::text(text))],
        ),
        (
            "event: message_delta",
            BLOCKS.iter().map(|&block| block.to_owned()).collect(),
        ),
    ];
    for (phrase, expected) in cases {
        let begun = &ANSWER[..ANSWER.find(phrase).unwrap()];
        let server = Server::new([Reply::stream().chunk(begun.as_bytes()).step(Step::Close)]);
        let failure = ask(&client(&server)).await.unwrap_err().failure();
        let kept = failure.partial.unwrap().keepable();
        let kept: Vec<String> = kept.iter().map(|block| format!("{block:?}")).collect();
        assert_eq!(kept, expected, "cut before {phrase}");
    }
}

#[tokio::test(start_paused = true)]
async fn text_before_half_a_call_is_kept_on_the_other_wire() {
    let chunks = [
        r#"{"id":"c","model":"m","choices":[{"delta":{"content":"Hel"}}]}"#,
        r#"{"id":"c","choices":[{"delta":{"content":"lo"}}]}"#,
        r#"{"id":"c","choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"Read","arguments":"{\"p"}}]}}]}"#,
    ];
    for (count, expected) in [(1, "Hel"), (2, "Hello"), (3, "Hello")] {
        let begun = chunks[..count].iter().fold(Reply::stream(), |reply, data| {
            reply.chunk(format!("data: {data}\n\n").as_bytes())
        });
        let server = Server::new([begun.step(Step::Close)]);
        let failure = ask(&chat(&server)).await.unwrap_err().failure();
        let partial = failure.partial.unwrap();
        assert_eq!(partial.id.as_ref().unwrap().as_str(), "c");
        assert_eq!(partial.model.as_deref(), Some("m"));
        assert_eq!(partial.keepable(), [Block::text(expected)]);
    }
}

async fn cut_everywhere(reply: impl Fn(&[u8]) -> Reply) {
    for at in 0..ANSWER.len() {
        let server = Server::new([reply(&ANSWER.as_bytes()[..at]).step(Step::Close)]);
        match ask(&client(&server)).await {
            Ok(response) => {
                assert!(at >= complete(), "cut at {at}");
                assert_eq!(bytes(&response), BLOCKS);
            }
            Err(error) => {
                assert!(at < complete(), "cut at {at}: {error:?}");
                if at < first_content() {
                    assert!(error.partial().is_none(), "cut at {at}: {error:?}");
                } else {
                    check_partial(&error, at);
                }
            }
        }
        assert_eq!(server.requests().len(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_body_that_ends_early() {
    cut_everywhere(|bytes| Reply::open_stream().raw(bytes)).await;
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_breaks() {
    cut_everywhere(|bytes| Reply::stream().chunk(bytes)).await;
}

#[tokio::test(start_paused = true)]
async fn another_attempt_is_made_only_before_the_first_content() {
    // Around the border and in a few other places: each retry costs a simulated pause.
    let border = first_content();
    for at in [
        0,
        1,
        40,
        border - 1,
        border,
        border + 1,
        900,
        complete() - 1,
    ] {
        let cut = Reply::stream().chunk(&ANSWER.as_bytes()[..at]);
        let server = Server::new([cut.step(Step::Close), Reply::whole_stream(SHORT)]);
        let result = ask_again(&client(&server)).await.outcome;
        if at < border {
            assert_eq!(result.unwrap().id.as_str(), "msg_2", "cut at {at}");
            assert_eq!(server.requests().len(), 2);
        } else {
            assert_eq!(
                name(&result.unwrap_err()),
                "Broken Connection",
                "cut at {at}"
            );
            assert_eq!(server.requests().len(), 1);
        }
    }
}
