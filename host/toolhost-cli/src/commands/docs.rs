//! `toolhost docs`: writes a page about the tools of a bundle.

mod contents;
mod example;
mod page;
mod parameters;

use std::fs;
use std::io::{self, Read};
use std::path::Path;

use anyhow::{Context, anyhow};

use self::contents::Contents;
use super::agents::{agent, with_all_tools};
use crate::args::DocsArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::files;
use crate::host_context::{HostContext, StateRoot};
use crate::policy_file::PolicyFile;
use crate::settings::Settings;
use crate::terminal::{stdout, text};

/// Where a page must have [`page::GENERATOR`] to be replaced, in bytes.
const HEAD_BYTES: u64 = 4096;

pub(crate) async fn docs(args: &DocsArgs, settings: &Settings) -> Result<Exit, Failure> {
    let to_stdout = args.output == Path::new("-");
    if !to_stdout {
        refuse_foreign(&args.output)?;
    }
    let policy = PolicyFile::read(args.policy.as_deref()).await?;
    let rules = policy.policy.clone();
    let context = HostContext::open_with(settings, policy, StateRoot::Optional)?;
    let bundle = context.load(&args.bundle).await?;
    let agents = match &args.agent {
        Some(name) => vec![agent(&bundle, Some(name), settings)?],
        None => bundle.agents().to_vec(),
    };
    let examples = example::of_cases(settings.bundle(&args.bundle)?, settings).await?;
    let look = || Contents::new(&args.bundle, &bundle, &agents, &rules, &examples);
    let contents = with_all_tools(&bundle, settings, look).await?;
    let page = page::render(&contents);
    if to_stdout {
        stdout::write(page.trim_end())?;
        return Ok(Exit::Done);
    }
    let path = text::path(&args.output);
    files::write_over_file(&args.output, page.as_bytes())
        .with_context(|| format!("the page cannot be written to {path}"))?;
    let tools = text::counted(contents.tool_count(), "tool");
    stdout::write(&format!("{path}: {tools}"))?;
    Ok(Exit::Done)
}

/// Returns an error if the file is there and is no page of this command.
fn refuse_foreign(path: &Path) -> Result<(), Failure> {
    let mut head = Vec::new();
    let result = fs::File::open(path).and_then(|file| file.take(HEAD_BYTES).read_to_end(&mut head));
    match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Ok(_) if String::from_utf8_lossy(&head).contains(page::GENERATOR) => return Ok(()),
        Ok(_) | Err(_) => {}
    }
    let path = text::path(path);
    let error = anyhow!("{path} exists, and `toolhost docs` has not written it");
    Err(Failure::from(error).hint("Remove it, or name another file with --output."))
}
