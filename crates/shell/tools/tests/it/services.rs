//! Tools that need a service: pages through a network of the test's own, a person, a memory.

use crate::kit::call;
use dormouse_core::id::CallId;
use dormouse_core::units::Millis;
use dormouse_model::web::{Resolving, WebNetwork};
use dormouse_model::{Connecting, Connection, Origin};
use dormouse_system::{Clock, System, Ticks};
use dormouse_tools::{
    AgentPlaces, AgentTools, MemoryDesk, NoChanges, People, PersonAnswer, PersonQuestion, SearchBy,
    Services, Toolset, Unconfined,
};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

/// A public address that no test reaches: connections are made in this process.
pub(crate) const PUBLIC: &str = "93.184.216.34";

/// Names with the addresses of each look, pages by host and path, and every connection made.
#[derive(Debug, Default)]
pub(crate) struct Net {
    names: BTreeMap<String, Vec<Vec<String>>>,
    pages: BTreeMap<String, String>,
    looks: Mutex<Vec<String>>,
    dialled: Mutex<Vec<SocketAddr>>,
}

impl WebNetwork for Net {
    fn resolve(&self, host: &str, port: u16) -> Resolving {
        let mut looks = self.looks.lock().unwrap();
        let before = looks.iter().filter(|look| *look == host).count();
        looks.push(host.to_owned());
        let known = self
            .names
            .get(host)
            .map(|all| &all[before.min(all.len() - 1)]);
        let found: Vec<SocketAddr> = known
            .into_iter()
            .flatten()
            .map(|address| SocketAddr::new(address.parse().unwrap(), port))
            .collect();
        Box::pin(std::future::ready(Ok(found)))
    }

    fn dial(&self, origin: &Origin, address: SocketAddr) -> Connecting {
        assert!(origin.https, "pages are asked for over https");
        self.dialled.lock().unwrap().push(address);
        let (ours, mut theirs) = tokio::io::duplex(1 << 16);
        let pages = self.pages.clone();
        let host = origin.host.clone();
        tokio::spawn(async move {
            let mut request = Vec::new();
            while !request.ends_with(b"\r\n\r\n") {
                request.push(theirs.read_u8().await.unwrap());
            }
            let text = String::from_utf8(request).unwrap();
            let path = text.split(' ').nth(1).unwrap().to_owned();
            let reply = pages.get(&format!("{host}{path}")).cloned();
            let reply = reply.unwrap_or_else(|| http(404, "text/plain", "no such page"));
            // A client that has read enough hangs up.
            let _sent = theirs.write_all(reply.as_bytes()).await;
        });
        Box::pin(std::future::ready(
            Ok(Box::new(ours) as Box<dyn Connection>),
        ))
    }
}

pub(crate) fn http(status: u16, kind: &str, body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 {status} x\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\n\r\n{body}")
}

fn moved(to: &str) -> String {
    format!("HTTP/1.1 302 x\r\nlocation: {to}\r\ncontent-length: 0\r\n\r\n")
}

/// A clock that the test moves.
#[derive(Debug, Default)]
struct Hand(AtomicI64);

impl Clock for Hand {
    fn now(&self) -> Millis {
        Millis(self.0.load(Ordering::Relaxed))
    }

    fn ticks(&self) -> Ticks {
        Ticks::default()
    }
}

pub(crate) struct Scene {
    _place: TempDir,
    tools: AgentTools,
    clock: Arc<Hand>,
}

impl Scene {
    pub(crate) fn new(services: Services) -> Self {
        let place = TempDir::new().unwrap();
        let clock = Arc::new(Hand::default());
        let system = System {
            clock: Arc::clone(&clock) as _,
            ..System::real()
        };
        let places = AgentPlaces {
            folder: place.path().to_owned(),
            results: place.path().join("results"),
            mark: place.path().display().to_string(),
        };
        let (changes, confine) = (Arc::new(NoChanges), Arc::new(Unconfined));
        let tools = AgentTools::with_services(&system, places, changes, confine, services);
        Self {
            _place: place,
            tools,
            clock,
        }
    }

    fn net(net: &Arc<Net>) -> Self {
        Self::new(Services {
            network: Some(Arc::clone(net) as _),
            ..Services::default()
        })
    }

