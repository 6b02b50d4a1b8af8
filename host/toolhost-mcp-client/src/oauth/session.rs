//! The token of one server: loaded, sent, renewed, and asked for.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{Request, Response};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_util::sync::{CancellationToken, DropGuard};
use toolhost::http::{HttpClient, ResponseBody};
use toolhost_runtime::lock;

use super::flow::{self, NotRenewed};
use super::record::TokenRecord;
use super::settings::OAuthSettings;
use super::vault::Vault;
use crate::challenge::Challenge;
use crate::egress_error::EgressError;
use crate::unauthorized::{NextMove, Unauthorized};

/// Time for the requests of a refresh.
const REFRESH_TIME: Duration = Duration::from_secs(60);

/// Time for the requests before and after a person's answer, together.
const REQUESTS_TIME: Duration = Duration::from_secs(120);

/// The time in which a person is asked [`crate::McpLimits::authorizations`] times at most.
const WINDOW: Duration = Duration::from_secs(600);

/// A token that was renewed this recently is not renewed again because a server refuses it.
const RENEWED: Duration = Duration::from_secs(10);

/// Attempts to store a new token before it is used.
const STORE_ATTEMPTS: u32 = 5;

/// The delay between them, which grows.
const STORE_INTERVAL: Duration = Duration::from_millis(50);

/// The delay before a token that is used is stored at last. It doubles.
const STORE_LATER_MIN: Duration = Duration::from_secs(1);

/// The longest of these delays.
const STORE_LATER_MAX: Duration = Duration::from_secs(60);

/// Sends the requests of one server with its token. Dropping it ends an authorization that runs.
pub(crate) struct OAuth {
    inner: Arc<TokenKeeper>,
    flow: Mutex<Option<Flow>>,
    _closed: DropGuard,
}

struct TokenKeeper {
    settings: OAuthSettings,
    vault: Vault,
    grant: Mutex<Arc<TokenGrant>>,
    /// Held while the token is loaded or renewed, so that requests renew it once.
    renewing: tokio::sync::Mutex<()>,
    /// When a person was asked.
    questions: Mutex<VecDeque<Instant>>,
    /// Cancelled when the server is not used any more.
    closed: CancellationToken,
}

/// A token, and the client that adds it to requests to the server's origin and to no other.
struct TokenGrant {
    client: HttpClient,
    record: Option<TokenRecord>,
    renewed: Option<Instant>,
    /// Whether the store has it. Otherwise what it has is an earlier one, of no use any more.
    is_stored: AtomicBool,
}

/// A person is being asked. All who need the answer wait for the same.
struct Flow {
    result: watch::Receiver<Option<Result<(), Unauthorized>>>,
    task: JoinHandle<()>,
}

impl Drop for Flow {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl OAuth {
    pub(crate) fn new(settings: OAuthSettings) -> Self {
        let client = settings.client(None);
        let grant = TokenGrant {
            client,
            record: None,
            renewed: None,
            is_stored: AtomicBool::new(true),
        };
        let vault = Vault::new(&settings);
        let closed = CancellationToken::new();
        let inner = TokenKeeper {
            closed: closed.clone(),
            settings,
            vault,
            grant: Mutex::new(Arc::new(grant)),
            renewing: tokio::sync::Mutex::default(),
            questions: Mutex::default(),
        };
        Self {
            inner: Arc::new(inner),
            flow: Mutex::default(),
            _closed: closed.drop_guard(),
        }
    }

    /// Sends a request with the token. If the server refuses it, sends it once more with a token that was
    /// renewed.
    ///
    /// # Errors
    /// [`EgressError::Unauthorized`] if the server does not accept the token: the request had no effect.
    pub(crate) async fn send(
        &self,
        request: Request<Bytes>,
    ) -> Result<Response<ResponseBody>, EgressError> {
        let inner = &self.inner;
        let grant = inner.current().await?;
        let response = grant.client.send(request.clone()).await?;
        let Some(challenge) = Challenge::of(response.status(), response.headers()) else {
            return Ok(response);
        };
        drop(response);
        let Some(grant) = inner.renewed(&grant, &challenge).await? else {
            return Err(Unauthorized::challenged(challenge).into());
        };
        let response = grant.client.send(request).await?;
        match Challenge::of(response.status(), response.headers()) {
            None => Ok(response),
            Some(challenge) => Err(Unauthorized::challenged(challenge).into()),
        }
    }

