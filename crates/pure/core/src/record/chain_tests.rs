//! Walks over small logs, written as `id<parent` in file order.

use super::*;
use crate::id::Seq;
use crate::record::{Foreign, Message};
use pretty_assertions::assert_eq;

/// Records of a description: `b<a` is a message b whose parent is a, `b` one without a parent.
/// Before it: `~` a side chain, `#` bookkeeping, `=` a summary, `?` an unread line.
fn log(text: &str) -> Vec<Record> {
    let record = |(at, word): (usize, &str)| {
        let mark = word.chars().next().filter(|mark| "~#=?".contains(*mark));
        let word = word.trim_start_matches(['~', '#', '=', '?']);
        let (id, parent) = word
            .split_once('<')
            .map_or((word, None), |(id, parent)| (id, Some(parent)));
        let foreign = |kind: &str| {
            Body::Foreign(Foreign {
                kind: kind.into(),
                subtype: None,
                title: None,
            })
        };
        let mut message = Message::user(vec![Block::text(&format!("{at}"))]);
        if mark == Some('=') {
            message.origin = MessageOrigin::Summary;
        }
        Record {
            seq: Seq::new(at as u64),
            offset: at as u64,
            id: id.into(),
            parent: parent.map(RecordId::from),
            session: None,
            at: None,
            caused_by: None,
            side_chain: mark == Some('~'),
            agent: None,
            own: false,
            body: match mark {
                Some('#') => foreign("note"),
                Some('?') => foreign(UNREAD),
                _ => Body::Message(message),
            },
        }
    };
    text.split_whitespace().enumerate().map(record).collect()
}

/// Positions of the walk from the newest record, oldest first, and the bridges as `child>to`.
fn check(text: &str, path: &[usize], bridges: &[&str]) {
    let records = log(text);
    let links = Links::new(records.iter().collect());
    let mut walk = links.walk(records.len() - 1);
    walk.positions.reverse();
    let bridged: Vec<String> = walk
        .bridges
        .iter()
        .map(|bridge| format!("{}>{}", bridge.child, bridge.to))
        .collect();
    assert_eq!(
        (walk.positions.as_slice(), bridged),
        (path, bridges.iter().map(ToString::to_string).collect()),
        "{text}"
    );
}

#[test]
fn a_missing_parent_leads_to_the_record_before_it() {
    check("a b<a c<b d<c", &[0, 1, 2, 3], &[]);
    check("a b<a d<c", &[0, 1, 2], &["d>b"]);
    check("a b<a d<c f<e", &[0, 1, 2, 3], &["f>d", "d>b"]);
    check("b<a c<b", &[0, 1], &[]);
}

#[test]
fn bookkeeping_and_side_chains_are_no_links_of_the_main_chain() {
    check("a b<a ~s ~t<s #n d<c", &[0, 1, 5], &["d>b"]);
    check("a ~s ~t<s b<a ~v<u", &[1, 2, 4], &["v>t"]);
}

#[test]
fn an_abandoned_branch_stays_out_where_the_lost_line_shows_its_parent() {
    // a - b - c is abandoned; b2 hangs on a, was torn and still shows that.
    check("a b<a c<b ?b2<a c2<b2", &[0, 3, 4], &[]);
    check("a b<a c<b ?unread@9<a c2<b2", &[0, 3, 4], &["c2>unread@9"]);
    // A line of another branch stands between the torn one and its child.
    check("a b<a ?unread@9<b x<a d<c", &[0, 1, 2, 4], &["d>unread@9"]);
    // Each torn line is one lost record: the second gap is another one.
    check(
        "a ?unread@9<a c<b d<c f<e",
        &[0, 1, 2, 3, 4],
        &["f>d", "c>unread@9"],
    );
    // The chain went on past the torn line, so that the gap behind it is another one.
    check("a b<a ?unread@9<a c<b e<d", &[0, 1, 3, 4], &["e>c"]);
    // The lost record had two children: the branch hangs where the abandoned one does.
    check("a b<a d<c e<d d2<c", &[0, 1, 4], &["d2>b"]);
    check("d<c e<d d2<c", &[2], &[]);
    // Behind the beginning of the branch the nearest record is the branch's own.
    check("a b<a c<b b2<a d2<c2", &[0, 3, 4], &["d2>b2"]);
}

#[test]
fn of_branches_written_in_turns_the_one_that_ends_is_continued() {
    check(
        "a b1<a b2<a c2<b2 d1<c1 d2<c2 e1<d1",
        &[0, 1, 4, 6],
        &["d1>b1"],
    );
}

#[test]
fn a_cycle_is_left_where_it_closes() {
    check("a b<a c<c d<c", &[0, 1, 2, 3], &["c>b"]);
    check("a b<d c<b d<c", &[0, 1, 2, 3], &["b>a"]);
    check("a<b b<a", &[0, 1], &[]);
}

#[test]
fn different_records_with_one_id_are_both_reached() {
    check("a b<a c<b a<c e<d", &[0, 1, 2, 3, 4], &["e>a"]);
    check("a b<a b<b c<b", &[0, 1, 2, 3], &[]);
}

#[test]
fn a_record_with_the_id_of_another_is_known_by_its_children() {
    // The second `a` was `c`, as its child says: the branch that begins at `a` begins at the first.
    check("a b<a a<b d<c e<a", &[0, 4], &[]);
    check("a b<a a<b d<c", &[0, 1, 2, 3], &["d>a"]);
    // Without a child of its own nothing says so; the nearer one is taken.
    check("a b<a a<b e<a", &[0, 1, 2, 3], &[]);
}

#[test]
fn a_summary_begins_its_chain_when_the_boundary_is_lost() {
    check("a b<a =s<lost c<s", &[2, 3], &[]);
}
