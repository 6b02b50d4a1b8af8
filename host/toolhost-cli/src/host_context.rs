//! Sets up the host: its sandbox, cache and state root, the policy, and what no tool may be given.

use std::net::SocketAddr;
use std::path::Path;

use anyhow::{Context, anyhow};
use toolhost::{
    CacheConfig, Compiler, Diagnostic, Host, HostBuilder, HostError, LoadedBundle, Policy, Sandbox,
    SandboxConfig, SandboxStartError, SecretSource, Severity, YamlSource,
};

use crate::COMPILE;
use crate::environment;
use crate::failure::Failure;
use crate::files as read;
use crate::settings::Settings;
use crate::terminal::progress::Progress;

/// Largest policy file, in bytes.
const POLICY_BYTES_MAX: u64 = 1 << 20;

/// Largest file that holds a secret, in bytes.
const SECRET_BYTES_MAX: u64 = 64 << 10;

/// Whether a command can do without a place for state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StateRoot {
    /// It only keeps tools out of it.
    Optional,
    /// It keeps a workspace in it.
    Needed,
}

/// A host, and the policy's text for showing its lines, without its secrets.
#[derive(Debug)]
pub(crate) struct HostContext {
    /// The host.
    pub(crate) host: Host,
    /// The policy file, where there is one.
    pub(crate) policy: Option<YamlSource>,
    /// What it allows.
    pub(crate) rules: Policy,
    /// Shows what compiles.
    progress: Progress,
}

impl HostContext {
    /// Sets it up.
    pub(crate) async fn open(
        settings: &Settings,
        policy: Option<&Path>,
        state_root: StateRoot,
    ) -> Result<Self, Failure> {
        let root = settings.dirs.state_root.as_deref();
        Self::set_up(settings, policy, root, state_root).await
    }

    /// Sets it up with this place for instances and their state.
    pub(crate) async fn open_at(
        settings: &Settings,
        policy: Option<&Path>,
        root: &Path,
    ) -> Result<Self, Failure> {
        Self::set_up(settings, policy, Some(root), StateRoot::Needed).await
    }

    /// Sets it up under the policy that a script brings: no limit is beyond the defaults, no secret is
    /// the operator's, and nothing is sent anywhere.
    pub(crate) async fn open_for_script(
        settings: &Settings,
        script: &Path,
        policy: &Path,
        root: &Path,
    ) -> Result<Self, Failure> {
        if !lies_beside(policy, script) {
            let error = anyhow!(
                "{} does not lie in the script's folder: {NOT_THE_SCRIPTS}",
                policy.display()
            );
            return Err(Failure::from(error).hint(USE_IT));
        }
        let read = read_policy(policy, |_| Err(NOT_THE_SCRIPTS.to_owned())).await;
        let (rules, source) = read.map_err(|failure| failure.hint(USE_IT))?;
        if rules.grants_any_http() {
            let error = anyhow!(
                "{} grants HTTP requests: {NOT_THE_SCRIPTS}",
                policy.display()
            );
            return Err(Failure::from(error).hint(USE_IT));
        }
        let rules = (rules.within(&Policy::default()), source);
        Self::set_up_under(settings, Some(policy), rules, Some(root), StateRoot::Needed)
    }

    /// Sets it up to keep nothing and to reach nothing: each call brings its workdir, and one server
    /// answers every HTTP request that the policy allows.
    pub(crate) async fn for_tests(
        settings: &Settings,
        policy: Option<&Path>,
        server: SocketAddr,
    ) -> Result<Self, Failure> {
        let (rules, source) = read_rules(policy).await?;
        let rules = (rules.answered_by(server), source);
        Self::set_up_under(settings, policy, rules, None, StateRoot::Optional)
    }

    async fn set_up(
        settings: &Settings,
        policy: Option<&Path>,
        root: Option<&Path>,
        state_root: StateRoot,
    ) -> Result<Self, Failure> {
        let rules = read_rules(policy).await?;
        Self::set_up_under(settings, policy, rules, root, state_root)
    }

    fn set_up_under(
        settings: &Settings,
        policy: Option<&Path>,
        (rules, source): Rules,
        root: Option<&Path>,
        state_root: StateRoot,
    ) -> Result<Self, Failure> {
        let sandbox = sandbox(settings)?;
        let progress = Progress::start(settings.verbosity);
        let builder = || {
            let mut builder = Host::builder()
                .sandbox(sandbox.clone())
                .policy(rules.clone())
                .on_progress(progress.listener());
            if let Some(home) = &settings.dirs.home {
                builder = builder.keep_out_of("the home directory", home);
            }
            if let Some(path) = policy {
                builder = builder.keep_out_of("the policy file", path);
            }
            if let Some(cache) = &settings.dirs.cache {
                builder = builder.keep_private("the cache of compiled components", cache);
            }
            builder
        };
        let host = host(builder, root, state_root)?;
        Ok(Self {
            host,
            policy: source,
            rules,
            progress,
        })
    }

    /// Loads a bundle, whole or not at all.
    pub(crate) async fn load(&self, bundle: &Path) -> Result<LoadedBundle, Failure> {
        let loaded = self.host.load(bundle).await;
        self.progress.idle();
        loaded.map_err(|error| Failure::of_bundle(error, self.policy.as_ref()))
    }

