//! Values that layers share, by type.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use toolhost_runtime::{debug_fields, lock};

/// Values that the layers of a turn, a step or a call share, by their type, as `http::Extensions` are.
/// Cheap to clone: every clone has the same values.
///
/// A layer sees what outer and inner layers of the same turn, step or call have inserted. The layers of a
/// step see those of its turn too, and the layers of a call those of its step and its turn. A value of a
/// call is not seen by its step, nor one of a step by its turn. A native handler sees those of its call:
/// [`HandlerContext::extensions`](crate::extension::HandlerContext::extensions). The runtime gives a turn
/// its first values: [`TurnStart::with_extension`](crate::TurnStart::with_extension).
///
/// ```
/// use toolhost::middleware::{Next, ToolCallContext, TurnContext};
/// use toolhost::{Instance, ToolError, ToolResult};
///
/// struct Tenant(String);
///
/// async fn of_turn(turn: TurnContext, next: Next<TurnContext>) -> Result<serde_json::Value, ToolError> {
///     turn.extensions.insert(Tenant("acme".to_owned()));
///     next.run(turn).await
/// }
///
/// async fn of_call(call: ToolCallContext, next: Next<ToolCallContext>) -> ToolResult {
///     match call.extensions.get::<Tenant>() {
///         Some(tenant) if tenant.0 == "acme" => next.run(call).await,
///         _ => call.refuse("unknown tenant"),
///     }
/// }
/// # let _ = (of_turn, of_call);
/// ```
#[derive(Clone, Default)]
pub struct Extensions(Arc<Shared>);

#[derive(Default)]
struct Shared {
    values: Mutex<Values>,
    /// Those of the step or the turn around it.
    outer: Option<Extensions>,
}

type Values = HashMap<TypeId, Arc<dyn Any + Send + Sync>>;

debug_fields!(Extensions);

impl Extensions {
    /// Returns empty extensions through which those of the step or the turn around it are seen.
    pub(crate) fn within(outer: &Self) -> Self {
        Self(Arc::new(Shared {
            values: Mutex::default(),
            outer: Some(outer.clone()),
        }))
    }

    /// Inserts a value, and returns the earlier one of this type in the same turn, step or call.
    pub fn insert<T: Send + Sync + 'static>(&self, value: T) -> Option<Arc<T>> {
        let earlier = self.with(|values| values.insert(TypeId::of::<T>(), Arc::new(value)));
        earlier.and_then(|value| value.downcast().ok())
    }

    /// Returns the value of this type: of the call, or else of its step, or else of its turn.
    pub fn get<T: Send + Sync + 'static>(&self) -> Option<Arc<T>> {
        let value = self.with(|values| values.get(&TypeId::of::<T>()).cloned());
        match value {
            Some(value) => value.downcast().ok(),
            None => self.0.outer.as_ref()?.get(),
        }
    }

    /// Removes the value of this type from this turn, step or call, and returns it.
    pub fn remove<T: Send + Sync + 'static>(&self) -> Option<Arc<T>> {
        let removed = self.with(|values| values.remove(&TypeId::of::<T>()));
        removed.and_then(|value| value.downcast().ok())
    }

    fn with<T>(&self, act: impl FnOnce(&mut Values) -> T) -> T {
        act(&mut lock(&self.0.values))
    }
}
