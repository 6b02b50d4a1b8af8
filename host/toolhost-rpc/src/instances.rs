//! The instance that a request is for.

use std::path::Path;

use serde::Deserialize;
use toolhost::{Agent, Instance, LoadedBundle, Workdir};

use crate::bundles::{Bundles, fixed};
use crate::config::RpcConfig;
use crate::error::RpcError;
use crate::message::quoted;

/// Key of the instance where none is named.
const DEFAULT_KEY: &str = "rpc";

/// An instance of an agent: `{"bundle"?, "agent"?, "key"?, "workdir"?}`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct InstanceParams {
    bundle: Option<String>,
    agent: Option<String>,
    key: Option<String>,
    workdir: Option<String>,
}

impl InstanceParams {
    /// Finds the instance, and opens its workdir.
    pub(crate) fn open(&self, bundles: &Bundles, config: &RpcConfig) -> Result<Instance, RpcError> {
        let bundle = bundles.get(self.bundle.as_deref(), config)?;
        let agent = agent(&bundle, self.agent.as_deref(), config)?;
        let key = match (&config.instance, &self.key) {
            (Some(_), Some(_)) => return Err(fixed("key")),
            (Some(key), None) | (None, Some(key)) => key.as_str(),
            (None, None) => DEFAULT_KEY,
        };
        let workdir = self.workdir(&bundle, key, config)?;
        Ok(agent.instance(key, workdir))
    }

    fn workdir(
        &self,
        bundle: &LoadedBundle,
        key: &str,
        config: &RpcConfig,
    ) -> Result<Workdir, RpcError> {
        match (&config.workdir, &self.workdir) {
            (Some(_), Some(_)) => Err(fixed("workdir")),
            (Some(workdir), None) => Ok(workdir.clone()),
            (None, Some(path)) if !Path::new(path).is_absolute() => {
                let message = format!("the path of the workdir is not absolute: {}", quoted(path));
                Err(RpcError::params(message))
            }
            (None, Some(path)) => Ok(config.host.workdir(path)?),
            (None, None) => Ok(bundle.instance_workspace(key)?),
        }
    }
}

/// Returns the agent of a request: that of the operator, the one that it names, or the only one.
pub(crate) fn agent(
    bundle: &LoadedBundle,
    name: Option<&str>,
    config: &RpcConfig,
) -> Result<Agent, RpcError> {
    Ok(match (&config.agent, name) {
        (Some(_), Some(_)) => return Err(fixed("agent")),
        (Some(name), None) => bundle.agent(name)?,
        (None, Some(name)) => bundle.agent(&quoted(name))?,
        (None, None) => bundle.only_agent()?,
    })
}
