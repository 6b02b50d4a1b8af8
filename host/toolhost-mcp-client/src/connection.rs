//! One connection to a server: from its start to its end.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rmcp::model::{
    ClientCapabilities, ClientConfig, Implementation, ProtocolVersion, SubscriptionFilter,
};
use rmcp::service::{
    ClientCacheConfig, ClientInitializeError, ClientLifecycleMode, ClientServiceExt, RunningService,
};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::{ClientHandler, Peer, RoleClient};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use toolhost::lock::Words;

use crate::catalog::Catalog;
use crate::config::{McpServerConfig, McpTransport, StdioServer};
use crate::egress_error::{unauthorized, words};
use crate::error::{McpFinding, bounded};
use crate::guard::{Guarded, Watch};
use crate::http::Egress;
use crate::http_server::HttpServer;
use crate::list::{ListError, ToolList, list};
use crate::process::Process;
use crate::startup::Startup;
use crate::state::{Outage, Ready, ServerContext};
use crate::stdio::StdioTransport;
use crate::unauthorized::Unauthorized;

/// How long the end of a process that closed its streams is waited for, to report its exit status.
const EXIT_STATUS: Duration = Duration::from_millis(500);

/// How long an answer to `server/discover` is waited for: a process must start meanwhile.
const DISCOVER: Duration = Duration::from_secs(3);

/// The delay before a subscription that ended is renewed.
const RESUBSCRIBE: Duration = Duration::from_secs(5);

/// This client: it offers nothing to servers.
struct ThisClient;

impl ClientHandler for ThisClient {
    fn get_info(&self) -> ClientConfig {
        let this = Implementation::new("toolhost", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(ClientCapabilities::default(), this)
            .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
    }
}

/// Why a connection could not be made.
enum OpenError {
    /// The connection was lost. The end of the process or the guard may know more than this text.
    Lost(String),
    /// The server requires authorization.
    Unauthorized(Unauthorized),
    /// The server cannot be used: another attempt would fail too.
    Failed(String),
}

impl From<ListError> for OpenError {
    fn from(error: ListError) -> Self {
        match error {
            ListError::Lost => Self::Lost(error.to_string()),
            ListError::Unauthorized(refused) => Self::Unauthorized(refused),
            ListError::Refused(reason) => Self::Failed(reason),
        }
    }
}

impl From<ClientInitializeError> for OpenError {
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "other errors are answers of the server"
    )]
    fn from(error: ClientInitializeError) -> Self {
        if let ClientInitializeError::TransportError { error, .. } = &error
            && let Some(refusal) = unauthorized(error)
        {
            return Self::Unauthorized(refusal.clone());
        }
        let reason = match &error {
            ClientInitializeError::TransportError { error, .. } => words(error),
            other => bounded(other),
        };
        let reason = format!("it could not be initialized: {reason}");
        match error {
            ClientInitializeError::ConnectionClosed(_)
            | ClientInitializeError::TransportError { .. } => Self::Lost(reason),
            _ => Self::Failed(reason),
        }
    }
}

/// Why an attempt failed.
enum Failure {
    /// The server was not initialized.
    Start(String),
    /// The server did not list its tools.
    Later(String),
    /// It took too long.
    Time,
}

/// How a connection ended.
enum End {
    /// For this reason; the client still runs.
    Reason(String),
    /// The client has ended, because nothing more can be received.
    Disconnected,
}

/// A server that was initialized and has listed its tools.
pub(crate) struct ServerConnection {
    service: RunningService<RoleClient, ThisClient>,
    process: Option<Process>,
    watch: Arc<Watch>,
    /// The tools, until they are registered.
    pub(crate) tools: ToolList,
}

impl ServerConnection {
    /// Starts a server, initializes it and lists its tools. If it requires authorization, asks a person and
    /// starts again; how often a person is asked is limited.
    ///
    /// # Errors
    /// Why it failed. Nothing of the server is left.
    pub(crate) async fn open(shared: &ServerContext) -> Result<Self, Outage> {
        loop {
            let refusal = match Self::attempt(shared).await {
                Ok(Err(refusal)) => refusal,
                Ok(Ok(connection)) => return Ok(connection),
                Err(reason) => return Err(reason.into()),
            };
            match &shared.oauth {
                Some(oauth) if refusal.asks() => oauth.authorize(&refusal).await?,
                _ => return Err(refusal.into()),
            }
        }
    }

