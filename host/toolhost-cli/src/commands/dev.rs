//! `toolhost dev`: builds, tests and serves the tools of a bundle, again after each change.

use super::serve::serve;
use super::{build, test};
use crate::args::{ServeArgs, TestArgs};
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
        return serve(&served, settings, stop).await;
    }
    tokio::select! {
        built = build::until_built(&args.bundle, settings) => built?,
        () = stop.received() => return Ok(Exit::Done),
    }
    let tests = TestArgs::of(&args.bundle, args.policy.as_deref());
    tokio::select! {
        exit = serve(&served, settings, stop) => exit,
        ended = test::beside_server(&tests, settings) => ended,
    }
}
