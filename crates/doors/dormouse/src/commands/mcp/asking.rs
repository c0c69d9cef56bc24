//! Approval of a memory by the user of the client, where the client can ask.
//!
//! # Model
//! An agent's wish to remember waits in the inbox first, whatever the client can do, so that nothing
//! is lost while a question is open. Then the question goes to the user: in the older era as a request
//! of the server, in the newer one as a result that wants input, after which the client repeats the
//! call. Only an answer of the client itself decides; arguments of the call, which a model writes, do
//! not. Without an answer the memory waits on.

use dormouse_core::fragment::{neutralise, one_line};
use rmcp::RoleServer;
use rmcp::model::{
    ElicitRequest, ElicitRequestParams, ElicitationCapability, ElicitationSchema, InputRequest,
    InputRequiredResult, InputResponses, ServerRequest,
};
use rmcp::service::RequestContext;
use serde_json::Value;
use std::collections::BTreeMap;
use std::time::Duration;

/// Name of the question among those of a result.
const QUESTION: &str = "approve";
/// Characters of the memory that are shown; the inbox has it whole.
const SHOWN: usize = 600;
/// Longest wait for the user in the older era, in which the call stays open. Clients give a call up
/// after one to some minutes by themselves.
const PATIENCE: Duration = Duration::from_mins(5);

/// The user's word on a memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Word {
    Keep,
    Drop,
    /// No answer, or none that decides.
    Later,
}

/// Way in which the client of a request can be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// By a request of the server, while the call is open.
    Request,
    /// By a result that wants input.
    Result,
}

/// The way to ask the client; `None` if it cannot ask its user.
pub(super) fn way(context: &RequestContext<RoleServer>) -> Option<Way> {
    let shows_forms = |can: ElicitationCapability| can.form.is_some() || can.url.is_none();
    // Clients of the newer era tell it with each request.
    if let Some(can) = context.meta.client_capabilities() {
        return can
            .elicitation
            .is_some_and(shows_forms)
            .then_some(Way::Result);
    }
    let client = context.peer.peer_info()?;
    let can = client.capabilities.elicitation.clone();
    can.is_some_and(shows_forms).then_some(Way::Request)
}

fn question(text: &str) -> ElicitRequest {
    let text = one_line(&neutralise(text), SHOWN);
    ElicitRequest::new(ElicitRequestParams::FormElicitationParams {
        meta: None,
        message: format!("Keep this in Dormouse's memory for later sessions?\n\n{text}"),
        // Accepting is the answer; there is nothing to fill in.
        requested_schema: ElicitationSchema::new(BTreeMap::new()),
    })
}

/// A result that has the client ask its user and repeat the call.
pub(super) fn wanted(text: &str) -> InputRequiredResult {
    let question = InputRequest::Elicitation(question(text));
    InputRequiredResult::from_input_requests(BTreeMap::from([(QUESTION.to_owned(), question)]))
}

/// The user's word in a repeated call; `None` if the question was not asked yet.
pub(super) fn answered(responses: Option<&InputResponses>) -> Option<Word> {
    responses?.get(QUESTION).map(word)
}

/// Asks the client and waits for its user.
pub(super) async fn ask(context: &RequestContext<RoleServer>, text: &str) -> Word {
    let request = ServerRequest::ElicitRequest(question(text));
    let asked = tokio::time::timeout(PATIENCE, context.peer.send_request(request));
    let answer = tokio::select! {
        answer = asked => answer,
        () = context.ct.cancelled() => return Word::Later,
    };
    match answer {
        Ok(Ok(result)) => word(&serde_json::to_value(result).unwrap_or_default()),
        _ => Word::Later,
    }
}

fn word(answer: &Value) -> Word {
    match answer["action"].as_str() {
        Some("accept") => Word::Keep,
        Some("decline") => Word::Drop,
        _ => Word::Later,
    }
}
