//! The long texts of `--help`.

pub(crate) const TOOLHOST: &str = "\
Examples:
  toolhost new notes --lang typescript
  toolhost build notes
  toolhost check guest-examples
  toolhost list guest-examples --format openai
  toolhost call guest-examples text__upper --args '{\"text\": \"hi\"}'
  toolhost play guest-examples/review.yaml
  toolhost test guest-examples
  toolhost inspect my-tool.wasm

BUNDLE is a YAML file of Tool and Agent resources, or a directory with a goondan.yaml.
Default: goondan.yaml in the current directory.

Exit codes:
  0    done; for call: the ToolResult is ok or pending
  1    refused: the ToolResult is an error, the bundle or component would not load
  2    failed: wrong usage, or a file could not be read or loaded
  130  stopped by Ctrl-C; 143 by SIGTERM; 129 by SIGHUP: the terminal was closed

Directories:
  state  --state-root, else TOOLHOST_STATE_ROOT, else $XDG_STATE_HOME/toolhost,
         else ~/.local/state/toolhost: workspaces of instances, the key of the cache
  cache  $XDG_CACHE_HOME/toolhost, else ~/.cache/toolhost: compiled components, at most
         2 GiB, see `toolhost cache`; the build tools, in kits/; may be deleted

HTTPS: requests of tools and to MCP servers trust Mozilla's certificate authorities, and those of
--ca-file, such as the authority of a company or of a test server.

Results go to stdout, everything else to stderr. On a terminal, slow work is displayed as a line that is
erased before anything else is printed; not with --quiet, and not if TERM is dumb.

Colours: `--color auto` prints them on terminals, unless NO_COLOR is set or TERM is dumb;
with CLICOLOR_FORCE also elsewhere.";

pub(crate) const NEW: &str = "\
Examples:
  toolhost new notes --lang typescript
  toolhost new word-count --lang rust --path tools/word-count
  toolhost new table --lang python
  toolhost new                             on a terminal: asks for the name and the language

The folder has a manifest (goondan.yaml), one handler, a test of the handler, and a README. The tool
builds and passes its test unchanged. A folder that exists must be empty.

Exit codes: 0 created · 2 not created";

pub(crate) const DEV: &str = "\
Examples:
  toolhost dev --workdir /tmp/w                         goondan.yaml in the current directory
  toolhost dev my-bundle --workdir /tmp/w --http 127.0.0.1:8484
  toolhost dev my-bundle --workdir /tmp/w --print-config claude-code

Does what `toolhost build --watch`, `toolhost test --watch` and `toolhost serve --watch` do, in one process: after
each change of a source it builds what is out of date, runs the cases, and serves the new tools, of which clients are
told. What it builds and tests is written to stderr. While a build fails, the tools from before stay. The options are
those of `toolhost serve`.

Exit codes: 0 ended by the client, or drained · 2 wrong usage, or the bundle cannot be read, or the address
cannot be used · 129, 130, 143 stopped by a second signal";

pub(crate) const BUILD: &str = "\
Examples:
  toolhost build                           goondan.yaml in the current directory
  toolhost build my-bundle --force
  toolhost build my-bundle --watch         builds again whenever a source changes, until Ctrl-C
  toolhost build my-bundle --locked        in CI: fails if the manifest's exports differ from the code
  toolhost build my-bundle --json | jq '.tools[] | select(.state == \"failed\")'

The entry in the manifest decides what is built:
  ./Cargo.toml               a Cargo package whose library is a cdylib, for wasm32-wasip2
  ./index.ts, .tsx .mts .js .jsx .mjs
                             a module that exports `handlers`; npm packages beside it are bundled
  ./tool.py                  a module with `handlers`; the packages in requirements.txt are included
Any other entry is a built component: see `toolhost wit` and `toolhost component` for other languages.

Errors of syntax, missing modules, a missing Rust target and exports without a handler are reported before
the slow part of a build.

The component is written to .toolhost/<tool>.wasm beside the manifest. It is built again if its sources
or the kit of this toolhost have changed. Other commands never build: they refuse a component that is
missing or older than its sources. A build may run code of the sources, such as a build.rs, outside any
sandbox: build only sources that you trust.

