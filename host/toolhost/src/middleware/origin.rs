//! Who a turn, a step or a call belongs to.

use toolhost_contract::Locale;

/// Who a turn, a step or a call belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CallOrigin {
    /// Name of the agent.
    pub agent_name: String,
    /// Key of the agent's instance.
    pub instance_key: String,
    /// Id of the turn.
    pub turn_id: String,
    /// Id shared by everything that happens for one request. Empty for a call that was stored
    /// without one.
    pub trace_id: String,
    /// Language of the host's suggestions.
    pub locale: Locale,
}
