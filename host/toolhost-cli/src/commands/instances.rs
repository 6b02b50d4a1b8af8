//! `toolhost instances`: lists the instances that have files, and removes one.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::anyhow;
use serde_json::json;
use toolhost::events::Timestamp;
use toolhost::instances::{self, StoredInstance};

use crate::args::{InstancesAction, InstancesArgs, RemoveArgs};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::files;
use crate::policy_file::PolicyChoice;
use crate::settings::Settings;
use crate::terminal::progress::size;
use crate::terminal::{stdin, stdout, text};

pub(crate) async fn instances(args: &InstancesArgs, settings: &Settings) -> Result<Exit, Failure> {
    let Some(root) = settings.dirs.state_root.clone() else {
        let error = anyhow!("the directory of instances is not known");
        return Err(Failure::from(error).hint("Pass --state-root DIR, or set HOME."));
    };
    let from = root.clone();
    let stored = files::spawn_blocking(move || Ok(instances::list(&from)?)).await?;
    if let Some(InstancesAction::Rm(args)) = &args.action {
        return remove(args, &root, &stored).await;
    }
    let name = match &args.bundle {
        None => None,
        Some(bundle) => {
            let policy = PolicyChoice::new(args.policy.as_deref(), Some(bundle));
            Some(instances::name_of(&policy.read().await?.policy, bundle))
        }
    };
    let of_bundle = |it: &&StoredInstance| name.as_ref().is_none_or(|name| *name == it.bundle);
    let shown: Vec<&StoredInstance> = stored.iter().filter(of_bundle).collect();
    if args.json {
        let instances: Vec<_> = shown.iter().map(|it| as_json(it)).collect();
        stdout::json(&json!({ "instances": instances }))?;
    } else if shown.is_empty() {
        stdout::write("there are no instances")?;
    } else {
        let lines: Vec<String> = shown.iter().map(|it| line(it)).collect();
        stdout::write(&lines.join("\n"))?;
    }
    Ok(Exit::Done)
}

async fn remove(
    args: &RemoveArgs,
    root: &Path,
    stored: &[StoredInstance],
) -> Result<Exit, Failure> {
    let is_asked = |it: &&StoredInstance| {
        it.bundle == args.workspace
            && (it.directory == args.instance || it.key.as_ref() == Some(&args.instance))
    };
    let Some(instance) = stored.iter().find(is_asked) else {
        let (workspace, key) = (text::line(&args.workspace), text::line(&args.instance));
        let error = anyhow!(
            "{workspace} has no instance '{key}' in {}",
            text::path(root)
        );
        return Err(Failure::from(error).hint("`toolhost instances` lists them."));
    };
    if let Some(process) = user_of(&instance.path) {
        let error = anyhow!("the instance is in use by the process {process}");
        let failure = Failure::from(error).hint("Stop it first. Nothing was removed.");
        return Err(failure.refused());
    }
    if !args.yes {
        let question = format!("remove {}? yes or no", line(instance));
        let answer = if stdin::can_ask() {
            stdin::ask(&question, "no").await?
        } else {
            let error = anyhow!("the removal is not confirmed");
            let failure = Failure::from(error).hint("Pass --yes. Nothing was removed.");
            return Err(failure.refused());
        };
        if answer != "yes" {
            stdout::write("nothing was removed")?;
            return Ok(Exit::Refused);
        }
    }
    let (from, removed) = (root.to_owned(), instance.clone());
    files::spawn_blocking(move || Ok(instances::remove(&from, &removed)?)).await?;
    stdout::write(&format!("removed {}", line(instance)))?;
    Ok(Exit::Done)
}

fn line(instance: &StoredInstance) -> String {
    let key = instance.key.as_ref().unwrap_or(&instance.directory);
    let (bytes, last) = (size(instance.bytes), Timestamp(instance.last_used));
    let (bundle, key) = (text::line(&instance.bundle), text::line(key));
    format!("{bytes:>9}  {last}  {bundle}  {key}")
}

fn as_json(instance: &StoredInstance) -> serde_json::Value {
    json!({
        "workspace": instance.bundle,
        "key": instance.key,
        "directory": instance.directory,
        "path": instance.path,
        "bytes": instance.bytes,
        "lastUsed": Timestamp(instance.last_used).to_string(),
    })
}

/// Returns a process that has a file or folder beneath a path open. Knows those of this user on Linux.
fn user_of(path: &Path) -> Option<u32> {
    let path = path.canonicalize().ok()?;
    let processes = fs::read_dir("/proc").ok()?.filter_map(Result::ok);
    let mut ids = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let uses = |id: &u32| {
        let links = fs::read_dir(PathBuf::from(format!("/proc/{id}/fd")));
        let links = links.into_iter().flatten().filter_map(Result::ok);
        let mut targets = links.filter_map(|entry| fs::read_link(entry.path()).ok());
        targets.any(|target| target.starts_with(&path))
    };
    ids.find(uses)
}
