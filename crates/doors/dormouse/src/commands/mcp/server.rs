//! The server: tools, resources, subscriptions, in both eras of the protocol.

use super::asking::{self, Way};
use super::fixtures;
use super::tools::{self, Kept, Memory};
use super::watch;
use rmcp::model::{
    CacheScope, CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData,
    Implementation, InputResponses, JsonObject, ListResourceTemplatesResult, ListResourcesResult,
    ListToolsResult, PaginatedRequestParams, ReadResourceRequestParams, ReadResourceResponse,
    ReadResourceResult, Resource, ResourceContents, ResourceUpdatedNotification,
    ResourceUpdatedNotificationParam, ServerCapabilities, ServerConfig, ServerNotification,
    SubscribeRequestParams, SubscriptionFilter, UnsubscribeRequestParams,
};
use rmcp::service::{RequestContext, SubscriptionContext};
use rmcp::{RoleServer, ServerHandler};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::task::JoinHandle;

/// Time for which clients may keep lists: they change with the program only.
const DAY_MS: u64 = 24 * 60 * 60 * 1_000;
/// Resources of one page.
const PAGE: usize = 500;

/// Subscriptions of one session at most; each is a task that watches.
const MOST_SUBSCRIBED: usize = 100;

/// Watchers of resources that a client of the older era subscribed to, ended with its session.
#[derive(Default)]
struct Subscribed(Mutex<HashMap<String, JoinHandle<()>>>);

impl Drop for Subscribed {
    fn drop(&mut self) {
        let watchers = self.0.get_mut().unwrap_or_else(PoisonError::into_inner);
        for watcher in watchers.values() {
            watcher.abort();
        }
    }
}

/// Memory as a server. Clones share the host and the subscriptions.
#[derive(Clone)]
pub(super) struct MemoryServer {
    memory: Arc<Memory>,
    subscribed: Arc<Subscribed>,
    /// True if tools and resources of the conformance suite are offered, too.
    fixtures: bool,
}

impl MemoryServer {
    pub(super) fn new(
        open: impl Fn() -> tools::Opened + Send + Sync + 'static,
        session: Option<String>,
        fixtures: bool,
    ) -> Self {
        Self {
            memory: Arc::new(Memory::new(open, session)),
            subscribed: Arc::default(),
            fixtures,
        }
    }

    /// The same memory for another session, with subscriptions of its own.
    pub(super) fn for_session(&self) -> Self {
        Self {
            memory: Arc::clone(&self.memory),
            subscribed: Arc::default(),
            fixtures: self.fixtures,
        }
    }

    /// Runs work on memory beside the protocol; `None` if the thread panicked.
    async fn beside<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Memory) -> T + Send + 'static,
    ) -> Result<T, ErrorData> {
        let memory = Arc::clone(&self.memory);
        let done = tokio::task::spawn_blocking(move || work(&memory)).await;
        done.map_err(|_| ErrorData::internal_error("Dormouse itself failed; this is a bug", None))
    }

    /// Keeps a memory for a client that can ask its user about it.
    async fn remember(
        &self,
        arguments: JsonObject,
        responses: Option<&InputResponses>,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let text = arguments.get("text").and_then(|text| text.as_str());
        let text = text.unwrap_or_default().to_owned();
        let kept = self
            .beside(move |memory| memory.remember(&arguments))
            .await?;
        let id = match kept {
            Ok(Kept::Waits { id }) => id,
            Ok(Kept::Said(words)) => return Ok(told(Ok(words)).into()),
            Err(why) => return Ok(told(Err(why)).into()),
        };
        let word = match (asking::answered(responses), asking::way(context)) {
            (Some(word), _) => word,
            (None, Some(Way::Result)) => return Ok(asking::wanted(&text).into()),
            (None, Some(Way::Request)) => asking::ask(context, &text).await,
            (None, None) => asking::Word::Later,
        };
        let done = self.beside(move |memory| memory.decide(&id, word)).await?;
        Ok(told(done).into())
    }
}

/// An answer for the model.
fn told(answer: Result<String, String>) -> CallToolResult {
    match answer {
        Ok(text) => CallToolResult::success(vec![ContentBlock::text(text)]),
        Err(why) => CallToolResult::error(vec![ContentBlock::text(why)]),
    }
}

