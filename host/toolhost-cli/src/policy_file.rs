//! Reads the operator's policy, and the policy that a script brings.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, anyhow};
use toolhost::http::HttpRule;
use toolhost::workdir::StagingRoot;
use toolhost::{
    Policy, ResourceName, ScriptLanguage, credentials::SecretSource, manifest::YamlSource,
    tool::ToolPattern,
};
use toolhost_files::{Workdir, WorkdirUsages};

use crate::base::{WORKSPACE, is_base};
use crate::environment;
use crate::failure::{Failure, Hint};
use crate::files;
use crate::settings::Settings;
use crate::terminal::{Verbosity, text};

/// Largest policy file, in bytes.
const POLICY_BYTES_MAX: u64 = 1 << 20;

/// Largest file that holds a secret, in bytes.
const SECRET_BYTES_MAX: u64 = 64 << 10;

/// How long reading the secrets of a policy may take: one may be a pipe that nobody writes to.
const SECRETS_TIMEOUT: Duration = Duration::from_secs(30);

/// What the policy of a script may not do.
const OPERATORS_ONLY: &str = "only the operator may, with --policy";

/// The hint that follows.
const USE_OPTION: &str = "Read the policy, and pass it with --policy if you agree.";

/// The variable that names the policy of commands without `--policy`.
const VARIABLE: &str = "TOOLHOST_POLICY";

/// Sets the policy of a command that was started without `--policy`, and notes which one it uses with `-v`. No other
/// place is searched: a policy beside a bundle may be a stranger's.
pub(crate) fn choose(policy: &mut Option<PathBuf>, settings: &Settings) -> Result<(), Failure> {
    let origin = if policy.is_some() {
        "--policy"
    } else if let Some(path) = environment::value(VARIABLE).map(PathBuf::from) {
        if !path.is_absolute() {
            let error = anyhow!("{VARIABLE} is not an absolute path: {}", text::path(&path));
            let hint = "Write the whole path, or unset the variable: a relative one names another file in each folder.";
            return Err(Failure::from(error).hint(hint));
        }
        *policy = Some(path);
        VARIABLE
    } else {
        ""
    };
    if settings.verbosity >= Verbosity::Verbose {
        settings.note(&match policy {
            Some(path) => format!("the policy is {} ({origin})", text::path(path)),
            None => "there is no policy: nothing is granted".to_owned(),
        });
    }
    Ok(())
}

/// The policy of a command that makes calls: a file, what options add to it, and defaults for the base tools.
#[derive(Debug, Clone, Default)]
pub(crate) struct PolicyChoice {
    pub(crate) path: Option<PathBuf>,
    /// Requests that every tool may send.
    pub(crate) allow_http: Vec<HttpRule>,
    /// Tools whose programs may call every tool, unless the policy says for any tool for programs which.
    pub(crate) programs: Vec<ResourceName>,
    /// The tools that these programs may call, whatever the policy says.
    pub(crate) called: Vec<ToolPattern>,
    /// The name of the workspaces, unless the policy names them.
    workspace: Option<ResourceName>,
    /// Whether calls are transactions, unless there is a file.
    is_transactional: bool,
}

impl PolicyChoice {
    /// Chooses a file, for calls of the tools of a bundle.
    pub(crate) fn new(path: Option<&Path>, bundle: Option<&Path>) -> Self {
        let is_base = bundle.is_some_and(is_base);
        let workspace = is_base.then(|| ResourceName::parse(WORKSPACE).ok());
        Self {
            path: path.map(Path::to_owned),
            workspace: workspace.flatten(),
            ..Self::default()
        }
    }

    /// Makes calls of the base tools transactions, unless there is a file, if the changes in the workdir can be staged
    /// in the state root.
    pub(crate) fn or_transactional(mut self, workdir: Option<&Path>, settings: &Settings) -> Self {
        let has_default = self.workspace.is_some() && self.path.is_none();
        if !has_default {
            return self;
        }
        // A workspace lies in the state root.
        let Some(workdir) = workdir else {
            self.is_transactional = true;
            return self;
        };
        match can_stage(workdir, settings) {
            Ok(()) => self.is_transactional = true,
            Err(error) => settings.note(&format!(
                "calls change the workdir at once, and not as transactions: {error:#}"
            )),
        }
        self
    }

    /// Lets programs call every tool, unless the policy says which.
    pub(crate) fn for_programs(mut self) -> Self {
        self.programs = tools_for_programs().collect();
        self
    }

    /// Reads the file.
    pub(crate) async fn read(&self) -> Result<PolicyFile, Failure> {
        let mut file = PolicyFile::read(self.path.as_deref()).await?;
        if let Some(name) = &self.workspace {
            file.policy = file.policy.or_workspace(name.clone());
        }
        if self.is_transactional {
            file.policy = file.policy.or_transactional();
        }
        file.policy = file.policy.allow_http(self.allow_http.iter().cloned());
        // What the policy says of one language ends the default of all: the other would be a way around it.
        let is_named = tools_for_programs().any(|tool| file.policy.grants_tools(&tool));
        let called = match (&*self.called, is_named) {
            ([], true) => return Ok(file),
            ([], false) => vec![ToolPattern::any()],
            (called, _) => called.to_vec(),
        };
        for tool in &self.programs {
            file.policy = file.policy.allow_tools(tool.clone(), called.clone());
        }
        Ok(file)
    }
}

/// The tools that run programs.
fn tools_for_programs() -> impl Iterator<Item = ResourceName> {
    let tools = [ScriptLanguage::JavaScript, ScriptLanguage::Python].map(ScriptLanguage::tool);
    tools
        .into_iter()
        .filter_map(|tool| ResourceName::parse(tool).ok())
}

