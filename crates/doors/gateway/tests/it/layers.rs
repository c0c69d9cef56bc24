//! The layers through the gateway, in front of the simulator and of a recorder.

use crate::kit::{Message, Options, Pieces, Recorder, Running, Speaks, post, send};
use crate::kit::{SECRET, stream, streamed};
use dormouse_system::{Access, Files as _, RealFiles};
use http::Response;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::sync::Arc;
use tempfile::TempDir;

/// A client that appends everything to its history and never shortens it. It holds its messages as
/// text: writing megabytes of values anew with every turn would take longer than all else.
struct Appending {
    url: String,
    /// All messages but the last one, each with a comma behind it.
    sent: String,
    /// Blocks of the last one.
    last: Vec<Value>,
    rng: u64,
    words: usize,
    /// Requests, tokens by price, and the first request that was rejected.
    requests: usize,
    usage: [u64; 4],
    rejected: Option<usize>,
}

impl Appending {
    fn new(url: &str, words: usize) -> Self {
        let prompt = "Keep the rule LIMA-58213. Go through all checks.";
        Self {
            url: url.to_owned(),
            sent: String::new(),
            last: vec![json!({"type": "text", "text": prompt})],
            rng: 7,
            words,
            requests: 0,
            usage: [0; 4],
            rejected: None,
        }
    }

    fn body(&self) -> String {
        let around = json!({"model": "claude-sonnet-4-5", "max_tokens": 8_192,
            "system": [{"type": "text", "text": "You audit builds. ".repeat(400),
                "cache_control": {"type": "ephemeral"}}],
            "tools": [{"name": "Bash", "description": "Runs a command.",
                "input_schema": {"type": "object", "properties": {"command": {"type": "string"}}}},
                {"name": "Read", "description": "Shows a file.",
                "input_schema": {"type": "object", "properties": {"file_path": {"type": "string"}}}}]});
        let mut last = self.last.clone();
        last.last_mut().unwrap()["cache_control"] = json!({"type": "ephemeral"});
        let last = json!({"role": "user", "content": last});
        let around = around.to_string();
        let around = around.strip_suffix('}').unwrap();
        format!("{around},\"messages\":[{}{last}]}}", self.sent)
    }

    /// One turn; false once a request is rejected.
    async fn turn(&mut self) -> bool {
        let reply = send(Speaks::One, post(&self.url, "/v1/messages", self.body())).await;
        self.requests += 1;
        if reply.line != "200" {
            self.rejected = Some(self.requests);
            return false;
        }
        let answer = reply.json();
        let usage = &answer["usage"];
        let names = [
            "input_tokens",
            "cache_creation_input_tokens",
            "cache_read_input_tokens",
            "output_tokens",
        ];
        for (sum, name) in self.usage.iter_mut().zip(names) {
            *sum += usage[name].as_u64().unwrap_or(0);
        }
        let mut results = Vec::new();
        for block in answer["content"].as_array().unwrap() {
            if block["type"] == "tool_use" {
                let text = self.output();
                results.push(
                    json!({"type": "tool_result", "tool_use_id": block["id"], "content": text}),
                );
            }
        }
        if results.is_empty() {
            let text = self.output();
            let text = format!("Go on. Here is a log:\n{text}");
            results.push(json!({"type": "text", "text": text}));
        }
        let sent = std::mem::replace(&mut self.last, results);
        let sent = json!({"role": "user", "content": sent});
        let answer = json!({"role": "assistant", "content": answer["content"]});
        self.sent = format!("{}{sent},{answer},", std::mem::take(&mut self.sent));
        true
    }

    fn output(&mut self) -> String {
        let lines = (0..self.words).map(|at| {
            self.rng = self
                .rng
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let id = self.rng >> 40;
            format!("src/part_{at}/file_{id:06x}.rs: flushed after {id} ms\n")
        });
        lines.collect()
    }

    /// Cost in tokens of uncached input.
    fn cost(&self) -> u64 {
        let [input, write, read, output] = self.usage;
        input + write * 5 / 4 + read / 10 + output * 5
    }

    fn hit_rate(&self) -> f64 {
        let [input, write, read, _] = self.usage;
        #[expect(clippy::cast_precision_loss, reason = "a share")]
        let rate = read as f64 / (input + write + read).max(1) as f64;
        rate
    }
}

