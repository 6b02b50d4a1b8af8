//! What instantiating a component comes to, counted without doing it.
//!
//! The compiler follows every instantiation within a component, so one that instantiates ten others,
//! each of which instantiates ten, and so on, is small and takes for ever.

use wasmparser::{
    CanonicalFunction, ComponentAlias, ComponentExternalKind, ComponentInstance,
    ComponentOuterAliasKind, ComponentTypeRef, Encoding, Instance, Payload,
};

use super::{CompileLimits, elements_in, malformed, within};
use crate::PrepareError;

/// Bytes that an instance keeps of an element or a global.
const ELEMENT: u64 = 16;

/// Bytes that an instance keeps of a function, its own or imported.
const FUNCTION: u64 = 32;

/// Counts what instances come to: what a component holds, as often as it is instantiated.
#[derive(Default)]
pub(super) struct Definitions {
    /// The component that is read, and those around it.
    scopes: Vec<Scope>,
    /// What an instance of the core module that is read keeps, in bytes. Core modules hold no others.
    module: Option<u64>,
}

#[derive(Default)]
struct Scope {
    /// What an instance of each component comes to that it may instantiate; none of one it is given.
    components: Vec<Option<Weight>>,
    /// What an instance of each core module keeps that it may instantiate.
    modules: Vec<Option<u64>>,
    weight: Weight,
}

/// What one instance comes to.
#[derive(Debug, Clone, Copy, Default)]
struct Weight {
    definitions: u64,
    adapters: u64,
    instance_bytes: u64,
}

impl Weight {
    fn definitions(definitions: u64) -> Self {
        Self {
            definitions,
            ..Self::default()
        }
    }
}

