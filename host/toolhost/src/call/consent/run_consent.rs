//! What a run needs whose effects may wait.

use std::future::Future;
use std::sync::Arc;

use toolhost_manifest::policy::AskRules;
use toolhost_sandbox::{AgentsPort, EffectsPort};

use super::agents::GatedAgents;
use super::gate::Gate;
use crate::pending::record::NewHold;

/// What a run needs whose effects may wait.
#[derive(Clone)]
pub(crate) struct Consent {
    pub(super) gate: Arc<Gate>,
}

impl Consent {
    pub(crate) fn rules(&self) -> &Arc<AskRules> {
        self.gate.rules()
    }

    pub(crate) fn port(&self) -> Arc<dyn EffectsPort> {
        Arc::clone(&self.gate) as Arc<dyn EffectsPort>
    }

    /// Lets messages to other agents wait, too.
    pub(crate) fn agents(&self, agents: Arc<dyn AgentsPort>) -> Arc<dyn AgentsPort> {
        Arc::new(GatedAgents::new(agents, Arc::clone(&self.gate)))
    }

    pub(crate) fn gate(&self) -> &Arc<Gate> {
        &self.gate
    }

    /// Runs the component, until it comes to something that has to wait.
    ///
    /// # Errors
    /// What has to wait, and why it cannot, if so. The run was stopped.
    pub(crate) async fn until_held<T>(
        &self,
        running: impl Future<Output = T>,
    ) -> Result<T, (NewHold, Option<String>)> {
        tokio::select! {
            biased;
            held = self.gate.held() => Err((held, self.gate.unrepeatable())),
            ended = running => {
                // It may have ended without the answer that it cannot get.
                match self.gate.take_held() {
                    Some(held) => Err((held, self.gate.unrepeatable())),
                    None => Ok(ended),
                }
            }
        }
    }
}
