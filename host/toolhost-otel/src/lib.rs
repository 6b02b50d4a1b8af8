//! Exports spans to an OpenTelemetry collector: OTLP over HTTP, protobuf.
//!
//! ```no_run
//! use tracing_subscriber::layer::SubscriberExt;
//! use tracing_subscriber::util::SubscriberInitExt;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let config = toolhost_otel::OtelConfig::new("http://127.0.0.1:4318");
//! let (layer, guard) = toolhost_otel::layer(config)?;
//! tracing_subscriber::registry().with(layer).init();
//! // At the end; dropping it does the same:
//! guard.shutdown();
//! # Ok(())
//! # }
//! ```
//!
//! The ids of turns, steps and calls are the same in the events of a host and in the exported spans. The
//! layer also exports spans of other crates, and log records within a span as events of the span, among
//! them the output of guests (target `toolhost::guest`). Filter the layer to exclude them.
//!
//! The crate itself reads no environment variable. The OpenTelemetry SDK reads those of its
//! specification: `OTEL_TRACES_SAMPLER`, `OTEL_TRACES_SAMPLER_ARG`, `OTEL_SPAN_*_LIMIT`, `OTEL_BSP_*`,
//! `OTEL_RESOURCE_ATTRIBUTES`, and `OTEL_EXPORTER_OTLP_HEADERS`, `…_COMPRESSION`, `…_PROTOCOL` with
//! their `…_TRACES_…` forms. [`OtelConfig`] takes precedence over them. No proxy is used.

mod client;
mod ids;

use std::time::Duration;

use opentelemetry::trace::{TraceContextExt, TracerProvider};
use opentelemetry_http::Request;
use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkError;
use opentelemetry_sdk::trace::SdkTracerProvider;
use tracing::Subscriber;
use tracing_opentelemetry::OpenTelemetrySpanExt;
use tracing_subscriber::Layer;
use tracing_subscriber::registry::LookupSpan;

use client::Client;
use ids::{IdTracer, SpanIds};

/// Longest time that dropping a guard waits.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(5);

/// The collector, and the service that the spans are of.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct OtelConfig {
    /// URL of the collector: `http://` and a host. A URL without a path gets `/v1/traces`. TLS is not
    /// supported: reach a remote collector through a local one.
    pub endpoint: String,
    /// `service.name`. Default: `toolhost`.
    pub service_name: String,
    /// Headers of every request, such as an authorization. Default: none.
    pub headers: Vec<(String, String)>,
    /// Longest time of one request with its response. Default: 10 s.
    pub timeout: Duration,
}

impl OtelConfig {
    /// The default configuration for a collector.
    pub fn new(endpoint: impl Into<String>) -> Self {
        Self {
            endpoint: endpoint.into(),
            service_name: "toolhost".to_owned(),
            headers: Vec::new(),
            timeout: Duration::from_secs(10),
        }
    }
}

/// Why the exporter cannot be started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OtelError {
    /// The endpoint is not an `http://` URL.
    #[error("the collector `{endpoint}` is not an http:// URL")]
    Endpoint {
        /// The endpoint.
        endpoint: String,
    },
    /// The HTTP client cannot be started.
    #[error("the client of the collector cannot be started")]
    Client(#[source] std::io::Error),
    /// The exporter refuses its configuration.
    #[error("the exporter cannot be built")]
    Exporter(#[source] opentelemetry_otlp::ExporterBuildError),
}

/// Spans were not delivered to the collector.
#[derive(Debug, thiserror::Error)]
#[error("spans were not delivered to the collector")]
pub struct OtelFlushError(#[source] OTelSdkError);

/// Keeps the exporter running. Dropping it sends the remaining spans, for at most five seconds, and ends the
/// export.
#[derive(Debug)]
#[must_use = "dropping it ends the export"]
pub struct OtelGuard {
    provider: SdkTracerProvider,
}

impl OtelGuard {
    /// Sends the spans that have ended, and waits until they are delivered. Blocks the thread.
    ///
    /// # Errors
    /// [`OtelFlushError`] where the collector did not accept them.
    pub fn flush(&self) -> Result<(), OtelFlushError> {
        self.provider.force_flush().map_err(OtelFlushError)
    }

    /// Sends the remaining spans, and ends the export. The same as dropping it.
    pub fn shutdown(self) {}
}

impl Drop for OtelGuard {
    fn drop(&mut self) {
        if let Err(error) = self.provider.shutdown_with_timeout(SHUTDOWN_TIMEOUT) {
            tracing::warn!(target: "toolhost::otel", %error, "the last spans may be lost");
        }
    }
}

/// Makes the layer that exports spans in batches, on a thread of its own, and its guard.
///
/// A slow or missing collector delays nothing: up to 2,048 spans are queued, further ones are dropped.
///
/// # Errors
/// [`OtelError`]. No connection to the collector is made.
pub fn layer<S>(config: OtelConfig) -> Result<(impl Layer<S> + use<S>, OtelGuard), OtelError>
where
    S: Subscriber + for<'span> LookupSpan<'span>,
{
    let exporter = SpanExporter::builder()
        .with_http()
        .with_protocol(Protocol::HttpBinary)
        .with_endpoint(traces_url(&config.endpoint)?)
        .with_timeout(config.timeout)
        .with_headers(config.headers.into_iter().collect())
        .with_http_client(Client::start(config.timeout).map_err(OtelError::Client)?)
        .build()
        .map_err(OtelError::Exporter)?;
    let resource = Resource::builder().with_service_name(config.service_name);
    let provider = SdkTracerProvider::builder()
        .with_batch_exporter(exporter)
        .with_resource(resource.build())
        .with_id_generator(SpanIds::default())
        .build();
    let tracer = IdTracer(provider.tracer("toolhost"));
    let layer = tracing_opentelemetry::layer()
        .with_tracer(tracer)
        .with_location(false)
        .with_threads(false)
        .with_tracked_inactivity(false);
    Ok((layer, OtelGuard { provider }))
}

/// Returns the URL for traces.
///
/// Spec: OTLP 1.x, "OTLP/HTTP Request": `/v1/traces` beneath the collector's.
fn traces_url(endpoint: &str) -> Result<String, OtelError> {
    let request = Request::get(endpoint).body(()).ok();
    let uri = request.as_ref().map(Request::uri);
    match uri.filter(|uri| uri.scheme_str() == Some("http") && uri.query().is_none()) {
        Some(uri) if uri.path() == "/" => {
            let base = endpoint.trim_end_matches('/');
            Ok(format!("{base}/v1/traces"))
        }
        Some(_) => Ok(endpoint.to_owned()),
        None => Err(OtelError::Endpoint {
            endpoint: endpoint.to_owned(),
        }),
    }
}

/// Returns the `traceparent` of the current span, where the layer exports it: the value of
/// `toolhost::events::EventBusConfig::current_traceparent`, with which a turn that is opened without a
/// trace id becomes a child of the span around it.
pub fn current_traceparent() -> Option<String> {
    let context = tracing::Span::current().context();
    let span = context.span();
    let span = span.span_context();
    span.is_valid()
        .then(|| format!("00-{}-{}-01", span.trace_id(), span.span_id()))
}
