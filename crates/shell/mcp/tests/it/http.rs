//! Servers that are reached over HTTP.

use crate::calculator::Calculator;
use crate::kit::{SOON, run, start};
use dormouse_mcp::{Servers, Status};
use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use pretty_assertions::assert_eq;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

/// A server of `rmcp` on this machine; returns its address.
async fn serve(old: bool) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let service = StreamableHttpService::new(
        move || Ok(Calculator { old }),
        LocalSessionManager::default().into(),
        StreamableHttpServerConfig::default(),
    );
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let service = TowerToHyperService::new(service.clone());
            let connection = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
            tokio::spawn(async move { connection.await.ok() });
        }
    });
    format!("http://{address}/mcp")
}

/// A server that answers requests with one text after the other, and keeps what it was sent.
async fn answering(answers: Vec<String>) -> (String, tokio::task::JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let heard = tokio::spawn(async move {
        let mut heard = Vec::new();
        for answer in answers {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut request = vec![0; 64 * 1024];
            let read = stream.read(&mut request).await.unwrap();
            heard.push(String::from_utf8_lossy(&request[..read]).into_owned());
            stream.write_all(answer.as_bytes()).await.unwrap();
        }
        heard
    });
    (format!("http://{address}/mcp"), heard)
}

async fn settled(url: &str, headers: &serde_json::Value) -> Servers {
    let (servers, _) = start(
        &json!({ "calc": { "type": "http", "url": url, "headers": headers } }),
        SOON,
    );
    servers.settled(SOON).await;
    servers
}

#[tokio::test]
async fn servers_of_both_eras_are_greeted_listed_and_called_over_http() {
    for old in [false, true] {
        let servers = settled(&serve(old).await, &json!({})).await;
        let state = servers.states().remove(0);
        assert_eq!(state.status, Status::Connected, "old: {old}");
        assert_eq!(servers.tools().len(), 5);
        let sum = run(&servers, "add", &json!({ "a": 2, "b": 3 })).await;
        assert_eq!((sum.text.as_str(), sum.is_error), ("5", false));
        let failed = run(&servers, "fail", &json!({})).await;
        let said = failed.text.contains("it never works");
        assert!(failed.is_error && said, "{}", failed.text);
        servers.close().await;
    }
}

#[tokio::test]
async fn headers_are_sent_and_a_redirect_is_not_followed() {
    let redirect = "HTTP/1.1 307 Temporary Redirect\r\nlocation: http://127.0.0.1:9/\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
    let (url, heard) = answering(vec![redirect.to_owned()]).await;
    let servers = settled(&url, &json!({ "X-Key": "from-the-test" })).await;
    assert!(matches!(servers.states()[0].status, Status::Failed(_)));
    let heard = heard.await.unwrap();
    assert!(heard[0].contains("x-key: from-the-test"), "{}", heard[0]);
    assert!(heard[0].starts_with("POST /mcp HTTP/1.1"), "{}", heard[0]);
}

#[tokio::test]
async fn a_server_that_asks_to_sign_in_or_is_away_fails_with_the_reason() {
    let asks = "HTTP/1.1 401 Unauthorized\r\nwww-authenticate: Bearer\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
    let (url, _heard) = answering(vec![asks.to_owned()]).await;
    for url in [url.as_str(), "http://127.0.0.1:1/mcp"] {
        let servers = settled(url, &json!({})).await;
        let state = servers.states().remove(0);
        let Status::Failed(why) = state.status else {
            panic!("{state:?}");
        };
        assert!(!why.is_empty());
    }
}
