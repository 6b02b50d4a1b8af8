//! Replays a recorded call with the component of a bundle.

use toolhost_sandbox::{ReplayError, ReplayOptions, ReplayReport};

use crate::loaded_bundle::LoadedBundle;
use crate::recording::call_recording::CallRecording;
use crate::registry::Runs;
use toolhost_contract::ToolError;
use toolhost_contract::suggest::closest;

/// How the replay of a recorded call ended.
#[derive(Debug)]
#[non_exhaustive]
pub struct CallReplay {
    /// SHA-256 of the component that ran, in hexadecimal.
    pub component_sha256: String,
    /// Whether this component is another one than the recorded one.
    pub component_changed: bool,
    /// Where the replay differs from the recording, and how it ended.
    pub report: ReplayReport,
}

/// Why a recorded call cannot be replayed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CallReplayError {
    /// The recording is a [summary](crate::recording::Detail::Summary).
    #[error("the recording is a summary without host calls")]
    NoHostCalls,
    /// The bundle has no such tool.
    #[error("the bundle has no tool '{tool}'{}", closest.as_ref().map_or_else(String::new, |name| format!("; did you mean '{name}'?")))]
    NoTool {
        /// Name of the tool.
        tool: String,
        /// The tool of the bundle with the most similar name.
        closest: Option<String>,
    },
    /// The bundle was [unloaded](LoadedBundle::unload).
    #[error("the bundle was unloaded")]
    Unloaded,
    /// Its component was [compiled later](crate::Host::load_to_serve), and cannot be called.
    #[error("the component cannot be called: {}", .0.message)]
    NotCompiled(ToolError),
    /// The sandbox cannot replay the recording.
    #[error(transparent)]
    Replay(#[from] ReplayError),
}

impl LoadedBundle {
    /// Runs a recorded call again, with the component of this bundle that now serves its tool. The component
    /// gets the arguments, the context and the limits of the recording, and its answers: it reaches no file,
    /// network, clock or other agent. The replay ends at the first host call that differs. Arguments are not
    /// validated, and no middleware runs.
    ///
    /// The component may have changed since: see [`CallReplay::component_changed`].
    ///
    /// # Errors
    /// [`CallReplayError`] if the recording has no host calls, the bundle has no such tool, or the recording is
    /// invalid.
    pub async fn replay(
        &self,
        recording: &CallRecording,
        options: ReplayOptions,
    ) -> Result<CallReplay, CallReplayError> {
        if !recording.can_be_replayed() {
            return Err(CallReplayError::NoHostCalls);
        }
        let running = self.0.tools.begin_call();
        let running = running.ok_or(CallReplayError::Unloaded)?;
        let Some(tool) = running.registry.get(recording.tool.as_str()) else {
            let names = running.registry.keys();
            let names: Vec<&str> = names.map(|name| name.as_str()).collect();
            return Err(CallReplayError::NoTool {
                tool: recording.tool.to_string(),
                closest: closest(recording.tool.as_str(), &names).map(str::to_owned),
            });
        };
        let component = match &tool.runs {
            Runs::Component(component) => component,
            // A bundle's own tools are components.
            Runs::Native { .. } | Runs::Catalog { .. } => return Err(CallReplayError::Unloaded),
        };
        let sha256 = component.facts().sha256.clone();
        let locale = self.0.host.policy.locale();
        let component = component.for_call(locale).await;
        let component = component.map_err(CallReplayError::NotCompiled)?;
        let report = component.replay(&recording.recording, options).await?;
        Ok(CallReplay {
            component_changed: sha256 != recording.recording.component.sha256,
            component_sha256: sha256,
            report,
        })
    }
}
