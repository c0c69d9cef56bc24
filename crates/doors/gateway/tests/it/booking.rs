//! Conversations are recognised and booked while their bytes pass by.

use crate::kit::{
    Message, Options, Pieces, Recorder, Running, SECRET, Speaks, history, post, send, stream,
    streamed,
};
use crate::transparent::assert_no_secret;
use http::Response;
use pretty_assertions::assert_eq;
use std::collections::BTreeMap;

fn answers(_: &Message) -> Response<Pieces> {
    streamed(Pieces::whole(stream()))
}

fn relations(report: &dormouse_relay::BookReport) -> BTreeMap<&str, u64> {
    let relations = report.relations.iter();
    relations
        .map(|(name, count)| (name.as_str(), *count))
        .collect()
}

#[tokio::test]
async fn a_conversation_is_one_line_of_the_book_also_after_a_restart() {
    let upstream = Recorder::start(answers).await;
    let mut home = None;
    for run in 0..2 {
        let options = Options {
            home: home.take(),
            ..Options::default()
        };
        let gateway = Running::with(&upstream.url(), options).await;
        for turns in run * 3..run * 3 + 3 {
            let body = history(turns).to_string();
            let reply = send(Speaks::One, post(&gateway.url(), "/v1/messages", body)).await;
            assert_eq!(reply.line, "200");
        }
        let (report, kept) = gateway.stop().await;
        assert_eq!(report.conversation_count, 1, "run {run}");
        home = Some(kept);
        if run == 1 {
            assert_eq!(
                relations(&report),
                BTreeMap::from([("new", 1), ("continues", 5)])
            );
            let [conversation] = &report.conversations[..] else {
                panic!("{report:?}")
            };
            assert_eq!(conversation.sums.requests, 6);
            assert_eq!(report.all.prompt_tokens.0, 6_000);
            assert_eq!(report.all.cache_hit_rate, Some(0.9));
            // 100 tokens at $3, 900 at $0.30 and 20 at $15 a million, six times.
            assert_eq!(report.all.cost_usd.to_decimal(), "0.00522");
            assert_eq!(report.all.cost_without_cache_usd.to_decimal(), "0.0198");
        }
    }
    assert_no_secret(&home.unwrap());
}

#[tokio::test]
async fn figures_are_told_without_keys_and_a_request_may_stay_unread() {
    let upstream = Recorder::start(answers).await;
    let gateway = Running::before(&upstream.url()).await;
    let body = || history(1).to_string();
    send(Speaks::Two, post(&gateway.url(), "/v1/messages", body())).await;
    let mut unread = post(&gateway.url(), "/v1/messages", body());
    unread
        .headers_mut()
        .insert("dormouse-off", "1".parse().unwrap());
    send(Speaks::One, unread).await;
    assert!(!upstream.seen()[1].headers.contains_key("dormouse-off"));
    let nonsense = post(&gateway.url(), "/v1/messages", "not json");
    send(Speaks::One, nonsense).await;
    // An exchange is booked a moment after its last byte.
    let text = loop {
        let url = gateway.url();
        let mut ask = post(&url, "/metrics", "");
        *ask.method_mut() = http::Method::GET;
        let text = String::from_utf8(send(Speaks::One, ask).await.body.to_vec()).unwrap();
        if text.contains("dormouse_requests_total{status=\"200\"} 2") {
            break text;
        }
        tokio::task::yield_now().await;
    };
    for line in [
        "dormouse_relations_total{relation=\"new\"} 1",
        "dormouse_relations_total{relation=\"not_understood\"} 1",
        "dormouse_tokens_total{kind=\"cache_read\"} 1800",
        "dormouse_kept_requests 1",
    ] {
        assert!(text.contains(line), "{line} in {text}");
    }
    assert!(!text.contains(SECRET));
    let (report, _) = gateway.stop().await;
    assert_eq!(report.all.requests, 2);
}

#[tokio::test]
async fn two_keys_with_the_same_history_and_session_are_kept_apart() {
    let upstream = Recorder::start(answers).await;
    let gateway = Running::before(&upstream.url()).await;
    for key in ["sk-one", "sk-two"] {
        for turns in 0..2 {
            let mut request = post(&gateway.url(), "/v1/messages", history(turns).to_string());
            let headers = request.headers_mut();
            headers.insert("x-api-key", key.parse().unwrap());
            headers.insert("x-claude-code-session-id", "forged".parse().unwrap());
            send(Speaks::One, request).await;
        }
    }
    let (report, _) = gateway.stop().await;
    assert_eq!(
        relations(&report),
        BTreeMap::from([("new", 2), ("continues", 2)])
    );
    assert_eq!(report.conversation_count, 2);
}

#[tokio::test]
async fn two_gateways_do_not_share_a_book() {
    let upstream = Recorder::start(answers).await;
    let gateway = Running::before(&upstream.url()).await;
    let models = std::sync::Arc::new(dormouse_core::models::ModelTable::builtin().clone());
    let system = dormouse_system::System::real();
    let second = dormouse_relay::Relay::open(&system, gateway.home.path(), models);
    assert!(
        matches!(second, Err(dormouse_relay::BookError::Taken(_))),
        "{second:?}"
    );
}
