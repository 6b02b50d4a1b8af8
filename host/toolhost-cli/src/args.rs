//! The arguments of the command line.

mod approvals;
mod auth;
mod backup;
mod budgets;
mod bundle;
mod caller;
mod calls;
mod docs;
mod fleet;
mod instances;
mod lock;
mod mcp;
mod operation;
mod origin;
mod packages;
mod parse;
mod policy;
mod replay;
mod rpc;
mod script;
mod search;
mod serve;
mod test;
mod tool_arguments;
mod watch_page;

use std::borrow::Cow;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::anyhow;
use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use toolhost::ToolName;

use crate::base::is_base;
use crate::failure::Failure;
use crate::terminal::{ColorChoice, Verbosity};
use crate::toolchains::Engine;

pub(crate) use approvals::{ApprovalsAction, ApprovalsArgs, DecideArgs};
pub(crate) use auth::{AppArgs, AuthAction, AuthArgs, AuthLoginArgs, AuthRevokeArgs};
pub(crate) use backup::BackupArgs;
pub(crate) use budgets::BudgetsArgs;
use bundle::BUNDLE;
pub(crate) use caller::CallerArgs;
pub(crate) use calls::{CallsAction, CallsArgs, ShowArgs};
pub(crate) use docs::DocsArgs;
pub(crate) use fleet::{CarrierArgs, DrainArgs, WorkerArgs, WorkersAction, WorkersArgs};
pub(crate) use instances::{InstancesAction, InstancesArgs, RemoveArgs};
pub(crate) use lock::LockArgs;
pub(crate) use mcp::{LoginArgs, McpAction, McpArgs};
pub(crate) use operation::OperationArgs;
pub(crate) use packages::{AddArgs, PublishArgs, SignArgs, UpdateArgs, VendorArgs, VerifyArgs};
pub(crate) use parse::parse;
pub(crate) use replay::ReplayArgs;
pub(crate) use rpc::RpcArgs;
pub(crate) use script::ScriptArgs;
pub(crate) use search::{HitFormat, SearchArgs};
pub(crate) use serve::{Components, INCLUDE_BASE, McpClient, ServeArgs, ServedTools};
pub(crate) use test::TestArgs;
pub(crate) use tool_arguments::ArgsFrom;
pub(crate) use watch_page::WatchArgs;

/// The end of the `--help` of a command, as `args/help` has it.
macro_rules! help {
    ($command:literal) => {
        include_str!(concat!("args/help/", $command, ".txt")).trim_ascii_end()
    };
}

/// Runs AI agents' tools as WASI components: each call in a fresh sandbox, with one directory and
/// nothing else.
#[derive(Debug, Parser)]
#[command(name = "toolhost", version, after_long_help = help!("toolhost"))]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
    #[command(flatten)]
    pub(crate) global: Global,
}

/// Options of every command.
#[derive(Debug, Args)]
pub(crate) struct Global {
    /// Directory of instances' workspaces and of the cache key
    #[arg(long, value_name = "DIR", global = true)]
    pub(crate) state_root: Option<PathBuf>,
    /// PEM file of root certificates to trust for HTTPS, beside Mozilla's
    #[arg(long, value_name = "FILE", global = true)]
    pub(crate) ca_file: Option<PathBuf>,
    /// Print more: what tools print and log at debug level; twice for the host's own steps
    #[arg(short, long, global = true, action = ArgAction::Count)]
    verbose: u8,
    /// Print nothing but errors
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    quiet: bool,
    /// When to print colours: auto, always or never
    #[arg(
        long,
        value_name = "WHEN",
        value_enum,
        default_value_t,
        global = true,
        hide_possible_values = true
    )]
    pub(crate) color: ColorChoice,
}

