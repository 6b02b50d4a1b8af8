//! Extism: a plug-in with WASI, from the library that its package for Python carries.

mod library;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use super::caller::{Caller, Calls, from_threads};
use super::programs::installed;
use super::works::Work;
use library::{Compiled, Library, Plugin};

const PLUGIN: &str = include_str!("../../peers/extism.wat");

/// Whether a call gets a plug-in of its own.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Instances {
    /// A plug-in for each call, made from the compiled one.
    Fresh,
    /// A plug-in for each thread, which remembers what earlier calls left. It does not isolate calls.
    Kept,
}

/// The compiled plug-in.
pub(super) struct Extism {
    compiled: Arc<Compiled>,
}

impl Extism {
    pub(super) fn new(workdir: &Path) -> Result<Self, String> {
        let library = Library::open(&installed("libextism.so")?)?;
        let plugin = tempfile::Builder::new().suffix(".wasm").tempfile().unwrap();
        std::fs::write(plugin.path(), wat::parse_str(PLUGIN).unwrap()).unwrap();
        let manifest = json!({
            "wasm": [{"path": plugin.path()}],
            "allowed_paths": {workdir.to_str().unwrap(): "/"},
        });
        let compiled = Compiled::new(library, &manifest.to_string())?;
        Ok(Self {
            compiled: Arc::new(compiled),
        })
    }

    pub(super) fn does(work: &Work) -> bool {
        ["echo", "read"].contains(&work.in_scripts)
    }

    pub(super) fn prepare(&self, work: &Work, instances: Instances) -> Box<dyn Caller> {
        Box::new(PluginCalls {
            compiled: Arc::clone(&self.compiled),
            instances,
            function: work.in_scripts,
            input: work.input.to_string(),
            most_in_flight: work.most_in_flight,
            kept: Vec::new(),
        })
    }
}

struct PluginCalls {
    compiled: Arc<Compiled>,
    instances: Instances,
    function: &'static str,
    input: String,
    most_in_flight: usize,
    /// The plug-ins of the threads.
    kept: Vec<Plugin>,
}

impl Caller for PluginCalls {
    fn once(&mut self) -> String {
        let mut plugin = self.compiled.plugin();
        let output = plugin.call(self.function, self.input.as_bytes());
        String::from_utf8(output).unwrap()
    }

    fn run(&mut self, in_flight: usize, time: Duration) -> Calls {
        let (function, input) = (self.function, self.input.as_bytes());
        match self.instances {
            Instances::Fresh => {
                let mut callers = vec![Arc::clone(&self.compiled); in_flight];
                from_threads(&mut callers, time, |compiled| {
                    assert!(compiled.plugin().call(function, input).len() > 2);
                })
            }
            Instances::Kept => {
                while self.kept.len() < in_flight {
                    self.kept.push(self.compiled.plugin());
                }
                let plugins = self.kept.get_mut(..in_flight).unwrap();
                from_threads(plugins, time, |plugin| {
                    assert!(plugin.call(function, input).len() > 2);
                })
            }
        }
    }

    fn most_in_flight(&self) -> usize {
        self.most_in_flight
    }
}
