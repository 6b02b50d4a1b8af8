//! `toolhost build`: the components of tools whose entries are source.

mod bench;

use std::time::Instant;

use anyhow::anyhow;
use serde_json::{Value, json};
use toolhost::bundle::{OpenBundle, SourceEntry};
use toolhost::{Bundle, LoadError};

use crate::args::BuildArgs;
use crate::builder::{Fault, Refusal, Whose};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::kits::Shelf;
use crate::progress::{Progress, size};
use crate::setting::Setting;
use crate::{output, plain, screen};
use bench::Bench;

/// What came of one source entry.
#[derive(Debug)]
struct Outcome {
    tool: String,
    entry: String,
    component: String,
    state: State,
    seconds: f64,
}

#[derive(Debug)]
enum State {
    Built { bytes: u64, notes: Vec<Fault> },
    Current { bytes: u64 },
    Failed(Refusal),
}

/// Builds what a bundle's entries name.
pub(crate) async fn build(args: &BuildArgs, setting: &Setting) -> Result<Exit, Failure> {
    let built = build_all(args, setting).await;
    let outcomes = match built {
        Ok(outcomes) => outcomes,
        Err(failure) if args.json => {
            output::json(&failure.to_json())?;
            return Ok(failure.exit());
        }
        Err(failure) => return Err(failure),
    };
    if args.json {
        let tools: Vec<Value> = outcomes.iter().map(as_json).collect();
        output::json(&json!({"ok": exit(&outcomes) == Exit::Done, "tools": tools}))?;
    } else if outcomes.is_empty() {
        setting.note("nothing to build: every entry is a component already");
    }
    Ok(exit(&outcomes))
}

async fn build_all(args: &BuildArgs, setting: &Setting) -> Result<Vec<Outcome>, Failure> {
    let open = open(args)?;
    let mut outcomes = Vec::new();
    if open.source_entries().next().is_none() {
        return Ok(outcomes);
    }
    let shelf = setting.places.cache.as_deref().map(Shelf::new);
    let shelf = shelf.ok_or_else(|| {
        let error = anyhow!("there is no place for what builds tools");
        Failure::from(error).hint("Set HOME, or XDG_CACHE_HOME.")
    })?;
    let progress = Progress::start(setting);
    let bench = Bench::set_up(&open, &shelf, args, setting, &progress).await?;
    for source in open.source_entries() {
        let outcome = one(&bench, &source).await;
        progress.idle();
        if !args.json {
            show(&outcome, setting)?;
        }
        outcomes.push(outcome);
    }
    Ok(outcomes)
}

fn open(args: &BuildArgs) -> Result<OpenBundle, Failure> {
    Bundle::open(&args.bundle).map_err(|error: LoadError| Failure::of_bundle(error, None))
}

async fn one(bench: &Bench<'_>, source: &SourceEntry<'_>) -> Outcome {
    let started = Instant::now();
    let state = match bench.current(source) {
        Some(bytes) => State::Current { bytes },
        None => match bench.build(source).await {
            Ok((bytes, notes)) => State::Built { bytes, notes },
            Err(refusal) => State::Failed(refusal),
        },
    };
    Outcome {
        tool: source.tool.metadata.name.to_string(),
        entry: source.tool.spec.entry.clone(),
        component: source.component.to_string_lossy().into_owned(),
        state,
        seconds: (started.elapsed().as_secs_f64() * 10.0).round() / 10.0,
    }
}

fn exit(outcomes: &[Outcome]) -> Exit {
    let failed = |whose: Whose| {
        outcomes.iter().any(|outcome| match &outcome.state {
            State::Failed(refusal) => refusal.whose == whose,
            State::Built { .. } | State::Current { .. } => false,
        })
    };
    match (failed(Whose::Machine), failed(Whose::Source)) {
        (true, _) => Exit::Unusable,
        (false, true) => Exit::Refused,
        (false, false) => Exit::Done,
    }
}

fn show(outcome: &Outcome, setting: &Setting) -> anyhow::Result<()> {
    let (tool, component) = (&outcome.tool, plain::line(&outcome.component));
    match &outcome.state {
        State::Current { bytes } => output::write(&format!(
            "{tool}: {component}, {}, is up to date",
            size(*bytes)
        )),
        State::Built { bytes, notes } => {
            let look = setting.look;
            notes
                .iter()
                .for_each(|note| tell(&look.cyan("note:"), note, setting));
            let (size, seconds) = (size(*bytes), outcome.seconds);
            output::write(&format!(
                "{tool}: {component}, {size}, built in {seconds:.1} s"
            ))
        }
        State::Failed(refusal) => {
            for fault in &refusal.faults {
                tell(&setting.look.red("error:"), fault, setting);
            }
            Ok(())
        }
    }
}

/// Tells people one thing: the place, what, what shows it, and the next move.
fn tell(word: &str, fault: &Fault, setting: &Setting) {
    let place = fault
        .place()
        .map(|place| format!("{}: ", plain::line(&place)));
    let mut text = format!(
        "{word} {}{}\n",
        place.unwrap_or_default(),
        plain::line(&fault.message)
    );
    for line in fault
        .detail
        .iter()
        .flat_map(|detail| detail.trim_end().lines())
    {
        text += &format!("  | {}\n", plain::line(line));
    }
    if let Some(next) = &fault.next {
        text += &format!("{} {}\n", setting.look.cyan("hint:"), plain::line(next));
    }
    screen::write(&text);
}

fn as_json(outcome: &Outcome) -> Value {
    let mut answer = json!({
        "name": outcome.tool,
        "entry": outcome.entry,
        "component": outcome.component,
        "seconds": outcome.seconds,
    });
    let told = match &outcome.state {
        State::Built { bytes, notes } => json!({"state": "built", "bytes": bytes, "notes": notes}),
        State::Current { bytes } => json!({"state": "current", "bytes": bytes}),
        State::Failed(refusal) => {
            json!({"state": "failed", "whose": refusal.whose, "errors": refusal.faults})
        }
    };
    if let (Some(answer), Value::Object(told)) = (answer.as_object_mut(), told) {
        answer.extend(told);
    }
    answer
}
