//! Spans as a collector receives them.

mod collector;
mod turn;

use std::collections::BTreeMap;
use std::sync::Arc;

use opentelemetry_proto::tonic::trace::v1::{Span, status::StatusCode};
use toolhost::events::{EventKind, RuntimeEvent};
use toolhost_otel::{OtelConfig, OtelError, layer};
use tracing_subscriber::Layer;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::layer::SubscriberExt;

use collector::{Collector, attributes, hex};

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const CALLER: &str = "00f067aa0ba902b7";

/// Runs `run` with a subscriber that exports spans; returns the received spans by name.
fn exported<T>(run: impl Future<Output = T>) -> (T, collector::Request, BTreeMap<String, Span>) {
    let collector = Collector::start();
    let mut config = OtelConfig::new(&collector.url);
    config.service_name = "the-service".to_owned();
    config.headers = vec![("authorization".to_owned(), "Bearer of-a-test".to_owned())];
    let (layer, guard) = layer(config).unwrap();
    let filter = filter_fn(|metadata| *metadata.level() <= tracing::Level::INFO);
    let subscriber = tracing_subscriber::registry().with(layer.with_filter(filter));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    // The subscriber belongs to this thread, which polls everything.
    let done = tracing::subscriber::with_default(subscriber, || runtime.block_on(run));
    guard.flush().unwrap();
    let request = collector.next();
    guard.shutdown();
    let spans = request.spans.iter().flat_map(|of| &of.scope_spans);
    let spans = spans.flat_map(|of| &of.spans).cloned();
    let spans = spans.map(|span| (span.name.clone(), span)).collect();
    (done, request, spans)
}

/// Returns the event of a kind for the call with this id.
fn find<'a>(
    events: &'a [Arc<RuntimeEvent>],
    kind: EventKind,
    call: Option<&str>,
) -> &'a RuntimeEvent {
    let found = events
        .iter()
        .find(|event| event.kind == kind && event.tool_call_id.as_deref() == call);
    found.unwrap()
}

#[test]
fn a_turn_is_exported_as_a_tree_with_the_ids_of_its_events() {
    let trace = format!("00-{TRACE}-{CALLER}-01");
    let (events, request, spans) = exported(turn::run(Some(&trace)));

    assert_eq!(request.line, "POST /v1/traces HTTP/1.1");
    assert_eq!(request.headers["content-type"], "application/x-protobuf");
    assert_eq!(request.headers["authorization"], "Bearer of-a-test");
    let resource = attributes(&request.spans[0].resource.as_ref().unwrap().attributes);
    assert_eq!(resource["service.name"], "the-service");

    let of_turn = find(&events, EventKind::TurnCompleted, None);
    let of_step = find(&events, EventKind::StepCompleted, None);
    let of_good = find(&events, EventKind::ToolCompleted, Some("call-good"));
    let of_bad = find(&events, EventKind::ToolFailed, Some("call-bad"));
    let agent = &of_turn.agent_name;
    let expected = [
        (format!("invoke_agent {agent}"), of_turn, CALLER.to_owned()),
        (
            format!("step {agent}"),
            of_step,
            of_turn.trace.span_id().to_string(),
        ),
        (
            "execute_tool text__upper".to_owned(),
            of_good,
            of_step.trace.span_id().to_string(),
        ),
        (
            "execute_tool nobody__knows".to_owned(),
            of_bad,
            of_step.trace.span_id().to_string(),
        ),
    ];
    assert_eq!(spans.len(), expected.len(), "{:?}", spans.keys());
    for (name, event, parent) in &expected {
        let span = &spans[name];
        assert_eq!(hex(&span.trace_id), TRACE, "{name}");
        assert_eq!(
            hex(&span.span_id),
            event.trace.span_id().to_string(),
            "{name}"
        );
        assert_eq!(&hex(&span.parent_span_id), parent, "{name}");
        assert!(span.start_time_unix_nano <= span.end_time_unix_nano);
        let attributes = attributes(&span.attributes);
        assert_eq!(attributes["gen_ai.agent.name"], **agent);
        assert_eq!(attributes["gen_ai.conversation.id"], *event.instance_key);
        assert_eq!(attributes["toolhost.turn_id"], *event.turn_id);
        let duration = event.duration_ms.unwrap().to_string();
        assert_eq!(attributes["toolhost.duration_ms"], duration);
        assert!(
            !format!("{span:?}").to_lowercase().contains("a secret"),
            "no arguments and no outputs are exported"
        );
    }

    let turn = &spans[&expected[0].0];
    assert_eq!(
        attributes(&turn.attributes)["gen_ai.operation.name"],
        "invoke_agent"
    );
    let good = &spans["execute_tool text__upper"];
    let has = attributes(&good.attributes);
    assert_eq!(has["gen_ai.operation.name"], "execute_tool");
    assert_eq!(has["gen_ai.tool.name"], "text__upper");
    assert_eq!(has["gen_ai.tool.call.id"], "call-good");
    assert_eq!(has.get("error.type"), None);
    assert_eq!(
        good.status.clone().unwrap_or_default().code(),
        StatusCode::Unset
    );

    let bad = &spans["execute_tool nobody__knows"];
    assert_eq!(
        attributes(&bad.attributes)["error.type"],
        "E_TOOL_NOT_IN_CATALOG"
    );
    let status = bad.status.clone().unwrap();
    assert_eq!(status.code(), StatusCode::Error);
    assert!(
        status.message.contains("nobody__knows"),
        "{}",
        status.message
    );
}