async fn simulator() -> dormouse_sim::Server {
    let config = dormouse_sim::SimConfig {
        answers: dormouse_sim::AnswerConfig {
            text_chars: Some(200),
            ..dormouse_sim::AnswerConfig::default()
        },
        ..dormouse_sim::SimConfig::default()
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let clock = dormouse_system::System::real().clock;
    dormouse_sim::serve(config, listener, clock).unwrap()
}

fn on(home: Option<Arc<TempDir>>) -> Options {
    Options {
        home,
        layers: true,
        ..Options::default()
    }
}

/// Runs the same client with and without the gateway.
async fn compare(turns: usize, words: usize) {
    let sim = simulator().await;
    let direct = format!("http://{}", sim.address());
    let mut alone = Appending::new(&direct, words);
    for _ in 0..turns {
        if !alone.turn().await {
            break;
        }
    }
    let gateway = Running::with(&direct, on(None)).await;
    let mut through = Appending::new(&gateway.url(), words);
    for turn in 0..turns {
        assert!(through.turn().await, "rejected in turn {turn}");
    }
    assert_eq!(through.rejected, None);
    assert!(alone.rejected.is_some(), "the window was never full");
    let (report, _home) = gateway.stop().await;
    println!(
        "alone: rejected at turn {:?}, cost {}, {:.1} % read; through the gateway: {} turns, cost as the client sees it \
         {}, {:.1} % read, ${} in all, about ${} untouched",
        alone.rejected,
        alone.cost(),
        100.0 * alone.hit_rate(),
        through.requests,
        through.cost(),
        100.0 * through.hit_rate(),
        report.all.cost_usd.to_decimal(),
        report.all.cost_untouched_usd.to_decimal(),
    );
    // Per turn the gateway is cheaper even than the short life of the client alone.
    let turns_alone = alone.requests as u64;
    assert!(through.cost() / (through.requests as u64) < alone.cost() / turns_alone);
    assert!(through.hit_rate() > 0.5, "{}", through.hit_rate());
    assert!(report.all.cost_usd < report.all.cost_untouched_usd);
}

#[tokio::test]
async fn a_client_that_only_appends_outlives_its_window() {
    compare(40, 700).await;
}

#[tokio::test]
#[ignore = "a thousand turns take minutes; .ci/full runs it in release"]
async fn a_client_that_only_appends_runs_a_thousand_turns() {
    compare(1_000, 200).await;
}

fn answers(_: &Message) -> Response<Pieces> {
    streamed(Pieces::whole(stream()))
}

fn output(lines: usize, seed: usize) -> String {
    let lines = (0..lines).map(|at| {
        format!(
            "part_{seed}/file_{:06}.rs: slow flush {at}",
            at * 7_919 + seed
        )
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// A history of shell calls with results of these lengths.
pub(crate) fn history(lengths: &[usize]) -> Value {
    let mut messages = vec![json!({"role": "user", "content": "begin"})];
    for (at, lines) in lengths.iter().enumerate() {
        let id = format!("toolu_{at}");
        messages.push(json!({"role": "assistant", "content": [
            {"type": "tool_use", "id": id, "name": "Bash", "input": {"command": format!("./check {at}")}}]}));
        messages.push(json!({"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": id, "content": output(*lines, at)}]}));
    }
    json!({"model": "claude-sonnet-4-5", "max_tokens": 64, "stream": true, "messages": messages,
        "system": "Be careful. ".repeat(800), "odd": {"kept": [1, null]},
        "tools": [{"name": "Bash", "input_schema": {"type": "object"}}]})
}

/// Puts a file in place of a folder, as a disk that takes nothing more.
#[expect(clippy::disallowed_methods, reason = "a test takes a folder away")]
pub(crate) fn put_in_the_way(path: &std::path::Path) {
    if RealFiles.list(path).is_ok() {
        std::fs::rename(path, path.with_extension("away")).unwrap();
    }
    RealFiles
        .replace(path, b"in the way", Access::Private)
        .unwrap();
}

const LENGTHS: [usize; 7] = [10, 1_500, 150, 10, 150, 10, 10];

/// The bodies that reach the upstream while a client appends; `restart` says before which requests
/// the gateway is started anew.
async fn bodies(restart: &[usize]) -> Vec<Value> {
    let upstream = Recorder::start(answers).await;
    let mut gateway = Running::with(&upstream.url(), on(None)).await;
    for turns in 0..=LENGTHS.len() {
        if restart.contains(&turns) {
            let (_, home) = gateway.stop().await;
            gateway = Running::with(&upstream.url(), on(Some(home))).await;
        }
        let body = history(&LENGTHS[..turns]).to_string();
        let reply = send(Speaks::One, post(&gateway.url(), "/v1/messages", body)).await;
        assert_eq!(reply.line, "200");
    }
    let seen = upstream.seen();
    assert_eq!(seen.len(), LENGTHS.len() + 1, "each request once");
    // The path of the conversation's folder is this run's own.
    let home = gateway.home.path().to_string_lossy().into_owned();
    let bodies = seen.iter().map(|message| {
        let text = String::from_utf8(message.body.to_vec()).unwrap();
        serde_json::from_str(&text.replace(&home, "HOME")).unwrap()
    });
    bodies.collect()
}

#[tokio::test]
async fn a_restarted_gateway_sends_the_same_bytes() {
    let unbroken = bodies(&[]).await;
    let text = unbroken.last().unwrap().to_string();
    assert!(text.contains("<persisted-output>") && text.contains("HOME/results/"));
    assert_eq!(unbroken[3]["odd"], json!({"kept": [1, null]}));
    for at in 1..=LENGTHS.len() {
        let broken = bodies(&[at]).await;
        // The conversation's id is made with the secret of an installation.
        assert_eq!(
            shape(&broken),
            shape(&unbroken),
            "restarted before request {at}"
        );
    }
}

/// Bodies without the ids that differ between two installations.
fn shape(bodies: &[Value]) -> Vec<String> {
    let without = |body: &Value| {
        let text = body.to_string();
        let mut out = String::new();
        let mut rest = text.as_str();
        while let Some((before, after)) = rest.split_once("HOME/results/") {
            out.push_str(before);
            rest = &after[32..];
        }
        out + rest
    };
    bodies.iter().map(without).collect()
}

#[tokio::test]
async fn headers_say_which_layers_acted_and_off_turns_them_off() {
    let upstream = Recorder::start(answers).await;
    let gateway = Running::with(&upstream.url(), on(None)).await;
    let request =
        |lengths: &[usize]| post(&gateway.url(), "/v1/messages", history(lengths).to_string());
    let reply = send(Speaks::One, request(&[10])).await;
    assert_eq!(reply.header("x-dormouse-layers"), "markers");
    let reply = send(Speaks::One, request(&[10, 1_500])).await;
    assert_eq!(reply.header("x-dormouse-layers"), "offload, markers");
    let mut plain = request(&[10, 1_500, 1_500]);
    plain
        .headers_mut()
        .insert("dormouse-off", "1".parse().unwrap());
    let reply = send(Speaks::One, plain).await;
    assert_eq!(reply.header("x-dormouse-layers"), "off");
    let last = upstream.seen().pop().unwrap();
    assert_eq!(last.json(), history(&[10, 1_500, 1_500]));
}

#[tokio::test]
async fn a_disk_that_takes_nothing_costs_the_rewrite_and_nothing_else() {
    let upstream = Recorder::start(answers).await;
    let home = Arc::new(TempDir::new().unwrap());
    // Folders that cannot be made, as on a full disk; the book beside them goes on.
    for name in ["results", "lines"] {
        put_in_the_way(&home.path().join(name));
    }
    let gateway = Running::with(&upstream.url(), on(Some(Arc::clone(&home)))).await;
    for turns in 0..=LENGTHS.len() {
        let body = history(&LENGTHS[..turns]);
        let reply = send(
            Speaks::One,
            post(&gateway.url(), "/v1/messages", body.to_string()),
        )
        .await;
        assert_eq!(reply.line, "200");
        let sent = upstream.seen().pop().unwrap().json();
        assert!(!sent.to_string().contains("<persisted-output>"));
        assert_eq!(sent["messages"].as_array().unwrap().len(), 2 * turns + 1);
    }
    let metrics = http::Request::get(format!("{}/metrics", gateway.url()));
    let metrics = metrics.body(http_body_util::Full::default()).unwrap();
    let text = String::from_utf8(send(Speaks::One, metrics).await.body.to_vec()).unwrap();
    let line = text
        .lines()
        .find(|line| line.contains("kind=\"not_saved\""))
        .unwrap();
    assert!(!line.ends_with(" 0"), "{line}");
}

#[tokio::test]
async fn another_key_with_the_same_ids_gets_nothing_of_ours() {
    let upstream = Recorder::start(answers).await;
    let gateway = Running::with(&upstream.url(), on(None)).await;
    let with = |key: &str, lengths: &[usize]| {
        let mut request = post(&gateway.url(), "/v1/messages", history(lengths).to_string());
        let headers = request.headers_mut();
        headers.insert("x-api-key", key.parse().unwrap());
        headers.insert("x-claude-code-session-id", "s-1".parse().unwrap());
        request
    };
    for turns in 1..=3 {
        send(Speaks::One, with(SECRET, &LENGTHS[..turns])).await;
    }
    let own = upstream.seen().pop().unwrap().json().to_string();
    assert!(own.contains("<persisted-output>"));
    // The same history under a forged session: results that were sent before are not offloaded.
    send(Speaks::One, with("sk-another", &LENGTHS[..3])).await;
    let forged = upstream.seen().pop().unwrap().json().to_string();
    assert!(!forged.contains("<persisted-output>") && !forged.contains("results/"));
}

#[tokio::test]
async fn two_branches_at_once_are_both_answered() {
    let upstream = Recorder::start(answers).await;
    let gateway = Running::with(&upstream.url(), on(None)).await;
    let send_one = |lengths: Vec<usize>| {
        let body = history(&lengths).to_string();
        send(Speaks::Two, post(&gateway.url(), "/v1/messages", body))
    };
    send_one(vec![10]).await;
    let (one, two) = tokio::join!(send_one(vec![10, 1_500]), send_one(vec![10, 1_600]));
    assert_eq!((one.line.as_str(), two.line.as_str()), ("200", "200"));
    let seen = upstream.seen();
    let offloaded = seen
        .iter()
        .filter(|message| message.json().to_string().contains("results/"));
    assert_eq!(offloaded.count(), 2);
}