    async fn attempt(shared: &ServerContext) -> Result<Result<Self, Unauthorized>, String> {
        let limit = shared.config.limits.start;
        let startup = shared.startups.next();
        let started = Instant::now();
        let mut attempted = Self::attempt_with(shared, startup, limit).await;
        let remaining = limit.saturating_sub(started.elapsed());
        if startup == Startup::Discover
            && let Err(Failure::Start(_)) = attempted
            && !remaining.is_zero()
        {
            attempted = Self::attempt_with(shared, Startup::Initialize, remaining).await;
            if let Ok(Ok(_)) = attempted {
                shared.startups.remember();
            }
        }
        attempted.map_err(|failure| match failure {
            Failure::Start(reason) | Failure::Later(reason) => reason,
            Failure::Time => {
                let seconds = limit.as_secs_f64();
                format!("it did not initialize and list its tools within {seconds} s")
            }
        })
    }

    async fn attempt_with(
        shared: &ServerContext,
        startup: Startup,
        limit: Duration,
    ) -> Result<Result<Self, Unauthorized>, Failure> {
        let config = &shared.config;
        let watch = Arc::new(Watch::new(config.name.clone(), &config.limits));
        let mut process = None;
        let mut is_initialized = false;
        let connection = timeout(limit, async {
            let service = match &config.transport {
                McpTransport::Stdio(stdio) => {
                    let transport = start(config, stdio, &watch, &mut process)?;
                    serve(transport, startup, &watch, limit).await
                }
                McpTransport::Http(http) => {
                    serve(connect(shared, http, &watch), startup, &watch, limit).await
                }
            };
            let service = service?;
            is_initialized = true;
            let disabled = ClientCacheConfig::disabled();
            service.peer().set_response_cache_config(disabled).await;
            let tools = list(service.peer(), &config.limits).await?;
            Ok::<_, OpenError>((service, tools))
        });
        let reason = match connection.await {
            Ok(Ok((service, tools))) => {
                return Ok(Ok(Self {
                    service,
                    process,
                    watch,
                    tools,
                }));
            }
            Ok(Err(OpenError::Unauthorized(refusal))) => return Ok(Err(refusal)),
            Ok(Err(OpenError::Failed(reason))) => reason,
            Ok(Err(OpenError::Lost(reason))) => {
                let cause = cause(&watch, process.as_mut()).await;
                cause.unwrap_or(reason)
            }
            Err(_) => return Err(Failure::Time),
        };
        Err(if is_initialized {
            Failure::Later(reason)
        } else {
            Failure::Start(reason)
        })
    }

    pub(crate) fn ready(&self) -> Ready {
        Ready {
            peer: self.service.peer().clone(),
            watch: Arc::clone(&self.watch),
        }
    }

    /// Keeps the tools up to date until the connection ends, or `closing` is cancelled. Returns why it
    /// ended. Nothing of the server is left then.
    pub(crate) async fn run(
        self,
        shared: &Arc<ServerContext>,
        catalog: &mut Catalog,
        on_update: impl Fn(BTreeMap<String, Words>, Vec<McpFinding>),
        closing: &CancellationToken,
    ) -> String {
        let Self {
            service,
            mut process,
            watch,
            tools: _,
        } = self;
        let limits = &shared.config.limits;
        let peer = service.peer().clone();
        let cancel = service.cancellation_token();
        let mut served = Box::pin(service.waiting());
        let exited = async {
            match process.as_mut() {
                Some(process) => process.ended().await,
                None => std::future::pending().await,
            }
        };
        let end = tokio::select! {
            reason = exited => End::Reason(reason),
            _ = &mut served => End::Disconnected,
            () = closing.cancelled() => End::Reason("it was closed".to_owned()),
            never = update(&peer, &watch, shared, catalog, on_update) => match never {},
            never = subscribe(&peer, &watch) => match never {},
        };
        let reason = match end {
            End::Reason(reason) => {
                cancel.cancel();
                // Closes the streams, or ends the session.
                let _ = timeout(limits.shutdown, served).await;
                reason
            }
            End::Disconnected => match cause(&watch, process.as_mut()).await {
                Some(reason) => reason,
                None => "it closed the connection".to_owned(),
            },
        };
        if let Some(process) = process {
            process.end_within(limits.shutdown).await;
        }
        reason
    }
}

/// Returns why a connection ended: the rule that the server broke, or the end of its process.
async fn cause(watch: &Watch, process: Option<&mut Process>) -> Option<String> {
    let status = match process {
        Some(process) => timeout(EXIT_STATUS, process.ended()).await.ok(),
        None => None,
    };
    status.or_else(|| watch.failure().map(|reason| reason.to_string()))
}

