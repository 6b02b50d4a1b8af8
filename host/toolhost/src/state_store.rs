//! Opens the database that keeps the state.

use std::path::{Path, PathBuf};

use tokio::sync::oneshot;
use toolhost_manifest::policy::Policy;
use toolhost_runtime::Threads;
use toolhost_store::{Database, Schema, Store, StoreError};

/// Returns the database that a policy names, or else the file of a state root; none without both. Nothing is opened.
///
/// # Errors
/// [`StoreError::Settings`] where the policy's `state.postgres` cannot be used, or this build has no PostgreSQL.
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
            let postgres = toolhost_store::Postgres::new(config);
            Ok(Some(Database::Postgres(postgres)))
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
    let (send, store) = oneshot::channel();
    threads.spawn_own(async move {
        let open = move || match database {
            Some(database) => Store::open(database, schema),
            None => Store::in_memory(schema),
        };
        // The receiver may have been dropped.
        let _is_received = send.send(tokio::task::spawn_blocking(open).await).is_ok();
    });
    match store.await {
        Ok(Ok(store)) => store,
        Ok(Err(_)) | Err(_) => Err(StoreError::Panicked {
            path: PathBuf::from("the state"),
        }),
    }
}
