//! Tests of texts and the words that find them.

use bytes::Bytes;
use dormouse_recall::{CONFIDENT, Document, Query, Ranked, Scratch, Searcher, Segment, confident};
use dormouse_testkit::material::naughty_strings;
use dormouse_text::words::Language;
use pretty_assertions::assert_eq;

fn searcher<'a>(documents: impl IntoIterator<Item = Document<'a>>) -> Searcher {
    let bytes = Segment::build(Language::English, documents).unwrap();
    Searcher::new(Segment::open(Bytes::from(bytes)).unwrap())
}

fn bodies(texts: &[&str]) -> Searcher {
    searcher(texts.iter().map(|text| Document {
        body: text,
        payload: text.as_bytes(),
        ..Document::default()
    }))
}

fn hits(searcher: &Searcher, text: &str) -> Vec<Ranked> {
    let query = Query {
        text,
        top: 10,
        ..Query::default()
    };
    searcher.search(&query, &mut Scratch::default())
}

fn found(searcher: &Searcher, text: &str) -> Vec<usize> {
    hits(searcher, text)
        .iter()
        .map(|hit| hit.document)
        .collect()
}

#[test]
fn identifiers_are_found_by_their_words_and_as_a_whole() {
    let searcher = bodies(&[
        "call readHttpHeader before anything else",
        "the max_open_files setting",
        "see src/engine/merge.rs and serde::Deserialize",
        "something else entirely",
    ]);
    assert_eq!(found(&searcher, "http header"), [0]);
    assert_eq!(found(&searcher, "readhttpheader"), [0]);
    assert_eq!(found(&searcher, "maxOpenFiles"), [1]);
    assert_eq!(found(&searcher, "open files"), [1]);
    assert_eq!(found(&searcher, "merge.rs"), [2]);
    assert_eq!(found(&searcher, "deserialize"), [2]);
}

#[test]
fn scripts_without_blanks_are_found() {
    let searcher = bodies(&[
        "データベースの接続を確認する",
        "测试数据库连接",
        "빌드 서버 설정",
    ]);
    assert_eq!(found(&searcher, "接続"), [0]);
    assert_eq!(found(&searcher, "数据库"), [1]);
    assert_eq!(found(&searcher, "서버"), [2]);
}

#[test]
fn other_forms_of_a_word_are_found() {
    let searcher = bodies(&[
        "configuring the linter",
        "asynchronous tests",
        "a timestamp column",
    ]);
    assert_eq!(found(&searcher, "configuration"), [0]);
    assert_eq!(found(&searcher, "async"), [1]);
    assert_eq!(found(&searcher, "time stamp"), [2]);
    assert_eq!(found(&searcher, "zebra"), [0; 0]);
}

#[test]
fn names_count_more_than_bodies() {
    let named = Document {
        name: "deployment",
        body: "how it is done here, step by step",
        payload: b"named",
        ..Document::default()
    };
    let mentions = Document {
        name: "tests",
        body: "not needed for a deployment, step by step",
        payload: b"mentions",
        ..Document::default()
    };
    let searcher = searcher([mentions, named]);
    assert_eq!(found(&searcher, "deployment"), [1, 0]);
}

#[test]
fn priors_decide_between_equals_and_lift_nothing_irrelevant() {
    let document = |payload, prior, time| Document {
        body: "the release checklist",
        payload,
        prior,
        time,
        ..Document::default()
    };
    let foreign = Document {
        body: "lunch",
        payload: b"0",
        prior: 1.0,
        ..Document::default()
    };
    let searcher = searcher([document(b"a", 0.0, 1), document(b"b", 1.0, 1), foreign]);
    assert_eq!(found(&searcher, "release checklist"), [1, 0]);
    let searcher = self::searcher([
        document(b"a", 0.0, 1),
        document(b"b", 0.0, 86_400_000_000),
        foreign,
    ]);
    let query = Query {
        text: "release checklist",
        top: 10,
        now: 86_400_000_001,
    };
    let ranked = searcher.search(&query, &mut Scratch::default());
    assert_eq!(
        ranked.iter().map(|hit| hit.document).collect::<Vec<_>>(),
        [1, 0]
    );
}

#[test]
fn neighbours_and_the_whole_help_a_turn() {
    let turn = |parent, order, body: &'static str, payload| Document {
        body,
        payload,
        parent: Some(parent),
        order,
        ..Document::default()
    };
    let searcher = searcher([
        turn(
            "a",
            0,
            "Which database did we choose for the billing service?",
            b"0",
        ),
        turn(
            "a",
            1,
            "The second option, because of its replication.",
            b"1",
        ),
        turn("a", 2, "Fine, I will order the server.", b"2"),
        turn("b", 3, "The replication of bacteria is fascinating.", b"3"),
        turn("b", 4, "I saw a film about it.", b"4"),
    ]);
    let ranked = found(&searcher, "replication of the billing database");
    assert_eq!(
        ranked[..2],
        [0, 1],
        "the answer beside the question comes before a bare word"
    );
}

#[test]
fn a_long_document_is_found_by_a_passage() {
    let line = "Nothing of interest happened during these days at the coast.";
    let mut scattered = vec![line; 40];
    let mut together = scattered.clone();
    scattered[5] = "We saw an old kiln.";
    scattered[20] = "It was a few degrees colder there.";
    scattered[35] = "The way back took hours.";
    together[20] = "The kiln reaches many degrees within hours.";
    let (scattered, together) = (scattered.join("\n"), together.join("\n"));
    let other = [line; 40].join("\n");
    let searcher = bodies(&[&scattered, &together, &other]);
    assert_eq!(found(&searcher, "kiln degrees hours")[0], 1);
}

#[test]
fn nothing_is_better_than_noise() {
    let searcher = bodies(&[
        "Deploy with the blue script, never by hand.",
        "The staging database is restored every night from production.",
        "Ask Miriam before changing the invoice template.",
    ]);
    let sure = hits(&searcher, "when is the staging database restored");
    assert_eq!(
        confident(&sure, CONFIDENT)
            .map(|hit| hit.document)
            .collect::<Vec<_>>(),
        [1]
    );
    for noise in ["ok", "thanks a lot", "what about the weather", "by"] {
        let hits = hits(&searcher, noise);
        assert_eq!(confident(&hits, CONFIDENT).count(), 0, "{noise}");
    }
}

#[test]
fn naughty_strings_are_texts_like_others() {
    let strings = naughty_strings();
    let texts: Vec<&str> = strings.iter().map(String::as_str).collect();
    let searcher = bodies(&texts);
    for text in &texts {
        for hit in hits(&searcher, text) {
            assert!(
                hit.score.is_finite() && (0.0..=1.0).contains(&hit.confidence),
                "{text}"
            );
        }
    }
}

#[test]
fn long_queries_with_repeated_words_are_fine() {
    let searcher = bodies(&[
        "the release checklist",
        "the deployment of the server",
        "lunch",
    ]);
    let prompt = "please look at the log again and again: time stamp, time stamp, server restart, "
        .repeat(40);
    let words: Vec<String> = (0..300).map(|number| format!("word{number}")).collect();
    let query = format!("{prompt} {} release checklist", words.join(" "));
    assert_eq!(found(&searcher, &query)[..2], [0, 1]);
}