impl Global {
    /// How much is written to stderr.
    pub(crate) fn verbosity(&self) -> Verbosity {
        match (self.quiet, self.verbose) {
            (true, _) => Verbosity::Quiet,
            (false, 0) => Verbosity::Normal,
            (false, 1) => Verbosity::Verbose,
            (false, _) => Verbosity::All,
        }
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Create a folder with a new tool, ready to build and test
    #[command(after_long_help = help!("new"), arg_required_else_help = true)]
    New(NewArgs),
    /// Build the tools whose entries are source: Rust, TypeScript, JavaScript, Python
    #[command(after_long_help = help!("build"))]
    Build(BuildArgs),
    /// Build, test and serve the tools of a bundle over MCP, again after each change
    #[command(after_long_help = help!("dev"))]
    Dev(ServeArgs),
    /// Check that a bundle loads: its resources, its components, and a policy
    #[command(after_long_help = help!("check"))]
    Check(CheckArgs),
    /// List the tools of an agent
    #[command(after_long_help = help!("list"))]
    List(ListArgs),
    /// Search the tools of an agent
    #[command(
        after_long_help = help!("search"),
        arg_required_else_help = true,
        override_usage = "toolhost search [OPTIONS] [BUNDLE] QUERY"
    )]
    Search(SearchArgs),
    /// Write a page about the tools of a bundle: HTML without scripts
    #[command(after_long_help = help!("docs"))]
    Docs(DocsArgs),
    /// Call a tool and print its ToolResult
    #[command(
        after_long_help = help!("call"),
        arg_required_else_help = true,
        override_usage = "toolhost call [OPTIONS] [BUNDLE] TOOL"
    )]
    Call(CallArgs),
    /// List the calls that were made, or show one
    #[command(after_long_help = help!("calls"))]
    Calls(CallsArgs),
    /// Show on a page what tools do, and decide there
    #[command(after_long_help = help!("watch"))]
    Watch(WatchArgs),
    /// Poll a pending call for its result
    #[command(
        after_long_help = help!("poll"),
        arg_required_else_help = true,
        override_usage = "toolhost poll [OPTIONS] [BUNDLE] HANDLE"
    )]
    Poll(PendingArgs),
    /// Cancel a pending call
    #[command(
        after_long_help = help!("cancel"),
        arg_required_else_help = true,
        override_usage = "toolhost cancel [OPTIONS] [BUNDLE] HANDLE"
    )]
    Cancel(PendingArgs),
    /// Replay a recorded call, or compare two recordings
    #[command(
        after_long_help = help!("replay"),
        arg_required_else_help = true,
        override_usage = "toolhost replay [OPTIONS] FILE\n       toolhost replay --diff [OPTIONS] FILE OTHER"
    )]
    Replay(ReplayArgs),
    /// Undo a call that was a transaction: restore the files that it changed
    #[command(after_long_help = help!("undo"))]
    Undo(UndoArgs),
    /// List the calls that wait for a person's consent, or show one
    #[command(after_long_help = help!("approvals"))]
    Approvals(ApprovalsArgs),
    /// Let a call do what it waits for
    #[command(after_long_help = help!("approve"), arg_required_else_help = true)]
    Approve(DecideArgs),
    /// Refuse what a call waits for
    #[command(after_long_help = help!("deny"), arg_required_else_help = true)]
    Deny(DecideArgs),
    /// List the instances that have workspaces, or remove one
    #[command(after_long_help = help!("instances"))]
    Instances(InstancesArgs),
    /// Print what calls have used of the policy's budgets
    #[command(after_long_help = help!("budgets"))]
    Budgets(BudgetsArgs),
    /// Copy the state root while processes use it
    #[command(after_long_help = help!("backup"), arg_required_else_help = true)]
    Backup(BackupArgs),
    /// Run a program over the tools of a bundle, in JavaScript or Python
    #[command(after_long_help = help!("script"), arg_required_else_help = true)]
    Script(ScriptArgs),
    /// Play a script: agents that call tools and each other, without a model
    #[command(after_long_help = help!("play"))]
    Play(PlayArgs),
    /// Serve the tools to a program in another language: JSON-RPC over stdio or a Unix socket
    #[command(after_long_help = help!("rpc"))]
    Rpc(RpcArgs),
    /// Serve the tools to MCP clients: over stdin and stdout, or HTTP
    #[command(after_long_help = help!("serve"))]
    Serve(ServeArgs),
    /// Run the calls that hosts send to this machine
    #[command(after_long_help = help!("worker"))]
    Worker(WorkerArgs),
    /// List the workers that live, or tell one to end
    #[command(after_long_help = help!("workers"))]
    Workers(WorkersArgs),
    /// Authorize this host at MCP servers that require OAuth
    #[command(after_long_help = help!("mcp"))]
    Mcp(McpArgs),
    /// Grant tools access to the accounts of users: OAuth
    #[command(after_long_help = help!("auth"))]
    Auth(AuthArgs),
    /// Run the test cases of a bundle's tools, and cases generated from their schemas
    #[command(
        after_long_help = help!("test"),
        override_usage = "toolhost test [OPTIONS] [BUNDLE] [FILTER]..."
    )]
    Test(TestArgs),
    /// Write the lock of a bundle, or compare its tools with it
    #[command(after_long_help = help!("lock"))]
    Lock(LockArgs),
    /// Publish a tool of a bundle in an OCI registry
    #[command(after_long_help = help!("publish"), arg_required_else_help = true)]
    Publish(PublishArgs),
    /// Add a tool of an OCI registry to a bundle, by digest
    #[command(after_long_help = help!("add"), arg_required_else_help = true)]
    Add(AddArgs),
    /// Update the digests of a bundle's packages to those that their tags have now
    #[command(after_long_help = help!("update"))]
    Update(UpdateArgs),
    /// Copy the packages of a bundle beside its manifest
    #[command(after_long_help = help!("vendor"))]
    Vendor(VendorArgs),
    /// Sign a package of a registry, or make a key
    #[command(
        after_long_help = help!("sign"),
        arg_required_else_help = true,
        override_usage = "toolhost sign [OPTIONS] <--key FILE|--bundle FILE> REF\n       toolhost sign --new-key FILE"
    )]
    Sign(SignArgs),
    /// Verify the signatures of a bundle's packages, or of one package
    #[command(after_long_help = help!("verify"), arg_required_else_help = true)]
    Verify(VerifyArgs),
    /// Show the exports and imports of a component, and whether it would load
    #[command(after_long_help = help!("inspect"))]
    Inspect(InspectArgs),
    /// Write the contract as WIT, for tools in any language
    #[command(after_long_help = help!("wit"), arg_required_else_help = true)]
    Wit(WitArgs),
    /// Make a component of a core module, such as C and Go compile to
    #[command(after_long_help = help!("component"), arg_required_else_help = true)]
    Component(ComponentArgs),
    /// List, verify or remove cached components
    #[command(after_long_help = help!("cache"))]
    Cache(CacheArgs),
    /// Examine this machine: compilers, kits, the kernel, the directories, the network, the terminal
    #[command(after_long_help = help!("doctor"))]
    Doctor(DoctorArgs),
    /// Print a script that completes commands and options in a shell
    #[command(after_long_help = help!("completions"))]
    Completions(CompletionsArgs),
    /// Write a man page for each command
    #[command(after_long_help = help!("man"))]
    Man(ManArgs),
    /// Continue the base of a kit with a tool: called by the kit
    #[command(hide = true)]
    Resume(ResumeArgs),
}