    /// Asks a person for what a server asked for. If one is being asked already, waits for that answer.
    /// Dropping the future does not end the question: its answer serves the next request.
    ///
    /// # Errors
    /// The reason why no new token was obtained.
    pub(crate) async fn authorize(&self, refusal: &Unauthorized) -> Result<(), Unauthorized> {
        let Some(challenge) = &refusal.challenge else {
            return Err(refusal.clone());
        };
        let mut result = self.flow(challenge);
        match result.wait_for(Option::is_some).await.as_deref() {
            Ok(Some(answer)) => answer.clone(),
            Ok(None) | Err(_) => Err(refusal.clone()),
        }
    }

    fn flow(&self, challenge: &Challenge) -> watch::Receiver<Option<Result<(), Unauthorized>>> {
        let mut flow = lock(&self.flow);
        if let Some(running) = flow.as_ref().filter(|flow| !flow.task.is_finished()) {
            return running.result.clone();
        }
        let (sender, result) = watch::channel(None);
        let (inner, challenge) = (Arc::clone(&self.inner), challenge.clone());
        let task = tokio::spawn(async move {
            let answer = inner.authorize(&challenge).await;
            sender.send_replace(Some(answer));
        });
        let new_flow = Flow {
            result: result.clone(),
            task,
        };
        *flow = Some(new_flow);
        result
    }
}

impl TokenKeeper {
    fn grant(&self) -> Arc<TokenGrant> {
        Arc::clone(&lock(&self.grant))
    }

    fn set_grant(&self, record: Option<TokenRecord>, renewed: Option<Instant>) -> Arc<TokenGrant> {
        let token = record.as_ref().map(|record| record.access_token.expose());
        let grant = Arc::new(TokenGrant {
            client: self.settings.client(token),
            record,
            renewed,
            is_stored: AtomicBool::new(true),
        });
        *lock(&self.grant) = Arc::clone(&grant);
        grant
    }

    /// Returns the token to send: loaded if there is none, renewed if it expires.
    async fn current(self: &Arc<Self>) -> Result<Arc<TokenGrant>, Unauthorized> {
        let is_valid = |record: &TokenRecord| !record.is_expired();
        let grant = self.grant();
        if grant.record.as_ref().is_some_and(is_valid) {
            return Ok(grant);
        }
        self.to_the_end(|inner| async move {
            let _renewing = inner.renewing.lock().await;
            let grant = inner.grant();
            let record = match &grant.record {
                Some(record) if is_valid(record) => return Ok(grant),
                Some(record) => Some(record.clone()),
                None => inner.vault.load().await?,
            };
            let Some(record) = record else {
                return Ok(grant);
            };
            if is_valid(&record) {
                return Ok(inner.set_grant(Some(record), None));
            }
            match inner.refresh(&record).await? {
                Some(grant) => Ok(grant),
                // The server will ask for another one.
                None => Ok(inner.grant()),
            }
        })
        .await
    }

    /// Runs a renewal to its end even if the call that needs it is dropped: once the server has rotated a
    /// refresh token, the former one is of no use. It ends within [`REFRESH_TIME`] and the time of the lock.
    async fn to_the_end<T, F>(
        self: &Arc<Self>,
        run: impl FnOnce(Arc<Self>) -> F,
    ) -> Result<T, Unauthorized>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, Unauthorized>> + Send + 'static,
    {
        let result = tokio::spawn(run(Arc::clone(self))).await;
        result.unwrap_or_else(|error| Err(Unauthorized::new(NextMove::Wait, error)))
    }