    pub(crate) fn call(&self, tool: &str, input: &Value) -> Result<String, String> {
        let output = self.tools.run_blocking(&call(tool, input));
        if output.is_error {
            Err(output.text)
        } else {
            Ok(output.text)
        }
    }

    fn fetch(&self, url: &str) -> Result<String, String> {
        self.call("WebFetch", &json!({ "url": url, "prompt": "anything" }))
    }
}

pub(crate) fn net(names: &[(&str, &[&[&str]])], pages: &[(&str, String)]) -> Arc<Net> {
    let owned = |all: &[&str]| all.iter().map(|one| (*one).to_owned()).collect();
    Arc::new(Net {
        names: names
            .iter()
            .map(|(name, looks)| {
                (
                    (*name).to_owned(),
                    looks.iter().map(|all| owned(all)).collect(),
                )
            })
            .collect(),
        pages: pages
            .iter()
            .map(|(place, reply)| ((*place).to_owned(), reply.clone()))
            .collect(),
        ..Net::default()
    })
}

#[test]
fn a_page_is_markdown_and_kept_for_a_quarter_of_an_hour() {
    let html = http(
        200,
        "text/html",
        "<h1>Rust</h1><script>x()</script><p>A <b>language</b>.</p>",
    );
    let net = net(&[("example.com", &[&[PUBLIC]])], &[("example.com/a", html)]);
    let scene = Scene::net(&net);
    assert_eq!(
        scene.fetch("http://example.com/a").unwrap(),
        "# Rust\n\nA **language**."
    );
    assert_eq!(
        scene.fetch("https://example.com/a#part").unwrap(),
        "# Rust\n\nA **language**."
    );
    assert_eq!(net.dialled.lock().unwrap().len(), 1, "the second was kept");
    scene.clock.0.store(15 * 60 * 1_000, Ordering::Relaxed);
    scene.fetch("https://example.com/a").unwrap();
    assert_eq!(
        net.dialled.lock().unwrap().len(),
        2,
        "an old page is fetched again"
    );
    // The address that was judged is the one that was dialled.
    let dialled = net.dialled.lock().unwrap()[0];
    assert_eq!(dialled, SocketAddr::new(PUBLIC.parse().unwrap(), 443));
}

#[test]
fn addresses_inside_are_refused_after_they_are_resolved() {
    let names: [(&str, &[&[&str]]); 9] = [
        ("localhost", &[&["127.0.0.1"]]),
        ("router", &[&["192.168.0.1"]]),
        ("metadata", &[&["169.254.169.254"]]),
        ("six", &[&["::1"]]),
        ("mapped", &[&["::ffff:10.0.0.1"]]),
        ("mixed", &[&[PUBLIC, "10.0.0.1"]]),
        // A name that answers differently the second time.
        ("rebinds", &[&[PUBLIC], &["127.0.0.1"]]),
        ("0x7f.1", &[&["127.0.0.1"]]),
        ("127.0.0.1", &[&["127.0.0.1"]]),
    ];
    let net = net(&names, &[("rebinds/", moved("/next"))]);
    let scene = Scene::net(&net);
    for (name, _) in names {
        let error = scene.fetch(&format!("http://{name}/")).unwrap_err();
        assert!(
            error.contains("leads to") && error.contains("address"),
            "{name}: {error}"
        );
    }
    // Only the public look of the name that rebinds was dialled.
    assert_eq!(
        *net.dialled.lock().unwrap(),
        [SocketAddr::new(PUBLIC.parse().unwrap(), 443)]
    );
    let unknown = scene.fetch("https://nowhere.example/").unwrap_err();
    assert!(
        unknown.contains("`nowhere.example` cannot be found"),
        "{unknown}"
    );
    for bad in [
        "file:///etc/passwd",
        "ftp://example.com/",
        // Put together here: as one text it would look like a credential in the repository.
        &["https://user:word", "@example.com/"].concat(),
        "",
    ] {
        assert!(scene.fetch(bad).is_err(), "{bad}");
    }
}

