//! Tests of the parts of command lines.

use super::*;
use proptest::prelude::*;

fn texts(line: &str) -> Vec<String> {
    parts(line).unwrap().iter().map(Part::text).collect()
}

#[test]
fn every_command_of_a_line_is_a_part() {
    for (line, expected) in [
        ("git status", vec!["git status"]),
        (
            "git add . && git commit -m 'a; b'",
            vec!["git add .", "git commit -m 'a; b'"],
        ),
        ("a | b || c; d & e", vec!["a", "b", "c", "d", "e"]),
        ("(cd x; rm -r y)", vec!["cd x", "rm -r y"]),
        ("for f in *; do rm $f; done", vec!["rm $f"]),
        (
            "if a; then b; elif c; then d; else e; fi",
            vec!["a", "b", "c", "d", "e"],
        ),
        ("while a; do { b; }; done", vec!["a", "b"]),
        ("case x in y) rm z;; esac", vec!["rm z"]),
        ("! false\nrm x", vec!["false", "rm x"]),
        ("diff <(rm a) b", vec!["rm a", "diff <(…) b"]),
        ("timeout 5 nice -n 3 cargo test", vec!["cargo test"]),
        ("xargs rm", vec!["rm"]),
        ("xargs -0 rm", vec!["xargs -0 rm"]),
        ("command -v", vec!["command -v"]),
    ] {
        assert_eq!(texts(line), expected, "{line}");
    }
}

#[test]
fn variables_and_written_files_are_told() {
    let found = parts("LD_PRELOAD=x CI=1 make > out.txt 2>&1 >> log <in").unwrap();
    assert_eq!(found[0].variables, ["LD_PRELOAD", "CI"]);
    assert_eq!(found[0].writes, ["out.txt", "log"]);
    assert_eq!(
        parts("a > /dev/null 2>&1").unwrap()[0].writes,
        Vec::<String>::new()
    );
    assert_eq!(parts("{ a; } &> all").unwrap()[1].writes, ["all"]);
    assert_eq!(parts("a >& all").unwrap()[0].writes, ["all"]);
}

#[test]
fn words_that_run_something_are_told() {
    for (line, computes) in [
        ("echo $(rm x)", true),
        ("echo \"`rm x`\"", true),
        ("echo '$(rm x)'", false),
        ("echo \"it's $(rm x)\"", true),
        ("A=$(rm x) true", true),
        ("cat <<END\n$(rm x)\nEND", true),
        ("cat <<'END'\n$(rm x)\nEND", false),
        ("echo $HOME", false),
        ("[[ $(rm x) ]]", true),
        ("f() { rm x; }; f", true),
    ] {
        let any = parts(line).unwrap().iter().any(|part| part.computes);
        assert_eq!(any, computes, "{line}");
    }
}

#[test]
fn lines_that_no_shell_accepts_have_no_parts() {
    assert_eq!(parts(""), Err(Reason::Empty));
    assert!(matches!(parts("a 'b"), Err(Reason::Unparsable { .. })));
    let long = "x".repeat(LONGEST_LINE + 1);
    assert!(matches!(parts(&long), Err(Reason::TooLong { .. })));
}

proptest! {
    /// Joined by any operator, each command is a part of its own.
    #[test]
    fn joined_commands_come_apart(
        commands in proptest::collection::vec("[a-z]{1,8}( -?[a-z]{1,5}){0,3}", 1..6),
        joint in prop::sample::select(vec![" && ", " || ", "; ", " | ", " & ", "\n"]),
    ) {
        let reserved = ["if", "do", "in", "then", "else", "fi", "for", "case", "esac", "done", "time",
            "while", "until", "elif", "function", "select", "coproc", "nice", "nohup", "xargs", "command",
            "builtin", "stdbuf", "timeout"];
        let plain = commands.iter().all(|it| it.split(' ').all(|word| !reserved.contains(&word)));
        prop_assume!(plain);
        prop_assert_eq!(texts(&commands.join(joint)), commands);
    }

    #[test]
    fn no_line_panics(line in "\\PC{0,80}") {
        parts(&line).ok();
    }
}