    /// Returns another token than the one that was refused, if there is one without asking a person.
    async fn renewed(
        self: &Arc<Self>,
        grant: &Arc<TokenGrant>,
        challenge: &Challenge,
    ) -> Result<Option<Arc<TokenGrant>>, Unauthorized> {
        let (grant, challenge) = (Arc::clone(grant), challenge.clone());
        self.to_the_end(|inner| async move { inner.renew(&grant, &challenge).await })
            .await
    }

    async fn renew(
        self: &Arc<Self>,
        rejected: &Arc<TokenGrant>,
        challenge: &Challenge,
    ) -> Result<Option<Arc<TokenGrant>>, Unauthorized> {
        let _renewing = self.renewing.lock().await;
        let grant = self.grant();
        if !Arc::ptr_eq(&grant, rejected) {
            return Ok(Some(grant));
        }
        let token =
            |record: &Option<TokenRecord>| record.as_ref().map(|it| it.access_token.clone());
        let record = self.stored(&grant).await?;
        if record.is_some() && token(&record) != token(&grant.record) {
            return Ok(Some(self.set_grant(record, None)));
        }
        if grant.renewed.is_some_and(|at| at.elapsed() < RENEWED) && !challenge.is_step_up() {
            return Ok(None);
        }
        if let Some(record) = &grant.record
            && record.refresh_token.is_some()
            && !challenge.is_step_up()
            && let Some(renewed) = self.refresh(record).await?
        {
            return Ok(Some(renewed));
        }
        if self.settings.asks_nobody() {
            return self.exchange_client_credentials(challenge).await.map(Some);
        }
        Ok(None)
    }

    /// Returns the stored token, unless it is an earlier one than the token that is held.
    async fn stored(&self, grant: &TokenGrant) -> Result<Option<TokenRecord>, Unauthorized> {
        if grant.is_stored.load(Ordering::Acquire) {
            return self.vault.load().await;
        }
        Ok(None)
    }

    /// Holds a new token, and stores it. It is used even if the store fails; then it is stored later, as soon
    /// as that succeeds.
    ///
    /// # Errors
    /// Why it is not stored.
    async fn keep(
        self: &Arc<Self>,
        record: TokenRecord,
        renewed: Option<Instant>,
    ) -> (Arc<TokenGrant>, Result<(), Unauthorized>) {
        let grant = self.set_grant(Some(record.clone()), renewed);
        grant.is_stored.store(false, Ordering::Release);
        let mut attempt = 1;
        let error = loop {
            match self.vault.save(&record).await {
                Ok(()) => {
                    grant.is_stored.store(true, Ordering::Release);
                    return (grant, Ok(()));
                }
                Err(error) if attempt == STORE_ATTEMPTS => break error,
                Err(_) => tokio::time::sleep(STORE_INTERVAL * attempt).await,
            }
            attempt += 1;
        };
        let server = &self.settings.server;
        tracing::warn!(target: "toolhost::mcp", %server, %error, "a new token is not stored yet");
        tokio::spawn(Arc::clone(self).store_later(Arc::clone(&grant)));
        (grant, Err(error))
    }

    /// Stores a token, unless another one is held. Ends when it is stored, or with the last attempt once the
    /// server is not used any more.
    async fn store_later(self: Arc<Self>, grant: Arc<TokenGrant>) {
        let mut delay = STORE_LATER_MIN;
        loop {
            let is_closed = timeout(delay, self.closed.cancelled()).await.is_ok();
            delay = (delay * 2).min(STORE_LATER_MAX);
            let _renewing = self.renewing.lock().await;
            let (true, Some(record)) = (Arc::ptr_eq(&self.grant(), &grant), &grant.record) else {
                return;
            };
            let is_stored = self.vault.save(record).await.is_ok();
            grant.is_stored.store(is_stored, Ordering::Release);
            if is_stored || is_closed {
                return;
            }
        }
    }

