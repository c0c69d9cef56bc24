//! A stream that is cut at every byte: a typed error with what had arrived, and one request.

use crate::attempts::ask_again;
use crate::material::{ANSWER, BLOCKS, SHORT, ask, bytes, client, name};
use crate::server::{Reply, Server, Step};
use dormouse_model::ModelError;

/// Where the first content is complete enough to be handed out.
fn first_content() -> usize {
    let start = ANSWER.find("event: content_block_start").unwrap();
    start + ANSWER[start..].find("\n\n").unwrap() + 2
}

/// Where everything that counts has arrived.
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