#[test]
fn redirects_of_the_same_host_are_followed_and_others_reported() {
    let pages = [
        ("a.com/1", moved("/2")),
        ("a.com/2", moved("http://A.com/3")),
        ("a.com/3", http(200, "text/plain; charset=utf-8", "arrived")),
        ("a.com/out", moved("https://b.com/x")),
        ("a.com/in", moved("http://169.254.169.254/latest")),
        ("a.com/round", moved("/round")),
        (
            "a.com/lost",
            "HTTP/1.1 302 x\r\ncontent-length: 0\r\n\r\n".to_owned(),
        ),
        ("A.com/3", http(200, "text/plain", "arrived")),
    ];
    let net = net(&[("a.com", &[&[PUBLIC]]), ("A.com", &[&[PUBLIC]])], &pages);
    let scene = Scene::net(&net);
    assert_eq!(scene.fetch("a.com/1").unwrap(), "arrived");
    let out = scene.fetch("a.com/out").unwrap_err();
    assert!(out.contains("another host: https://b.com/x"), "{out}");
    let inside = scene.fetch("a.com/in").unwrap_err();
    assert!(
        inside.contains("another host: http://169.254.169.254/latest"),
        "{inside}"
    );
    assert!(
        scene
            .fetch("a.com/round")
            .unwrap_err()
            .contains("more than 5 times")
    );
    assert!(
        scene
            .fetch("a.com/lost")
            .unwrap_err()
            .contains("without an address")
    );
    assert!(
        !net.looks
            .lock()
            .unwrap()
            .iter()
            .any(|look| look.contains("b.com"))
    );
}

#[test]
fn pages_that_are_no_text_too_long_or_missing_say_so() {
    let long = "word ".repeat(40_000);
    let pages = [
        ("a.com/image", http(200, "image/png", "\u{1}")),
        ("a.com/long", http(200, "text/plain", &long)),
        ("a.com/huge", http(200, "text/plain", &"x".repeat(6 << 20))),
        ("a.com/empty", http(200, "text/html", "")),
        ("a.com/broken", "HTTP/1.1 200".to_owned()),
    ];
    let net = net(&[("a.com", &[&[PUBLIC]])], &pages);
    let scene = Scene::net(&net);
    assert!(
        scene
            .fetch("a.com/image")
            .unwrap_err()
            .contains("image/png, not text")
    );
    assert!(
        scene
            .fetch("a.com/nothing")
            .unwrap_err()
            .contains("answers 404. no such page")
    );
    assert_eq!(scene.fetch("a.com/empty").unwrap(), "[the page is empty]");
    assert!(
        scene
            .fetch("a.com/broken")
            .unwrap_err()
            .contains("did not answer")
    );
    let first = scene.fetch("a.com/long").unwrap();
    assert!(first.len() <= 60_000 && first.contains("go on with `offset`"));
    let dialled = net.dialled.lock().unwrap().len();
    let second = scene.call(
        "WebFetch",
        &json!({ "url": "a.com/long", "offset": 190_000 }),
    );
    assert!(
        second.unwrap().ends_with("word "),
        "the rest comes from the kept page"
    );
    assert_eq!(net.dialled.lock().unwrap().len(), dialled);
    let beyond = scene.call(
        "WebFetch",
        &json!({ "url": "a.com/long", "offset": 900_000 }),
    );
    assert!(beyond.unwrap_err().contains("`offset` is 900000"));
    // Six megabytes are cut at five: the text says so at its end.
    let end = scene.call(
        "WebFetch",
        &json!({ "url": "a.com/huge", "offset": (5 << 20) - 10 }),
    );
    assert!(end.unwrap().contains("longer than 5242880 bytes"));
}

#[test]
fn the_web_is_searched_by_the_users_command() {
    let scene = Scene::new(Services {
        search_command: Some("printf '%s|'".to_owned()),
        ..Services::default()
    });
    let input = json!({ "query": "it's $(id) `x`", "allowed_domains": ["a.com"], "blocked_domains": ["b.com"] });
    // One argument, whatever it holds.
    assert_eq!(
        scene.call("WebSearch", &input).unwrap(),
        "it's $(id) `x` site:a.com -site:b.com|"
    );
    let failing = Scene::new(Services {
        search_command: Some("echo down >&2; false".to_owned()),
        ..Services::default()
    });
    let error = failing
        .call("WebSearch", &json!({ "query": "x" }))
        .unwrap_err();
    assert!(error.contains("failed: down"), "{error}");
    let none = Scene::new(Services::default());
    let error = none
        .call("WebSearch", &json!({ "query": "x" }))
        .unwrap_err();
    assert!(error.contains("web.search_command"), "{error}");
}

#[derive(Debug)]
struct Person(PersonAnswer);

