use std::sync::Mutex;

use toolhost_contract::{ErrorCode, ToolErrorCode};

use super::*;
use crate::middleware::SuspendedPipeline;

/// A context that records which layers saw it.
struct Visited(Vec<String>);

impl crate::middleware::contexts::sealed::Sealed for Visited {}

impl MiddlewareContext for Visited {
    type Answer = Result<Vec<String>, ToolError>;
    const KIND: &'static str = "test";

    fn locale(&self) -> Locale {
        Locale::En
    }

    fn failed(error: ToolError) -> Self::Answer {
        Err(error)
    }

    fn error_of(answer: Self::Answer) -> Option<ToolError> {
        answer.err()
    }
}

type Answer = <Visited as MiddlewareContext>::Answer;

fn named(name: &'static str) -> Arc<dyn Middleware<Visited>> {
    Arc::new(
        move |mut context: Visited, next: Next<Visited>| async move {
            context.0.push(format!("{name}:pre"));
            let mut seen = next.run(context).await?;
            seen.push(format!("{name}:post"));
            Ok(seen)
        },
    )
}

fn with(layers: Vec<(i32, Arc<dyn Middleware<Visited>>)>) -> Pipeline<Visited> {
    let owner: Arc<str> = "ext".into();
    let add = |all: Pipeline<Visited>, (priority, layer)| all.with(&owner, priority, layer);
    layers.into_iter().fold(Pipeline::default(), add)
}

fn core(mut context: Visited) -> BoxFuture<'static, Answer> {
    Box::pin(async move {
        context.0.push("core".to_owned());
        Ok(context.0)
    })
}

fn run(pipeline: &Pipeline<Visited>) -> Answer {
    let running = pipeline.run(Visited(Vec::new()), core);
    tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap()
        .block_on(running)
}

fn message(answer: Answer) -> (ErrorCode, String) {
    let error = answer.unwrap_err();
    (error.code, error.message)
}

const MIDDLEWARE: ErrorCode = ErrorCode::Host(ToolErrorCode::Middleware);

#[test]
fn a_lower_priority_is_outer_and_ties_go_by_registration() {
    // tool-spec-v2 §8.1
    let layers = vec![(10, named("A")), (5, named("B")), (10, named("C"))];
    let seen = run(&with(layers)).unwrap();
    let expected = "B:pre A:pre C:pre core C:post A:post B:post";
    assert_eq!(seen.join(" "), expected);
    assert_eq!(run(&with(vec![])).unwrap(), ["core"]);
}

#[test]
fn a_layer_that_does_not_run_the_rest_is_an_error() {
    let ends: Arc<dyn Middleware<Visited>> =
        Arc::new(|_: Visited, _: Next<Visited>| async { Ok(vec!["made up".to_owned()]) });
    let (code, said) = message(run(&with(vec![(0, ends)])));
    assert_eq!(code, MIDDLEWARE);
    assert!(said.contains("without running the rest"), "{said}");

    let refuses: Arc<dyn Middleware<Visited>> = Arc::new(|_: Visited, _: Next<Visited>| async {
        Err(ToolError::host(
            ToolErrorCode::Timeout,
            "not today",
            Locale::En,
        ))
    });
    let refused = message(run(&with(vec![(0, refuses), (1, named("A"))])));
    assert_eq!(refused, (MIDDLEWARE, "not today".to_owned()));
}

#[test]
fn a_panic_becomes_an_error_of_its_layer() {
    let panics: Arc<dyn Middleware<Visited>> =
        Arc::new(|_: Visited, _: Next<Visited>| async { panic!("in the test") });
    let outer: Arc<dyn Middleware<Visited>> =
        Arc::new(|context: Visited, next: Next<Visited>| async move {
            let inner = next.run(context).await;
            Ok(vec![inner.unwrap_err().message])
        });
    let pipeline = with(vec![(0, outer), (1, panics)]);
    for _ in 0..2 {
        let seen = run(&pipeline).unwrap();
        assert_eq!(seen, ["The test middleware of 'ext' panicked."]);
    }
}

#[test]
fn removing_an_extension_removes_all_its_layers() {
    let pipeline = with(vec![(0, named("A"))]).with(&"other".into(), 1, named("B"));
    let seen = run(&pipeline.without("ext")).unwrap();
    assert_eq!(seen.join(" "), "B:pre core B:post");
}

#[tokio::test]
async fn a_pipeline_is_suspended_while_the_runtime_runs_its_core() {
    let pipeline = with(vec![(0, named("A")), (1, named("B"))]);
    let opened = SuspendedPipeline::open(&pipeline, Visited(Vec::new()), drop).await;
    let Ok((context, suspended)) = opened else {
        panic!("a layer returned an answer")
    };
    assert_eq!(context.0, ["A:pre", "B:pre"]);
    let seen = suspended.close(Ok(vec!["core".to_owned()])).await.unwrap();
    assert_eq!(seen, ["core", "B:post", "A:post"]);
}

#[tokio::test]
async fn a_layer_may_refuse_to_open_a_pipeline() {
    let refuses: Arc<dyn Middleware<Visited>> = Arc::new(|_: Visited, _: Next<Visited>| async {
        Err(ToolError::host(
            ToolErrorCode::Middleware,
            "closed",
            Locale::En,
        ))
    });
    let opened =
        SuspendedPipeline::open(&with(vec![(0, refuses)]), Visited(Vec::new()), drop).await;
    assert_eq!(
        message(opened.map(|_| Vec::new()).map_err(|e| e.unwrap_err())).1,
        "closed"
    );
}

#[tokio::test]
async fn the_second_halves_of_a_dropped_pipeline_do_not_run() {
    let ended = Arc::new(Mutex::new(0));
    let count = Arc::clone(&ended);
    let layer: Arc<dyn Middleware<Visited>> =
        Arc::new(move |context: Visited, next: Next<Visited>| {
            let count = Arc::clone(&count);
            async move {
                let answer = next.run(context).await;
                *count.lock().unwrap() += 1;
                answer
            }
        });
    let pipeline = with(vec![(0, layer)]);
    let opened = SuspendedPipeline::open(&pipeline, Visited(Vec::new()), drop).await;
    drop(opened);
    assert_eq!(*ended.lock().unwrap(), 0);
}
