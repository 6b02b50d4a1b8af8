//! Fuzzes: builds the targets and runs each of them for a while.
//!
//! Builds, corpora, findings and logs are in `target/fuzz`.

mod build;
mod outcome;

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};

use crate::workspace::Workspace;
use build::Built;
use outcome::Outcome;

/// The targets; those without the engine come first.
const TARGETS: [&str; 7] = [
    "bundle",
    "policy",
    "names",
    "args",
    "outcome",
    "component",
    "prepare",
];

/// The targets whose input is a component.
const TARGETS_OF_COMPONENTS: [&str; 2] = ["component", "prepare"];

/// Seconds after which an input is a finding. It is long because other programs use the machine too; each
/// target limits the processor time of an input itself.
const SECONDS_PER_INPUT: u32 = 60;

/// What to fuzz, and for how long.
#[derive(Debug, PartialEq)]
pub(crate) struct FuzzRun {
    /// Minutes for each target.
    minutes: u32,
    targets: Vec<&'static str>,
}

impl FuzzRun {
    /// Parses the words after `cargo xtask fuzz`: `[--minutes N] [TARGET…]`. The default is
    /// one minute for every target.
    ///
    /// # Errors
    /// An unknown target, or minutes that are not a positive number.
    pub(crate) fn parse(words: &[String]) -> Result<Self> {
        let (mut minutes, mut targets) = (1, Vec::new());
        let mut words = words.iter();
        while let Some(word) = words.next() {
            if word == "--minutes" {
                let number = words.next().and_then(|word| word.parse().ok());
                let number = number.filter(|minutes| *minutes > 0);
                minutes = number.context("`--minutes` takes a positive number")?;
                continue;
            }
            match TARGETS.iter().find(|known| *known == word) {
                Some(target) => targets.push(*target),
                None => bail!("no target `{word}`: there are {}", TARGETS.join(", ")),
            }
        }
        if targets.is_empty() {
            targets = TARGETS.to_vec();
        }
        Ok(Self { minutes, targets })
    }
}

/// Fuzzes one target after the other, and prints the results.
///
/// # Errors
/// A target cannot be built or started; or there are findings.
pub(crate) fn run(workspace: &Workspace, run: &FuzzRun) -> Result<()> {
    let built = build::targets(workspace, &run.targets)?;
    let mut found = 0;
    for target in &run.targets {
        let outcome = Fuzzed::new(workspace, target).run(&built, run.minutes)?;
        println!("fuzz: {target}: {}", outcome.line());
        if let Some(finding) = &outcome.finding {
            found += 1;
            println!("{finding}");
        }
    }
    if found > 0 {
        bail!("{found} of {} targets have findings", run.targets.len());
    }
    Ok(())
}

/// One target and its folders.
struct Fuzzed<'a> {
    workspace: &'a Workspace,
    target: &'static str,
}

impl<'a> Fuzzed<'a> {
    fn new(workspace: &'a Workspace, target: &'static str) -> Self {
        Self { workspace, target }
    }

    /// Returns a folder of this target in `target/fuzz`; creates it if it is missing.
    fn folder(&self, what: &str) -> Result<PathBuf> {
        let path = self.workspace.target().join("fuzz").join(what);
        let path = path.join(self.target);
        fs::create_dir_all(&path).with_context(|| format!("cannot make {}", path.display()))?;
        Ok(path)
    }

    fn run(&self, built: &Built, minutes: u32) -> Result<Outcome> {
        let (corpus, artefacts) = (self.folder("corpus")?, self.folder("artefacts")?);
        let seeds = self.seeds()?;
        let log = self.folder("logs")?.join("last.log");
        let program = built.program(self.target);
        let mut command = Command::new(&program);
        command
            // libFuzzer writes new inputs to the first folder, and reads all folders.
            .arg(&corpus)
            .arg(&seeds)
            .env("TOOLHOST_FUZZ_SEEDS", &seeds)
            .arg(format!("-artifact_prefix={}/", artefacts.display()))
            .arg(format!("-max_total_time={}", u64::from(minutes) * 60))
            .arg(format!("-timeout={SECONDS_PER_INPUT}"))
            .arg("-print_final_stats=1")
            .current_dir(self.workspace.root())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(File::create(&log).with_context(|| format!("cannot write {}", log.display()))?);
        let dictionary = self.workspace.fuzz().join("dict");
        let dictionary = dictionary.join(format!("{}.dict", self.target));
        if dictionary.is_file() {
            command.arg(format!("-dict={}", dictionary.display()));
        }
        let status = command
            .status()
            .with_context(|| format!("cannot start {}", program.display()))?;
        let corpus = fs::read_dir(&corpus)?.count();
        let output = fs::read(&log).with_context(|| format!("cannot read {}", log.display()))?;
        let output = String::from_utf8_lossy(&output);
        Ok(Outcome::read(status, &output, corpus, &program))
    }

    /// Returns the folder of the seeds of a target. Components are text in the repository: the target
    /// assembles them into this folder when it starts. The built guests are copied to it as well.
    fn seeds(&self) -> Result<PathBuf> {
        /// Size of the largest guest that is a seed, in bytes: small inputs run faster.
        const GUEST_MAX: u64 = 128 << 10;

        if !TARGETS_OF_COMPONENTS.contains(&self.target) {
            return Ok(self.workspace.fuzz().join("corpus").join(self.target));
        }
        let seeds = self.folder("seeds")?;
        for guest in fs::read_dir(self.workspace.guests()).into_iter().flatten() {
            let guest = guest?;
            if guest.metadata()?.len() <= GUEST_MAX {
                fs::copy(guest.path(), seeds.join(guest.file_name()))?;
            }
        }
        Ok(seeds)
    }
}

#[cfg(test)]
mod tests {
    use super::{FuzzRun, TARGETS};

    fn parse(line: &str) -> Option<FuzzRun> {
        let words: Vec<String> = line.split_whitespace().map(String::from).collect();
        FuzzRun::parse(&words).ok()
    }

    #[test]
    fn parses_minutes_and_targets() {
        let run = |minutes: u32, targets: &[&'static str]| {
            let targets = targets.to_vec();
            Some(FuzzRun { minutes, targets })
        };
        assert_eq!(parse(""), run(1, &TARGETS));
        assert_eq!(parse("--minutes 10"), run(10, &TARGETS));
        assert_eq!(parse("names --minutes 2 args"), run(2, &["names", "args"]));
        for bad in [
            "--minutes",
            "--minutes 0",
            "--minutes x",
            "nothing",
            "--all",
        ] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }
}
