//! The `bash` tool: bash and its usual commands on the files of the workdir.
//!
//! It starts no processes: the shell, `sed`, `grep`, `find`, `awk`, `sort` and the rest are one
//! program over `std::fs`, so a script has the same rights as this tool. `curl` has its HTTP.

use toolhost_guest::handlers;

mod commands;
mod exec;
mod files;
mod missing;
mod output;
mod parameters;
mod script;
mod shell;
mod status;
mod symlink;
mod workdir;

handlers! {
    "exec" => exec::exec {
        description: "Runs a bash command line on the workdir. Pipes, redirections, loops, sed, grep, find, awk, sort and some 150 commands; curl and wget reach the origins that the policy allows; no other programs",
        parameters: parameters::exec(),
    },
    "script" => script::script {
        description: "Runs a bash script that is a file of the workdir",
        parameters: parameters::script(),
    },
}
