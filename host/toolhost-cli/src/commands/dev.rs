//! `toolhost dev`: builds, tests and serves the tools of a bundle, again after each change. It answers
//! clients before the first build has ended, as they wait a few seconds for `initialize` alone, and tells them then that
//! the tools have changed.

use super::serve::serve;
use super::{build, test};
use crate::args::{Components, ServeArgs, TestArgs};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::settings::Settings;
use crate::stop_request::StopRequest;

pub(crate) async fn dev(
    args: &ServeArgs,
    settings: &Settings,
    stop: &StopRequest,
) -> Result<Exit, Failure> {
    let mut served = args.clone();
    served.watch = true;
    if args.print_config.is_some() {
        return serve(&served, Components::BeingBuilt, settings, stop).await;
    }
    tokio::select! {
        readable = build::until_readable(&args.bundle, settings) => readable?,
        () = stop.received() => return Ok(Exit::Done),
    }
    let tests = TestArgs::of(&args.bundle, args.policy.as_deref());
    tokio::select! {
        exit = serve(&served, Components::BeingBuilt, settings, stop) => exit,
        ended = test::beside_server(&tests, settings) => ended,
    }
}