    /// Exchanges the secret of the policy's client.
    async fn exchange_client_credentials(
        self: &Arc<Self>,
        challenge: &Challenge,
    ) -> Result<Arc<TokenGrant>, Unauthorized> {
        let earlier = self.grant().record.clone();
        check_step_up(challenge, earlier.as_ref())?;
        let flow = flow::exchange_client_credentials(&self.settings, challenge, earlier.as_ref());
        let Ok(record) = timeout(REFRESH_TIME, flow).await else {
            let reason = "it requires authorization, which took too long";
            return Err(Unauthorized::new(NextMove::Wait, reason));
        };
        let (grant, _) = self.keep(record?, Some(Instant::now())).await;
        Ok(grant)
    }

    /// Exchanges the refresh token. None: there is none, or it is of no use any more.
    async fn refresh(
        self: &Arc<Self>,
        record: &TokenRecord,
    ) -> Result<Option<Arc<TokenGrant>>, Unauthorized> {
        // Dropped when the new one is stored.
        let locked = self.vault.lock().await?;
        // Another process may have renewed it meanwhile.
        if let Some(newer) = self.stored(&self.grant()).await?
            && newer.access_token != record.access_token
            && !newer.is_expired()
        {
            return Ok(Some(self.set_grant(Some(newer), Some(Instant::now()))));
        }
        if record.refresh_token.is_none() {
            return Ok(None);
        }
        let refreshed = timeout(REFRESH_TIME, flow::refresh(&self.settings, record)).await;
        let renewed = match refreshed {
            Ok(Ok(renewed)) => renewed,
            Ok(Err(NotRenewed::Rejected)) => {
                let mut spent = record.clone();
                spent.refresh_token = None;
                self.set_grant(Some(spent), None);
                return Ok(None);
            }
            Ok(Err(NotRenewed::Failed(error))) => return Err(error),
            Err(_) => {
                let seconds = REFRESH_TIME.as_secs();
                let reason = format!("its token could not be renewed within {seconds} s");
                return Err(Unauthorized::new(NextMove::Wait, reason));
            }
        };
        let (grant, _) = self.keep(renewed, Some(Instant::now())).await;
        drop(locked);
        Ok(Some(grant))
    }

    /// Asks a person.
    async fn authorize(self: &Arc<Self>, challenge: &Challenge) -> Result<(), Unauthorized> {
        let refusal = || Unauthorized::challenged(challenge.clone());
        let authorizer = self.settings.access.authorizer.as_ref();
        let Some(authorizer) = authorizer.filter(|_| !self.settings.asks_nobody()) else {
            return Err(refusal());
        };
        let earlier = match self.grant().record.clone() {
            Some(record) => Some(record),
            None => self.vault.load().await?,
        };
        check_step_up(challenge, earlier.as_ref())?;
        self.count_question()?;
        let limit = self.settings.time + REQUESTS_TIME;
        let flow = flow::authorize(&self.settings, &**authorizer, challenge, earlier.as_ref());
        let Ok(record) = timeout(limit, flow).await else {
            let reason = "it requires authorization, which took too long";
            return Err(Unauthorized::new(NextMove::Login, reason));
        };
        let record = record?;
        let _renewing = self.renewing.lock().await;
        let (_, stored) = self.keep(record, None).await;
        stored
    }

    fn count_question(&self) -> Result<(), Unauthorized> {
        let (most, mut questions) = (self.settings.authorizations, lock(&self.questions));
        while questions.front().is_some_and(|at| at.elapsed() > WINDOW) {
            questions.pop_front();
        }
        if questions.len() >= most as usize {
            let minutes = WINDOW.as_secs() / 60;
            let reason =
                format!("it required more than {most} authorizations in {minutes} minutes");
            return Err(Unauthorized::new(NextMove::Wait, reason));
        }
        questions.push_back(Instant::now());
        Ok(())
    }
}

/// Refuses a challenge for scopes that were asked for already: another token would have no more.
fn check_step_up(challenge: &Challenge, earlier: Option<&TokenRecord>) -> Result<(), Unauthorized> {
    let scopes = earlier.map_or(&[][..], |record| &record.scopes);
    if challenge.is_step_up() && challenge.scopes.iter().all(|scope| scopes.contains(scope)) {
        let reason = format!("{challenge}; they were asked for already");
        return Err(Unauthorized::new(NextMove::Login, reason));
    }
    Ok(())
}