fn start(
    config: &McpServerConfig,
    stdio: &StdioServer,
    watch: &Arc<Watch>,
    process: &mut Option<Process>,
) -> Result<Guarded<StdioTransport>, OpenError> {
    let (started, pipes) = Process::start(&config.name, stdio).map_err(|error| {
        let program = toolhost::text::shorten(&stdio.program, 200);
        OpenError::Failed(format!(
            "the program '{program}' could not be started: {error}"
        ))
    })?;
    *process = Some(started);
    let limits = &config.limits;
    Ok(Guarded {
        inner: StdioTransport::new(
            pipes.stdout,
            pipes.stdin,
            limits.message_bytes,
            limits.send,
            Arc::clone(watch),
        ),
        watch: Arc::clone(watch),
    })
}

fn connect(
    shared: &ServerContext,
    http: &HttpServer,
    watch: &Arc<Watch>,
) -> Guarded<impl rmcp::transport::Transport<RoleClient> + 'static> {
    let limits = &shared.config.limits;
    let egress = Egress {
        client: http.client.clone(),
        oauth: shared.oauth.clone(),
        watch: Arc::clone(watch),
    };
    // An expired session is initialized again, once for the calls that met it.
    let settings = StreamableHttpClientTransportConfig::with_uri(Arc::clone(&http.url))
        .max_concurrent_requests(limits.calls)
        .max_sse_event_size(limits.message_bytes)
        .max_json_response_size(limits.message_bytes)
        .reinit_on_expired_session(true);
    Guarded {
        inner: StreamableHttpClientTransport::with_client(egress, settings),
        watch: Arc::clone(watch),
    }
}

/// Initializes a server: without a handshake where it knows revision 2026-07-28, otherwise with
/// `initialize`. A server that leaves `server/discover` without an answer is given up.
async fn serve<T: rmcp::transport::Transport<RoleClient> + 'static>(
    transport: T,
    startup: Startup,
    watch: &Watch,
    limit: Duration,
) -> Result<RunningService<RoleClient, ThisClient>, OpenError> {
    let lifecycle = match startup {
        Startup::Initialize => ClientLifecycleMode::Initialize,
        Startup::Discover => ClientLifecycleMode::Auto {
            preferred_versions: vec![ProtocolVersion::V_2026_07_28],
            legacy_version: Some(ProtocolVersion::LATEST_WITH_INITIALIZE),
        },
    };
    let unanswered = async {
        // The other half of the time is for `initialize`.
        let time = DISCOVER.min(limit / 2);
        let answer = timeout(time, watch.has_answered.cancelled());
        if startup == Startup::Initialize || answer.await.is_ok() {
            std::future::pending::<()>().await;
        }
        let seconds = time.as_secs_f64();
        format!("it did not answer 'server/discover' within {seconds} s")
    };
    tokio::select! {
        served = ThisClient.serve_with_lifecycle(transport, lifecycle) => Ok(served?),
        reason = unanswered => Err(OpenError::Failed(reason)),
    }
}

/// Lists the tools again when they change, at most once in [`McpLimits::list_interval`].
///
/// [`McpLimits::list_interval`]: crate::McpLimits::list_interval
async fn update(
    peer: &Peer<RoleClient>,
    watch: &Watch,
    shared: &Arc<ServerContext>,
    catalog: &mut Catalog,
    on_update: impl Fn(BTreeMap<String, Words>, Vec<McpFinding>),
) -> Infallible {
    let limits = &shared.config.limits;
    let server = &shared.config.name;
    loop {
        watch.list_changed.notified().await;
        match timeout(limits.start, list(peer, limits)).await {
            Ok(Ok(tools)) => {
                let findings = catalog.update(shared, tools);
                on_update(catalog.words(), findings);
            }
            // The connection is closed, which others notice.
            Ok(Err(ListError::Lost)) => {}
            Ok(Err(reason)) => {
                tracing::warn!(target: "toolhost::mcp", %server, "the tools stay as they are: {reason}");
            }
            Err(_) => watch.fail("it did not list its tools in time"),
        }
        tokio::time::sleep(limits.list_interval).await;
    }
}

/// Subscribes to changes of the tools, which revision 2026-07-28 requires. Earlier ones send them anyway.
async fn subscribe(peer: &Peer<RoleClient>, watch: &Watch) -> Infallible {
    let stateless = peer
        .peer_info()
        .is_some_and(|info| !info.protocol_version.has_initialize());
    if !stateless {
        return std::future::pending().await;
    }
    let filter = SubscriptionFilter::builder().tools_list_changed().build();
    loop {
        match peer.listen(filter.clone()).await {
            // Notifications are taken by the guard beneath.
            Ok(mut subscription) => while let Ok(Some(_)) = subscription.next().await {},
            Err(rmcp::ServiceError::McpError(_)) => return std::future::pending().await,
            Err(_) => {}
        }
        tokio::time::sleep(RESUBSCRIBE).await;
        // The tools may have changed meanwhile.
        watch.list_changed.notify_one();
    }
}