impl Command {
    /// Whether the first signal lets the command end its work.
    pub(crate) fn drains(&self) -> bool {
        matches!(
            self,
            Self::Rpc(_) | Self::Serve(_) | Self::Dev(_) | Self::Worker(_)
        )
    }

    /// The collector to which the command exports spans.
    pub(crate) fn otlp(&self) -> Option<&str> {
        let operation = if let Self::Serve(args) | Self::Dev(args) = self {
            &args.operation
        } else if let Self::Rpc(args) = self {
            &args.operation
        } else {
            return None;
        };
        operation.otlp.as_deref()
    }

    /// Whether the command reports limits of this process that are too low, where others refuse to run.
    pub(crate) fn reports_limits(&self) -> bool {
        matches!(self, Self::Doctor(_))
    }
}

#[derive(Debug, Args)]
pub(crate) struct NewArgs {
    /// Name of the tool: lower-case letters, digits, - and _
    #[arg(value_name = "NAME", required = true)]
    pub(crate) name: Option<String>,
    /// Language of the tool
    #[arg(long, value_enum, required = true)]
    pub(crate) lang: Option<Lang>,
    /// Folder of the new tool [default: a folder of that name]
    #[arg(long, value_name = "DIR")]
    pub(crate) path: Option<PathBuf>,
}

