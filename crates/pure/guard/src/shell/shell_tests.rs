use super::*;
use pretty_assertions::assert_eq;
use std::path::PathBuf;

fn passes(line: &str, policy: &Policy) -> bool {
    classify_with(line, policy).is_allowed()
}

#[test]
fn plain_reading_is_allowed() {
    assert_eq!(
        classify("cat file.txt | grep -n 'x' && ls -la"),
        Verdict::Allow
    );
}

#[test]
fn a_reason_names_the_thing_and_has_a_kind() {
    let Verdict::Refuse(reason) = classify("find . -delete") else {
        panic!("that deletes");
    };
    assert_eq!(
        reason.to_string(),
        "`-delete` is not one of the flags allowed for `find`"
    );
    let json = serde_json::to_value(&reason).unwrap();
    assert_eq!(json["kind"], "unknown_flag");
}

#[test]
fn contents_are_read_where_the_policy_says() {
    let below = Policy {
        reach: Reach::Below(vec![PathBuf::from("/home/me/notes")]),
        ..Policy::default()
    };
    assert!(passes("cat a.md /home/me/notes/b.md", &below));
    assert!(passes("cd /home/me/notes && ls", &below));
    for line in [
        "cat /home/me/notes2/b.md",
        "cat /home/me/notes/../x",
        "cat /home/me",
        "cat ~/notes/b.md",
        "cat ../b.md",
        "grep -f /etc/x y",
        "cat < /etc/x",
    ] {
        assert!(!passes(line, &below), "{line}");
    }
    let anywhere = Policy {
        reach: Reach::Anywhere,
        ..Policy::default()
    };
    assert!(passes("cat /etc/hosts ~/a ../b dev/notes", &anywhere));
    assert!(passes("cd /srv && cat web/a", &anywhere));
    for line in [
        "cat /dev/zero",
        "cat //dev/zero",
        "cat /tmp/../dev/zero",
        "cat /./proc/self/mem",
        "cat < /dev/tcp/h/1",
        "cat ../../proc/self/environ",
        "cd / && cat proc/self/environ",
        "cd .. && cat < dev/sda",
        "cat /pro?/self/environ",
    ] {
        assert!(!passes(line, &anywhere), "{line}");
    }
}

#[test]
fn the_network_is_asked_only_by_leave() {
    let policy = Policy {
        network: true,
        ..Policy::default()
    };
    for line in [
        "gh pr view 1 --comments",
        "gh api repos/a/b --jq .name",
        "gh run view 1 --log-failed",
        "gh pr list -R o/r",
        "gh pr view https://github.com/o/r/pull/1",
    ] {
        assert!(
            passes(line, &policy) && !classify(line).is_allowed(),
            "{line}"
        );
    }
    for line in [
        "gh api -X POST repos/a/b",
        "gh api repos/a/b -f x=y",
        "gh api --method=DELETE x",
        "gh api --input f x",
        "gh api graphql",
        "gh api https://elsewhere/x",
        "gh pr view --web",
        "gh pr checks --watch",
        "gh pr list -R evil.example/o/r",
        "gh pr list --repo=evil.example/o/r",
        "gh repo view evil.example/o/r",
        "gh pr view https://evil.example/o/r/pull/1",
        "gh auth token",
        "gh pr",
    ] {
        assert!(!passes(line, &policy), "{line}");
    }
}

#[test]
fn programs_that_the_folder_names_need_something_that_holds_them() {
    let loose = Policy {
        folder: Folder::Loose,
        network: true,
        ..Policy::default()
    };
    for line in ["cargo tree", "cargo --version", "git diff", "git log -p"] {
        assert!(classify(line).is_allowed(), "{line}");
        assert!(!passes(line, &loose), "{line}");
    }
    for line in ["ls", "git ls-files", "docker ps", "node --version"] {
        assert!(passes(line, &loose), "{line}");
    }
}

#[test]
fn a_harmful_flag_is_told_with_its_effect() {
    let Verdict::Refuse(reason) = classify("sort -uo out in") else {
        panic!("that writes");
    };
    assert_eq!(
        reason.to_string(),
        "`-o` of `sort` is refused: it writes or changes something"
    );
}
