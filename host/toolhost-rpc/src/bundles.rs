//! The bundles that one connection has loaded.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use toolhost::{LoadedBundle, search::ToolExposure};

use crate::config::RpcConfig;
use crate::error::{RpcError, RpcErrorCode};
use crate::message::quoted;

/// The bundles of a connection, by id.
#[derive(Debug, Default)]
pub(crate) struct Bundles(Mutex<Loaded>);

#[derive(Debug, Default)]
struct Loaded {
    /// How many were loaded.
    count: u64,
    by_id: HashMap<String, LoadedBundle>,
}

impl Bundles {
    /// Loads a bundle, and does not wait until it is compiled. Returns its id.
    pub(crate) async fn load(
        &self,
        path: &str,
        config: &RpcConfig,
    ) -> Result<(String, LoadedBundle), RpcError> {
        if config.bundle.is_some() {
            let message = "this server serves one bundle, which the operator has loaded";
            return Err(RpcError::new(RpcErrorCode::Fixed, message)
                .suggesting("Leave `bundle` out of the parameters: it is served."));
        }
        if !Path::new(path).is_absolute() {
            let message = format!("the path of the bundle is not absolute: {}", quoted(path));
            return Err(RpcError::params(message));
        }
        let most = config.limits.bundles;
        check_room(&self.loaded(), most)?;
        let bundle = config.host.load_to_serve(path).await?;
        if config.tools != ToolExposure::Direct {
            bundle.add_catalog_tools()?;
        }
        let mut bundles = self.loaded();
        // Others may have been loaded meanwhile.
        check_room(&bundles, most)?;
        bundles.count += 1;
        let id = format!("bundle-{}", bundles.count);
        bundles.by_id.insert(id.clone(), bundle.clone());
        Ok((id, bundle))
    }

    /// Forgets a bundle. Open turns keep it.
    pub(crate) fn unload(&self, id: &str) -> Result<(), RpcError> {
        let unloaded = self.loaded().by_id.remove(id);
        unloaded.map(drop).ok_or_else(|| unknown(id))
    }

    /// Returns the bundle of a request: that of the operator, or the one that it names; one that is alone
    /// needs no name.
    pub(crate) fn get(
        &self,
        id: Option<&str>,
        config: &RpcConfig,
    ) -> Result<LoadedBundle, RpcError> {
        if let Some(bundle) = &config.bundle {
            return match id {
                None => Ok(bundle.current()),
                Some(_) => Err(fixed("bundle")),
            };
        }
        let loaded = self.loaded();
        if let Some(id) = id {
            let bundle = loaded.by_id.get(id).cloned();
            return bundle.ok_or_else(|| unknown(id));
        }
        let mut bundles = loaded.by_id.values();
        match (bundles.next(), bundles.next()) {
            (Some(only), None) => Ok(only.clone()),
            (None, _) => Err(RpcError::new(RpcErrorCode::NotFound, "no bundle is loaded")
                .suggesting("Load one with bundle/load.")),
            (Some(_), Some(_)) => Err(RpcError::params(
                "several bundles are loaded, and the request names none",
            )),
        }
    }

    fn loaded(&self) -> MutexGuard<'_, Loaded> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn check_room(loaded: &Loaded, most: usize) -> Result<(), RpcError> {
    if loaded.by_id.len() < most {
        return Ok(());
    }
    let message = format!("this connection has loaded {most} bundles");
    Err(RpcError::new(RpcErrorCode::Limit, message).suggesting("Unload one with bundle/unload."))
}

fn unknown(id: &str) -> RpcError {
    let message = format!("this connection has no bundle `{}`", quoted(id));
    RpcError::new(RpcErrorCode::NotFound, message)
}

/// The error of a parameter that the operator has set.
pub(crate) fn fixed(parameter: &str) -> RpcError {
    let message = format!("`{parameter}` is set by the operator of this server");
    RpcError::new(RpcErrorCode::Fixed, message)
}
