//! The streams of a tenant, and the consumers that hand out their messages.

use std::time::Duration;

use async_nats::jetstream::consumer::{AckPolicy, pull};
use async_nats::jetstream::stream::{Config, DiscardPolicy, RetentionPolicy};

use crate::config::NatsConfig;
use crate::names::{Bucket, Names, Queue};

/// Time after which a delivery that is not acknowledged is delivered again.
pub(crate) const ACK_WAIT: Duration = Duration::from_secs(10);

/// Time after which a lease that is not renewed ends.
pub(crate) const LEASE: Duration = Duration::from_secs(5);

/// How long anything but a lease is kept: a call that no worker took, a report that no host took, a claim that nobody
/// removed, a large message. A consumer goes away after the same time without a receiver.
const KEPT: Duration = Duration::from_secs(24 * 60 * 60);

/// Time within which the same message is not stored twice.
const DUPLICATES: Duration = Duration::from_secs(120);

/// Deliveries of a route that are not acknowledged. Workers bound them.
const UNACKNOWLEDGED_MAX: i64 = 100_000;

/// Requests for messages that wait on a route: 3 for each worker.
const WAITING_MAX: i64 = 10_000;

/// Returns all streams of a tenant.
pub(crate) fn streams(names: &Names, config: &NatsConfig) -> Vec<Config> {
    let base = |name: &str, subjects: &[String], max_age: Duration| Config {
        name: name.to_owned(),
        subjects: subjects.to_vec(),
        num_replicas: config.replicas,
        discard: DiscardPolicy::New,
        max_age,
        duplicate_window: DUPLICATES.min(max_age),
        max_messages: -1,
        max_messages_per_subject: -1,
        max_bytes: -1,
        max_consumers: -1,
        max_message_size: -1,
        ..Config::default()
    };
    let queue = |name: &str, subject: String| Config {
        retention: RetentionPolicy::WorkQueue,
        ..base(name, &[subject], KEPT)
    };
    let bucket = |bucket: &Bucket, max_age: Duration| Config {
        max_messages_per_subject: 1,
        allow_rollup: true,
        deny_delete: true,
        allow_direct: true,
        ..base(&bucket.stream, &[bucket.subject(None)], max_age)
    };
    let (tenant, blobs) = (&names.tenant, &names.blobs);
    let calls = queue(&names.calls, format!("toolhost.{tenant}.call.>"));
    vec![
        Config {
            max_messages: i64::from(config.max_calls),
            ..calls
        },
        queue(&names.reports, format!("toolhost.{tenant}.report.*")),
        bucket(&names.claims, KEPT),
        bucket(&names.leases, LEASE),
        Config {
            allow_rollup: true,
            allow_direct: true,
            ..base(
                &format!("OBJ_{blobs}"),
                &[format!("$O.{blobs}.C.>"), format!("$O.{blobs}.M.>")],
                KEPT,
            )
        },
    ]
}

/// Returns the setting of a stream that differs from the one needed and cannot be changed, with both values.
pub(crate) fn conflict(
    existing: &Config,
    needed: &Config,
) -> Option<(&'static str, String, String)> {
    type Setting = (&'static str, fn(&Config) -> String);
    let settings: [Setting; 6] = [
        ("retention", |config| format!("{:?}", config.retention)),
        ("storage", |config| format!("{:?}", config.storage)),
        ("subjects", |config| config.subjects.join(" ")),
        ("sealed", |config| config.sealed.to_string()),
        ("no_ack", |config| config.no_ack.to_string()),
        ("deny_purge", |config| config.deny_purge.to_string()),
    ];
    let values = settings.map(|(name, value)| (name, value(existing), value(needed)));
    values
        .into_iter()
        .find(|(_, existing, needed)| existing != needed)
}

/// Returns a stream that exists with the settings that may be changed: the others stay as they are.
pub(crate) fn update(existing: &Config, needed: &Config) -> Config {
    Config {
        num_replicas: needed.num_replicas,
        max_age: needed.max_age,
        duplicate_window: needed.duplicate_window,
        max_messages: needed.max_messages,
        max_messages_per_subject: needed.max_messages_per_subject,
        discard: needed.discard,
        allow_rollup: needed.allow_rollup,
        allow_direct: needed.allow_direct,
        ..existing.clone()
    }
}

/// Returns the consumer of a queue.
pub(crate) fn consumer(queue: &Queue) -> pull::Config {
    pull::Config {
        durable_name: Some(queue.consumer.clone()),
        filter_subject: queue.subject.clone(),
        ack_policy: AckPolicy::Explicit,
        ack_wait: ACK_WAIT,
        max_deliver: -1,
        max_ack_pending: UNACKNOWLEDGED_MAX,
        max_waiting: WAITING_MAX,
        inactive_threshold: KEPT,
        ..pull::Config::default()
    }
}
