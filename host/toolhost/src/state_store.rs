//! Opens the database of a state root.

use std::path::PathBuf;

use tokio::sync::oneshot;
use toolhost_runtime::Threads;
use toolhost_store::{Schema, Store, StoreError};

/// Opens the store of a state root, or one in memory, on a thread that may wait for another process.
pub(crate) async fn open(
    threads: &Threads,
    root: Option<PathBuf>,
    schema: &'static Schema,
) -> Result<Store, StoreError> {
    let (send, store) = oneshot::channel();
    let path = root.clone().unwrap_or_else(|| PathBuf::from(":memory:"));
    threads.spawn_own(async move {
        let open = move || match root {
            Some(root) => Store::open(&root, schema),
            None => Store::in_memory(schema),
        };
        // The receiver may have been dropped.
        let _is_received = send.send(tokio::task::spawn_blocking(open).await).is_ok();
    });
    match store.await {
        Ok(Ok(store)) => store,
        Ok(Err(_)) | Err(_) => Err(StoreError::Panicked { path }),
    }
}
