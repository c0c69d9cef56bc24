//! A session opened by the host, and settings that change while it is open.

use crate::kit::Kit;
use dormouse_context::prefix::{Part, RenderedPrefix};
use dormouse_core::block::Block;
use dormouse_core::id::SessionId;
use dormouse_core::settings::keys;
use dormouse_drive::RunsAll;
use dormouse_engine::{AskModel, NoHooks, NoTools};
use dormouse_host::{Host, HostError, NewMemoryText, OpenedSession, SessionAsk, Which};
use dormouse_testkit_model::{Answer, Expect, Script, ScriptedModel};
use pretty_assertions::assert_eq;
use std::sync::Arc;
use std::time::Duration;

/// A model of the built-in table.
const MODEL: &str = "claude-sonnet-4-5";
/// Far more than the watcher's silence, also on a machine that is busy.
const PATIENCE: Duration = Duration::from_secs(30);

async fn open(host: &Host, session: Option<SessionId>, script: Script) -> OpenedSession {
    let model = AskModel(Arc::new(ScriptedModel::new(script)));
    let system = vec![Part::block("system", &Block::text("You help."))];
    let ask = SessionAsk {
        session,
        prefix: Arc::new(RenderedPrefix::new(Vec::new(), system, Vec::new())),
        tools: Arc::new(NoTools),
        model: Some((MODEL.to_owned(), Arc::new(model))),
        companion: None,
        judge: Arc::new(RunsAll),
        most_requests: usize::MAX,
        budget: None,
        hooks: Arc::new(NoHooks),
        restorer: None,
        notices: Arc::new(drop),
    };
    host.open_session(ask).await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_session_recalls_from_the_memory_that_the_host_keeps_and_is_listed() {
    let kit = Kit::new();
    let host = kit.host();
    let new = NewMemoryText {
        text: "The staging server of the shop listens on port 8080".to_owned(),
        ..NewMemoryText::default()
    };
    host.remember(&Which::Private, &new).unwrap();
    let script = Script::new().on(
        Expect::Contains("listens on port 8080".to_owned()),
        Answer::text("On 8080."),
    );
    let mut opened = open(&host, None, script).await;
    let prompt = vec![Block::text("which port does the staging server use?")];
    opened.session.turn(prompt).await.unwrap();
    let recaller = &opened.memory.as_ref().unwrap().1;
    assert_eq!(recaller.last().unwrap().now.len(), 1);
    let OpenedSession { session, id, .. } = opened;
    drop(session);
    let listed = host.sessions(None).unwrap().sessions;
    let listed: Vec<(&str, u64)> = listed
        .iter()
        .map(|row| (row.session.as_str(), row.messages))
        .collect();
    assert_eq!(listed, [(id.as_str(), 2)]);
    // Under the same id it goes on where it stopped.
    let script = Script::new().on(
        Expect::Contains("On 8080.".to_owned()),
        Answer::text("Yes."),
    );
    let mut again = open(&host, Some(id), script).await;
    let prompt = vec![Block::text("are you sure?")];
    again.session.turn(prompt).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn without_a_model_the_error_says_which_setting_is_missing() {
    let kit = Kit::new();
    let host = kit.host();
    let error = host.open_session(SessionAsk {
        session: None,
        prefix: Arc::default(),
        tools: Arc::new(NoTools),
        model: None,
        companion: None,
        judge: Arc::new(RunsAll),
        most_requests: usize::MAX,
        budget: None,
        hooks: Arc::new(NoHooks),
        restorer: None,
        notices: Arc::new(drop),
    });
    let error = error.await.unwrap_err();
    assert!(matches!(error, HostError::NoModel(_)), "{error}");
}

#[test]
fn settings_stay_current_once_they_are_watched() {
    let kit = Kit::new();
    let mut host = kit.host();
    let updates = host.watch().unwrap();
    let source = host.settings_source();
    kit.put("home/.dormouse/settings.toml", "[recall]\nfiles = 3\n", 0);
    while source().get(keys::RECALL_FILES) != 3 {
        updates.recv_timeout(PATIENCE).unwrap();
    }
    assert_eq!(host.settings().get(keys::RECALL_FILES), 3);
}
