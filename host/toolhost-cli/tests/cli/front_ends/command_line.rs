//! `toolhost call`, `poll` and `cancel`: a process for each.

use serde_json::Value;

use super::{FrontEnd, Served};
use crate::terminal::Ran;

pub(super) struct CommandLine<'a>(&'a Served);

impl<'a> CommandLine<'a> {
    pub(super) fn start(served: &'a Served) -> Self {
        Self(served)
    }

    pub(super) fn cancel(&mut self, handle: &str) -> Value {
        self.printed("cancel", &[handle])
    }

    fn printed(&self, command: &str, words: &[&str]) -> Value {
        let workdir = self.0.workdir("command-line");
        let mut command = self.0.command(command);
        command.arg("--workdir").arg(workdir).args(words);
        Ran::of(&mut command).json()
    }
}

impl FrontEnd for CommandLine<'_> {
    fn call(&mut self, tool: &str, args: &Value) -> Value {
        self.printed("call", &[tool, "--args", &args.to_string()])
    }

    fn poll(&mut self, handle: &str) -> Value {
        self.printed("poll", &[handle])
    }
}