/// A language of new tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Lang {
    /// A Cargo package
    Rust,
    /// A module; also for JavaScript
    #[value(alias = "ts")]
    Typescript,
    /// A module
    Python,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct BuildArgs {
    /// Bundle file, or directory that holds a goondan.yaml
    #[arg(value_name = "BUNDLE", default_value = BUNDLE)]
    pub(crate) bundle: PathBuf,
    /// Build also components that are up to date
    #[arg(long)]
    pub(crate) force: bool,
    /// Build again whenever a source changes, until Ctrl-C
    #[arg(long, conflicts_with = "json")]
    pub(crate) watch: bool,
    /// Write the exports of the code into the manifest, where later builds keep them up to date
    #[arg(long, conflicts_with = "locked")]
    pub(crate) write_exports: bool,
    /// Fail if the manifest's exports differ from the code, instead of updating them
    #[arg(long)]
    pub(crate) locked: bool,
    /// JavaScript engine [default: qjs]
    #[arg(long, value_enum)]
    pub(crate) engine: Option<Engine>,
    /// Print the results as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

impl BuildArgs {
    /// Builds what is not up to date, and prints nothing on stdout.
    pub(crate) fn of(bundle: &Path) -> Self {
        Self {
            bundle: bundle.to_owned(),
            force: false,
            watch: false,
            write_exports: false,
            locked: false,
            engine: None,
            json: true,
        }
    }
}

/// What a kit passes.
#[derive(Debug, Args)]
pub(crate) struct ResumeArgs {
    /// The component to continue
    pub(crate) base: PathBuf,
    /// The component to write
    pub(crate) out: PathBuf,
    /// A folder, and where the program sees it
    #[arg(long, num_args = 2, value_names = ["DIR", "SEEN_AS"])]
    pub(crate) folder: Vec<OsString>,
    /// A folder that the program may change
    #[arg(long, num_args = 2, value_names = ["DIR", "SEEN_AS"])]
    pub(crate) writable: Vec<OsString>,
}

#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// Bundle file, directory that holds a goondan.yaml, or `base`: the tools that toolhost ships
    #[arg(value_name = "BUNDLE", default_value = BUNDLE)]
    pub(crate) bundle: PathBuf,
    /// The operator's policy: grants and limits of tools
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: Option<PathBuf>,
    /// Also check that the API of a model provider takes the tools, with those of MCP servers that the policy grants;
    /// may be repeated
    #[arg(long = "for", value_name = "PROVIDER", value_enum)]
    pub(crate) providers: Vec<Provider>,
    /// Print what `ask` of the policy says of a call of this tool, and which rule decides
    #[arg(long, value_name = "TOOL", conflicts_with = "json")]
    pub(crate) call: Option<String>,
    /// The arguments of that call: JSON, @FILE, or - for stdin
    #[arg(long, value_name = "JSON", requires = "call", default_value = "{}")]
    pub(crate) args: ArgsFrom,
    /// Print the findings as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// A provider of models.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Provider {
    /// OpenAI, and services with the same API
    Openai,
    /// Anthropic
    Anthropic,
    /// The Gemini API and Vertex AI
    Gemini,
}

#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// Bundle file, directory that holds a goondan.yaml, or `base`: the tools that toolhost ships
    #[arg(value_name = "BUNDLE", default_value = BUNDLE)]
    pub(crate) bundle: PathBuf,
    /// The agent; required if the bundle has several
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
    /// The operator's policy: MCP servers that it grants are started, and their tools listed
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: Option<PathBuf>,
    /// Print the tools as JSON, in the format of a model provider
    #[arg(long, value_enum)]
    pub(crate) format: Option<Format>,
    /// Same as --format json
    #[arg(long, conflicts_with = "format")]
    json: bool,
}

impl ListArgs {
    /// The JSON format; none for the table.
    pub(crate) fn format(&self) -> Option<Format> {
        self.format.or(self.json.then_some(Format::Json))
    }
}

/// Format of a catalog.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// The specification's own
    Json,
    /// The `tools` of an OpenAI request
    Openai,
    /// The `tools` of an Anthropic request
    Anthropic,
    /// The `tools` of a Gemini request
    Gemini,
    /// The `tools` of an MCP answer
    Mcp,
}

#[derive(Debug, Args)]
pub(crate) struct CallArgs {
    /// Bundle file, directory that holds a goondan.yaml, or `base`: the tools that toolhost ships [default:
    /// goondan.yaml]
    #[arg(value_name = "BUNDLE")]
    first: Option<PathBuf>,
    /// The tool's name, such as text__upper
    #[arg(value_name = "TOOL")]
    second: Option<String>,
    /// Arguments: a JSON object, @FILE, or - for stdin
    #[arg(
        long,
        value_name = "JSON|@FILE|-",
        default_value = "{}",
        allow_hyphen_values = true
    )]
    pub(crate) args: ArgsFrom,
    /// Record the call into this file, for `toolhost replay`
    #[arg(long, value_name = "FILE")]
    pub(crate) record: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) caller: CallerArgs,
}

impl CallArgs {
    /// The bundle and the tool's name, which may be any text: the catalog decides. A single word is the
    /// tool.
    pub(crate) fn target(&self) -> Result<(&Path, Cow<'_, str>), Failure> {
        let no_tool = |error| Failure::from(error).hint("toolhost call [BUNDLE] TOOL");
        match (&self.first, &self.second) {
            (Some(bundle), Some(tool)) => Ok((bundle, tool.into())),
            (Some(only), None) => {
                let tool = only.to_string_lossy();
                if is_base(only) || ToolName::parse(&tool).is_err() && only.exists() {
                    let what = if is_base(only) { "bundle" } else { "path" };
                    let error = anyhow!("the call names no tool: {tool} is a {what}");
                    return Err(no_tool(error));
                }
                Ok((Path::new(BUNDLE), tool))
            }
            (None, _) => Err(no_tool(anyhow!("the call names no tool"))),
        }
    }
}

