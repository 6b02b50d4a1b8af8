//! The commands.

mod agents;
mod approvals;
mod auth;
mod backup;
mod budgets;
mod build;
mod cache;
mod call;
mod callback;
mod caller;
mod calls;
mod changesets;
mod check;
mod completions;
mod component;
mod dev;
mod docs;
mod doctor;
mod grant_callbacks;
mod inspect;
mod instances;
mod list;
mod lock;
mod manifest_file;
mod mcp;
mod mcp_servers;
mod new;
mod packages;
mod play;
mod recording_file;
mod replay;
mod resume;
mod rpc;
mod script;
mod search;
mod serve;
mod test;
mod token_file;
mod undo;
mod watch;
mod wit;
mod worker;
mod workers;

use crate::args::{Command, Components};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::settings::Settings;
use crate::stop_request::StopRequest;

/// Runs a command.
pub(crate) async fn execute(
    command: Command,
    settings: &Settings,
    stop: &StopRequest,
) -> Result<Exit, Failure> {
    match command {
        Command::New(args) => new::new(&args, settings).await,
        Command::Build(args) => build::build(&args, settings).await,
        Command::Check(args) => check::check(&args, settings).await,
        Command::List(args) => list::list(&args, settings).await,
        Command::Search(args) => search::search(&args, settings).await,
        Command::Docs(args) => docs::docs(&args, settings).await,
        Command::Call(args) => call::call(&args, settings).await,
        Command::Calls(args) => calls::calls(&args, settings).await,
        Command::Watch(args) => watch::watch(&args, settings, stop).await,
        Command::Poll(args) => call::poll(&args, settings).await,
        Command::Cancel(args) => call::cancel(&args, settings).await,
        Command::Replay(args) => replay::replay(&args, settings).await,
        Command::Undo(args) => undo::undo(&args, settings).await,
        Command::Approvals(args) => approvals::approvals(&args, settings).await,
        Command::Approve(args) => approvals::decide(&args, true, settings).await,
        Command::Deny(args) => approvals::decide(&args, false, settings).await,
        Command::Instances(args) => instances::instances(&args, settings).await,
        Command::Budgets(args) => budgets::budgets(&args, settings).await,
        Command::Backup(args) => backup::backup(&args, settings).await,
        Command::Play(args) => play::play(&args, settings).await,
        Command::Script(args) => script::script(&args, settings).await,
        Command::Rpc(args) => rpc::rpc(&args, settings, stop).await,
        Command::Worker(args) => worker::worker(&args, settings, stop).await,
        Command::Workers(args) => workers::workers(&args, settings).await,
        Command::Serve(args) => serve::serve(&args, Components::Built, settings, stop).await,
        Command::Dev(args) => dev::dev(&args, settings, stop).await,
        Command::Auth(args) => auth::auth(&args, settings).await,
        Command::Mcp(args) => mcp::mcp(&args, settings).await,
        Command::Test(args) => test::test(&args, settings).await,
        Command::Lock(args) => lock::lock(&args, settings).await,
        Command::Publish(args) => packages::publish(&args, settings).await,
        Command::Add(args) => packages::add(&args, settings).await,
        Command::Update(args) => packages::update(&args, settings).await,
        Command::Vendor(args) => packages::vendor(&args, settings).await,
        Command::Sign(args) => packages::sign(&args, settings).await,
        Command::Verify(args) => packages::verify(&args, settings).await,
        Command::Inspect(args) => inspect::inspect(&args, settings).await,
        Command::Wit(args) => wit::wit(&args),
        Command::Component(args) => component::component(&args).await,
        Command::Cache(args) => cache::cache(&args, settings),
        Command::Doctor(args) => doctor::doctor(&args, settings).await,
        Command::Completions(args) => completions::completions(&args),
        Command::Man(args) => completions::man(&args),
        Command::Resume(args) => resume::resume(&args, settings).await,
    }
}
