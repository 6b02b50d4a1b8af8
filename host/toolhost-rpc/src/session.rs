//! The state of one connection.

use std::sync::Arc;

use crate::answers::AnswerQueue;
use crate::bundles::Bundles;
use crate::config::RpcConfig;
use crate::events::Subscription;
use crate::open_turns::OpenTurns;

/// What one connection has opened. Dropping it closes everything.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) config: Arc<RpcConfig>,
    pub(crate) bundles: Bundles,
    pub(crate) turns: OpenTurns,
    pub(crate) subscription: Subscription,
    pub(crate) answers: Arc<AnswerQueue>,
}

impl Session {
    pub(crate) fn new(config: Arc<RpcConfig>, answers: Arc<AnswerQueue>) -> Self {
        Self {
            config,
            bundles: Bundles::default(),
            turns: OpenTurns::default(),
            subscription: Subscription::default(),
            answers,
        }
    }
}
