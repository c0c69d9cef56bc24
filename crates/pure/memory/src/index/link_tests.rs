//! Tests of links in an index.

use super::links::{Form, entries, retargeted};
use dormouse_guard::paths::SafePath;
use pretty_assertions::assert_eq;

fn path(text: &str) -> SafePath {
    SafePath::parse(text).unwrap()
}

/// Files that a text links to, in its order.
fn targets(text: &str) -> Vec<String> {
    let links = entries(text).into_iter();
    links.map(|entry| entry.path.to_string()).collect()
}

#[test]
fn every_way_of_writing_a_link_counts() {
    let cases: [(&str, &[&str]); 26] = [
        ("- [A](a.md) — hook\n", &["a.md"]),
        ("* [A](./a.md): hook\n", &["a.md"]),
        ("1. [A](a.md)\n", &["a.md"]),
        ("- **[A](a.md)** — hook\n", &["a.md"]),
        ("- [ ] [A](a.md)\n", &["a.md"]),
        ("  - nested\n    - [A](a.md)\n", &["a.md"]),
        ("- [A](a.md \"a title\")\n", &["a.md"]),
        ("- [A](<my notes.md>)\n", &["my notes.md"]),
        ("- [A](my%20notes.md)\n", &["my notes.md"]),
        ("- [A](my notes.md) — hook\n", &["my notes.md"]),
        ("- [A](a.md#heading)\n", &["a.md"]),
        ("- [A](sub/../a.md)\n", &["a.md"]),
        ("- [A [x] y](a.md)\n", &["a.md"]),
        ("- [A](a_(1).md)\n", &["a_(1).md"]),
        ("See [A](a.md), [B](b.md).\n", &["a.md", "b.md"]),
        ("- [A](a.md) and [B](b.md)\n", &["a.md", "b.md"]),
        ("| [A](a.md) | hook |\n", &["a.md"]),
        ("## [A](a.md)\n", &["a.md"]),
        ("> - [A](a.md)\n", &["a.md"]),
        ("[[a]] and [[sub/b.md|B]]\n", &["a.md", "sub/b.md"]),
        ("- [A][one]\n\n[one]: a.md\n", &["a.md"]),
        ("- [one]\n\n[one]: <a.md> 'title'\n", &["a.md"]),
        (
            "- [Ä](prüfung.md)\r\n- [B](b.md)\r\n",
            &["prüfung.md", "b.md"],
        ),
        ("- [`x`](a.md) — `code`\n", &["a.md"]),
        ("- [logs](logs/)\n", &["logs"]),
        (
            "- [A](a.md)\n  more about it\n- [B](b.md)\n",
            &["a.md", "b.md"],
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(targets(text), expected, "{text}");
    }
}

#[test]
fn text_that_only_looks_like_a_link_and_links_elsewhere_do_not_count() {
    for text in [
        "```\n- [A](a.md)\n```\n",
        "~~~md\n[[a]]\n~~~\n",
        "    - [A](a.md)\n",
        "`[A](a.md)`\n",
        "<!-- [A](a.md) -->\n",
        "\\[A](a.md)\n",
        "![A](a.png)\n",
        "- [A](https://example.org/a.md)\n",
        "- <https://example.org/a.md>\n",
        "- [A](/etc/a.md)\n",
        "- [A](~/a.md)\n",
        "- [A](../a.md)\n",
        "- [A](sub/../../a.md)\n",
        "- [A](#here)\n",
        "- [A](mailto:a@example.org)\n",
        "- [A]()\n",
        "- [A][none]\n",
        "- A (a.md)\n",
    ] {
        assert_eq!(targets(text), Vec::<String>::new(), "{text}");
    }
}

#[test]
fn a_line_is_about_a_memory_if_it_begins_with_its_only_link() {
    let cases = [
        ("- [A](a.md) — hook\n", Form::Entry),
        ("3) [A](a.md)\n", Form::Entry),
        ("- [x] __[A](a.md)__: hook\n", Form::Entry),
        ("- see [A](a.md)\n", Form::Mention),
        ("- [A](a.md), [page](https://example.org)\n", Form::Mention),
        ("- [A](a.md)\n  - detail\n", Form::Mention),
        ("[A](a.md) is about tests.\n", Form::Mention),
        ("# [A](a.md)\n", Form::Mention),
    ];
    for (text, expected) in cases {
        assert_eq!(entries(text)[0].form, expected, "{text}");
    }
}

#[test]
fn an_item_of_several_lines_is_one_entry() {
    let text = "# Mine\n\n- [A](a.md) — first\n  and more\n\n- [B](b.md)\n";
    let found = entries(text);
    assert_eq!(
        &text[found[0].range.clone()],
        "- [A](a.md) — first\n  and more\n"
    );
    assert_eq!(
        (found[0].hook.as_str(), found[0].line),
        ("first and more", 3)
    );
    assert_eq!(
        (&text[found[1].range.clone()], found[1].line),
        ("- [B](b.md)\n", 6)
    );
    // Without a last newline, and with a letter of several bytes at the end.
    let text = "- [A](a.md) — first\n  über Nü";
    assert_eq!(entries(text)[0].hook, "first über Nü");
    // A remark right below an item is a person's and no part of it.
    let text = "- [A](a.md) — first\nremark\n- [B](b.md)\n";
    let found = entries(text);
    assert_eq!(&text[found[0].range.clone()], "- [A](a.md) — first\n");
    assert_eq!(found[0].form, Form::Entry);
}

#[test]
fn a_moved_file_takes_its_links_along_and_leaves_all_other_bytes() {
    let text = "* [A](./a.md): my a.md words\r\nSee [[a|it]], [x](a.md#top) and [y][r].\n`a.md`\n\n[r]: a.md\n";
    let moved = "* [A](./pinned/a.md): my a.md words\r\nSee [[pinned/a|it]], [x](pinned/a.md#top) and [y][r].\n`a.md`\n\n[r]: pinned/a.md\n";
    assert_eq!(retargeted(text, &path("a.md"), &path("pinned/a.md")), moved);
    assert_eq!(retargeted(moved, &path("pinned/a.md"), &path("a.md")), text);
    let blank = "- [A](my%20a.md)\n- [B](<my a.md>)\n";
    assert_eq!(
        retargeted(blank, &path("my a.md"), &path("pinned/my a.md")),
        "- [A](pinned/my%20a.md)\n- [B](<pinned/my a.md>)\n"
    );
}
