use super::*;

#[test]
fn plain_reading_is_allowed() {
    assert_eq!(
        classify("cat file.txt | grep -n 'x' && ls -la"),
        Verdict::Allow
    );
}

#[test]
fn writing_is_refused() {
    assert!(!classify("cat a > b").is_allowed());
}
