use super::{Language, Stemming, StopWords, Tokeniser, detect};
use pretty_assertions::assert_eq;

#[test]
fn terms_are_folded_split_and_cut() {
    let cases: [(&str, &[&str]); 10] = [
        ("The Tests were running", &["test", "run"]),
        ("readFile", &["read", "file", "readfile"]),
        ("HTTPServer2", &["http", "server", "2", "httpserver2"]),
        ("max_len", &["max", "len", "maxlen"]),
        ("src/main.rs", &["src", "main", "rs"]),
        ("don't stop", &["don't", "stop"]),
        ("Peter’s", &["peter"]),
        ("数据库", &["数据", "据库"]),
        ("用 Rust写", &["用", "rust", "写"]),
        ("Cafe\u{301}", &["cafe"]),
    ];
    let tokeniser = Tokeniser::new(Some(Language::English), StopWords::Drop, Stemming::On);
    for (text, expected) in cases {
        assert_eq!(tokeniser.terms(text), expected, "{text}");
    }
}

#[test]
fn ranges_point_at_the_words() {
    let text = "a readFile";
    let tokeniser = Tokeniser::new(None, StopWords::Keep, Stemming::Off);
    let mut found = Vec::new();
    tokeniser.each(text, |term, range| {
        found.push((term.to_owned(), text[range].to_owned()));
    });
    let expected = [
        ("a", "a"),
        ("read", "read"),
        ("file", "File"),
        ("readfile", "readFile"),
    ];
    assert_eq!(
        found,
        expected.map(|(term, part)| (term.to_owned(), part.to_owned()))
    );
}

#[test]
fn languages_are_told_by_their_small_words() {
    let cases = [
        (
            "The parser is broken and I do not know why",
            Some(Language::English),
        ),
        (
            "Der Parser ist kaputt und ich weiß nicht warum",
            Some(Language::German),
        ),
        (
            "Le parseur est cassé et je ne sais pas pourquoi",
            Some(Language::French),
        ),
        (
            "El analizador está roto y no sé por qué",
            Some(Language::Spanish),
        ),
        ("数据库连接失败", None),
        ("let x = 5;", None),
        ("", None),
    ];
    for (text, language) in cases {
        assert_eq!(detect(text), language, "{text}");
    }
}

#[test]
fn stop_words_are_sorted_for_the_search() {
    for language in Language::ALL {
        assert!(language.stop_words().is_sorted(), "{language:?}");
    }
}
