//! A database in PostgreSQL, which processes on several machines share.
//!
//! ```text
//! writer  queued jobs ▶ one transaction, which alone writes (advisory lock) ▶ COMMIT ▶ replies
//! reader  a job ▶ one read-only transaction on a connection of its own
//! run     a row says that this process is alive: renewed each second, dead after 10 s, by one that was alive meanwhile
//! ```
//!
//! A write transaction first changes the row of its run. It fails there if the run was declared dead, so that a process that
//! was stopped for a while cannot complete what others have taken over. The row also counts transactions: after a connection
//! broke in the middle of a COMMIT, the count tells whether it was done.

mod config;
mod connection;
mod job;
mod reader;
mod run;
mod session;
mod statement;
mod tls;
mod value;
mod writer;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

pub use self::config::PostgresConfig;
pub(crate) use self::session::Session;
use crate::error::StoreError;
use crate::marker;

/// A database in PostgreSQL. The first [`Store`](crate::Store) on it connects; all stores of a process share two connections,
/// and a third that says that the process is alive. Cheap to clone.
#[derive(Clone)]
pub struct Postgres(Arc<Shared>);

struct Shared {
    config: PostgresConfig,
    joined: Mutex<Joined>,
}

#[derive(Default)]
struct Joined {
    session: Weak<Session>,
    /// The state roots that say that this is their database, once it was reached.
    state_roots: Vec<PathBuf>,
}

impl fmt::Debug for Postgres {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.config.fmt(f)
    }
}

/// The address without a password, and the schema.
impl fmt::Display for Postgres {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let config = &self.0.config;
        write!(f, "{} schema {}", config.name(), config.schema)
    }
}

impl Postgres {
    /// Names a database. Nothing is connected yet.
    pub fn new(config: PostgresConfig) -> Self {
        Self(Arc::new(Shared {
            config,
            joined: Mutex::default(),
        }))
    }

    /// Returns the address, without a password.
    pub fn name(&self) -> &str {
        self.0.config.name()
    }

    #[cfg(all(test, feature = "testing"))]
    pub(crate) fn config(&self) -> &PostgresConfig {
        &self.0.config
    }

    /// Connects, or joins the stores that have. Blocks.
    pub(crate) fn session(&self) -> Result<Arc<Session>, StoreError> {
        let mut joined = self.joined();
        if let Some(session) = joined.session.upgrade() {
            return Ok(session);
        }
        let started = Arc::new(Session::start(&self.0.config)?);
        for state_root in &joined.state_roots {
            marker::write_marker(state_root, &self.to_string())?;
        }
        joined.session = Arc::downgrade(&started);
        Ok(started)
    }

    fn joined(&self) -> MutexGuard<'_, Joined> {
        self.0.joined.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes in a state root that this is its database, now or once it was reached: a wrong address stays nowhere.
    pub(crate) fn mark(&self, state_root: &Path) -> Result<(), StoreError> {
        let name = self.to_string();
        marker::check_marker(state_root, &name)?;
        let mut joined = self.joined();
        if joined.session.strong_count() > 0 {
            marker::write_marker(state_root, &name)?;
        }
        if !joined.state_roots.iter().any(|it| it == state_root) {
            joined.state_roots.push(state_root.to_owned());
        }
        Ok(())
    }
}
