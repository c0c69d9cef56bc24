//! Tests of claims and of the marks they lead to.

use super::*;
use pretty_assertions::assert_eq;
use proptest::prelude::*;

fn found(text: &str) -> Vec<(ClaimKind, String)> {
    claims(text)
        .into_iter()
        .map(|claim| (claim.kind, claim.text))
        .collect()
}

fn claim(kind: ClaimKind, text: &str) -> (ClaimKind, String) {
    (kind, text.to_owned())
}

#[test]
fn concrete_things_are_claims() {
    use ClaimKind::{Commit, Flag, Path, Symbol, UrlHost};
    let text = "The parser is in `src/parse/mod.rs:12`, settings in Cargo.toml; \
        `Parser::next_token()` since 68eeb86d; run it with `x --no-run=1`. \
        See https://Wiki.Example.org:8080/a?b. parse_all and `readFile` too.";
    assert_eq!(
        found(text),
        [
            claim(Path, "src/parse/mod.rs"),
            claim(Path, "Cargo.toml"),
            claim(Symbol, "next_token"),
            claim(Commit, "68eeb86d"),
            claim(Flag, "--no-run"),
            claim(UrlHost, "wiki.example.org"),
            claim(Symbol, "parse_all"),
            claim(Symbol, "readFile"),
        ]
    );
}

#[test]
fn prose_examples_and_what_is_gone_claim_nothing() {
    for text in [
        "The user likes short answers and/or tea.",
        "Runs on Node.js and GitHub.",
        "```\nsrc/a.rs\n```\n",
        "`src/old.rs` was deleted in March.",
        "Never create README.md files. We plan more.",
        "paths such as src/*.rs and <folder>/x.rs",
        "version 1.2.3 of 2026-03-01",
        "",
    ] {
        assert_eq!(found(text), [], "{text}");
    }
}

#[test]
fn the_next_sentence_claims_again() {
    assert_eq!(
        found("`src/old.rs` was deleted. `src/new.rs` is used"),
        [claim(ClaimKind::Path, "src/new.rs")]
    );
}

#[test]
fn a_claim_knows_its_place() {
    let text = "a\n```\nx.rs\n```\nü in `b/c.rs`, b/c.rs\n";
    let claims = claims(text);
    assert_eq!(claims.len(), 1);
    assert_eq!(&text[claims[0].range.clone()], "b/c.rs");
}

struct Tree(&'static [&'static str]);

impl Facts for Tree {
    fn path(&self, path: &str) -> TreeAnswer {
        if path.starts_with('/') {
            TreeAnswer::Unknown
        } else if self.0.contains(&path) {
            TreeAnswer::Holds
        } else {
            TreeAnswer::Gone
        }
    }
    fn symbol(&self, symbol: &str) -> TreeAnswer {
        self.path(symbol)
    }
    fn commit(&self, _hash: &str) -> TreeAnswer {
        TreeAnswer::Unknown
    }
}

#[test]
fn the_working_tree_decides() {
    let tree = Tree(&["a/b.rs", "do_it"]);
    let check = |text: &str| mark(&claims(text), &tree);
    assert_eq!(check("`a/b.rs` has do_it"), Mark::Fresh);
    assert_eq!(check("nothing to check"), Mark::Unverifiable);
    assert_eq!(
        check("see /etc/hosts.d/ and --flag at 68eeb86d"),
        Mark::Unverifiable
    );
    let half = check("a/b.rs and a/c.rs");
    let gone = vec!["a/c.rs".to_owned()];
    assert_eq!(half, Mark::Stale { gone, held: 1 });
    assert_eq!(half.showing(Some(Kind::Project)), Showing::Marked);
    let all = check("a/c.rs");
    assert_eq!(all.showing(Some(Kind::Project)), Showing::HeldBack);
    assert_eq!(all.showing(None), Showing::HeldBack);
    assert_eq!(all.showing(Some(Kind::Feedback)), Showing::Marked);
    assert_eq!(Mark::Fresh.showing(None), Showing::Plain);
    let (one, two) = (
        SafePath::parse("1.md").unwrap(),
        SafePath::parse("2.md").unwrap(),
    );
    assert_eq!(
        for_dream([(&two, &all), (&one, &Mark::Fresh), (&two, &half)]),
        std::slice::from_ref(&two)
    );
}

#[test]
fn only_a_check_that_succeeds_refreshes() {
    let text = "---\nname: a\n---\nb\n";
    let now = Millis(1_763_000_000_000);
    let after = refreshed(text, &Mark::Fresh, now).unwrap();
    assert_eq!(topic::Topic::read(&after).verified, Some(now));
    assert_eq!(refreshed(text, &Mark::Unverifiable, now), None);
    let stale = Mark::Stale {
        gone: vec!["x".into()],
        held: 3,
    };
    assert_eq!(refreshed(text, &stale, now), None);
}

proptest! {
    #[test]
    fn any_text_has_claims_at_their_places(text in "(\\PC|[`\n./:_-]|[a-f0-9]{7}|src/x.rs|a::b){0,40}") {
        let found = claims(&text);
        prop_assert!(found.len() <= claims::MOST_CLAIMS);
        for claim in found {
            prop_assert!(text.get(claim.range).is_some());
            prop_assert!(!claim.text.is_empty());
        }
    }
}
