//! `tools/call`: one turn with one step, progress and log messages while it runs, and a stop when it is
//! cancelled.

use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{CallToolRequestParams, CallToolResponse, CreateTaskResult, ErrorData};
use rmcp::service::RequestContext;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;
use toolhost::{Instance, ToolCall, ToolError, ToolResult, TurnStart};

use super::answer::{answer_of, revision};
use super::approval::{self, AskedCalls, Door};
use super::authorization;
use super::elicitation::opens_urls;
use super::logs::{CallLogs, SessionLevel};
use super::progress::{Progress, Ticks};
use super::tasks::{self, poll_reply};
use crate::result::Revision;
use crate::shared::{Admitted, ServedState};
use crate::tool::{APPROVAL, POLL};

/// Time for the last records to be sent to a client that reads slowly, before its result.
const LAST_LOGS_TIMEOUT: Duration = Duration::from_secs(1);

/// Time between two polls of a call that a client has made again.
const DECISION_INTERVAL: Duration = Duration::from_millis(250);

/// Number of the last call of this process.
static CALLS: AtomicU64 = AtomicU64::new(0);

/// A call that a client makes again after its user was asked to open a link.
struct Repeated {
    handle: String,
    /// Whether the user did, as far as the client says.
    is_opened: bool,
}

/// A `tools/call` request.
pub(super) struct Call<'a> {
    pub(super) shared: &'a ServedState,
    pub(super) instance: &'a Instance,
    pub(super) context: &'a RequestContext<RoleServer>,
    /// The user for whom the call runs.
    pub(super) subject: Option<String>,
    pub(super) level: &'a SessionLevel,
    pub(super) asked: &'a AskedCalls,
    /// Why the arguments cannot be used.
    pub(super) arguments_error: Option<String>,
}

