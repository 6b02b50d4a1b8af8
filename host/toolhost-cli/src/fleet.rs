//! Reaches the servers that carry calls to workers.

use std::sync::Arc;

use anyhow::anyhow;
use toolhost::Policy;
use toolhost::fleet::{Carrier, Workers};
use toolhost_manifest::policy::{NatsLogin, NatsRule};
use toolhost_nats::{NatsAuth, NatsCarrier, NatsConfig};

use crate::args::CarrierArgs;
use crate::failure::{Failure, Hint};
use crate::policy_file::PolicyFile;

/// Returns how a host reaches its workers; none if its policy places no calls on them.
pub(crate) fn workers(policy: &Policy) -> Result<Option<Workers>, Failure> {
    let rule = policy.workers().filter(|_| policy.places_calls());
    let Some(rule) = rule else {
        return Ok(None);
    };
    let carrier = carrier(Some(&rule.nats), None)?;
    Ok(Some(Workers::new(carrier).in_flight(rule.in_flight)))
}

/// Returns the carrier that arguments name. It connects when it is first used.
pub(crate) async fn carrier_of(args: &CarrierArgs) -> Result<Arc<dyn Carrier>, Failure> {
    let policy = PolicyFile::read(args.policy.as_deref()).await?;
    carrier_with(&policy.policy, args.nats.as_deref())
}

/// Returns the carrier of a policy, with other servers if there are any.
pub(crate) fn carrier_with(
    policy: &Policy,
    servers: Option<&str>,
) -> Result<Arc<dyn Carrier>, Failure> {
    let rule = policy.workers().map(|rule| &rule.nats);
    if rule.is_none() && servers.is_none() {
        let error = anyhow!("the servers that carry calls are not known");
        let hint =
            "Write `workers: {nats: {url: nats://HOST:4222}}` in the policy, or pass --nats URL.";
        return Err(Failure::from(error).hint(hint));
    }
    carrier(rule, servers)
}

fn carrier(rule: Option<&NatsRule>, servers: Option<&str>) -> Result<Arc<dyn Carrier>, Failure> {
    let mut config = NatsConfig::new(servers.unwrap_or_default());
    if let Some(rule) = rule {
        if servers.is_none() {
            config.url.clone_from(&rule.urls);
        }
        let secret = |secret: &str| secret.to_owned().into();
        config.auth = match &rule.login {
            None => NatsAuth::Open,
            Some(NatsLogin::Credentials(text)) => NatsAuth::Credentials(secret(text)),
            Some(NatsLogin::Nkey(seed)) => NatsAuth::Nkey(secret(seed)),
            Some(NatsLogin::Token(token)) => NatsAuth::Token(secret(token)),
        };
        config.ca.clone_from(&rule.authorities);
        config.tenant.clone_from(&rule.tenant);
        config.replicas = rule.replicas.into();
    }
    let carrier = NatsCarrier::new(config);
    let carrier = carrier.hint("Correct `workers` in the policy, or --nats.")?;
    Ok(Arc::new(carrier))
}

/// Returns the name of this machine; empty where the system does not tell it.
pub(crate) fn machine() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname");
    name.map(|name| name.trim().to_owned()).unwrap_or_default()
}