impl People for Person {
    fn ask(&self, _: &CallId, _: &[PersonQuestion]) -> PersonAnswer {
        self.0.clone()
    }
}

#[test]
fn questions_are_put_to_the_person_or_the_lack_of_one_is_said() {
    let question = json!({ "question": "Which?", "header": "Kind", "multiSelect": false,
        "options": [{ "label": "a", "description": "the first" }, { "label": "b" }] });
    let asked = |answer: PersonAnswer, questions: Value| {
        let scene = Scene::new(Services {
            people: Arc::new(Person(answer)),
            ..Services::default()
        });
        scene.call("AskUserQuestion", &json!({ "questions": questions }))
    };
    let answer = PersonAnswer::Answered(vec!["b".to_owned()]);
    assert_eq!(
        asked(answer.clone(), json!([question])).unwrap(),
        "Which?\n→ b"
    );
    let no_one = asked(PersonAnswer::NoOne, json!([question])).unwrap_err();
    assert!(no_one.starts_with("No one can be asked here."), "{no_one}");
    assert!(asked(PersonAnswer::Declined, json!([question])).is_err());
    for (questions, said) in [
        (json!([]), "`questions` has 0 entries; ask 1 to 4"),
        (
            json!([question, question, question, question, question]),
            "`questions` has 5 entries",
        ),
        (
            json!([{ "question": "x", "options": [{ "label": "a" }] }]),
            "`questions[0].options` has 1",
        ),
        (
            json!([{ "question": "x" }]),
            "`questions[0].options` is missing",
        ),
        (
            json!([{ "question": "x", "options": [{ "label": 1 }, { "label": "b" }] }]),
            "`questions[0].options[0].label` is a number",
        ),
        (json!("Which?"), "`questions` is a text; it must be a list"),
    ] {
        let error = asked(answer.clone(), questions).unwrap_err();
        assert!(error.contains(said), "{error}");
    }
}

#[derive(Debug, Default)]
struct Notes(Mutex<Vec<Value>>);

impl MemoryDesk for Notes {
    fn command(&self, input: &Value) -> Result<String, String> {
        self.0.lock().unwrap().push(input.clone());
        Ok("done".to_owned())
    }

    fn search(&self, words: &str, most: usize) -> Result<String, String> {
        Ok(format!("{words}: {}", "x".repeat(most * 2)))
    }
}

#[test]
fn memory_is_asked_as_it_is_and_its_answers_are_bounded() {
    let notes = Arc::new(Notes::default());
    let scene = Scene::new(Services {
        memory: Some(Arc::clone(&notes) as _),
        ..Services::default()
    });
    let view = json!({ "command": "view", "path": "/memories" });
    assert_eq!(scene.call("Memory", &view).unwrap(), "done");
    assert_eq!(*notes.0.lock().unwrap(), std::slice::from_ref(&view));
    let found = scene
        .call("SearchMemory", &json!({ "query": " tabs " }))
        .unwrap();
    assert!(
        found.starts_with("tabs: x") && found.len() <= 16_000,
        "{}",
        found.len()
    );
    let empty = scene
        .call("SearchMemory", &json!({ "query": "  " }))
        .unwrap_err();
    assert!(empty.contains("`query` is empty"), "{empty}");
    let off = Scene::new(Services::default());
    for (tool, input) in [("Memory", view), ("SearchMemory", json!({ "query": "x" }))] {
        assert_eq!(
            off.call(tool, &input).unwrap_err(),
            "Memory is switched off in this session."
        );
    }
}

#[test]
fn tools_are_offered_where_they_work() {
    let names = |memory, search, lean| {
        let set = Toolset {
            memory,
            search,
            lean,
        };
        let definitions = set.definitions();
        let names = definitions
            .iter()
            .map(|it| it["name"].as_str().unwrap().to_owned());
        names.collect::<Vec<String>>()
    };
    let full = names(true, SearchBy::Command, false);
    assert_eq!(full.len(), 14);
    let without = names(false, SearchBy::Nothing, false);
    assert!(
        !without
            .iter()
            .any(|name| name.contains("Memory") || name == "WebSearch")
    );
    let provider = names(true, SearchBy::Provider, false);
    assert!(provider.ends_with(&["web_search".to_owned()]));
    assert_eq!(
        names(true, SearchBy::Provider, true),
        ["Read", "Edit", "Bash", "Grep", "SearchMemory"]
    );
}
