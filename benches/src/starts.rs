//! Measures starts from the verified cache: a new sandbox, and a bundle that a new host loads.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio::runtime::Runtime;
use toolhost::{Host, LoadProgress, Sandbox, SandboxConfig, sandbox::CacheConfig};
use toolhost_tests::root;

use crate::measure::{median, processor_time};

/// Starts of each bundle. The bundles alternate, so that noise affects all of them.
const ROUNDS: usize = 15;

/// The bundles, and what their tools are made of.
const BUNDLES: [(&str, &str); 5] = [
    ("Rust (echo, text, file-system)", "."),
    ("Rust (bash and the base tools)", "base"),
    ("QuickJS (text-transform)", "typescript/text-transform"),
    ("StarlingMonkey (fetch)", "typescript/fetch"),
    ("Python (csv-stats)", "python/csv-stats"),
];

/// The times of one start.
struct Start {
    sandbox: Duration,
    load: Duration,
    /// The time in which the sandbox prepared each component, summed up.
    prepare: Duration,
    /// Processor time of all threads during `load`, in whole ticks of the kernel.
    cpu: Duration,
}

/// Starts a sandbox with a cache and loads a bundle in it. Dropping both is not measured.
fn start(runtime: &Runtime, cache: &Path, bundle: &Path) -> Result<Start, String> {
    let begun = Instant::now();
    let sandbox = Sandbox::new({
        let mut config = SandboxConfig::default();
        config.cache = Some(CacheConfig::new(
            cache.join("cache"),
            cache.join("state/cache.key"),
        ));
        config
    });
    let sandbox = sandbox.unwrap();
    let started = begun.elapsed();
    let prepare = Arc::new(Mutex::new(Duration::ZERO));
    let sum = Arc::clone(&prepare);
    let host = Host::builder()
        .sandbox(sandbox)
        .on_progress(move |progress| {
            if let LoadProgress::Prepared { took, .. } = progress {
                *sum.lock().unwrap() += *took;
            }
        });
    let host = host.build().unwrap();
    let (begun, cpu) = (Instant::now(), processor_time());
    let loaded = runtime.block_on(host.load(bundle));
    let (load, cpu) = (begun.elapsed(), processor_time() - cpu);
    loaded.map_err(|error| error.to_string())?;
    let prepare = *prepare.lock().unwrap();
    Ok(Start {
        sandbox: started,
        load,
        prepare,
        cpu,
    })
}

/// Measures the bundles whose components are built, and prints a row for each. `only` selects those whose
/// path contains it; `kept` is the directory of a cache for the next run.
pub(crate) fn print(runtime: &Runtime, only: Option<&str>, kept: Option<&str>) {
    let own = tempfile::tempdir().unwrap();
    let cache = kept.map_or(own.path(), Path::new);
    println!("starts from the verified cache, in ms: median (fastest)");
    let mut rows = Vec::new();
    let selected = |path: &str| only.is_none_or(|only| path.contains(only));
    for (name, path) in BUNDLES.iter().filter(|(_, path)| selected(path)) {
        let bundle = root("guest-examples").join(path);
        // Compiles its components.
        match start(runtime, cache, &bundle) {
            Ok(first) => rows.push((name, bundle, first, Vec::new())),
            Err(error) => println!("  {name}: not measured: {error}"),
        }
    }
    for _ in 0..ROUNDS {
        for (_, bundle, _, starts) in &mut rows {
            starts.push(start(runtime, cache, bundle).unwrap());
        }
    }
    println!(
        "  {:<32} {:>14} {:>14} {:>14} {:>10} {:>10}",
        "", "sandbox", "load", "prepare: sum", "CPU: mean", "first load"
    );
    for (name, _, first, starts) in rows {
        let of = |part: fn(&Start) -> Duration| {
            let millis = starts.iter().map(|start| part(start).as_secs_f64() * 1e3);
            let fastest = millis.clone().fold(f64::INFINITY, f64::min);
            format!("{:.1} ({fastest:.1})", median(millis.collect()))
        };
        let cpu: Duration = starts.iter().map(|start| start.cpu).sum();
        println!(
            "  {name:<32} {:>14} {:>14} {:>14} {:>10.1} {:>10.0}",
            of(|start| start.sandbox),
            of(|start| start.load),
            of(|start| start.prepare),
            cpu.as_secs_f64() * 1e3 / starts.len() as f64,
            first.load.as_secs_f64() * 1e3,
        );
    }
}
