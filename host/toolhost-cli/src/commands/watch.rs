//! `toolhost watch`, and `--watch-page` of servers: the page on which people see calls and decide about approvals.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, anyhow};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use toolhost::approvals::Approvers;
use toolhost::state::database_of;
use toolhost::text::shell_word;
use toolhost::{Host, LiveBundle, Workdir};
use toolhost_mcp::BearerToken;
use toolhost_page::{Page, PageConfig, TestCase};
use toolhost_testing::RecordedCase;

use super::{approvals, caller, changesets, mcp_servers, token_file};
use crate::args::{OperationArgs, WatchArgs};
use crate::exit::Exit;
use crate::failure::{Failure, Hint};
use crate::host_context::{HostContext, StateRoot};
use crate::policy_file::{PolicyChoice, PolicyFile};
use crate::settings::Settings;
use crate::stop_request::StopRequest;
use crate::terminal::{stderr, stdout, text};

/// The port of the page, unless it is in use.
const PORT: u16 = 7333;

pub(crate) async fn watch(
    args: &WatchArgs,
    settings: &Settings,
    stop: &StopRequest,
) -> Result<Exit, Failure> {
    let viewers = Viewers::read(args.approvers.as_deref())?;
    let mut config = viewers.page();
    let roots = match (&args.bundle, &args.roots[..], &settings.dirs.state_root) {
        (None, [], None) => {
            let error = anyhow!("the state root is not known");
            return Err(Failure::from(error).hint("Name it, or set HOME."));
        }
        (None, [], Some(root)) => std::slice::from_ref(root),
        (_, roots, _) => roots,
    };
    for root in roots {
        if !root.is_dir() {
            let error = anyhow!("there is no state root {}", text::path(root));
            return Err(Failure::from(error)
                .hint("Name the directory that the servers have as --state-root."));
        }
        config = match &args.policy {
            None => config.state_root(root),
            Some(policy) => {
                let policy = PolicyFile::read(Some(policy)).await?.policy;
                let database = database_of(&policy, Some(root))?;
                config.state_in(root, database.unwrap_or_else(|| root.into()))
            }
        };
    }
    // Dropping them ends the MCP servers.
    let mut tasks = JoinSet::new();
    let _context = match &args.bundle {
        None => None,
        Some(bundle) => {
            let policy = PolicyChoice::new(args.policy.as_deref(), Some(bundle));
            let mut policy = policy.read().await?;
            policy.secret_files.extend(args.approvers.clone());
            let context = HostContext::open_with(settings, policy, StateRoot::Needed)?;
            if let Some(dir) = &args.workdir {
                config = config.workdir(caller::workdir(&context.host, dir)?);
            }
            let (policy, workdir) = (args.policy.as_deref(), args.workdir.as_deref());
            config = config.call_options(&call_options(policy, workdir, settings));
            let live = LiveBundle::new(context.load(bundle).await?);
            mcp_servers::follow(&live, settings, &mut tasks).await?;
            changesets::follow(&live, settings, &mut tasks)?;
            config = config.bundle(live);
            Some(context)
        }
    };
    let listener = listen(args.listen).await?;
    let address = address(&listener)?;
    // For whoever starts it: nobody else reads stdout.
    stdout::write(&match &viewers.token {
        Some(token) => format!("{address}#token={}", token.as_str()),
        None => address,
    })?;
    tokio::select! {
        () = toolhost_page::serve(listener, Page::new(config)) => (),
        () = stop.received() => (),
    }
    Ok(Exit::Done)
}

/// The page of a server.
pub(super) struct ServerPage {
    listener: TcpListener,
    viewers: Viewers,
    /// Options of `toolhost call` with which calls are made as the server makes them.
    call_options: String,
    /// Its address, without a token.
    pub(super) address: String,
}

