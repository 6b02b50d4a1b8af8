//! The handler of one connection: answers the requests of MCP.

#![expect(
    deprecated,
    reason = "clients of 2025-11-25 get log messages; 2026-07-28 deprecates them"
)]

mod answer;
mod approval;
mod authorization;
mod call;
mod elicitation;
mod logs;
pub(crate) mod malformed;
mod progress;
mod resources;
mod subscriber;
mod tasks;

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

use rmcp::model::{
    CacheScope, CallToolRequestParams, CallToolResponse, CancelTaskParams, CustomRequest,
    CustomResult, ErrorData, GetTaskParams, GetTaskResult, Implementation,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    ReadResourceRequestParams, ReadResourceResponse, ServerCapabilities, ServerConfig,
    SetLevelRequestParams, SubscribeRequestParams, SubscriptionFilter, Tool,
    UnsubscribeRequestParams,
};
use rmcp::service::{NotificationContext, RequestContext, SubscriptionContext};
use rmcp::{RoleServer, ServerHandler};
use tokio::sync::Semaphore;
use toolhost::{Agent, Instance};

use approval::{AskedCalls, shows_cards};
use call::Call;
use logs::SessionLevel;
use subscriber::{LookAfterCall, Subscriber, watched_path};

use crate::incoming::ArgumentsError;
use crate::instance_error::InstanceError;
use crate::list_changes;
use crate::shared::ServedState;
use crate::subscriptions::{ChangeListener, INSTANCE_MAX};
use crate::tool::{approval_tool, poll_tool, tool_of};

/// The key of a request's instance. The HTTP server puts it into the extensions of each request.
#[derive(Debug, Clone)]
pub(crate) struct InstanceKey(pub(crate) Arc<str>);

/// The user of a request, which its token identifies. The HTTP server puts it into the extensions of the request.
#[derive(Debug, Clone)]
pub(crate) struct Subject(pub(crate) Arc<str>);

/// Requests `subscriptions/listen` of one client at the same time.
const LISTENING_MAX: usize = 16;

/// Answers the requests of one connection.
#[derive(Clone)]
pub(crate) struct Handler {
    shared: Arc<ServedState>,
    /// The key of a stream. None over HTTP, where each request has its own.
    key: Option<InstanceKey>,
    level: SessionLevel,
    /// Whether changes of the list are notified already: a client may initialize again and again.
    notifies: Arc<AtomicBool>,
    /// One permit for each `subscriptions/listen` that the client of a stream may have.
    listening: Arc<Semaphore>,
    /// The subscriptions of a client that sent `initialize`.
    subscriber: Arc<OnceLock<Subscriber>>,
    /// The calls of such a client that wait for its user to open a link.
    asked: Arc<AskedCalls>,
}

impl Handler {
    pub(crate) fn of_stream(shared: Arc<ServedState>, key: Arc<str>) -> Self {
        Self {
            key: Some(InstanceKey(key)),
            ..Self::of_http(shared)
        }
    }

    pub(crate) fn of_http(shared: Arc<ServedState>) -> Self {
        Self {
            shared,
            key: None,
            level: SessionLevel::default(),
            notifies: Arc::default(),
            listening: Arc::new(Semaphore::new(LISTENING_MAX)),
            subscriber: Arc::default(),
            asked: Arc::default(),
        }
    }

    /// Returns the key of a request's instance.
    fn key<'a>(&'a self, context: &'a RequestContext<RoleServer>) -> Result<&'a str, ErrorData> {
        let of_request = || {
            let parts = context.extensions.get::<http::request::Parts>()?;
            parts.extensions.get::<InstanceKey>()
        };
        match self.key.as_ref().or_else(of_request) {
            Some(InstanceKey(key)) => Ok(key),
            // A default instance would be shared by all clients.
            None => Err(ErrorData::internal_error(
                "the request names no instance",
                None,
            )),
        }
    }

    /// Returns the user for whom the calls of a request run.
    fn subject(&self, context: &RequestContext<RoleServer>) -> Option<String> {
        let parts = context.extensions.get::<http::request::Parts>();
        let of_token = parts.and_then(|parts| parts.extensions.get::<Subject>());
        let of_token = of_token.map(|Subject(user)| user.to_string());
        of_token.or_else(|| self.shared.config.subject.clone())
    }

    /// Opens the instance of a request.
    async fn instance(&self, context: &RequestContext<RoleServer>) -> Result<Instance, ErrorData> {
        let instance = self.shared.served.instance(self.key(context)?).await;
        instance.map_err(no_instance)
    }

    fn tools(&self, agent: &Agent, has_card: bool) -> Vec<Tool> {
        let catalog = agent.exposed(self.shared.config.tools);
        let mut tools: Vec<Tool> = catalog
            .items()
            .iter()
            .map(|item| tool_of(item, agent))
            .collect();
        if agent.can_be_pending() {
            tools.push(poll_tool());
        }
        if has_card && agent.asks() {
            tools.push(approval_tool());
        }
        tools
    }
}

/// Returns why the arguments of a call cannot be used. The HTTP server puts it into the extensions of its request.
fn arguments_error(context: &RequestContext<RoleServer>) -> Option<String> {
    let of_request = || {
        let parts = context.extensions.get::<http::request::Parts>()?;
        parts.extensions.get::<ArgumentsError>()
    };
    let error = context.extensions.get::<ArgumentsError>();
    error
        .or_else(of_request)
        .map(|ArgumentsError(error)| error.clone())
}

fn no_instance(error: InstanceError) -> ErrorData {
    ErrorData::invalid_request(error.to_string(), None)
}

