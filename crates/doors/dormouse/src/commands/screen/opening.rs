//! The session behind a screen: opened while the screen is already there.
//!
//! # Model
//! The first frame is drawn before anything of the session is read. Then the end of its log is shown,
//! if it goes on; then the agent is opened, or the session watched, or it is said that there is no
//! model; then the usage of everything before is added up.

use super::door::blocking;
use super::watch;
use crate::commands::print;
use crate::error::Failure;
use crate::remark::words;
use dormouse_agent::{AgentAsk, AgentError, AgentHandle, Event, Past, Told, open};
use dormouse_core::id::SessionId;
use dormouse_host::{Host, HostError};
use dormouse_tui::{Opened, Opening, Talk};
use std::sync::Arc;
use tokio::sync::mpsc;

/// Opens the session and tells each step. An error is the end of the screen.
pub(super) async fn tell(
    host: &Arc<Host>,
    ask: AgentAsk,
    news: &mpsc::UnboundedSender<Opening>,
) -> Result<(), Failure> {
    let (past, events) = tail(host, &ask).unzip();
    if let (Some(past), Some(events)) = (&past, events) {
        let whole = past.is_whole();
        // The screen has been left if this fails, here and below.
        let _sent = news.send(Opening::Tail { events, whole });
    }
    let (mut opened, past) = match Box::pin(open(Arc::clone(host), ask)).await {
        Ok(agent) => with_agent(host, agent, past).map_err(print::failed)?,
        Err(AgentError::Host(error)) => match *error {
            HostError::NoModel(why) if why.is_missing() => {
                let error = print::without_model(&why, host).await;
                let hint = error.hint.map(|hint| format!("; {hint}"));
                let why = format!("{}{}", error.message, hint.unwrap_or_default());
                let _sent = news.send(Opening::Without(why));
                return Ok(());
            }
            error => match watch::busy_log(&error) {
                Some(log) => watch::watched(host, &log, past).map_err(print::failed)?,
                None => return Err(error.into()),
            },
        },
        Err(error) => return Err(print::failed(error)),
    };
    // Too late for the lines before the screen.
    let remarks = host.take_remarks();
    opened.history.extend(remarks.iter().map(|remark| Told {
        seq: None,
        event: Event::Notice {
            text: words(remark),
        },
    }));
    let _sent = news.send(Opening::Opened(opened));
    let reader = Arc::clone(host);
    if let Some(past) = past.filter(|past| !past.is_whole())
        // The events themselves were told; without these figures only the sum is too low.
        && let Some(Ok(figures)) = blocking(move || past.earlier(&reader)).await
    {
        let _sent = news.send(Opening::Earlier(figures));
    }
    Ok(())
}

/// A session that is opened in place of another, with the end of its log.
pub(super) async fn at_once(host: &Arc<Host>, ask: AgentAsk) -> Result<Opened, AgentError> {
    let agent = match Box::pin(open(Arc::clone(host), ask)).await {
        Ok(agent) => agent,
        Err(AgentError::Host(error)) => {
            // Another terminal writes it: it is watched here.
            let Some(log) = watch::busy_log(&error) else {
                return Err(AgentError::Host(error));
            };
            return Ok(watch::watched(host, &log, None)?.0);
        }
        Err(error) => return Err(error),
    };
    let (opened, _) = with_agent(host, agent, None)?;
    Ok(opened)
}

/// The end of the log of a session that goes on; none if there is no such log, or it is copied first.
fn tail(host: &Host, ask: &AgentAsk) -> Option<(Past, Vec<Told>)> {
    if ask.fork {
        return None;
    }
    // Errors are told by the opening itself.
    let id = host.resumed(&ask.resume).ok()??;
    Past::end_of(host, &host.session_log(&id).ok()?).ok()
}

/// An agent, with the events behind those that were read.
fn with_agent(
    host: &Host,
    agent: AgentHandle,
    past: Option<Past>,
) -> Result<(Opened, Option<Past>), AgentError> {
    let log = host.session_log(&agent.opened.session)?;
    let (past, history, whole) = match past.filter(|past| past.log() == log) {
        Some(mut past) => {
            let history = past.added(host)?;
            (Some(past), history, true)
        }
        None if agent.opened.resumed => {
            let (past, history) = Past::end_of(host, &log)?;
            let whole = past.is_whole();
            (Some(past), history, whole)
        }
        None => (None, Vec::new(), true),
    };
    let opened = Opened {
        talk: Talk::Agent(Box::new(agent)),
        history,
        whole,
    };
    Ok((opened, past))
}

/// Name of a log's session.
pub(super) fn session_of(log: &std::path::Path) -> SessionId {
    let name = log.file_stem().unwrap_or_default().to_string_lossy();
    SessionId::new(&*name)
}
