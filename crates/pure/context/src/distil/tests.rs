use super::*;
use crate::clear::Measure;
use crate::economy::Rates;
use dormouse_core::id::CallId;
use dormouse_core::models::BytesPerToken;
use dormouse_core::record::Calibration;
use pretty_assertions::assert_eq;
use proptest::prelude::*;

fn measure() -> Measure {
    Measure {
        bytes: BytesPerToken::default(),
        calibration: Calibration::default(),
    }
}

fn rates() -> Rates {
    Rates {
        read: 0.1,
        write: 1.25,
        write_prefix: 2.0,
        output: 5.0,
        dearer_over: None,
    }
}

fn stakes(size: u64, ahead: f64, again: f64) -> Stakes {
    Stakes {
        size: Tokens(size),
        short: Tokens(600),
        ahead,
        again,
        prompt: Tokens(40_000),
        call: Tokens(100),
        automatic: false,
    }
}

#[test]
fn the_gain_is_that_of_the_formula() {
    // 0.25·6,000 + 0.1·10·5,400 − 1.15·600
    let worth = Worth::new(&stakes(6_000, 10.0, 0.0), &rates());
    assert!((worth.gain - 6_210.0).abs() < 1e-6, "{worth}");
    // … − 0.1·(1.25·6,000 + 0.1·6,000·10 + 0.1·40,000 + 5·100)
    let worth = Worth::new(&stakes(6_000, 10.0, 0.1), &rates());
    assert!((worth.gain - 4_410.0).abs() < 1e-6, "{worth}");
    // Where it is likely to be fetched again, nothing is gained.
    assert!(Worth::new(&stakes(6_000, 10.0, 0.4), &rates()).gain < 0.0);
    // A cache that is automatic writes the whole result anyway.
    let automatic = Stakes {
        automatic: true,
        ..stakes(6_000, 0.0, 0.0)
    };
    assert!(Worth::new(&automatic, &rates()).gain < 0.0);
    // One sentence behind the results costs what it is sent for twice.
    assert!((worth::behind(Tokens(100), false, &rates()) - 90.0).abs() < 1e-6);
}

#[test]
fn shell_lines_that_show_one_file_are_reads() {
    for (command, expected) in [
        ("cat src/main.rs", true),
        ("sed -n 1,80p crates/a/src/lib.rs", true),
        ("/usr/bin/head -n 20 README.md", true),
        ("cat a.rs b.rs", false),
        ("cat a.rs | grep x", false),
        ("cargo test", false),
        ("git log --stat a.rs", false),
    ] {
        assert_eq!(reads_one_file(command), expected, "{command}");
    }
}

#[test]
fn a_distillate_keeps_ends_errors_and_names_in_use() {
    let mut lines: Vec<String> = (0..400)
        .map(|n| format!("line {n} of nothing at all"))
        .collect();
    lines[0] = "Building 12 targets".to_owned();
    lines[120] = "error: cannot find `frobnicate` in this scope".to_owned();
    lines[210] = "src/wheel/hub.rs:77: note: spoke_count is 36".to_owned();
    lines[399] = "3 passed, 1 failed".to_owned();
    let text = lines.join("\n");
    let result = Block::tool_result(&CallId::new("c"), &text, false);
    let named = names(["The answer looks at spoke_count."]);
    let made = distillate(&result, &named, "/results", (Tokens(300), measure())).unwrap();
    let shown = made.block.readable_text().unwrap();
    for part in [
        "Building 12",
        "error: cannot",
        "spoke_count is 36",
        "3 passed",
        "lines]",
    ] {
        assert!(shown.contains(part), "{part} in {shown}");
    }
    assert!(shown.contains(&format!("/results/{}", made.file)));
    assert_eq!(made.text, text);
    // A clearing later names the same file.
    assert!(crate::offload::saved_at(&shown, "/results").is_some());
}

proptest! {
    #[test]
    fn a_distillate_keeps_within_its_limit(
        lines in prop::collection::vec("[a-z_/ .0-9一-丐]{0,120}", 0..300),
        limit in 150_u64..800,
    ) {
        let result = Block::tool_result(&CallId::new("c"), &lines.join("\n"), false);
        if let Some(made) = distillate(&result, &names([lines.concat().as_str()]), "/r", (Tokens(limit), measure())) {
            prop_assert!(measure().tokens(made.block.weight()) <= Tokens(limit));
            prop_assert!(made.block.weight() != result.weight());
        }
    }
}
