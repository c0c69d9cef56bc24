//! Clients that keep their own history, behind a relay.

use crate::model::Answer;
use crate::relay::{Client, History, Relay};
use crate::stores::Store as _;
use crate::tools::calls;
use dormouse_context::path::{Leaf, path};
use dormouse_context::validate::consistent;
use dormouse_core::block::Block;
use dormouse_core::record::{Body, Role};
use dormouse_testkit::blocks::result;
use dormouse_testkit::conversation::prose;

fn user(text: &str) -> (Role, Block) {
    (Role::User, Block::text(text))
}

fn answer(relay: &Relay, client: Client) -> Vec<Block> {
    match relay.answers.get(&client).map(Vec::as_slice) {
        Some([Ok(blocks)]) => blocks.clone(),
        other => panic!("{client:?} has no single answer: {other:?}"),
    }
}

/// Asks, and adds the answer to the history.
fn ask(relay: &mut Relay, history: &mut History) {
    let client = relay.request(history.clone());
    while relay.step() {}
    let blocks = answer(relay, client);
    history.extend(blocks.into_iter().map(|block| (Role::Assistant, block)));
}

/// Texts of the prompt, including rewritten ones.
fn prompt(relay: &Relay, at: usize) -> Vec<String> {
    let view = relay.lines[at].driver.conversation().view();
    consistent(view.segments().iter()).unwrap();
    let segments = view.segments();
    let texts = segments.iter().map(|segment| segment.block.readable_text());
    texts.map(Option::unwrap_or_default).collect()
}

#[test]
fn a_history_that_goes_on_is_extended() {
    let mut relay = Relay::default();
    relay.model.script([Answer::text("A."), Answer::text("B.")]);
    let mut history = vec![user("One.")];
    ask(&mut relay, &mut history);
    history.push(user("Two."));
    ask(&mut relay, &mut history);
    assert_eq!(relay.lines.len(), 1);
    assert_eq!(prompt(&relay, 0), ["One.", "A.", "Two.", "B."]);
}

#[test]
fn the_client_runs_the_tools_and_a_long_result_is_recognised_although_it_is_in_a_file() {
    let mut relay = Relay::default();
    let call = calls("call_1", "Bash", 10);
    let texts = ["B.", "C."].map(Answer::text);
    relay
        .model
        .script([Answer::calls(vec![call])].into_iter().chain(texts));
    let mut history = vec![user("Run it.")];
    ask(&mut relay, &mut history);
    history.push((Role::User, result("call_1", &prose(1, 4_000))));
    ask(&mut relay, &mut history);
    history.push(user("And now?"));
    ask(&mut relay, &mut history);
    let prompt = prompt(&relay, 0);
    assert_eq!(prompt.len(), 6, "{prompt:?}");
    assert!(prompt[2].contains("tool-results"), "{}", prompt[2]);
    assert_eq!(&prompt[3..], ["B.", "And now?", "C."]);
    assert_eq!(relay.lines[0].rewinds, 0, "nothing was taken back");
}

#[test]
fn another_continuation_is_a_branch() {
    let mut relay = Relay::default();
    relay
        .model
        .script(["A.", "B.", "C.", "D."].map(Answer::text));
    let mut history = vec![user("One.")];
    ask(&mut relay, &mut history);
    let mut other = history.clone();
    history.push(user("Two."));
    ask(&mut relay, &mut history);
    other.push(user("Rather this."));
    ask(&mut relay, &mut other);
    assert_eq!(relay.lines.len(), 1);
    assert_eq!(prompt(&relay, 0), ["One.", "A.", "Rather this.", "C."]);
    let records = relay.lines[0].store.records();
    let path = path(&records, Leaf::Newest).into_iter();
    let reports = path.filter(|record| matches!(record.body, Body::Usage(_)));
    assert_eq!(reports.count(), 2, "usage of A and C");
    other.push(user("Go on."));
    ask(&mut relay, &mut other);
    assert_eq!(prompt(&relay, 0).len(), 6);
}

#[test]
fn a_changed_block_of_a_message_takes_the_whole_message_back() {
    let mut relay = Relay::default();
    relay.model.script(["A.", "B.", "C."].map(Answer::text));
    let mut history = vec![user("One.")];
    ask(&mut relay, &mut history);
    history.extend([user("Two."), user("Three.")]);
    let mut edited = history.clone();
    ask(&mut relay, &mut history);
    edited[3] = user("Four.");
    ask(&mut relay, &mut edited);
    assert_eq!(prompt(&relay, 0), ["One.", "A.", "Two.", "Four.", "C."]);
}

#[test]
fn an_edited_history_branches_in_front_of_the_edit() {
    let mut relay = Relay::default();
    relay.model.script(["A.", "B.", "C."].map(Answer::text));
    let mut history = vec![user("One.")];
    ask(&mut relay, &mut history);
    history.push(user("Two."));
    ask(&mut relay, &mut history);
    history[1].1 = Block::text("A, but better.");
    history.push(user("Three."));
    ask(&mut relay, &mut history);
    assert_eq!(relay.lines.len(), 1);
    let expected = ["One.", "A, but better.", "Two.", "B.", "Three.", "C."];
    assert_eq!(prompt(&relay, 0), expected);
}

#[test]
fn an_unknown_history_is_another_conversation() {
    let mut relay = Relay::default();
    relay.model.script(["A.", "B."].map(Answer::text));
    ask(&mut relay, &mut vec![user("One.")]);
    ask(&mut relay, &mut vec![user("Something else.")]);
    assert_eq!(relay.lines.len(), 2);
    assert_eq!(prompt(&relay, 1), ["Something else.", "B."]);
}

#[test]
fn two_requests_at_once_are_answered_once_each() {
    let mut relay = Relay::default();
    relay.model.script(["A.", "B.", "C."].map(Answer::text));
    let mut history = vec![user("One.")];
    ask(&mut relay, &mut history);
    let [mut left, mut right] = [history.clone(), history];
    left.push(user("Left."));
    right.push(user("Right."));
    let clients = [relay.request(left), relay.request(right)];
    while relay.step() {}
    let texts = clients.map(|client| answer(&relay, client)[0].readable_text().unwrap());
    assert_eq!(texts, ["B.", "C."]);
    assert_eq!(prompt(&relay, 0), ["One.", "A.", "Right.", "C."]);
}

#[test]
fn the_retry_of_a_client_that_was_gone_repeats_nothing() {
    let mut relay = Relay::default();
    relay.model.script(["A.", "B."].map(Answer::text));
    let history = vec![user("One.")];
    let client = relay.request(history.clone());
    // The response begins, and its block is delivered.
    assert!(relay.step() && relay.step());
    relay.gone(client);
    assert!(matches!(relay.answers[&client].as_slice(), [Err(_)]));
    assert_eq!(
        prompt(&relay, 0),
        ["One.", "A."],
        "the partial answer is kept"
    );
    let mut history = history;
    ask(&mut relay, &mut history);
    assert_eq!(relay.lines.len(), 1);
    assert_eq!(prompt(&relay, 0), ["One.", "B."]);
}