/// Arguments of `poll` and `cancel`.
#[derive(Debug, Args)]
pub(crate) struct PendingArgs {
    /// Bundle file, or directory that holds a goondan.yaml [default: goondan.yaml]
    #[arg(value_name = "BUNDLE")]
    first: PathBuf,
    /// The handle of a pending ToolResult
    #[arg(value_name = "HANDLE")]
    second: Option<String>,
    #[command(flatten)]
    pub(crate) caller: CallerArgs,
}

impl PendingArgs {
    /// The bundle and the handle. A single word is the handle.
    pub(crate) fn target(&self) -> (&Path, Cow<'_, str>) {
        match &self.second {
            Some(handle) => (&self.first, handle.into()),
            None => (Path::new(BUNDLE), self.first.to_string_lossy()),
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct UndoArgs {
    /// The call, by the id that --list prints [default: the newest]
    #[arg(value_name = "ID", conflicts_with = "list")]
    pub(crate) id: Option<String>,
    /// The directory that the call changed
    #[arg(long, value_name = "DIR", required_unless_present = "bundle")]
    pub(crate) workdir: Option<PathBuf>,
    /// The bundle of an instance whose workspace the call changed
    #[arg(long, value_name = "BUNDLE", conflicts_with = "workdir")]
    pub(crate) bundle: Option<PathBuf>,
    /// Key of that instance
    #[arg(long, value_name = "KEY", default_value = "cli")]
    pub(crate) instance: String,
    /// List the calls that can be undone, the newest first, and undo none
    #[arg(long)]
    pub(crate) list: bool,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct PlayArgs {
    /// The script: a YAML file that names a bundle and lists the calls of its agents
    #[arg(value_name = "SCRIPT")]
    pub(crate) script: PathBuf,
    /// Number of parallel runs, each with its own instance
    #[arg(long, value_name = "NUMBER", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) turns: u32,
    /// The operator's policy, in place of the script's
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: Option<PathBuf>,
    /// Directory in which workspaces, events and pending calls are kept [default: a temporary directory]
    #[arg(long, value_name = "DIR")]
    pub(crate) keep: Option<PathBuf>,
    /// Record each call of a component into a file of this directory, for `toolhost replay`
    #[arg(long, value_name = "DIR")]
    pub(crate) record: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct InspectArgs {
    /// The component
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Print the description as JSON
    #[arg(long, conflicts_with_all = ["manifest", "wit"])]
    pub(crate) json: bool,
    /// Print a manifest for the component, to be saved beside it
    #[arg(long, conflicts_with = "wit")]
    pub(crate) manifest: bool,
    /// Print the world of the component as WIT: the interfaces that it imports and exports
    #[arg(long)]
    pub(crate) wit: bool,
}

#[derive(Debug, Args)]
pub(crate) struct WitArgs {
    /// Folder of the files: tool.wit, and deps/ with the packages of WASI
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct ComponentArgs {
    /// The core module
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// The component to write
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct CacheArgs {
    #[command(subcommand)]
    pub(crate) action: CacheAction,
    /// Print the result as JSON
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

/// An action on the cache.
#[derive(Debug, Clone, Copy, Subcommand)]
pub(crate) enum CacheAction {
    /// List cached components, the most recently used first, and unpacked bundles
    Ls,
    /// Check each signature; nothing is mapped or run
    Verify,
    /// Remove all cached components and unpacked bundles; they are made again when needed
    Clear,
}

#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Print the findings as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_name = "SHELL", value_enum)]
    pub(crate) shell: Shell,
}

#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// Folder of the pages; created if it is missing
    #[arg(value_name = "DIR")]
    pub(crate) dir: PathBuf,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_definitions_of_arguments_are_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn a_call_names_its_tool_last() {
        let check = |words: &[&str], bundle: &str, tool: &str| {
            let words = ["toolhost", "call"].iter().chain(words);
            let Command::Call(call) = Cli::try_parse_from(words).unwrap().command else {
                panic!("not a call");
            };
            assert_eq!(call.target().unwrap(), (Path::new(bundle), tool.into()));
        };
        check(&["text__upper"], "goondan.yaml", "text__upper");
        check(&["b.yaml", "text__upper"], "b.yaml", "text__upper");
        let with_args = ["text__upper", "--args", "-"];
        check(&with_args, "goondan.yaml", "text__upper");
        check(&["b", "--usage", "text__upper"], "b", "text__upper");
    }
}