A manifest without spec.exports gets the exports from the code: names, descriptions and schemas come from
the functions, their types and their comments. With --write-exports they are written into the manifest, on
lines that end with `# from the code`; later builds keep those lines up to date, and --locked fails with the
difference instead. Lines without that comment are yours. Remove it from a line to keep your own words.

With --watch, a source is a file in the folder of an entry or beneath it, or a file that was built from
elsewhere, and the manifest. Folders named target, node_modules or __pycache__, and names that begin with a
dot, are left out. A build that fails is printed, and the next change builds again.

The build tools are downloaded once into the cache (see Directories in `toolhost --help`): from npm for
TypeScript, from PyPI for Python. Rust needs cargo and `rustup target add wasm32-wasip2`; TypeScript
needs Node 20, Python needs Python 3.10. cargo reads its own variables, such as RUSTC and
CARGO_TARGET_DIR.

With --json: {\"ok\", \"tools\": [{\"name\", \"entry\", \"component\", \"state\": \"built\" | \"current\" | \"failed\",
\"bytes\", \"seconds\", \"whose\": \"source\" | \"machine\", \"errors\" and \"notes\": [{\"message\", \"file\", \"line\",
\"column\", \"detail\", \"next\"}]}]}

Exit codes: 0 built, or up to date · 1 a source cannot be built · 2 the bundle cannot be read, or
something is missing on this machine";

pub(crate) const CHECK: &str = "\
Examples:
  toolhost check                           goondan.yaml in the current directory
  toolhost check my-bundle --policy p.yaml
  toolhost check my-bundle --json | jq .diagnostics
  toolhost check my-bundle --for openai --for anthropic

Every component is compiled (once: see Directories in `toolhost --help`) and its exports are read.
Warnings and notes are printed, but do not change the exit code.

With --for, a tool that the provider's API refuses is an error: it refuses every request with this tool.

With --json: {\"ok\", \"diagnostics\": [{\"severity\", \"code\", \"message\", \"file\", \"line\", \"column\", \"help\", …}],
\"tools\": [{\"name\", \"bytes\", \"sha256\", \"exports\": [\"tool__export\", …]}], \"agents\": [\"name\", …],
\"oauthApps\": [{\"name\", \"flow\", \"subjectMode\", \"scopes\", \"origins\", \"granted\"}]},
and \"error\" if nothing could be checked.

Exit codes: 0 the bundle loads · 1 it does not · 2 it cannot be read";

pub(crate) const LIST: &str = "\
Examples:
  toolhost list my-bundle                  names and descriptions
  toolhost list my-bundle --agent coder
  toolhost list my-bundle --format openai  the `tools` of a request to a model

Formats:
  json       the specification's ToolCatalogItems: name, description, parameters, source
  openai     [{\"type\": \"function\", \"function\": {\"name\", \"description\", \"parameters\"}}]
  anthropic  [{\"name\", \"description\", \"input_schema\"}]
  gemini     [{\"functionDeclarations\": [{\"name\", \"description\", \"parametersJsonSchema\"}]}]
  mcp        [{\"name\", \"description\", \"inputSchema\"}]

Exit codes: 0 listed · 2 the bundle does not load";

pub(crate) const CALL: &str = "\
Examples:
  toolhost call my-bundle text__upper --args '{\"text\": \"hi\"}'
  toolhost call base bash__exec --args '{\"command\": \"ls | wc -l\"}' --workdir .
  toolhost call text__upper --args @args.json       goondan.yaml in the current directory
  echo '{\"text\": \"hi\"}' | toolhost call my-bundle text__upper --args -
  toolhost call my-bundle file-system__list --args '{\"path\": \".\"}' --workdir ./work --usage
  toolhost call my-bundle notes__count --args '{\"path\": \"a.txt\"}' --record count.call

Only the ToolResult is printed on stdout: {\"toolCallId\", \"toolName\", \"status\": \"ok\" | \"error\" |
\"pending\", \"output\"?, \"handle\"?, \"error\"?}. What the tool logs goes to stderr; with -v also the
files that the call changed, which --usage adds to the ToolResult as `changes`.

The tool sees one directory, as `/`: --workdir, or else the workspace of the instance beneath the
state root. It is never the current directory by default, and may not be `/`, your home directory, or a
directory that holds the policy file, the state root or the cache. The tool has no access to anything
else: network, environment, processes.

With --record, the call and the answers of the host are written to FILE, for `toolhost replay`. Secrets of
the policy are replaced. FILE replaces a regular file, is readable by you alone, and must not lie in the
workdir. Without --record, a digest of each host call of a failed call is kept in the directory of the
instance (failed/*.call, the newest 20).

Exit codes: 0 ok or pending · 1 the ToolResult is an error ·
2 wrong usage, or the bundle does not load ·
130 stopped by Ctrl-C, 143 by SIGTERM, 129 by SIGHUP";

pub(crate) const POLL: &str = "\
Examples:
  toolhost poll my-bundle pending_…         the handle of a ToolResult that is pending
  toolhost poll pending_… --instance user-1

Only the agent and the instance that made the call can use the handle, with the same bundle: pass the
same --agent, --instance and --workdir. The ToolResult is printed on stdout: the result, or `pending`
again. A call that was running when its host process ended is E_TOOL_INTERRUPTED; it is not run again
automatically.

Exit codes: 0 ok or pending · 1 the ToolResult is an error ·
2 wrong usage, or the bundle does not load";

pub(crate) const CANCEL: &str = "\
Examples:
  toolhost cancel my-bundle pending_…

Prints the ToolResult of the handle: E_TOOL_CANCELLED, or the result if the call had already ended.

Exit codes: 0 cancelled, or already ended · 1 there is no such handle ·
2 wrong usage, or the bundle does not load";

pub(crate) const UNDO: &str = "\
Examples:
  toolhost undo --workdir ./work              undoes the newest call
  toolhost undo --workdir ./work --list       the calls that can be undone
  toolhost undo --workdir ./work ID
  toolhost undo --bundle my-bundle --instance user-1

A call can be undone if its policy had `workdir: transactional` or `workdir: durable`. Pass the same
--state-root as for the call. The last 16 calls of a workdir are kept, with at most 256 MiB of files that they
replaced or deleted.

Files, folders and links get the names, the bytes and the modes that they had before the call. If one of them was
changed since, nothing is undone, and the error names it. An undo cannot be undone.

JSON: {\"undone\": {\"id\", \"call\", \"files\"}} · with --list {\"calls\": [{\"id\", \"call\", \"committed\",
\"files\", \"bytes\"}]}

Exit codes: 0 undone, or listed · 1 there is nothing to undo, or a file was changed since ·
2 wrong usage, or the state root cannot be used";

pub(crate) const PLAY: &str = "\
Examples:
  toolhost play guest-examples/review.yaml
  toolhost play guest-examples/review.yaml --turns 100 -q
  toolhost play guest-examples/review.yaml --keep ./kept
  toolhost play downloaded/script.yaml --policy mine.yaml

A script names a bundle and lists the calls of each agent, step by step, and its answer:
  bundle: ./goondan.yaml
  start: {agent: writer, input: {topic: otters}}
  agents:
    writer:
      steps:
        - draft: {tool: file-system__write, args: {path: draft.txt, content: 'On ${input.topic}'}}
        - review: {tool: agents__request, args: {target: reviewer, input: {path: draft.txt}}}
      answer: '${review.output.response}'
    reviewer: {steps: [text: {tool: file-system__read, args: {path: '${input.path}'}}]}

A script may name a `policy:` in its own folder. Such a policy reads no secrets, grants no HTTP requests
and raises no limit beyond the defaults. --policy replaces it.

Every agent also has the `agents` tool. Events are printed on stderr, the answer on stdout as JSON. With
--turns the JSON is {\"turns\", \"answered\", \"failed\", \"ms\", \"answers\", \"errors\",
\"left\"}.

Exit codes: 0 answered · 1 a turn failed · 2 wrong usage, or the bundle does not load";

pub(crate) const INSPECT: &str = "\
Examples:
  toolhost inspect my-tool.wasm
  toolhost inspect my-tool.wasm --json | jq -r '.handlers[].name'
  toolhost inspect my-tool.wasm --manifest > goondan.yaml     a bundle with this tool
  toolhost inspect my-tool.wasm --wit

The component is compiled and its exports are read, without any grants.

Exit codes: 0 the component would load, or its world was printed · 1 it would not load ·
2 it cannot be read";

pub(crate) const WIT: &str = "\
Examples:
  toolhost wit wit                          wit/tool.wit and wit/deps/*.wit
  wit-bindgen c wit --world tool            bindings for C
  componentize-py -d wit -w tool componentize app -o tool.wasm

DIR gets the package goondan:tool, which every tool exports, and the packages of WASI that a tool may
import. To import more than the world `tool` does, write a world of your own into another file of DIR:
  world my-tool { include tool; import wasi:filesystem/types@0.2.12; }

No file is overwritten: if one exists with other content, nothing is written.
docs/authors/any-language.md has the commands for C, Go, JavaScript and Python.

Exit codes: 0 written, or already there · 2 not written";

pub(crate) const COMPONENT: &str = "\
Examples:
  zig cc -target wasm32-wasi -mexec-model=reactor -o core.wasm count.c tool.c
  toolhost component core.wasm -o count.wasm
  GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared -o core.wasm
  toolhost component core.wasm -o count.wasm

FILE is a core module that exports the functions of goondan:tool/handlers in the canonical ABI, as the
bindings of wit-bindgen do. The output is a component with the world that the bindings recorded in the
module; in a module that records none, with the interfaces that the module uses. Imports of WASI 0.1
(wasi_snapshot_preview1) are adapted to WASI 0.2.

The same with wasm-tools: wasm-tools component embed, then wasm-tools component new --adapt.

Exit codes: 0 written · 1 the module does not export what a tool needs · 2 FILE cannot be read, or the output not written";

pub(crate) const CACHE: &str = "\
Examples:
  toolhost cache ls
  toolhost cache ls --json | jq '.entries[] | select(.verdict != \"valid\")'
  toolhost cache verify
  toolhost cache clear

A component is compiled once, signed with your key and cached (see Directories in `toolhost --help`), at
most 2 GiB in all; the least recently used are removed first. Only valid entries are mapped; all others
are compiled again when needed.

States:
  valid         signed with your key for this toolhost
  other-engine  signed with your key for another version
  other-key     signed with another key, such as of another --state-root: it cannot be verified
  truncated, tampered, not-private, unreadable

With --json: {\"dir\", \"bytes\", \"limitBytes\", \"entries\": [{\"file\", \"sha256\", \"bytes\", \"lastUsed\",
\"verdict\", \"handlers\"}]}, for verify also \"ok\"; for clear {\"dir\", \"files\", \"bytes\"}.

Exit codes: 0 done; for verify: all are valid or other-engine · 1 verify: one is not ·
2 the cache cannot be used";

pub(crate) const DOCTOR: &str = "\
Examples:
  toolhost doctor
  toolhost doctor --state-root ./state
  toolhost doctor --json | jq '.checks[] | select(.state != \"ok\")'

Each line has a state, the name of what was examined, and its value. For a warning or an error the next
line names the next move. Compilers that are missing are warnings: you need those of your languages alone.
Nothing is changed on disk, and nothing is downloaded. A copy of the database is opened in a temporary
directory.

With --json: {\"ok\", \"version\", \"checks\": [{\"area\": \"compilers\" | \"kits\" | \"kernel\" | \"cache\" |
\"state\" | \"network\" | \"terminal\", \"name\", \"state\": \"ok\" | \"warning\" | \"error\", \"value\", \"neededFor\",
\"next\"}]}

Exit codes: 0 no errors · 1 an error · 2 wrong usage";

pub(crate) const COMPLETIONS: &str = "\
Examples:
  toolhost completions bash > ~/.local/share/bash-completion/completions/toolhost
  toolhost completions zsh > ~/.zfunc/_toolhost     with `fpath+=~/.zfunc` before `compinit` in ~/.zshrc
  toolhost completions fish > ~/.config/fish/completions/toolhost.fish

Exit codes: 0 printed · 2 the shell is not known";

pub(crate) const MAN: &str = "\
Examples:
  toolhost man ~/.local/share/man/man1
  toolhost man . && man ./toolhost-call.1

Writes toolhost.1 and a page for each command, such as toolhost-call.1. Pages that exist are replaced.

Exit codes: 0 written · 2 the folder cannot be written";
