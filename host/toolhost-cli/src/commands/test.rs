//! `toolhost test`: the cases of a bundle's tools, those written and those that follow from their
//! schemas.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use anyhow::anyhow;
use toolhost::text::shell_word;

use crate::args::TestArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::settings::Settings;
use crate::terminal::stdout;
use crate::test::{Files, Lab, Report, Verdict, junit, people, run, update};

/// Runs the cases of a bundle.
pub(crate) async fn test(args: &TestArgs, settings: &Settings) -> Result<Exit, Failure> {
    let started = Instant::now();
    let files = Files::read(&args.bundle).await?;
    let lab = Lab::open(&args.bundle, args.policy.as_deref(), settings).await?;
    let lab = Arc::new(lab);
    let items = lab.items(&files, args)?;
    if items.is_empty() {
        return Err(nothing_to_run(args));
    }
    if args.list {
        stdout::write(&people::listed(&items))?;
        return Ok(Exit::Done);
    }
    if files.is_empty() && args.filter.is_none() {
        settings.note(&files.how_to_begin());
    }
    let mut report = Report {
        call: call(args),
        seed: args.seed,
        done: run::all(items, &lab).await,
        took: started.elapsed(),
    };
    if args.update {
        for line in update::accept(&files, &mut report.done).await? {
            settings.note(&line);
        }
    }
    if let Some(path) = &args.junit {
        junit::write(path, &report).await?;
    }
    if args.json {
        stdout::json(&report.to_json())?;
    } else {
        stdout::write(&people::report(&report, settings.style))?;
    }
    drop(lab);
    let failed = report
        .done
        .iter()
        .any(|done| done.verdict() == Verdict::Failed);
    Ok(if failed { Exit::Refused } else { Exit::Done })
}

/// How a tool of the bundle is called under the policy of the run.
fn call(args: &TestArgs) -> String {
    let word = |path: &Path| shell_word(&path.to_string_lossy()).into_owned();
    let mut call = format!("toolhost call {}", word(&args.bundle));
    if let Some(policy) = &args.policy {
        call += &format!(" --policy {}", word(policy));
    }
    call
}

fn nothing_to_run(args: &TestArgs) -> Failure {
    let bundle = args.bundle.display();
    let error = match &args.filter {
        Some(filter) => anyhow!("no case of {bundle} has '{filter}' in its file, name or tool"),
        None => anyhow!("there is no case of {bundle} to run"),
    };
    Failure::from(error).hint("`toolhost test --list` lists the cases there are.")
}