impl ServerHandler for MemoryServer {
    fn get_info(&self) -> ServerConfig {
        let can = ServerCapabilities::builder()
            .enable_tools()
            .enable_resources()
            .enable_resources_subscribe()
            .build();
        let mut info = ServerConfig::new(can).with_instructions(tools::INSTRUCTIONS);
        info.server_info = Implementation::new("dormouse", env!("CARGO_PKG_VERSION"));
        info
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let mut tools = tools::definitions();
        if self.fixtures {
            tools.extend(fixtures::tools());
        }
        Ok(ListToolsResult::with_all_items(tools)
            .with_ttl_ms(DAY_MS)
            .with_cache_scope(CacheScope::Public))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = request.arguments.unwrap_or_default();
        let name = request.name.to_string();
        if let Some(result) = self.fixtures.then(|| fixtures::call(&name)).flatten() {
            return Ok(result.into());
        }
        if !tools::NAMES.contains(&name.as_str()) {
            let words = format!("there is no tool `{name}`");
            return Err(ErrorData::invalid_params(words, None));
        }
        if name == "remember" && asking::way(&context).is_some() {
            let responses = request.input_responses;
            return self.remember(arguments, responses.as_ref(), &context).await;
        }
        let stop = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&stop);
        let work = self.beside(move |memory| memory.call(&name, &arguments, &flag));
        tokio::pin!(work);
        let answer = tokio::select! {
            answer = &mut work => answer,
            // The reading ends at the next look at the flag; its answer goes nowhere.
            () = context.ct.cancelled() => {
                stop.store(true, Ordering::Relaxed);
                work.await
            }
        }?;
        Ok(told(answer).into())
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let cursor = request.and_then(|request| request.cursor);
        let from = match cursor.as_deref().map(str::parse::<usize>) {
            None => 0,
            Some(Ok(from)) => from,
            Some(Err(_)) => return Err(ErrorData::invalid_params("unknown cursor", None)),
        };
        let all = self.beside(Memory::resources).await?;
        let all = all.map_err(|why| ErrorData::internal_error(why, None))?;
        let count = all.len();
        let first = if self.fixtures && from == 0 {
            fixtures::resources()
        } else {
            Vec::new()
        };
        let page = all.into_iter().skip(from).take(PAGE);
        let page = page.map(|(uri, name, description)| {
            let resource = Resource::new(uri, name).with_mime_type("text/markdown");
            if description.is_empty() {
                resource
            } else {
                resource.with_description(description)
            }
        });
        let mut listed =
            ListResourcesResult::with_all_items(first.into_iter().chain(page).collect());
        if from.saturating_add(PAGE) < count {
            listed.next_cursor = Some((from + PAGE).to_string());
        }
        Ok(listed.with_cache_scope(CacheScope::Private))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let templates = if self.fixtures {
            fixtures::templates()
        } else {
            Vec::new()
        };
        Ok(ListResourceTemplatesResult::with_all_items(templates)
            .with_ttl_ms(DAY_MS)
            .with_cache_scope(CacheScope::Public))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let uri = request.uri;
        if let Some(contents) = self.fixtures.then(|| fixtures::read(&uri)).flatten() {
            return Ok(ReadResourceResult::new(vec![contents]).into());
        }
        let asked = uri.clone();
        let text = self.beside(move |memory| memory.read(&asked)).await?;
        let text = text.map_err(|why| ErrorData::internal_error(why, None))?;
        let Some(text) = text else {
            let data = serde_json::json!({ "uri": uri });
            return Err(ErrorData::resource_not_found(
                "there is no such memory",
                Some(data),
            ));
        };
        let contents = ResourceContents::text(text, uri).with_mime_type("text/markdown");
        Ok(ReadResourceResult::new(vec![contents]).into())
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        let uris = requested.resource_subscriptions.clone().unwrap_or_default();
        let ours = uris.into_iter().filter(|uri| tools::path_of(uri).is_some());
        Some(
            SubscriptionFilter::builder()
                .resource_subscriptions(ours)
                .build(),
        )
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let uris = context.accepted().resource_subscriptions.clone();
        let watching = watch::changes(Arc::clone(&self.memory), uris.unwrap_or_default());
        tokio::pin!(watching);
        loop {
            tokio::select! {
                () = context.cancelled() => return Ok(()),
                uri = watching.next() => {
                    let update = ResourceUpdatedNotificationParam::new(uri);
                    let update = ResourceUpdatedNotification::new(update);
                    let update = ServerNotification::ResourceUpdatedNotification(update);
                    // The client is gone.
                    if context.sink().send(update).await.is_err() {
                        return Ok(());
                    }
                }
            }
        }
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let uri = request.uri;
        let is_fixture = self.fixtures && fixtures::read(&uri).is_some();
        if tools::path_of(&uri).is_none() && !is_fixture {
            return Err(ErrorData::resource_not_found(
                "there is no such memory",
                None,
            ));
        }
        let mut subscribed = self
            .subscribed
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if subscribed.len() >= MOST_SUBSCRIBED && !subscribed.contains_key(&uri) {
            let most = format!("a session may subscribe to {MOST_SUBSCRIBED} memories at most");
            return Err(ErrorData::invalid_request(most, None));
        }
        let memory = Arc::clone(&self.memory);
        let watched = uri.clone();
        let task = tokio::spawn(async move {
            let mut changes = watch::changes(memory, vec![watched]);
            loop {
                let update = ResourceUpdatedNotificationParam::new(changes.next().await);
                if context.peer.notify_resource_updated(update).await.is_err() {
                    return;
                }
            }
        });
        if let Some(before) = subscribed.insert(uri, task) {
            before.abort();
        }
        Ok(())
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let mut subscribed = self
            .subscribed
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(task) = subscribed.remove(&request.uri) {
            task.abort();
        }
        Ok(())
    }
}
