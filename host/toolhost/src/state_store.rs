//! Opens the database that keeps the state.

use std::path::{Path, PathBuf};

use tokio::sync::oneshot;
use toolhost_manifest::policy::Policy;
use toolhost_runtime::Threads;
use toolhost_store::{Database, Schema, Store, StoreError};

/// Returns the database that a policy names, or else the file of a state root; none without both. Nothing is opened. The
/// state root notes where its database is, once that was reached.
///
/// # Errors
/// [`StoreError::OtherDatabase`] where the state root has another one. [`StoreError::Settings`] where the policy's `state.postgres` cannot be used, or this build has no PostgreSQL.
pub fn database_of(
    policy: &Policy,
    state_root: Option<&Path>,
) -> Result<Option<Database>, StoreError> {
    match &policy.state().postgres {
        None => Ok(state_root.map(Database::from)),
        #[cfg(feature = "postgres")]
        Some(rules) => {
            let mut config = toolhost_store::PostgresConfig::parse(&rules.url)?;
            if let Some(password) = &rules.password {
                config = config.with_password(password.as_bytes());
            }
            if let Some(schema) = &rules.schema {
                config = config.with_schema(schema)?;
            }
            let database = Database::Postgres(toolhost_store::Postgres::new(config));
            if let Some(state_root) = state_root {
                database.mark(state_root)?;
            }
            Ok(Some(database))
        }
        #[cfg(not(feature = "postgres"))]
        Some(_) => Err(StoreError::Settings(
            "the policy has `state.postgres`, and this program was built without the feature `postgres`"
                .to_owned(),
        )),
    }
}

/// Opens the store of a database, or one in memory, on a thread that may wait for another process.
pub(crate) async fn open(
    threads: &Threads,
    database: Option<Database>,
    schema: &'static Schema,
) -> Result<Store, StoreError> {
    let open = move || match database {
        Some(database) => Store::open(database, schema),
        None => Store::in_memory(schema),
    };
    blocking(threads, open).await
}

/// Does what may wait for another process on a thread that may.
pub(crate) async fn blocking<T: Send + 'static>(
    threads: &Threads,
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    let (send, done) = oneshot::channel();
    threads.spawn_own(async move {
        // The receiver may have been dropped.
        let _is_received = send.send(tokio::task::spawn_blocking(work).await).is_ok();
    });
    match done.await {
        Ok(Ok(done)) => done,
        Ok(Err(_)) | Err(_) => Err(StoreError::Panicked {
            path: PathBuf::from("the state"),
        }),
    }
}
