//! A line to a server that loses what the server says, and is cut.

use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::sleep;
use toolhost_nats::{NatsCarrier, NatsConfig};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Works,
    LosesAnswers,
    Cut,
}

pub(crate) struct Line {
    port: u16,
    state: watch::Sender<State>,
    task: JoinHandle<()>,
}

impl Line {
    /// Opens a line to the port of a server on loopback.
    pub(crate) async fn open(to: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (state, changes) = watch::channel(State::Works);
        let task = tokio::spawn(async move {
            loop {
                let (client, _) = listener.accept().await.unwrap();
                let server = TcpStream::connect(("127.0.0.1", to)).await.unwrap();
                tokio::spawn(carry(client, server, changes.clone()));
            }
        });
        Self { port, state, task }
    }

    /// Connects through the line.
    pub(crate) async fn carrier(&self) -> NatsCarrier {
        let url = format!("nats://127.0.0.1:{}", self.port);
        NatsCarrier::connect(NatsConfig::new(&url)).await.unwrap()
    }

    /// Loses what the server answers to an operation, then is cut, and works again.
    pub(crate) async fn lose_answers<T>(&self, operation: impl Future<Output = T>) -> T {
        self.state.send_replace(State::LosesAnswers);
        let cut = async {
            sleep(Duration::from_millis(200)).await;
            self.cut().await;
        };
        tokio::join!(operation, cut).0
    }

    /// Is cut, and works again.
    async fn cut(&self) {
        self.state.send_replace(State::Cut);
        sleep(Duration::from_millis(50)).await;
        self.state.send_replace(State::Works);
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn carry(client: TcpStream, server: TcpStream, mut state: watch::Receiver<State>) {
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_server, mut to_server) = server.into_split();
    let loses = state.clone();
    let answers = async {
        let mut bytes = vec![0; 1 << 16];
        while let Ok(count @ 1..) = from_server.read(&mut bytes).await {
            let is_lost = *loses.borrow() != State::Works;
            if !is_lost && to_client.write_all(&bytes[..count]).await.is_err() {
                break;
            }
        }
    };
    tokio::select! {
        () = answers => {}
        _ = copy(&mut from_client, &mut to_server) => {}
        _ = state.wait_for(|state| *state == State::Cut) => {}
    }
}