impl ServerPage {
    /// Listens, if the server is to have a page.
    pub(super) async fn open(
        args: &OperationArgs,
        (policy, workdir): (Option<&Path>, Option<&Path>),
        settings: &Settings,
    ) -> Result<Option<Self>, Failure> {
        let Some(address) = args.watch_page else {
            return Ok(None);
        };
        let viewers = Viewers::read(args.approvers.as_deref())?;
        if viewers.token.is_some() && !stderr::is_terminal() {
            // What a client starts writes its stderr where agents may read.
            let error = anyhow!("nobody is named who may open the page of --watch-page");
            return Err(Failure::from(error).hint(
                "Pass --approvers a file with a line `NAME TOKEN` for each: `openssl rand -hex 32` makes a token.",
            ));
        }
        let listener = listen(address).await?;
        Ok(Some(Self {
            address: self::address(&listener)?,
            call_options: call_options(policy, workdir, settings),
            viewers,
            listener,
        }))
    }

    /// Serves the page in a task: of a bundle, or of a host whose clients load bundles.
    pub(super) fn serve(
        self,
        bundle: Option<&LiveBundle>,
        workdir: Option<&Workdir>,
        host: &Host,
        settings: &Settings,
        tasks: &mut JoinSet<()>,
    ) {
        let mut config = self.viewers.page().call_options(&self.call_options);
        if let Some(workdir) = workdir {
            config = config.workdir(workdir.clone());
        }
        let config = match (bundle, host.state_root()) {
            (Some(bundle), _) => config.bundle(bundle.clone()),
            (None, Some(root)) => {
                let database = host.database().cloned();
                config.state_in(root, database.unwrap_or_else(|| root.into()))
            }
            (None, None) => config,
        };
        let address = &self.address;
        settings.note(&match &self.viewers.token {
            Some(token) => format!("the page is {address}#token={}", token.as_str()),
            None => format!("the page is {address}"),
        });
        tasks.spawn(toolhost_page::serve(self.listener, Page::new(config)));
    }
}

/// Returns the options of `toolhost call` with which a call is made as here, for a shell in any directory.
fn call_options(policy: Option<&Path>, workdir: Option<&Path>, settings: &Settings) -> String {
    let named = [
        ("--policy", policy),
        ("--workdir", workdir),
        ("--state-root", settings.dirs.state_root.as_deref()),
    ];
    let options = named.into_iter().filter_map(|(option, path)| {
        let path = path?;
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        Some(format!("{option} {}", shell_word(&path.to_string_lossy())))
    });
    options.collect::<Vec<_>>().join(" ")
}

/// Who may open a page.
struct Viewers {
    approvers: Approvers,
    /// The token of whoever started it, if no file names anybody.
    token: Option<BearerToken>,
}

impl Viewers {
    fn read(file: Option<&Path>) -> Result<Self, Failure> {
        if let Some(file) = file {
            let approvers = Approvers::new(token_file::read(file, "NAME")?);
            return Ok(Self {
                approvers,
                token: None,
            });
        }
        let token = BearerToken::generate().context("a token cannot be generated")?;
        let user = (approvals::user(), token.as_str().to_owned());
        Ok(Self {
            approvers: Approvers::new([user]),
            token: Some(token),
        })
    }

    fn page(&self) -> PageConfig {
        PageConfig::new(self.approvers.clone()).cases(Arc::new(|recording, file| {
            let case = RecordedCase::of(recording, file).map_err(|error| error.to_string())?;
            Ok(TestCase {
                yaml: case.text,
                notes: case.notes,
            })
        }))
    }
}

/// Listens on an address, or on a port of this machine that is free.
async fn listen(address: Option<SocketAddr>) -> Result<TcpListener, Failure> {
    let usual = SocketAddr::from((Ipv4Addr::LOCALHOST, PORT));
    let listening = match (address, TcpListener::bind(address.unwrap_or(usual)).await) {
        (None, Err(_)) => TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await,
        (_, bound) => bound,
    };
    let cannot = || format!("the page cannot listen on {}", address.unwrap_or(usual));
    let listening = listening.with_context(cannot);
    listening.hint("Name another address, such as 127.0.0.1:0 for a port that is free.")
}

fn address(listener: &TcpListener) -> Result<String, Failure> {
    let address = listener.local_addr().context("the page has no address")?;
    Ok(format!("http://{address}/"))
}
