//! What instantiating a component comes to, counted without doing it.
//!
//! The compiler follows every instantiation within a component, so one that instantiates ten others,
//! each of which instantiates ten, and so on, is small and takes for ever.

use wasmparser::{
    ComponentAlias, ComponentExternalKind, ComponentInstance, ComponentOuterAliasKind,
    ComponentTypeRef, Encoding, Instance, Payload,
};

use super::{CompileLimits, malformed, within};
use crate::PrepareError;

/// Counts the definitions that the compiler goes through: those of a component as often as it is
/// instantiated.
#[derive(Default)]
pub(super) struct Definitions {
    /// The component that is read, and those around it.
    scopes: Vec<Scope>,
    /// Core modules that are read: nested in the innermost component, and in no other module.
    modules: usize,
}

#[derive(Default)]
struct Scope {
    /// The definitions of each component it may instantiate; none of one it is given.
    components: Vec<Option<u64>>,
    definitions: u64,
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
            } => self.modules += 1,
            Payload::End(_) if self.modules > 0 => self.modules -= 1,
            Payload::End(_) => {
                let ended = self.scopes.pop().unwrap_or_default();
                self.defines_component(Some(ended.definitions));
            }
            Payload::InstanceSection(section) => {
                for instance in section.clone() {
                    let given = match instance.map_err(malformed)? {
                        Instance::Instantiate { args, .. } => args.len(),
                        Instance::FromExports(exports) => exports.len(),
                    };
                    self.count(1 + given as u64, limits)?;
                }
            }
            Payload::ComponentInstanceSection(section) => {
                for instance in section.clone() {
                    let (given, within) = match instance.map_err(malformed)? {
                        ComponentInstance::Instantiate {
                            component_index,
                            args,
                        } => (args.len(), self.definitions_of(component_index)?),
                        ComponentInstance::FromExports(exports) => (exports.len(), 0),
                    };
                    self.count(within.saturating_add(1 + given as u64), limits)?;
                }
            }
            Payload::ComponentAliasSection(section) => {
                for alias in section.clone() {
                    self.alias(&alias.map_err(malformed)?);
                }
                self.count(section.count().into(), limits)?;
            }
            Payload::ComponentImportSection(section) => {
                for import in section.clone() {
                    if let ComponentTypeRef::Component(_) = import.map_err(malformed)?.ty {
                        self.defines_component(None);
                    }
                }
                self.count(section.count().into(), limits)?;
            }
            Payload::ComponentExportSection(section) => {
                for export in section.clone() {
                    let export = export.map_err(malformed)?;
                    if export.kind == ComponentExternalKind::Component {
                        let same = self.definitions_in(0, export.index);
                        self.defines_component(same);
                    }
                }
                self.count(section.count().into(), limits)?;
            }
            Payload::ComponentTypeSection(section) => self.count(section.count().into(), limits)?,
            Payload::ComponentCanonicalSection(section) => {
                self.count(section.count().into(), limits)?;
            }
            _ => {}
        }
        Ok(())
    }

    fn alias(&mut self, alias: &ComponentAlias<'_>) {
        let component = match alias {
            ComponentAlias::InstanceExport {
                kind: ComponentExternalKind::Component,
                ..
            } => None,
            ComponentAlias::Outer {
                kind: ComponentOuterAliasKind::Component,
                count,
                index,
            } => self.definitions_in(*count, *index),
            ComponentAlias::InstanceExport { .. }
            | ComponentAlias::CoreInstanceExport { .. }
            | ComponentAlias::Outer { .. } => return,
        };
        self.defines_component(component);
    }

    fn defines_component(&mut self, definitions: Option<u64>) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.components.push(definitions);
        }
    }

    /// The definitions of a component, so many scopes outwards. None where they cannot be known.
    fn definitions_in(&self, outwards: u32, index: u32) -> Option<u64> {
        let scope = self.scopes.iter().rev().nth(outwards as usize)?;
        *scope.components.get(index as usize)?
    }

    fn definitions_of(&self, component: u32) -> Result<u64, PrepareError> {
        self.definitions_in(0, component)
            .ok_or_else(|| PrepareError::Compile {
                reason: "it instantiates a component that it does not hold itself".to_owned(),
            })
    }

    fn count(&mut self, more: u64, limits: &CompileLimits) -> Result<(), PrepareError> {
        let Some(scope) = self.scopes.last_mut() else {
            return Ok(());
        };
        scope.definitions = scope.definitions.saturating_add(more);
        let what = "definitions over all its instances";
        within(what, scope.definitions, limits.definitions)
    }
}