/// Finds out whether the changes in a workdir can be staged in the state root.
fn can_stage(workdir: &Path, settings: &Settings) -> anyhow::Result<()> {
    let root = settings.dirs.state_root.as_deref();
    let staging = StagingRoot::open(root.context("there is no state root")?)?;
    // A workdir that cannot be opened is an error of the command.
    if let Ok(workdir) = Workdir::open_own(workdir, &WorkdirUsages::default()) {
        workdir.transactional(&staging)?;
    }
    Ok(())
}

/// A policy, and the file that it was read from.
#[derive(Debug, Clone, Default)]
pub(crate) struct PolicyFile {
    /// The policy; without a file the default.
    pub(crate) policy: Policy,
    /// The file's text without its secrets, for displaying lines.
    pub(crate) source: Option<YamlSource>,
    pub(crate) path: Option<PathBuf>,
    /// The files of its secrets, and other files with secrets of the command: no workdir may contain one.
    pub(crate) secret_files: Vec<PathBuf>,
}

impl PolicyFile {
    /// Reads the operator's policy, with its secrets.
    pub(crate) async fn read(path: Option<&Path>) -> Result<Self, Failure> {
        let Some(path) = path else {
            return Ok(Self::default());
        };
        let folder = path.parent().unwrap_or(Path::new("")).to_owned();
        let files = Arc::new(Mutex::new(Vec::new()));
        let paths = Arc::clone(&files);
        let file = read(path, move |source| {
            if let SecretSource::File(file) = source {
                let mut paths = paths.lock().unwrap_or_else(PoisonError::into_inner);
                paths.push(folder.join(file));
            }
            secret(source, &folder)
        });
        let mut file = file.await?;
        let mut files = files.lock().unwrap_or_else(PoisonError::into_inner);
        file.secret_files = std::mem::take(&mut files);
        Ok(file)
    }

    /// Reads the policy that a script brings. It reads no secret, grants no HTTP request and no MCP
    /// server, names no signers, and raises no limit beyond the defaults.
    pub(crate) async fn read_of_script(path: &Path, script: &Path) -> Result<Self, Failure> {
        let refuse = |what: &str| {
            let error = anyhow!("{} {what}: {OPERATORS_ONLY}", path.display());
            Err(Failure::from(error).hint(USE_OPTION))
        };
        if !is_in_folder_of(path, script) {
            return refuse("does not lie in the script's folder");
        }
        let file = read(path, |_| Err(OPERATORS_ONLY.to_owned())).await;
        let file = file.map_err(|failure| failure.hint(USE_OPTION))?;
        if file.policy.grants_any_http() {
            return refuse("grants HTTP requests");
        }
        if file.policy.grants_any_mcp_server() {
            return refuse("grants MCP servers");
        }
        if file.policy.packages().is_some() {
            return refuse("names signers of packages");
        }
        let policy = file.policy.within(&Policy::default());
        Ok(Self { policy, ..file })
    }
}

/// Whether `file` is in the folder of `other` or beneath it, after following links. A file that does
/// not exist fails when it is read.
fn is_in_folder_of(file: &Path, other: &Path) -> bool {
    let (Ok(file), Ok(other)) = (file.canonicalize(), other.canonicalize()) else {
        return true;
    };
    let folder = other.parent();
    folder.is_some_and(|folder| file.starts_with(folder))
}

async fn read(
    path: &Path,
    secrets: impl Fn(SecretSource<'_>) -> Result<String, String> + Send + 'static,
) -> Result<PolicyFile, Failure> {
    let text = files::text_file("the policy", path, POLICY_BYTES_MAX).await;
    let text = text.hint("Name a YAML file that only the operator can write.")?;
    let name = path.display().to_string();
    let source = Policy::masked(&text, &name);
    let parse = move || Ok(Policy::parse_with(&text, &name, &secrets));
    // Reading a secret may block, such as on a pipe.
    let parsed = tokio::time::timeout(SECRETS_TIMEOUT, files::spawn_blocking(parse)).await;
    match parsed.map_err(|_| too_slow())?? {
        Ok(policy) => Ok(PolicyFile {
            policy,
            source,
            path: Some(path.to_owned()),
            secret_files: Vec::new(),
        }),
        Err(invalid) => {
            let error = anyhow!("the policy {} cannot be used", path.display());
            let sources = source.into_iter().collect();
            let failure = Failure::of_files(error, invalid.diagnostics, sources);
            Err(failure.hint("Correct the errors above; nothing was loaded."))
        }
    }
}

fn too_slow() -> Failure {
    let limit = SECRETS_TIMEOUT.as_secs();
    let error = anyhow!("the secrets of the policy could not be read within {limit} s");
    Failure::from(error).hint("Name files as secrets that can be read at once, and no pipes.")
}

/// Reads a secret that the policy names. The last line break of a file is removed.
fn secret(source: SecretSource<'_>, folder: &Path) -> Result<String, String> {
    match source {
        SecretSource::Env(name) => {
            let value = environment::value(name).ok_or_else(|| format!("{name} is not set"))?;
            let text = value.into_string();
            text.map_err(|_| format!("{name} is not UTF-8"))
        }
        SecretSource::File(path) => {
            let bytes = files::read_or_wait("the secret", &folder.join(path), SECRET_BYTES_MAX);
            let bytes = bytes.map_err(|error| format!("{error:#}"))?;
            let text = String::from_utf8(bytes).map_err(|_| format!("{path} is not UTF-8"))?;
            let line = text.strip_suffix('\n').unwrap_or(&text);
            Ok(line.strip_suffix('\r').unwrap_or(line).to_owned())
        }
    }
}
