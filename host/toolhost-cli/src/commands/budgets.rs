//! `toolhost budgets`: prints what calls have used of the policy's budgets.

use std::time::SystemTime;

use anyhow::anyhow;
use serde_json::json;
use toolhost::budgets::BudgetUse;
use toolhost::events::Timestamp;
use toolhost::instances;

use crate::args::BudgetsArgs;
use crate::base::is_base;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::files;
use crate::policy_file::PolicyChoice;
use crate::settings::Settings;
use crate::terminal::{stdout, text};

pub(crate) async fn budgets(args: &BudgetsArgs, settings: &Settings) -> Result<Exit, Failure> {
    let Some(root) = settings.dirs.state_root.clone() else {
        let error = anyhow!("the directory of the database is not known");
        return Err(Failure::from(error).hint("Pass --state-root DIR, or set HOME."));
    };
    if !is_base(&args.bundle) && !args.bundle.exists() {
        let error = anyhow!("there is no bundle {}", text::path(&args.bundle));
        return Err(Failure::from(error).hint("Name the bundle whose calls are counted."));
    }
    let policy = PolicyChoice::new(args.policy.as_deref(), Some(&args.bundle));
    let (policy, bundle) = (policy.read().await?.policy, args.bundle.clone());
    let read = move || Ok(instances::budgets(&root, &policy, &bundle)?);
    let uses = files::spawn_blocking(read).await?;
    if args.json {
        let budgets: Vec<_> = uses.iter().map(BudgetUse::to_value).collect();
        stdout::json(&json!({ "budgets": budgets }))?;
    } else if uses.is_empty() {
        stdout::write("the policy has no budgets")?;
    } else {
        let now = SystemTime::now();
        let lines: Vec<String> = uses.iter().map(|it| line(it, now)).collect();
        stdout::write(&lines.join("\n"))?;
    }
    Ok(Exit::Done)
}

/// Returns such as "tool 'fetch': 12 of 100 calls per hour, resets at 2026-11-27T15:00:00.000Z, in 12 minutes".
fn line(it: &BudgetUse, now: SystemTime) -> String {
    let of = match &it.instance {
        Some(key) => format!("{} ({})", it.budget, text::line(key)),
        None => it.budget.to_string(),
    };
    let (used, limit) = (it.kind.shown(it.used), it.kind.with_unit(it.limit));
    let (period, resets) = (it.budget.period.as_str(), Timestamp(it.resets_at));
    let left = it.resets_in(now);
    format!("{of}: {used} of {limit} per {period}, resets at {resets}, in {left}")
}
