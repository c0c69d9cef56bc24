//! Questions about a page: answered by a reader, or the page itself is shown.

use crate::services::{PUBLIC, Scene, http, net};
use dormouse_tools::{PageReader, Services};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};

/// A reader with one answer, and the questions it was asked.
#[derive(Debug)]
struct Reader {
    answer: Result<Option<String>, String>,
    asked: Mutex<Vec<(String, String, String)>>,
}

impl PageReader for Reader {
    fn read(&self, url: &str, page: &str, question: &str) -> Result<Option<String>, String> {
        let asked = (url.to_owned(), page.to_owned(), question.to_owned());
        self.asked.lock().unwrap().push(asked);
        self.answer.clone()
    }
}

#[test]
fn a_prompt_is_answered_from_the_page_or_the_page_is_shown() {
    let page = "The port is 8443.";
    let answered = |answer: Result<Option<String>, String>, input: &Value| {
        let plain = http(200, "text/plain", page);
        let net = net(
            &[("example.com", &[&[PUBLIC]])],
            &[("example.com/a", plain)],
        );
        let reader = Arc::new(Reader {
            answer,
            asked: Mutex::default(),
        });
        let scene = Scene::new(Services {
            network: Some(net as _),
            reader: Some(Arc::clone(&reader) as _),
            ..Services::default()
        });
        let mut whole = json!({ "url": "https://example.com/a" });
        for (name, value) in input.as_object().unwrap() {
            whole[name] = value.clone();
        }
        let text = scene.call("WebFetch", &whole).unwrap();
        let asked = reader.asked.lock().unwrap().clone();
        (text, asked)
    };
    let yes = || Ok(Some("8443.".to_owned()));
    let (text, asked) = answered(yes(), &json!({ "prompt": " Which port? " }));
    assert!(
        text.starts_with("8443.\n\n[answered by a small model"),
        "{text}"
    );
    let expected = ["https://example.com/a", page, "Which port?"].map(str::to_owned);
    assert_eq!(asked, [expected.into()]);
    // The page itself: no question, an empty one, or reading on.
    for input in [
        json!({}),
        json!({ "prompt": "  " }),
        json!({ "prompt": "Which port?", "offset": 0 }),
    ] {
        let (text, asked) = answered(yes(), &input);
        assert_eq!((text.as_str(), asked.len()), (page, 0), "{input}");
    }
    // No small model is set up: as without a question.
    let (text, _) = answered(Ok(None), &json!({ "prompt": "Which port?" }));
    assert_eq!(text, page);
    // It fails: said, and nothing is lost.
    let failed = Err("it is overloaded, ".repeat(100));
    let (text, _) = answered(failed, &json!({ "prompt": "Which port?" }));
    assert!(
        text.starts_with("[`prompt` was not answered: it is overloaded"),
        "{text}"
    );
    assert!(text.ends_with(page) && text.len() < 400, "{text}");
}
