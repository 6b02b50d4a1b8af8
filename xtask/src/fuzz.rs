//! Fuzzes: builds the targets and runs each of them for a while.
//!
//! Everything that grows lies beneath `target/fuzz`: builds, corpora, what was found, logs.

mod build;
mod outcome;

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};

use crate::workspace::Workspace;
use build::Built;
use outcome::Outcome;

/// Every target, those that need no engine first.
const TARGETS: [&str; 7] = [
    "bundle",
    "policy",
    "names",
    "args",
    "outcome",
    "component",
    "prepare",
];

/// Those whose input are the bytes of a component.
const TARGETS_OF_COMPONENTS: [&str; 2] = ["component", "prepare"];

/// Longest an input may take before it is a finding, in seconds. Other programs use the machine too;
/// what an input may cost on the processor is among the properties of each target.
const SECONDS_PER_INPUT: u32 = 60;

/// What to fuzz, and for how long.
#[derive(Debug, PartialEq)]
pub(crate) struct FuzzRun {
    /// Minutes for each target.
    minutes: u32,
    targets: Vec<&'static str>,
}

impl FuzzRun {
    /// Parses the words after `cargo xtask fuzz`: `[--minutes N] [TARGET…]`. One minute and every
    /// target are meant where nothing is said.
    ///
    /// # Errors
    /// A target that there is not, or minutes that are no positive number.
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

/// Fuzzes each target in its turn, and says what came of it.
///
/// # Errors
/// A target that cannot be built or started; in the end, that something was found.
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
        bail!("{found} of {} targets found something", run.targets.len());
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

    /// A folder of this target's beneath `target/fuzz`, made where it is not there.
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
            // libFuzzer adds what it finds to the first folder; the others are read.
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
        let said = fs::read(&log).with_context(|| format!("cannot read {}", log.display()))?;
        let said = String::from_utf8_lossy(&said);
        Ok(Outcome::read(status, &said, corpus, &program))
    }

    /// The folder of a target's seeds. Those of components are text in the tree: the target assembles
    /// them when it starts, to where the guests that are built are put for it, too.
    fn seeds(&self) -> Result<PathBuf> {
        /// Largest guest taken for a seed, in bytes: of small ones more are run in a minute.
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