/// Drops what answers a request when the client cancels it. The SDK runs handlers to their end.
async fn until_cancelled<T>(
    context: &RequestContext<RoleServer>,
    answer: impl Future<Output = Result<T, ErrorData>>,
) -> Result<T, ErrorData> {
    tokio::select! {
        biased;
        // No client waits for this answer.
        () = context.ct.cancelled() => {
            Err(ErrorData::internal_error("the request was cancelled", None))
        }
        answered = answer => answered,
    }
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_logging()
            .enable_tools()
            .enable_tool_list_changed()
            .enable_tasks();
        let config = &self.shared.config;
        let capabilities = if config.serve_workdir {
            let capabilities = capabilities.enable_resources();
            capabilities.enable_resources_subscribe().build()
        } else if config.approvals_url.is_some() {
            capabilities.enable_resources().build()
        } else {
            capabilities.build()
        };
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("toolhost", env!("CARGO_PKG_VERSION")))
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let agent = self.shared.served.agent_for(self.key(&context)?);
        let has_card = shows_cards(&self.shared.config, &context);
        let tools = self.tools(&agent.map_err(no_instance)?, has_card);
        let mut result = ListToolsResult::with_all_items(tools);
        // The list depends on who asks, and may change at any time.
        result.ttl_ms = Some(0);
        result.cache_scope = Some(CacheScope::Private);
        Ok(result)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let _awaited = self.shared.running();
        let admitted = self.shared.admit(self.key(&context)?)?;
        let answer = async {
            let instance = self.instance(&context).await?;
            let _look = LookAfterCall::of(&self.shared, instance.key());
            let call = Call {
                shared: &self.shared,
                instance: &instance,
                context: &context,
                subject: self.subject(&context),
                level: &self.level,
                asked: &self.asked,
                arguments_error: arguments_error(&context),
            };
            call.answer(request, admitted).await
        };
        until_cancelled(&context, answer).await
    }

    /// Answers a request that the SDK does not know, or whose parameters it cannot read.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        mut context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let Some((call, error)) = malformed::call(&request) else {
            let version = context.protocol_version();
            return Err(malformed::error(&request, version.as_ref()));
        };
        context.extensions.insert(error);
        let revision = answer::revision(&context);
        // Boxed: the SDK keeps room for this future in that of every request.
        let answer = Box::pin(self.call_tool(call, context)).await?;
        Ok(answer::to_custom(answer, revision))
    }

    /// The SDK checks the headers `Mcp-Param-*` of a call against the schema.
    fn get_tool(&self, name: &str) -> Option<Tool> {
        let agent = self.shared.served.current_agent().ok()?;
        let catalog = agent.catalog();
        catalog.get(name).map(|item| tool_of(item, &agent))
    }

    async fn set_level(
        &self,
        request: SetLevelRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.level.set(request.level);
        Ok(())
    }

    async fn get_task(
        &self,
        request: GetTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetTaskResult, ErrorData> {
        let _awaited = self.shared.running();
        let admitted = self.shared.admit(self.key(&context)?)?;
        let answer = async {
            let instance = self.instance(&context).await?;
            let _look = LookAfterCall::of(&self.shared, instance.key());
            tasks::get(
                &self.shared,
                &instance,
                &request.task_id,
                &context,
                admitted,
            )
            .await
        };
        until_cancelled(&context, answer).await
    }

    async fn cancel_task(
        &self,
        request: CancelTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let _admitted = self.shared.admit_cancellation(self.key(&context)?)?;
        let instance = self.instance(&context).await?;
        tasks::cancel(&instance, &request.task_id).await
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let _admitted = self.shared.admit(self.key(&context)?)?;
        let listing = async {
            let instance = self.instance(&context).await?;
            let has_card = shows_cards(&self.shared.config, &context);
            resources::list(&self.shared, &instance, has_card).await
        };
        until_cancelled(&context, listing).await
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        resources::templates(&self.shared.config)
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let _admitted = self.shared.admit(self.key(&context)?)?;
        let response = async {
            let instance = self.instance(&context).await?;
            resources::read(&self.shared, &instance, &request.uri).await
        };
        until_cancelled(&context, response).await
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        if !self.notifies.swap(true, Relaxed) {
            let shared = &self.shared;
            let changes = || shared.served.changes();
            shared.listeners.add(context.peer, changes);
        }
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        resources::allowed(&self.shared.config)?;
        let _admitted = self.shared.admit(self.key(&context)?)?;
        let instance = self.instance(&context).await?;
        let client = ChangeListener::Session(context.peer.clone());
        let subscriber = || Subscriber::new(&self.shared);
        let subscriber = self.subscriber.get_or_init(subscriber);
        subscriber.add(&instance, &request.uri, client).await
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        resources::allowed(&self.shared.config)?;
        if let Some(subscriber) = self.subscriber.get() {
            subscriber.remove(&request.uri);
        }
        Ok(())
    }

    /// The SDK removes the files if they are not served.
    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        let files = requested.resource_subscriptions.iter().flatten();
        let files = files.filter(|uri| watched_path(uri).is_some());
        let files = files.take(INSTANCE_MAX).cloned();
        let accepted = SubscriptionFilter::builder().tools_list_changed();
        Some(accepted.resource_subscriptions(files).build())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let Ok(_listening) = self.listening.try_acquire() else {
            let message = format!("the client listens {LISTENING_MAX} times, which is the limit");
            return Err(ErrorData::invalid_request(message, None));
        };
        let subscriber = Subscriber::new(&self.shared);
        if let Some(files) = &context.accepted().resource_subscriptions {
            let instance = self.instance(context.request_context()).await?;
            for uri in files {
                let client = ChangeListener::Stream(context.sink().clone());
                subscriber.add(&instance, uri, client).await?;
            }
        }
        list_changes::notify_subscription(self.shared.served.changes(), &context).await;
        Ok(())
    }
}
