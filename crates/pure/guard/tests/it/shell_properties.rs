//! Properties that hold for every command line.

use dormouse_guard::shell::{
    LONGEST_LINE, MOST_BRACKETS, MOST_COMMANDS, Reason, Verdict, classify,
};
use proptest::prelude::*;
use serde::Deserialize;
use std::sync::LazyLock;
use std::thread;

#[derive(Deserialize)]
struct Case {
    expect: String,
    line: String,
}

/// Labelled lines that pass.
static ALLOWED: LazyLock<Vec<String>> = LazyLock::new(|| {
    let text = include_str!("../data/shell_cases.jsonl");
    let cases = text
        .lines()
        .map(|line| serde_json::from_str::<Case>(line).unwrap());
    cases
        .filter(|case| case.expect == "allow")
        .map(|case| case.line.trim().to_owned())
        .collect()
});

/// Pieces that make any line dangerous, wherever they stand outside of quotes.
const DANGEROUS: [&str; 26] = [
    "; rm x",
    "&& touch x",
    "|| rm x",
    "| tee x",
    "| sh",
    "| xargs rm",
    "& rm x",
    "> out",
    ">> out",
    "2> out",
    "&> out",
    "$(rm x)",
    "`rm x`",
    "\"$(rm x)\"",
    "${x}",
    "$x",
    "<(rm x)",
    ">(rm x)",
    "<<< x",
    "\nrm x",
    "\rrm x",
    "; A=1 ls",
    "; (rm x)",
    "; if true; then rm x; fi",
    "; f() { rm x; }",
    "; find . -delete",
];

fn allowed_line() -> impl Strategy<Value = String> {
    (0..ALLOWED.len()).prop_map(|at| ALLOWED[at].clone())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn a_dangerous_end_makes_any_line_refused(line in allowed_line(), at in 0..DANGEROUS.len()) {
        let line = format!("{line} {}", DANGEROUS[at]);
        prop_assert!(!classify(&line).is_allowed(), "{line}");
    }

    #[test]
    fn a_dangerous_start_makes_any_line_refused(line in allowed_line(), at in 0..DANGEROUS.len()) {
        let start = DANGEROUS[at].trim_start_matches(['|', '&', ';', ' ']);
        for joint in [";", "&&", "||", "|"] {
            let line = format!("ls {start} {joint} {line}");
            // As plain words of `ls`, command names do nothing.
            if start.contains(['$', '`', '<', '>', '\n', '\r', '(', ';']) {
                prop_assert!(!classify(&line).is_allowed(), "{line}");
            }
            let line = format!("rm x {joint} {line}");
            prop_assert!(!classify(&line).is_allowed(), "{line}");
        }
    }

    #[test]
    fn lines_that_pass_pass_together(one in allowed_line(), other in allowed_line()) {
        // A comment, or a `;` at the end, changes what may follow.
        prop_assume!(!one.ends_with(';') && !one.contains('#'));
        for joint in ["&&", "||", ";"] {
            let line = format!("{one} {joint} {other}");
            prop_assert_eq!(classify(&line), Verdict::Allow, "{}", line);
        }
    }

    #[test]
    fn a_broken_line_is_judged(line in allowed_line(), at in any::<prop::sample::Index>(), with in any::<char>()) {
        let places: Vec<usize> = line.char_indices().map(|(place, _)| place).collect();
        let place = places[at.index(places.len())];
        let line = format!("{}{with}{}", &line[..place], &line[place..]);
        if let Verdict::Refuse(reason) = classify(&line) {
            prop_assert!(!reason.to_string().is_empty());
        }
    }

    #[test]
    fn random_bytes_are_judged(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let line = String::from_utf8_lossy(&bytes);
        prop_assert!(!classify(&line).is_allowed() || line.is_ascii());
    }

    #[test]
    fn random_shell_is_judged(
        pieces in proptest::collection::vec(
            prop::sample::select(vec![
                "ls", " ", "'", "\"", "\\", "$", "`", "(", ")", "{", "}", "|", "&", ";", "<", ">", "\n", "#", "*", "~",
                "=", "!", "[[", "]]", "if", "then", "fi", "do", "done", "case", "in", "esac", "2", "-", "cat", "a",
            ]),
            0..40,
        )
    ) {
        let line = pieces.concat();
        if classify(&line).is_allowed() {
            prop_assert!(!line.contains(['`', '\n']) || line.contains(['\'', '\\']) || line.ends_with('\n') || line.starts_with('\n'), "{line:?}");
        }
    }
}

#[test]
fn there_are_limits() {
    let long = format!("ls {}", "a".repeat(LONGEST_LINE));
    assert!(matches!(
        classify(&long),
        Verdict::Refuse(Reason::TooLong { .. })
    ));
    let many = vec!["ls"; MOST_COMMANDS + 1].join(";");
    assert_eq!(
        classify(&many),
        Verdict::Refuse(Reason::TooManyCommands {
            count: MOST_COMMANDS + 1
        })
    );
    let enough = vec!["ls"; MOST_COMMANDS].join(" && ");
    assert_eq!(classify(&enough), Verdict::Allow);
}

#[test]
fn no_nesting_goes_deep() {
    let openings = [
        "(",
        "{ ",
        "$(",
        "\"$(",
        "`",
        "if ",
        "while ",
        "[[ ( ",
        "((",
        "a() ",
        "<(",
        "${",
        "$((",
        "case a in a) ",
        "! ",
        "time ",
        "ls && if ",
        "ls | { ",
        "\"",
        "'",
        "\\",
        "!(",
        "@(",
        "?(",
        "[",
        "a[",
        "a=(",
        "coproc ",
        "function f ",
        "until ",
        "for a in ",
        "select a in ",
        "a['",
        "'a['",
        "\"a[\"",
        "a=[",
        "a+=",
        "a=",
        "a[0]=",
        "=(",
        "a{",
        "{a,",
        "~",
        "*",
        "a:",
        "<",
        ">",
        ">&",
        "&",
        "|",
        ";",
        "2>",
        "<<",
        "<<<",
        "]",
        ")",
        "}",
        "a[ ",
        "\\[",
        "a[a] ",
        "ls|",
        "ls&&",
        "ls;",
    ];
    for opening in openings {
        let line = opening.repeat(LONGEST_LINE / opening.len() - 8);
        assert!(!classify(&line).is_allowed(), "{opening}");
        // As an argument some are harmless, but all are judged.
        let verdict = classify(&format!("ls {line}"));
        assert!(
            !verdict.is_allowed() || !opening.contains(['$', '`', '(', '<', '>']),
            "{opening}"
        );
    }
}

#[test]
fn the_deepest_line_fits_a_small_stack() {
    let judge = || {
        let word = "a[".repeat(MOST_BRACKETS);
        let line = format!("{word} {word} {}", vec!["ls"; MOST_COMMANDS].join(" && "));
        classify(&line).is_allowed()
    };
    let small = thread::Builder::new().stack_size(512 * 1024).spawn(judge);
    assert!(!small.unwrap().join().unwrap());
}
