//! `Debug` of types whose other fields have none, or are secret.

/// Implements `Debug` for a type with the named values alone: `debug_fields!(Host, this => root: this.0.root)`.
#[macro_export]
macro_rules! debug_fields {
    ($type:ident $(, $this:ident => $($name:ident: $value:expr),+ $(,)?)?) => {
        impl ::std::fmt::Debug for $type {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                let mut fields = f.debug_struct(stringify!($type));
                $(
                    let $this = self;
                    $(fields.field(stringify!($name), &$value);)+
                )?
                fields.finish_non_exhaustive()
            }
        }
    };
}
