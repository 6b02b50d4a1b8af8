//! Tells the address of a policy that calls wait for consent, and what was decided: `approvals.webhook`.
//!
//! What is to be told lies beside its approval, in the same transaction. A task of each host with such a policy sends
//! it, so that no call waits for the address, and a process that ends loses none of it.

mod signature;

use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use http::header::{CONTENT_TYPE, USER_AGENT};
use http::{Method, Request};
use serde_json::json;
use tokio::sync::Notify;
use toolhost_contract::http::Origin;
use toolhost_contract::{Timestamp, approval_address};
use toolhost_egress::{Egress, OriginClient};
use toolhost_manifest::policy::{ApprovalRules, ApprovalWebhook};
use toolhost_runtime::lock;
use zeroize::Zeroizing;

use super::record::{Notice, NoticeEvent, Records};

/// Longest time of one attempt.
const ATTEMPT: Duration = Duration::from_secs(10);

/// Most bytes of an answer, which is not used.
const ANSWER_MAX: u64 = 64 << 10;

/// The addresses that this host tells.
#[derive(Default)]
pub(crate) struct Webhooks(Mutex<Vec<Arc<Address>>>);

/// An address of a policy.
pub(super) struct Address {
    pub(super) url: String,
    sender: Mutex<Sender>,
    /// Notified when there is something to tell.
    pub(super) changed: Notify,
}

/// What a policy may change without another address.
#[derive(Clone)]
struct Sender {
    client: OriginClient,
    key: Zeroizing<Vec<u8>>,
    page: Option<String>,
}

impl Sender {
    /// The policy has checked the URL.
    fn new(webhook: &ApprovalWebhook, page: Option<String>, egress: &Egress) -> Option<Self> {
        let client = egress.to("webhook", Origin::of_url(&webhook.url).ok()?);
        Some(Self {
            client: client
                .networks(&webhook.networks)
                .named_by_operator(true)
                .max_bytes(ANSWER_MAX)
                .time(ATTEMPT),
            key: webhook.key.clone(),
            page,
        })
    }
}

/// So that the tasks end.
impl Drop for Webhooks {
    fn drop(&mut self) {
        self.notify();
    }
}

impl Webhooks {
    /// There may be something to tell.
    pub(crate) fn notify(&self) {
        for address in &*lock(&self.0) {
            address.changed.notify_one();
        }
    }

    pub(super) fn urls(&self) -> Vec<String> {
        lock(&self.0).iter().map(|it| it.url.clone()).collect()
    }

    /// Tells the webhook of these rules from now on. Returns its address if it is a new one: a task has to send what it is
    /// to be told.
    pub(super) fn add(&self, rules: &ApprovalRules, egress: &Egress) -> Option<Arc<Address>> {
        let webhook = rules.webhook.as_ref()?;
        let sender = Sender::new(webhook, rules.page.clone(), egress)?;
        let mut addresses = lock(&self.0);
        if let Some(known) = addresses.iter().find(|it| it.url == webhook.url) {
            *lock(&known.sender) = sender;
            return None;
        }
        let address = Arc::new(Address {
            url: webhook.url.clone(),
            sender: Mutex::new(sender),
            changed: Notify::new(),
        });
        addresses.push(Arc::clone(&address));
        Some(address)
    }
}

impl Address {
    /// Sends one notice, and stores what became of it.
    pub(super) async fn send(&self, notice: &Notice, records: &Records) {
        let failure = self.post(notice).await.err();
        if let Some(failure) = &failure {
            let (event, id) = (notice.event.as_str(), notice.about.hold.id.as_str());
            tracing::warn!(event, id, failure, "a webhook was not told of an approval");
        }
        let settled = records.settle_notice(notice, failure.is_none(), SystemTime::now());
        if let Err(error) = settled.await {
            // It is sent again.
            let error = error.with_causes();
            tracing::warn!(%error, "what a webhook was told cannot be stored");
        }
    }

    async fn post(&self, notice: &Notice) -> Result<(), String> {
        let Sender { client, key, page } = lock(&self.sender).clone();
        let (id, body) = (id(notice), body(notice, page.as_deref()));
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let timestamp = now.unwrap_or_default().as_secs();
        let request = Request::builder()
            .method(Method::POST)
            .uri(&self.url)
            .header(CONTENT_TYPE, "application/json")
            .header(USER_AGENT, "toolhost")
            .header("webhook-id", &id)
            .header("webhook-timestamp", timestamp)
            .header(
                "webhook-signature",
                signature::sign(&key, &id, timestamp, &body),
            )
            .body(Bytes::from(body))
            .map_err(|error| error.to_string())?;
        let answer = client.fetch(request).await;
        let status = answer.map_err(|error| error.to_string())?.status();
        if status.is_success() {
            Ok(())
        } else {
            Err(format!("it answered {status}"))
        }
    }
}

/// Returns the id of a notice, which is that of each attempt.
fn id(notice: &Notice) -> String {
    format!("{}_{}", notice.about.hold.id, notice.event.as_str())
}

/// Returns the body of a notice, which is that of each attempt.
fn body(notice: &Notice, page: Option<&str>) -> String {
    let (about, hold) = (&notice.about, &notice.about.hold);
    let mut data = json!({
        "id": hold.id.as_str(),
        "agent": about.owner.agent,
        "instance": about.owner.instance_key,
        "bundle": about.owner.bundle,
        "tool": about.tool_name,
        "effect": hold.effect,
        "digest": hold.digest,
        "createdAt": Timestamp(hold.created_at),
        "expiresAt": Timestamp(hold.expires_at),
    });
    let decision = hold.decision.as_ref();
    let decision = decision.filter(|_| notice.event == NoticeEvent::Decided);
    if let Some(data) = data.as_object_mut() {
        if let Some(page) = page {
            data.insert(
                "url".to_owned(),
                approval_address(page, hold.id.as_str()).into(),
            );
        }
        if let Some(decision) = decision {
            data.insert("state".to_owned(), decision.as_str().into());
            data.insert("by".to_owned(), decision.by.as_str().into());
            data.insert("decidedAt".to_owned(), json!(Timestamp(decision.at)));
        }
    }
    let at = decision.map_or(hold.created_at, |decision| decision.at);
    json!({
        "type": format!("approval.{}", notice.event.as_str()),
        "timestamp": Timestamp(at),
        "data": data,
    })
    .to_string()
}