impl Definitions {
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "the parser's enums, which grow with every proposal"
    )]
    pub(super) fn add(
        &mut self,
        payload: &Payload<'_>,
        limits: &CompileLimits,
    ) -> Result<(), PrepareError> {
        match payload {
            Payload::Version {
                encoding: Encoding::Component,
                ..
            } => self.scopes.push(Scope::default()),
            Payload::Version {
                encoding: Encoding::Module,
                ..
            } => self.module = Some(0),
            Payload::End(_) => match self.module.take() {
                Some(bytes) => self.defines_module(Some(bytes)),
                None => {
                    let ended = self.scopes.pop().unwrap_or_default();
                    self.defines_component(Some(ended.weight));
                }
            },
            Payload::ElementSection(section) => self.keeps(ELEMENT, elements_in(section)?),
            Payload::GlobalSection(section) => self.keeps(ELEMENT, section.count().into()),
            Payload::FunctionSection(section) => self.keeps(FUNCTION, section.count().into()),
            Payload::ImportSection(section) => self.keeps(FUNCTION, section.count().into()),
            Payload::InstanceSection(section) => {
                for instance in section.clone() {
                    let (given, instance_bytes) = match instance.map_err(malformed)? {
                        Instance::Instantiate { args, module_index } => {
                            (args.len(), self.kept_by(module_index)?)
                        }
                        Instance::FromExports(exports) => (exports.len(), 0),
                    };
                    let weight = Weight {
                        definitions: 1 + given as u64,
                        adapters: 0,
                        instance_bytes,
                    };
                    self.count(weight, limits)?;
                }
            }
            Payload::ComponentInstanceSection(section) => {
                for instance in section.clone() {
                    let (given, within) = match instance.map_err(malformed)? {
                        ComponentInstance::Instantiate {
                            component_index,
                            args,
                        } => (args.len(), self.weight_of(component_index)?),
                        ComponentInstance::FromExports(exports) => {
                            (exports.len(), Weight::default())
                        }
                    };
                    self.count(Weight::definitions(1 + given as u64), limits)?;
                    self.count(within, limits)?;
                }
            }
            Payload::ComponentAliasSection(section) => {
                for alias in section.clone() {
                    self.alias(&alias.map_err(malformed)?);
                }
                self.count(Weight::definitions(section.count().into()), limits)?;
            }
            Payload::ComponentImportSection(section) => {
                for import in section.clone() {
                    match import.map_err(malformed)?.ty {
                        ComponentTypeRef::Component(_) => self.defines_component(None),
                        ComponentTypeRef::Module(_) => self.defines_module(None),
                        _ => {}
                    }
                }
                self.count(Weight::definitions(section.count().into()), limits)?;
            }
            Payload::ComponentExportSection(section) => {
                for export in section.clone() {
                    let export = export.map_err(malformed)?;
                    match export.kind {
                        ComponentExternalKind::Component => {
                            let same = self.component(0, export.index);
                            self.defines_component(same);
                        }
                        ComponentExternalKind::Module => {
                            let same = self.module(0, export.index);
                            self.defines_module(same);
                        }
                        _ => {}
                    }
                }
                self.count(Weight::definitions(section.count().into()), limits)?;
            }
            Payload::ComponentTypeSection(section) => {
                self.count(Weight::definitions(section.count().into()), limits)?;
            }
            Payload::ComponentCanonicalSection(section) => {
                let mut weight = Weight::definitions(section.count().into());
                for function in section.clone() {
                    match function.map_err(malformed)? {
                        CanonicalFunction::Lift { .. } | CanonicalFunction::Lower { .. } => {
                            weight.adapters += 1;
                        }
                        _ => {}
                    }
                }
                self.count(weight, limits)?;
            }
            _ => {}
        }
        Ok(())
    }

    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "the parser's enums, which grow with every proposal"
    )]
    fn alias(&mut self, alias: &ComponentAlias<'_>) {
        match alias {
            ComponentAlias::InstanceExport { kind, .. } => match kind {
                ComponentExternalKind::Component => self.defines_component(None),
                ComponentExternalKind::Module => self.defines_module(None),
                _ => {}
            },
            ComponentAlias::Outer { kind, count, index } => match kind {
                ComponentOuterAliasKind::Component => {
                    let same = self.component(*count, *index);
                    self.defines_component(same);
                }
                ComponentOuterAliasKind::CoreModule => {
                    let same = self.module(*count, *index);
                    self.defines_module(same);
                }
                _ => {}
            },
            ComponentAlias::CoreInstanceExport { .. } => {}
        }
    }

    fn defines_component(&mut self, weight: Option<Weight>) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.components.push(weight);
        }
    }

    fn defines_module(&mut self, instance_bytes: Option<u64>) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.modules.push(instance_bytes);
        }
    }

    /// An instance of the core module that is read keeps so many things of so many bytes.
    fn keeps(&mut self, bytes: u64, things: u64) {
        if let Some(module) = &mut self.module {
            *module = module.saturating_add(bytes.saturating_mul(things));
        }
    }

    fn scope(&self, outwards: u32) -> Option<&Scope> {
        self.scopes.iter().rev().nth(outwards as usize)
    }

    /// A component, so many scopes outwards. None where it cannot be known.
    fn component(&self, outwards: u32, index: u32) -> Option<Weight> {
        *self.scope(outwards)?.components.get(index as usize)?
    }

    /// What an instance of a core module keeps, so many scopes outwards. None where it cannot be known.
    fn module(&self, outwards: u32, index: u32) -> Option<u64> {
        *self.scope(outwards)?.modules.get(index as usize)?
    }

    fn weight_of(&self, component: u32) -> Result<Weight, PrepareError> {
        self.component(0, component).ok_or_else(not_its_own)
    }

    fn kept_by(&self, module: u32) -> Result<u64, PrepareError> {
        self.module(0, module).ok_or_else(not_its_own)
    }

    fn count(&mut self, more: Weight, limits: &CompileLimits) -> Result<(), PrepareError> {
        let Some(Scope { weight, .. }) = self.scopes.last_mut() else {
            return Ok(());
        };
        for (what, sum, more, limit) in [
            (
                "definitions over all its instances",
                &mut weight.definitions,
                more.definitions,
                limits.definitions,
            ),
            (
                "lifted and lowered functions over all its instances",
                &mut weight.adapters,
                more.adapters,
                limits.adapters,
            ),
            (
                "bytes kept by all its instances",
                &mut weight.instance_bytes,
                more.instance_bytes,
                limits.instance_bytes,
            ),
        ] {
            *sum = sum.saturating_add(more);
            within(what, *sum, limit)?;
        }
        Ok(())
    }
}

fn not_its_own() -> PrepareError {
    PrepareError::Compile {
        reason: "it instantiates what it does not hold itself".to_owned(),
    }
}
