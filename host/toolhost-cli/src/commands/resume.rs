//! `toolhost resume`, which kits call: continues a base with a tool, and writes the component.

use anyhow::Context;
use toolhost::sandbox::{BuildFolder, ResumeError};

use crate::args::ResumeArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::files;
use crate::host_context;
use crate::settings::Settings;
use crate::terminal::stderr;

/// Largest base, in bytes.
const BASE_MAX: u64 = 256 << 20;

pub(crate) async fn resume(args: &ResumeArgs, settings: &Settings) -> Result<Exit, Failure> {
    let base = files::read_async("the base", &args.base, BASE_MAX).await?;
    let sandbox = host_context::sandbox(settings)?;
    let mut folders = Vec::new();
    for (named, is_writable) in [(&args.folder, false), (&args.writable, true)] {
        for pair in named.chunks(2) {
            let [path, seen_as] = pair else { continue };
            let mut folder = BuildFolder::new(path, seen_as.to_string_lossy());
            folder.is_writable = is_writable;
            folders.push(folder);
        }
    }
    let component = sandbox.resume(base, &folders).await.map_err(|error| {
        if let ResumeError::Failed { printed, .. } = &error {
            stderr::write(printed);
        }
        Failure::from(anyhow::Error::new(error))
    })?;
    let out = args.out.display();
    files::replace(&args.out, &component).with_context(|| format!("{out} cannot be written"))?;
    Ok(Exit::Done)
}
