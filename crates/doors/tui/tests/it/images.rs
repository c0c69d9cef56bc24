//! Images in a prompt, by the path that a terminal pastes for a dropped file.

use crate::views::{Stage, commands};
use crossterm::event::KeyCode;
use dormouse_agent::Command;
use dormouse_agent::protocol::Attachment;
use dormouse_tui::{Effect, Input};

const PASTED: &str = "'/tmp/a b.png'";
const PATH: &str = "/tmp/a b.png";

fn find() -> Effect {
    Effect::FindImage(PASTED.to_owned(), PATH.to_owned())
}

/// A draft with words around a path that was pasted and found, or not.
fn drafted(found: bool) -> Stage {
    let mut stage = Stage::opened(80, 24);
    stage.model.update(Input::Paste("see ".to_owned()));
    let effects = stage.model.update(Input::Paste(PASTED.to_owned()));
    assert_eq!(effects, [find()]);
    stage.model.update(Input::Paste(" now".to_owned()));
    let path = found.then(|| PATH.to_owned());
    stage.model.update(Input::Image(PASTED.to_owned(), path));
    stage
}

/// Words and files of the prompt that Enter sends.
fn sent(stage: &mut Stage) -> (String, usize) {
    let mut sent = commands(stage.key(KeyCode::Enter));
    let Some(Command::Prompt {
        content,
        attachments,
        ..
    }) = sent.pop()
    else {
        panic!("no prompt");
    };
    let path = Attachment::File { path: PATH.into() };
    assert!(attachments.iter().all(|it| *it == path), "{attachments:?}");
    let text = content[0].readable_text().unwrap();
    (text, attachments.len())
}

#[test]
fn a_pasted_image_is_a_chip_and_goes_along() {
    let mut stage = drafted(true);
    assert!(stage.shown().contains("› see [Image #1] now"));
    let whole = ("see [Image #1] now".to_owned(), 1);
    assert_eq!(sent(&mut stage), whole);
    // From the history it goes along once more.
    stage.key(KeyCode::Up);
    assert_eq!(sent(&mut stage), whole);
}

#[test]
fn an_image_whose_chip_is_deleted_stays_behind() {
    let mut stage = drafted(true);
    for _ in 0.." now".len() {
        stage.key(KeyCode::Left);
    }
    stage.key(KeyCode::Backspace);
    assert_eq!(sent(&mut stage), ("see  now".to_owned(), 0));
}

#[test]
fn a_path_without_a_file_and_a_path_in_a_command_stay_words() {
    let mut stage = drafted(false);
    assert!(stage.shown().contains("› see '/tmp/a b.png' now"));
    assert_eq!(sent(&mut stage), ("see '/tmp/a b.png' now".to_owned(), 0));
    stage.model.update(Input::Paste("/attach ".to_owned()));
    let effects = stage.model.update(Input::Paste(PASTED.to_owned()));
    assert!(!effects.contains(&find()), "{effects:?}");
}
