//! Macros: parts that configurations name, each a struct of its own, and loops compiled for several instruction sets.

/// The enum of all parts of a sort, from a list of them: `Name { parameters } = "name";`,
/// with `$home::Name` a struct of the same parameters. In a configuration a part is a table with its
/// name under the tag. `$part` is the trait of the structs, and `$ask` puts a question to one.
macro_rules! tagged {
    (
        $(#[$about:meta])*
        pub enum $parts:ident by $tag:literal, $ask:ident: $part:ident in $home:ident;
        $(
            $(#[$doc:meta])*
            $name:ident $({ $( $(#[$attribute:meta])* $field:ident: $type:ty ),* })? = $key:literal;
        )*
    ) => {
        $(#[$about])*
        #[derive(Clone, Debug, PartialEq, serde::Serialize, schemars::JsonSchema)]
        #[serde(tag = $tag, deny_unknown_fields)]
        #[non_exhaustive]
        pub enum $parts {
            $(
                $(#[$doc])*
                #[serde(rename = $key)]
                $name $({ $( $(#[$attribute])* $field: $type ),* })?,
            )*
        }

        impl<'de> serde::Deserialize<'de> for $parts {
            /// Reads through variants with braces: serde ignores unknown keys beside a unit variant.
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                #[derive(serde::Deserialize)]
                #[serde(tag = $tag, deny_unknown_fields)]
                enum Strict {
                    $(
                        #[serde(rename = $key)]
                        $name { $($( $(#[$attribute])* $field: $type ),*)? },
                    )*
                }
                Ok(match <Strict as serde::Deserialize>::deserialize(deserializer)? {
                    $( Strict::$name { $($( $field ),*)? } => Self::$name { $($( $field ),*)? }, )*
                })
            }
        }

        impl $parts {
            /// The name in configuration files.
            pub fn name(&self) -> &'static str {
                match self {
                    $( Self::$name { .. } => $key, )*
                }
            }

            fn $ask<T>(&self, question: impl FnOnce(&dyn $part) -> T) -> T {
                match *self {
                    $( Self::$name { $($( $field ),*)? } => {
                        question(&$home::$name { $($( $field ),*)? })
                    } )*
                }
            }
        }
    };
}

pub(crate) use tagged;

/// Compiles a block of plain loops for two lists of x86's features and for the target's baseline, and runs the first
/// version that the processor supports, so no `target-cpu` flag is needed.
///
/// The block becomes a function of the listed variables. A closure would not be inlined into the function with the
/// instruction set, and `mul_add` would become a call of the C library.
///
/// ```
/// let (values, factor) = ([1.0f32, 2.0], 3.0);
/// let sum = dsokr_basis::versions! {
///     ["avx512f"], ["avx2"], (values: [f32; 2], factor: f32) -> f32 {
///         values.iter().map(|value| factor * value).sum()
///     }
/// };
/// assert_eq!(sum, 9.0);
/// ```
#[macro_export]
macro_rules! versions {
    ([$($wide:tt),+], [$($narrow:tt),+], ($($name:ident: $type:ty),* $(,)?) -> $out:ty $body:block) => {{
        #[inline(always)]
        #[allow(clippy::too_many_arguments)]
        fn body($($name: $type),*) -> $out $body
        #[cfg(target_arch = "x86_64")]
        #[target_feature($(enable = $wide),+)]
        #[allow(clippy::too_many_arguments)]
        fn wide($($name: $type),*) -> $out {
            body($($name),*)
        }
        #[cfg(target_arch = "x86_64")]
        #[target_feature($(enable = $narrow),+)]
        #[allow(clippy::too_many_arguments)]
        fn narrow($($name: $type),*) -> $out {
            body($($name),*)
        }
        match () {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: every feature that the function enables was detected
            () if $(std::is_x86_feature_detected!($wide))&&+ => unsafe { wide($($name),*) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above
            () if $(std::is_x86_feature_detected!($narrow))&&+ => unsafe { narrow($($name),*) },
            () => body($($name),*),
        }
    }};
}
