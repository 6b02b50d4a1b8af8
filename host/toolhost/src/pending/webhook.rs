//! Tells the address of a policy that calls wait for consent, and what was decided: `approvals.webhook`.
//!
//! What is to be told lies beside its approval, in the same transaction. A task of each host with such a policy sends
//! it, so that no call waits for the address, and a process that ends loses none of it.

mod signature;

use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use futures_util::future::join_all;
use http::header::{CONTENT_TYPE, USER_AGENT};
use http::{Method, Request};
use serde_json::json;
use tokio::sync::Notify;
use toolhost_contract::http::Origin;
use toolhost_contract::{Timestamp, approval_address};
use toolhost_egress::OriginClient;
use toolhost_manifest::policy::ApprovalRules;
use toolhost_runtime::lock;
use zeroize::Zeroizing;

use super::PendingCalls;
use super::record::{Notice, NoticeEvent, Records};

/// Longest time of one attempt.
const ATTEMPT: Duration = Duration::from_secs(10);

/// Longest wait for notices to be sent once.
const FLUSH: Duration = Duration::from_secs(5);

/// Most bytes of an answer, which is not used.
const ANSWER_MAX: u64 = 64 << 10;

/// How often the store is asked: another process may have stored a decision, or ended while it sent something.
const ASK_EVERY: Duration = Duration::from_secs(2);

/// The shortest time between two questions: a decision may be due that waits for an earlier notice.
const ASK_MIN: Duration = Duration::from_millis(200);

/// The addresses that this host tells.
#[derive(Default)]
pub(crate) struct Webhooks(Mutex<Vec<Arc<Address>>>);

/// An address of a policy.
struct Address {
    url: String,
    signer: Mutex<Signer>,
    client: OriginClient,
    /// Notified when there is something to tell.
    changed: Notify,
}

/// What a policy may change without another address.
#[derive(Clone)]
struct Signer {
    key: Zeroizing<Vec<u8>>,
    page: Option<String>,
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

    fn is_empty(&self) -> bool {
        lock(&self.0).is_empty()
    }
}

impl PendingCalls {
    /// Tells the webhook of these rules from now on what it is to be told, also what earlier processes left. What waits to
    /// be told to the address of an earlier policy is still sent there.
    pub(crate) fn tell(self: &Arc<Self>, rules: &ApprovalRules) {
        let Some(webhook) = &rules.webhook else {
            return;
        };
        let signer = Signer {
            key: webhook.key.clone(),
            page: rules.page.clone(),
        };
        let mut addresses = lock(&self.webhooks.0);
        if let Some(known) = addresses.iter().find(|it| it.url == webhook.url) {
            *lock(&known.signer) = signer;
            return;
        }
        let Ok(origin) = Origin::of_url(&webhook.url) else {
            return;
        };
        let client = self.sandbox.egress().to("webhook", origin);
        let address = Arc::new(Address {
            url: webhook.url.clone(),
            signer: Mutex::new(signer),
            client: client
                .networks(&webhook.networks)
                .named_by_operator(true)
                .max_bytes(ANSWER_MAX)
                .time(ATTEMPT),
            changed: Notify::new(),
        });
        addresses.push(Arc::clone(&address));
        let threads = self.sandbox.threads();
        threads.spawn_own(send_all(Arc::downgrade(self), address));
    }

    /// Waits until each notice was sent once, at most for 5 s.
    pub(crate) async fn flush_webhooks(&self) {
        let Some(records) = self.opened().filter(|_| !self.webhooks.is_empty()) else {
            return;
        };
        let threads = self.sandbox.threads();
        let sent = async {
            while records.has_unsent_notice().await.unwrap_or_default() {
                let pause = Duration::from_millis(20);
                let _elapsed = threads.within(pause, std::future::pending::<()>()).await;
            }
        };
        let _is_sent = threads.within(FLUSH, sent).await;
    }
}

/// Sends what an address is to be told, as long as the host is there.
async fn send_all(pending: Weak<PendingCalls>, address: Arc<Address>) {
    while let Some(calls) = pending.upgrade() {
        let mut pause = ASK_EVERY;
        if let Ok(records) = calls.records().await {
            match records.take_notices(&address.url, SystemTime::now()).await {
                Ok(taken) => {
                    let (records, address) = (&records, &address);
                    let sending = taken.notices.iter();
                    join_all(sending.map(|notice| address.send(notice, records))).await;
                    let due = taken
                        .next
                        .map(|next| next.duration_since(SystemTime::now()));
                    let due = due.map(Result::unwrap_or_default);
                    pause = due.unwrap_or(ASK_EVERY).clamp(ASK_MIN, ASK_EVERY);
                }
                Err(error) => {
                    let error = error.with_causes();
                    tracing::warn!(%error, "what a webhook is to be told cannot be read");
                }
            }
        }
        let threads = calls.sandbox.threads().clone();
        drop(calls);
        let _elapsed = threads.within(pause, address.changed.notified()).await;
    }
}

impl Address {
    /// Sends one notice, and stores what became of it.
    async fn send(&self, notice: &Notice, records: &Records) {
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
        let Signer { key, page } = lock(&self.signer).clone();
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
        let answer = self.client.fetch(request).await;
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
            let state = if decision.is_approved {
                "approved"
            } else {
                "denied"
            };
            data.insert("state".to_owned(), state.into());
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