    /// Says what of the policy names nothing in the bundle: a misspelt name leaves a tool at the
    /// defaults. For commands that do not list findings.
    pub(crate) fn warn_of_policy(&self, bundle: &LoadedBundle, settings: &Settings) {
        let policy = self.policy.as_ref().map(YamlSource::name);
        let of_policy = |finding: &&Diagnostic| {
            finding.severity == Severity::Warning && Some(&*finding.place.file) == policy
        };
        for finding in bundle.diagnostics().iter().filter(of_policy) {
            settings.note(&format!("{finding}; {}", finding.help));
        }
    }
}

/// What a script's own policy does not say.
const NOT_THE_SCRIPTS: &str = "only the operator may, with --policy";

/// The next move then.
const USE_IT: &str = "Read the policy, and name it with --policy where you agree.";

/// Whether a file lies in the folder of another, or beneath it, wherever links lead. One that is not
/// there is told when it is read.
fn lies_beside(file: &Path, other: &Path) -> bool {
    let (Ok(file), Ok(other)) = (file.canonicalize(), other.canonicalize()) else {
        return true;
    };
    other
        .parent()
        .is_some_and(|folder| file.starts_with(folder))
}

/// A policy, and its text where it is a file's.
type Rules = (Policy, Option<YamlSource>);

async fn read_rules(policy: Option<&Path>) -> Result<Rules, Failure> {
    match policy {
        Some(path) => {
            let beside = path.parent().unwrap_or(Path::new("")).to_owned();
            read_policy(path, move |source| secret(source, &beside)).await
        }
        None => Ok((Policy::default(), None)),
    }
}

async fn read_policy(
    path: &Path,
    secrets: impl Fn(SecretSource<'_>) -> Result<String, String> + Send + 'static,
) -> Result<Rules, Failure> {
    let text = read::text_file("the policy", path, POLICY_BYTES_MAX)
        .await
        .map_err(|error| {
            Failure::from(error).hint("Name a YAML file that only the operator can write.")
        })?;
    let name = path.display().to_string();
    let source = Policy::shown(&text, &name);
    let parse = move || Ok(Policy::parse_with(&text, &name, &secrets));
    // Aside, as a file that holds a secret may be one that waits.
    match read::aside(parse).await? {
        Ok(policy) => Ok((policy, source)),
        Err(error) => Err(Failure::of_policy(path, source, error.diagnostics)),
    }
}

/// A secret that the policy names and this process holds; a file's last line break is not of it.
fn secret(source: SecretSource<'_>, beside: &Path) -> Result<String, String> {
    match source {
        SecretSource::Env(name) => {
            let value = environment::value(name).ok_or_else(|| format!("{name} is not set"))?;
            let text = value.into_string();
            text.map_err(|_| format!("{name} holds what is not UTF-8"))
        }
        SecretSource::File(path) => {
            let read = read::file_now("the secret", &beside.join(path), SECRET_BYTES_MAX);
            let bytes = read.map_err(|error| format!("{error:#}"))?;
            let text = String::from_utf8(bytes).map_err(|_| format!("{path} is not UTF-8"))?;
            let line = text.strip_suffix('\n').unwrap_or(&text);
            Ok(line.strip_suffix('\r').unwrap_or(line).to_owned())
        }
    }
}

/// Starts a sandbox, with a cache where there is a place for one.
pub(crate) fn sandbox(settings: &Settings) -> Result<Sandbox, Failure> {
    let start = |cache| {
        Sandbox::new(SandboxConfig {
            // This very program, also where its file was replaced meanwhile.
            compiler: Some(Compiler::new("/proc/self/exe", [COMPILE])),
            cache,
            ..SandboxConfig::default()
        })
    };
    let cache = cache(settings);
    if cache.is_none() {
        settings.note(
            "compiled components are not kept: set HOME, or XDG_CACHE_HOME and TOOLHOST_STATE_ROOT",
        );
    }
    let started = match start(cache) {
        Err(SandboxStartError::Cache(error)) => {
            settings.note(&format!("compiled components are not kept: {error}"));
            start(None)
        }
        started => started,
    };
    Ok(started.context("the sandbox cannot start")?)
}

/// The cache of compiled components; none where there is no place for it.
pub(crate) fn cache(settings: &Settings) -> Option<CacheConfig> {
    let key_file = settings.dirs.state_root.as_ref()?.join("cache.key");
    Some(CacheConfig::new(settings.dirs.cache.clone()?, key_file))
}

fn host(
    builder: impl Fn() -> HostBuilder,
    root: Option<&Path>,
    state_root: StateRoot,
) -> Result<Host, Failure> {
    let Some(root) = root else {
        if state_root == StateRoot::Needed {
            let error = anyhow::anyhow!("there is no place for the instance's workspace");
            let hint = "Pass --workdir DIR or --state-root DIR, or set HOME.";
            return Err(Failure::from(error).hint(hint));
        }
        return builder().build().map_err(Failure::of);
    };
    match builder().state_root(root).build() {
        // Without a workspace to keep, the state root is only a place to keep tools out of.
        Err(HostError::StateRoot { .. }) if state_root == StateRoot::Optional => {
            let builder = builder().keep_private("the state root", root);
            builder.build().map_err(Failure::of)
        }
        Err(error @ HostError::StateRoot { .. }) => {
            let hint = "Pass --workdir DIR, or --state-root DIR with a directory you can write.";
            Err(Failure::of(error).hint(hint))
        }
        built => built.map_err(Failure::of),
    }
}
