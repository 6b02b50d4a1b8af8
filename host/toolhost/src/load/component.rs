//! Prepares the components of a bundle.

use std::collections::HashMap;
use std::time::Instant;

use toolhost_contract::ToolResource;
use toolhost_manifest::bundle::{Diagnostic, OpenBundle};
use toolhost_sandbox::{PrepareError, PreparedTool};

use super::register::{Found, entry_shown};
use crate::call::failure::prepare_error_code;
use crate::host::{HostInner, LoadProgress};
use crate::loaded_bundle::LoadedInner;
use crate::registry::Runs;

/// The components of a bundle that loads.
pub(super) struct Components {
    by_entry: HashMap<String, PreparedTool>,
    /// Those of an earlier load.
    earlier: Vec<PreparedTool>,
}

impl Components {
    pub(super) fn after(previous: Option<&LoadedInner>) -> Self {
        let agent = previous.and_then(|bundle| bundle.agents.first());
        let earlier = agent
            .into_iter()
            .flat_map(|agent| agent.0.registry.values());
        let earlier = earlier.filter_map(|tool| match &tool.runs {
            Runs::Component(component) => Some(component.clone()),
            Runs::Native { .. } => None,
        });
        Self {
            by_entry: HashMap::new(),
            earlier: earlier.collect(),
        }
    }

    /// Prepares a Tool's component. Tools of one entry share it.
    pub(super) async fn prepare(
        &mut self,
        host: &HostInner,
        open: &OpenBundle,
        tool: &ToolResource,
        found: &mut Found,
    ) -> Result<PreparedTool, Box<Diagnostic>> {
        if let Some(known) = self.by_entry.get(&tool.spec.entry) {
            return Ok(known.clone());
        }
        let sandbox = &host.sandbox;
        let most = sandbox.compile_limits().bytes;
        let entry = host.components.read(open, tool, most).await?;
        let name = &tool.metadata.name;
        host.report(&LoadProgress::Preparing {
            tool: name.clone(),
            bytes: entry.component.len() as u64,
        });
        let started = Instant::now();
        let prepared = sandbox.prepare_again(entry.component, &self.earlier);
        let prepared = prepared.await;
        let (prepared, origin) = prepared.map_err(|error| not_prepared(open, tool, &error))?;
        host.report(&LoadProgress::Prepared {
            tool: name.clone(),
            origin,
            took: started.elapsed(),
        });
        found.files.extend(entry.files);
        self.by_entry
            .insert(tool.spec.entry.clone(), prepared.clone());
        Ok(prepared)
    }
}

fn not_prepared(open: &OpenBundle, tool: &ToolResource, error: &PrepareError) -> Diagnostic {
    let (name, entry) = (&tool.metadata.name, entry_shown(tool));
    let message = format!("tool {name}: {entry}: {error}");
    Diagnostic::error(prepare_error_code(error), open.entry_place(tool), message)
}
