//! Parts that configurations name, each a struct of its own.

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