impl Call<'_> {
    /// Answers the request. Dropping the future stops the guest.
    pub(super) async fn answer(
        &self,
        request: CallToolRequestParams,
        admitted: Admitted,
    ) -> Result<CallToolResponse, ErrorData> {
        if request.name == APPROVAL && approval::shows_cards(&self.shared.config, self.context) {
            let card = approval::show(&self.shared.config, self.instance, &request).await;
            return Ok(CallToolResponse::Complete(card));
        }
        let repeated = self.repeated(&request);
        // Nobody is asked twice: the user may have declined, or be in the browser still.
        let is_first = repeated.is_none() && request.input_responses.is_none();
        let asks = || is_first && opens_urls(self.context);
        let is_poll = request.name == POLL;
        let has_page = self.shared.config.approvals_url.is_some();
        // A client of 2025-11-25 makes the same call again.
        let is_remembered = has_page && !is_poll;
        let is_remembered = is_remembered && revision(self.context) == Revision::WithInitialize;
        let made = (is_remembered && asks()).then(|| request.clone());
        let result = self.run(request, repeated, admitted).await?;
        if let Some(link) = authorization::link(&result).filter(|_| asks()) {
            return link.ask(self.context);
        }
        let door = Door::of(self.shared, self.instance, &result, self.context).await;
        if let Some(door) = door.as_ref().filter(|_| !is_poll && asks()) {
            if let Some((made, handle)) = made.zip(result.handle()) {
                self.asked.add(self.instance.key(), made, handle);
            }
            return door.link().ask(self.context);
        }
        let capabilities = self.context.client_capabilities();
        let has_tasks = capabilities.is_some_and(|capabilities| capabilities.supports_tasks());
        if has_tasks && let Some(handle) = result.handle() {
            let mut task = tasks::created(handle);
            task.status_message = door
                .as_ref()
                .map(|door| format!("waits for approval: {}", door.place.url));
            return Ok(CallToolResponse::Task(CreateTaskResult::new(task)));
        }
        let answer = answer_of(
            self.shared,
            self.instance,
            &result,
            door.as_ref().map(|door| &door.place),
            revision(self.context),
        )
        .await;
        Ok(CallToolResponse::Complete(answer))
    }

    /// Returns the call that a client makes again after its user was asked to open a link: it is a poll.
    fn repeated(&self, request: &CallToolRequestParams) -> Option<Repeated> {
        self.shared.config.approvals_url.as_ref()?;
        match &request.request_state {
            Some(handle) => {
                let responses = request.input_responses.iter().flatten();
                let mut actions = responses.map(|(_, response)| response.get("action"));
                Some(Repeated {
                    handle: handle.clone(),
                    is_opened: actions.all(|action| action.is_some_and(|it| it == "accept")),
                })
            }
            None => {
                let handle = self.asked.take(self.instance.key(), request)?;
                Some(Repeated {
                    handle,
                    is_opened: true,
                })
            }
        }
    }

    /// Polls a call that is made again, for some time if the user has opened the page: clients rarely make it a third
    /// time.
    async fn decided(
        &self,
        repeated: Repeated,
        admitted: Admitted,
    ) -> Result<ToolResult, ErrorData> {
        let until = Instant::now() + self.shared.config.approval_wait;
        let mut admitted = admitted;
        loop {
            let reply = poll_reply(self.instance, &repeated.handle, admitted).await?;
            if reply.has_ended || !repeated.is_opened || Instant::now() >= until {
                return Ok(reply.result);
            }
            // Without a share of the calls that run.
            sleep(DECISION_INTERVAL).await;
            match self.shared.admit(self.instance.key()) {
                Ok(again) => admitted = again,
                Err(_) => return Ok(reply.result),
            }
        }
    }

    async fn run(
        &self,
        request: CallToolRequestParams,
        repeated: Option<Repeated>,
        admitted: Admitted,
    ) -> Result<ToolResult, ErrorData> {
        let number = CALLS.fetch_add(1, Relaxed) + 1;
        let mut start = TurnStart::new(format!("mcp-{number}"));
        start = start.with_exposure(self.shared.config.tools);
        let parent = self.context.meta.get("traceparent");
        if let Some(parent) = parent.and_then(|text| text.as_str()).filter(is_traceparent) {
            start = start.with_trace_id(parent);
        }
        if let Some(subject) = &self.subject {
            start = start.with_subject(subject.as_str());
        }
        let progress = Progress::start(self.context);
        let (start, logs) = CallLogs::collect(start, self.context, self.level, progress.as_ref());
        let is_poll = request.name == POLL || repeated.is_some();
        let catalog = self.instance.agent().catalog();
        let tool = catalog.get(&request.name).map(|item| item.name.to_string());
        let tool = tool.unwrap_or_default();
        let called = async {
            if let Some(repeated) = repeated {
                self.decided(repeated, admitted).await
            } else if is_poll {
                poll(self.instance, &request, admitted).await
            } else {
                let _admitted = admitted;
                let id = format!("call-{number}");
                let arguments = request.arguments.unwrap_or_default();
                let call = match &self.arguments_error {
                    Some(error) => ToolCall::with_args_error(id, request.name, error.as_str()),
                    None => ToolCall::new(id, request.name, arguments),
                };
                execute(self.instance, start, call).await
            }
        };
        let (period, agent) = (self.shared.config.progress_interval, self.instance.agent());
        let ticks = Ticks::new(progress.as_ref(), period, agent, &tool);
        // A poll is counted apart.
        let counted = (!is_poll).then(|| self.shared.metrics.begin_call(&tool));
        let result = self.with_notifications(logs, ticks, called).await;
        match (counted, &result) {
            (Some(call), result) => call.end(result.as_ref()),
            (None, Ok(result)) => self.shared.metrics.count_poll(result),
            (None, Err(_)) => {}
        }
        result
    }

    /// Runs a call, and sends what it logs, and its progress in each interval if the client asked for it: a
    /// client that ends calls after a time without progress then waits.
    async fn with_notifications<T>(
        &self,
        mut logs: CallLogs,
        mut ticks: Ticks<'_>,
        called: impl Future<Output = T>,
    ) -> T {
        let (peer, called) = (&self.context.peer, pin!(called));
        let end = CancellationToken::new();
        let called = async {
            let _end = end.clone().drop_guard();
            called.await
        };
        let sending = async {
            loop {
                tokio::select! {
                    record = logs.next() => record.send(peer).await,
                    // The request of a client that is gone is cancelled.
                    progress = ticks.next() => drop(peer.notify_progress(progress).await),
                    () = end.cancelled() => break,
                }
            }
            while let Some(record) = logs.try_next() {
                record.send(peer).await;
            }
        };
        let too_late = async {
            end.cancelled().await;
            sleep(LAST_LOGS_TIMEOUT).await;
        };
        let notified = async {
            tokio::select! {
                () = sending => {}
                () = too_late => {}
            }
        };
        tokio::join!(called, notified).0
    }
}

/// Returns whether a text is a `traceparent` of W3C Trace Context, version 00.
fn is_traceparent(text: &&str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let is_hex = |part: &str, length: usize| {
        part.len() == length && part.bytes().all(|byte| byte.is_ascii_hexdigit())
    };
    matches!(&*parts, ["00", trace, span, flags]
        if is_hex(trace, 32) && is_hex(span, 16) && is_hex(flags, 2))
}

async fn execute(
    instance: &Instance,
    start: TurnStart,
    call: ToolCall,
) -> Result<ToolResult, ErrorData> {
    let turn = instance
        .open_turn(start)
        .await
        .map_err(ended_by_middleware)?;
    let step = turn.open_step().await.map_err(ended_by_middleware)?;
    let result = step.execute_without_message(call).await;
    step.close(()).await.map_err(ended_by_middleware)?;
    turn.close(()).await.map_err(ended_by_middleware)?;
    Ok(result)
}

/// Polls the result of a pending call: the tool [`POLL`].
async fn poll(
    instance: &Instance,
    request: &CallToolRequestParams,
    admitted: Admitted,
) -> Result<ToolResult, ErrorData> {
    let arguments = request.arguments.as_ref();
    let handle = arguments.and_then(|arguments| arguments.get("handle")?.as_str());
    let Some(handle) = handle else {
        let message = format!("`{POLL}` needs the string `handle`, from a pending result");
        return Err(ErrorData::invalid_params(message, None));
    };
    Ok(poll_reply(instance, handle, admitted).await?.result)
}

/// Returns the error of a turn or a step that a middleware ended.
fn ended_by_middleware(error: ToolError) -> ErrorData {
    let data = serde_json::to_value(&error).ok();
    ErrorData::internal_error(error.message, data)
}
