use super::Index;

const NOTES: [&str; 5] = [
    "The port of the gateway is 8080. It can be changed in config.toml.",
    "Migrations run before the server starts. They are tested on a copy.",
    "Use readHTTPHeader for the header, never the raw bytes.",
    "データベースの接続は設定ファイルにあります。",
    "The cat sat on the mat.",
];

fn best(query: &str) -> Option<usize> {
    let index = Index::new(NOTES);
    index.search(query, 1).first().map(|hit| hit.document)
}

#[test]
fn the_text_with_the_rare_words_wins() {
    assert_eq!(best("which port has the gateway"), Some(0));
    assert_eq!(best("testing the migration"), Some(1));
    assert_eq!(best("read_http_header"), Some(2));
    assert_eq!(best("データベース 接続"), Some(3));
}

#[test]
fn nothing_is_found_for_nothing() {
    let index = Index::new(NOTES);
    assert_eq!(index.search("", 5), []);
    assert_eq!(index.search("?! …", 5), []);
    assert_eq!(index.search("zebra", 5), []);
    assert_eq!(index.search("port", 0), []);
    assert_eq!(index.passages(&NOTES, "", 1_000), []);
    assert_eq!(index.passages(&NOTES, "port", 0), []);
    assert!(Index::new([]).search("port", 5).is_empty());
}

#[test]
fn equal_texts_keep_their_order() {
    let index = Index::new(["same words", "same words", "other"]);
    let hits: Vec<_> = index
        .search("words", 9)
        .iter()
        .map(|hit| hit.document)
        .collect();
    assert_eq!(hits, [0, 1]);
}

#[test]
fn a_text_added_later_is_found() {
    let mut index = Index::new(NOTES);
    assert_eq!(index.add("A zebra crosses the gateway."), 5);
    assert_eq!(index.search("zebra", 9).len(), 1);
    assert_eq!(index.len(), 6);
}

#[test]
fn a_passage_is_the_place_that_answers() {
    let filler = "Nothing of interest happens on this line of the log.\n".repeat(200);
    let text = format!("{filler}The retry limit was set to 7 because of the proxy.\n{filler}");
    let texts = [filler.as_str(), text.as_str()];
    let index = Index::new(texts);
    let passages = index.passages(&texts, "retry limit of the proxy", 900);
    let first = &texts[passages[0].document][passages[0].range.clone()];
    assert!(first.starts_with("The retry limit was set to 7"), "{first}");
    assert_eq!(passages[0].document, 1);
    assert!(
        passages
            .iter()
            .map(|passage| passage.range.len())
            .sum::<usize>()
            <= 900
    );
}

#[test]
fn a_match_in_one_endless_line_is_cut_out_of_it() {
    let text = format!("{} needle {}", "x".repeat(5_000), "y".repeat(5_000));
    let texts = [text.as_str()];
    let passages = Index::new(texts).passages(&texts, "needle", 300);
    let [passage] = &passages[..] else {
        panic!("one passage, not {passages:?}")
    };
    assert!(passage.range.len() <= 300);
    assert!(text[passage.range.clone()].contains("needle"));
}
