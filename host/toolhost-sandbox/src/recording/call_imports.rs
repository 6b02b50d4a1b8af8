//! What answers the host calls of one call.

use std::sync::Arc;

use crate::recording::dynamic::DynamicCode;
use crate::recording::forward::ForwarderCode;
use crate::recording::player::Player;
use crate::recording::tape::Tape;

/// What answers the host calls of one call.
pub(crate) enum CallImports {
    /// The host.
    Host,
    /// The host, and the answers are recorded.
    Recorded {
        tape: Arc<Tape>,
        dynamic: Arc<DynamicCode>,
        forwarder: Arc<ForwarderCode>,
    },
    /// A recording.
    Replayed {
        player: Box<Player>,
        dynamic: Arc<DynamicCode>,
    },
}
