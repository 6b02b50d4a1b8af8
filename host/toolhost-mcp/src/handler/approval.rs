//! Shows the users of clients that a call waits for approval: a link to the page on which people decide, and a card.
//!
//! Neither decides. The page asks for a token, which is another one than the client's.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use rmcp::RoleServer;
use rmcp::model::{
    CallToolRequestParams, CallToolResult, ContentBlock, MetaObject, ReadResourceResult, Resource,
    ResourceContents,
};
use rmcp::service::RequestContext;
use serde_json::{Value, json};
use toolhost::approvals::{Approval, approval_address};
use toolhost::{Instance, JsonObject, ToolResult};
use toolhost_runtime::lock;

use super::elicitation::Link;
use crate::config::McpConfig;
use crate::result::ApprovalPlace;
use crate::shared::ServedState;
use crate::tool::{APPROVAL, CARD_URI};

/// The extension of clients that show cards.
const UI: &str = "io.modelcontextprotocol/ui";

/// The type of a card.
const CARD_TYPE: &str = "text/html;profile=mcp-app";

/// The card: it has no data until the host posts it.
const CARD: &str = include_str!("approval/card.html");

/// Calls of a client that were answered with a link and were not made again. The oldest are forgotten first.
const ASKED_MAX: usize = 16;

/// How long such a call is known: one that is made later is another one.
const ASKED_FOR: Duration = Duration::from_secs(900);

/// Where the user of a client learns of a call that waits.
pub(super) struct Door {
    pub(super) place: ApprovalPlace,
    approval: Approval,
}

impl Door {
    /// Returns where the user learns of the call that waits; none without an address of the page.
    pub(super) async fn of(
        shared: &ServedState,
        instance: &Instance,
        result: &ToolResult,
        context: &RequestContext<RoleServer>,
    ) -> Option<Self> {
        let page = shared.config.approvals_url.as_deref()?;
        result.awaits_approval()?;
        let approval = waiting_for(instance, result.handle()?).await?;
        Some(Self {
            place: ApprovalPlace {
                url: approval_address(page, &approval.id),
                has_card: shows_cards(&shared.config, context),
            },
            approval,
        })
    }

    /// Returns the link that the user is asked to open. A client of 2026-07-28 that makes the call again sends its handle:
    /// that is a poll. The handle cannot be guessed, and is of no use to other instances.
    pub(super) fn link(&self) -> Link {
        let tool = &self.approval.tool;
        Link {
            id: self.approval.id.clone(),
            url: self.place.url.clone(),
            message: format!(
                "The call of {tool} waits for approval. The page shows what it would do, and asks who decides."
            ),
            reason: "a person must approve the call first",
            state: Some(self.approval.handle.clone()),
        }
    }
}

/// Returns what a call of the instance waits or waited for.
async fn waiting_for(instance: &Instance, handle: &str) -> Option<Approval> {
    let approval = instance.approvals().of_call(handle).await;
    approval
        .inspect_err(|error| tracing::warn!(%error, "an approval cannot be looked up"))
        .ok()?
}

/// Calls that a client of 2025-11-25 was asked to make again once its user has opened a link. It sends nothing that says
/// which call it makes again, so that the same one is taken for it.
#[derive(Debug, Default)]
pub(super) struct AskedCalls(Mutex<VecDeque<AskedCall>>);

#[derive(Debug)]
struct AskedCall {
    instance: String,
    name: String,
    arguments: Option<JsonObject>,
    handle: String,
    until: Instant,
}

impl AskedCall {
    fn is(&self, instance: &str, request: &CallToolRequestParams) -> bool {
        self.until > Instant::now()
            && self.instance == instance
            && self.name == request.name
            && self.arguments == request.arguments
    }
}

impl AskedCalls {
    /// Remembers a call that waits.
    pub(super) fn add(&self, instance: &str, request: CallToolRequestParams, handle: &str) {
        let mut asked = lock(&self.0);
        if asked.len() >= ASKED_MAX {
            asked.pop_front();
        }
        asked.push_back(AskedCall {
            instance: instance.to_owned(),
            name: request.name.into_owned(),
            arguments: request.arguments,
            handle: handle.to_owned(),
            until: Instant::now() + ASKED_FOR,
        });
    }

    /// Takes the handle of a call that is made again.
    pub(super) fn take(&self, instance: &str, request: &CallToolRequestParams) -> Option<String> {
        let mut asked = lock(&self.0);
        let index = asked.iter().position(|it| it.is(instance, request))?;
        asked.remove(index).map(|asked| asked.handle)
    }
}

/// Whether the client can show a card, and there is something that its button opens.
pub(super) fn shows_cards(config: &McpConfig, context: &RequestContext<RoleServer>) -> bool {
    if config.approvals_url.is_none() {
        return false;
    }
    let capabilities = context.client_capabilities();
    let extensions = capabilities.and_then(|capabilities| capabilities.extensions);
    let settings = extensions.as_ref().and_then(|all| all.get(UI));
    let types = settings.map(|settings| settings.get("mimeTypes").and_then(Value::as_array));
    types.is_some_and(|types| types.is_none_or(|types| types.iter().any(|it| it == CARD_TYPE)))
}

/// Answers the tool [`APPROVAL`]: what the card shows. It has neither the arguments nor the effect of the call.
pub(super) async fn show(
    config: &McpConfig,
    instance: &Instance,
    request: &CallToolRequestParams,
) -> CallToolResult {
    let arguments = request.arguments.as_ref();
    let handle = arguments.and_then(|arguments| arguments.get("handle")?.as_str());
    let approval = match handle {
        Some(handle) => waiting_for(instance, handle).await,
        None => None,
    };
    let (Some(approval), Some(page)) = (approval, &config.approvals_url) else {
        let text = format!(
            "`{APPROVAL}` needs the `handle` of a call of this agent instance that waits for approval."
        );
        return CallToolResult::error(vec![ContentBlock::text(text)]);
    };
    let (tool, state) = (&approval.tool, approval.state.as_str());
    let text = format!(
        "The approval of the call of {tool} is {state}. The user sees that on a card, which opens the page where it is decided."
    );
    let mut result = CallToolResult::success(vec![ContentBlock::text(text)]);
    result.structured_content = Some(json!({
        "handle": approval.handle,
        "state": state,
        "tool": tool,
        "effect": approval.effect,
        "createdAt": approval.created_at,
        "expiresAt": approval.expires_at,
        "url": approval_address(page, &approval.id),
    }));
    result
}

/// Returns the card as an item of `resources/list`.
pub(super) fn card_item() -> Resource {
    Resource::new(CARD_URI, "approval")
        .with_description("A call that waits for approval")
        .with_mime_type(CARD_TYPE)
}

/// Answers `resources/read` of the card. It may load nothing and connect to nothing.
pub(super) fn card() -> ReadResourceResult {
    let mut meta = MetaObject::new();
    meta.insert("ui".to_owned(), json!({"prefersBorder": true}));
    let contents = ResourceContents::text(CARD, CARD_URI).with_mime_type(CARD_TYPE);
    ReadResourceResult::new(vec![contents.with_meta(meta)])
}
