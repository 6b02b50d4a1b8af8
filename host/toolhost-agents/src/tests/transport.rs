use std::io;
use std::process::ExitStatus;

use tokio::task::JoinSet;

use super::*;

/// Serves an agent in a task, over streams in memory.
#[derive(Debug)]
struct InMemory {
    started: Arc<AtomicUsize>,
}

#[derive(Debug)]
struct ServeTask(JoinSet<()>);

impl WorkerTransport for InMemory {
    fn start(&self, instance: &InstanceId) -> io::Result<WorkerStreams> {
        assert_eq!(instance, &InstanceId::new("remote", "k"));
        self.started.fetch_add(1, SeqCst);
        let agent = Scripted(|event: AgentEvent, _| -> Turned {
            assert_ne!(event.input, Some(json!("panic")));
            Box::pin(async move { Ok(event.input.unwrap_or_default()) })
        });
        Ok(serve_in_memory(agent))
    }
}

/// Serves an agent in a task that ends with the streams.
pub(super) fn serve_in_memory(agent: impl AgentRuntime + 'static) -> WorkerStreams {
    let (stdin, input) = tokio::io::duplex(1 << 16);
    let (output, stdout) = tokio::io::duplex(1 << 16);
    let mut tasks = JoinSet::new();
    tasks.spawn(async move {
        let _ = child::serve(Arc::new(agent), input, output).await;
    });
    WorkerStreams {
        pid: 0,
        stdin: Box::new(stdin),
        stdout: Box::new(stdout),
        stderr: Box::new(tokio::io::empty()),
        process: Box::new(ServeTask(tasks)),
    }
}

#[async_trait]
impl WorkerProcess for ServeTask {
    async fn ended(&mut self) -> Option<ExitStatus> {
        self.0.join_next().await;
        None
    }
}

#[tokio::test]
async fn an_agent_may_run_behind_any_transport() {
    let started = Arc::new(AtomicUsize::new(0));
    let transport = InMemory {
        started: Arc::clone(&started),
    };
    let orchestrator = orchestrator([("remote", AgentSetup::worker(transport))]).await;
    for n in 0..3 {
        let done = user(&orchestrator)
            .request(request("remote", json!(n)))
            .await;
        assert_eq!(done.unwrap().response, json!(n));
    }
    assert_eq!(started.load(SeqCst), 1);

    let lost = user(&orchestrator)
        .request(request("remote", json!("panic")))
        .await;
    let lost = lost.unwrap_err().to_string();
    assert!(lost.contains("was lost 3 times"), "{lost}");
    let done = user(&orchestrator)
        .request(request("remote", json!("again")))
        .await;
    assert_eq!(done.unwrap().response, json!("again"));
    assert_eq!(started.load(SeqCst), 4);
    orchestrator.shutdown(Duration::from_secs(5)).await;
}
