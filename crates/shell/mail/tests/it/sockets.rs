//! Letters between sessions through a socket.

use crate::kit::{letter, name, read_all, team};
use dormouse_mail::{Address, Door, Inbox, MailError, Team, send_through};
use dormouse_system::System;
use pretty_assertions::assert_eq;
use std::io::{Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;

struct Place {
    _folder: tempfile::TempDir,
    crew: Team,
    inbox: Inbox,
    socket: PathBuf,
}

fn place() -> Place {
    let folder = tempfile::tempdir().unwrap();
    let crew = team(&System::real(), folder.path());
    let inbox = crew.join(&name("lead")).unwrap();
    let socket = folder.path().join("lead.sock");
    Place {
        _folder: folder,
        crew,
        inbox,
        socket,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_letter_comes_in_once_and_for_the_owner() {
    let Place {
        crew,
        inbox,
        socket,
        _folder,
    } = place();
    let door = Door::open(&socket, inbox.clone(), || {}).unwrap();
    let mode = std::fs::metadata(door.path()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let to = Address::parse(&format!("uds:{}", socket.display())).unwrap();
    tokio::task::spawn_blocking(move || {
        for _ in 0..2 {
            crew.send(&letter("x-1", "visitor", "hello"), &to).unwrap();
        }
    })
    .await
    .unwrap();
    assert_eq!(read_all(&inbox), (vec!["x-1".to_owned()], 0));
    let batch = inbox.read(dormouse_mail::Cursor::default()).unwrap();
    assert_eq!(batch.letters[0].0.to, name("lead"));
    drop(door);
    assert!(!socket.exists(), "the socket is removed with its door");
}

#[tokio::test(flavor = "multi_thread")]
async fn rubbish_gets_an_answer_and_no_place() {
    let Place {
        inbox,
        socket,
        _folder,
        ..
    } = place();
    let _door = Door::open(&socket, inbox.clone(), || {}).unwrap();
    let answers = tokio::task::spawn_blocking(move || {
        let endless = vec![b'x'; 200_000];
        let cases: [&[u8]; 4] = [b"\n", b"{\"id\":3}\n", b"\xff\xfe\n", &endless];
        cases.map(|bytes| {
            let mut stream = UnixStream::connect(&socket).unwrap();
            // The door may close before it has read everything; its answer counts.
            let _written = stream.write_all(bytes);
            let mut answer = String::new();
            let _read = stream.read_to_string(&mut answer);
            answer
        })
    })
    .await
    .unwrap();
    for answer in &answers[..3] {
        assert!(answer.contains("this is no letter"), "{answer}");
    }
    assert_eq!(read_all(&inbox), (Vec::new(), 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dead_socket_is_replaced_and_a_living_one_kept() {
    let Place {
        inbox,
        socket,
        _folder,
        ..
    } = place();
    // Dropping a listener leaves its file, as a killed session does.
    drop(UnixListener::bind(&socket).unwrap());
    let error = send_through(&socket, &letter("1", "a", "hi")).unwrap_err();
    assert!(
        error.to_string().contains("leads to no running session"),
        "{error}"
    );
    let door = Door::open(&socket, inbox.clone(), || {}).unwrap();
    let second = Door::open(&socket, inbox, || {}).unwrap_err();
    assert!(
        matches!(
            second,
            MailError::Socket {
                what: "is another session's",
                ..
            }
        ),
        "{second}"
    );
    drop(door);
}
