//! Inboxes after crashes, and letters that are refused.

use crate::kit::{letter, name, read_all, team};
use dormouse_mail::{Accepted, Address, MailError};
use dormouse_system::{Access, System};
use pretty_assertions::assert_eq;
use std::path::Path;

const HOME: &str = "/home/u/.dormouse";

/// A killed writer leaves any prefix of its line. Whatever the prefix, later letters arrive, and the
/// letter in doubt, sent again, is there once.
#[test]
fn every_torn_end_is_closed() {
    let whole = {
        let system = System::memory();
        let inbox = team(&system, Path::new(HOME)).join(&name("lead")).unwrap();
        inbox.accept(&letter("doubt", "a", "kept?")).unwrap();
        system.files.read(inbox.path(), 10_000).unwrap()
    };
    for end in 0..=whole.len() {
        let system = System::memory();
        let inbox = team(&system, Path::new(HOME)).join(&name("lead")).unwrap();
        inbox.accept(&letter("first", "b", "before")).unwrap();
        let mut torn = system.files.append(inbox.path(), Access::Private).unwrap();
        torn.append(&whole[..end]).unwrap();
        // The next writer is another process, which knows nothing of the file.
        let other = team(&system, Path::new(HOME)).join(&name("lead")).unwrap();
        other.accept(&letter("after", "b", "later")).unwrap();
        inbox.accept(&letter("doubt", "a", "kept?")).unwrap();
        let (mut ids, torn) = read_all(&inbox);
        let is_torn = end > 0 && end < whole.len() - 1;
        assert_eq!(torn, u64::from(is_torn), "torn after {end} bytes");
        ids.sort();
        assert_eq!(ids, ["after", "doubt", "first"], "torn after {end} bytes");
    }
}

#[test]
fn a_letter_is_taken_once() {
    let system = System::memory();
    let crew = team(&system, Path::new(HOME));
    let inbox = crew.join(&name("lead")).unwrap();
    let message = letter("x", "a", "hello");
    assert_eq!(inbox.accept(&message).unwrap(), Accepted::New);
    assert_eq!(inbox.accept(&message).unwrap(), Accepted::Before);
    let fresh = team(&system, Path::new(HOME)).join(&name("lead")).unwrap();
    assert_eq!(fresh.accept(&message).unwrap(), Accepted::Before);
    assert_eq!(read_all(&inbox).0, ["x"]);
}

#[test]
fn a_letter_to_everyone_reaches_all_others_once() {
    let system = System::memory();
    let crew = team(&system, Path::new(HOME));
    for member in ["lead", "scout", "smith"] {
        crew.join(&name(member)).unwrap();
    }
    let message = letter("all", "lead", "stand-up in five");
    // Sent twice, as by a sender that was killed between two members.
    for _ in 0..2 {
        let reply = crew.send(&message, &Address::Everyone).unwrap();
        assert_eq!(reply.taken, [name("scout"), name("smith")]);
        assert_eq!(reply.refused, []);
    }
    for (member, expected) in [("lead", 0), ("scout", 1), ("smith", 1)] {
        let inbox = crew.join(&name(member)).unwrap();
        assert_eq!(read_all(&inbox).0.len(), expected, "{member}");
    }
}

#[test]
fn a_misspelt_member_gets_no_inbox() {
    let system = System::memory();
    let crew = team(&system, Path::new(HOME));
    crew.join(&name("scout")).unwrap();
    let to = Address::parse("scuot").unwrap();
    let error = crew.send(&letter("1", "lead", "hi"), &to).unwrap_err();
    assert_eq!(
        error.to_string(),
        "there is no agent `scuot` in this team; its members: scout"
    );
    assert_eq!(crew.members().unwrap(), [name("scout")]);
}

#[test]
fn a_letter_that_is_too_long_is_refused_with_advice() {
    let system = System::memory();
    let inbox = team(&system, Path::new(HOME)).join(&name("lead")).unwrap();
    let error = inbox
        .accept(&letter("1", "a", &"x".repeat(70_000)))
        .unwrap_err();
    assert!(matches!(error, MailError::TooLong { .. }), "{error}");
    assert_eq!(read_all(&inbox), (Vec::new(), 0));
}

/// Something else wrote into the file: a megabyte without a line end, and lines that are no letters.
#[test]
fn strange_bytes_hide_no_letter() {
    let system = System::memory();
    let inbox = team(&system, Path::new(HOME)).join(&name("lead")).unwrap();
    let mut file = system.files.append(inbox.path(), Access::Private).unwrap();
    file.append(b"{}\n[1,2]\nnonsense\n\n").unwrap();
    inbox.accept(&letter("1", "a", "hi")).unwrap();
    file.append(b"\xff\xfe").unwrap();
    inbox.accept(&letter("2", "a", "hi")).unwrap();
    assert_eq!(read_all(&inbox), (vec!["1".into(), "2".into()], 4));
}