#[test]
fn a_turn_without_a_trace_belongs_to_the_span_around_it() {
    let (events, _, spans) = exported(async {
        let around = tracing::info_span!("request", toolhost.unrelated = 1);
        tracing::Instrument::instrument(turn::run(None), around).await
    });
    let turn = find(&events, EventKind::TurnCompleted, None);
    let around = &spans["request"];
    assert_eq!(hex(&around.trace_id), turn.trace.trace_id().to_string());
    let parent = turn.trace.parent_span_id().unwrap();
    assert_eq!(hex(&around.span_id), parent.to_string());
    let exported = &spans[&format!("invoke_agent {}", turn.agent_name)];
    assert_eq!(exported.parent_span_id, around.span_id);
    assert_eq!(exported.links.len(), 0);
}

#[test]
fn a_turn_of_another_trace_is_linked_to_the_span_around_it() {
    let (events, _, spans) = exported(async {
        let around = tracing::info_span!("request");
        tracing::Instrument::instrument(turn::run(Some(TRACE)), around).await
    });
    let turn = find(&events, EventKind::TurnCompleted, None);
    let exported = &spans[&format!("invoke_agent {}", turn.agent_name)];
    assert_eq!(hex(&exported.trace_id), TRACE);
    assert_eq!(exported.parent_span_id, [0_u8; 0]);
    assert_eq!(exported.links[0].span_id, spans["request"].span_id);
}

#[test]
fn flushing_to_an_unreachable_collector_is_an_error() {
    // The port is bound and released, so that nothing listens there.
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", closed.local_addr().unwrap());
    drop(closed);
    let (layer, guard) = layer(OtelConfig::new(url)).unwrap();
    let filter = filter_fn(|metadata| *metadata.level() <= tracing::Level::INFO);
    let subscriber = tracing_subscriber::registry().with(layer.with_filter(filter));
    tracing::subscriber::with_default(subscriber, || drop(tracing::info_span!("lost")));
    assert!(guard.flush().is_err());
}

#[test]
fn only_http_urls_are_accepted_as_collectors() {
    for endpoint in [
        "https://127.0.0.1:4318",
        "127.0.0.1:4318",
        "",
        "http://",
        "file:///x",
    ] {
        let refused = layer::<tracing_subscriber::Registry>(OtelConfig::new(endpoint));
        let refused = refused
            .err()
            .unwrap_or_else(|| panic!("{endpoint} is taken"));
        assert!(matches!(refused, OtelError::Endpoint { .. }), "{refused}");
    }
}
