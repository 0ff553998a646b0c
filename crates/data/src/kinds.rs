/// An enum of kinds, which serde tags with their names, and of which each is a type with a trait of its own.
macro_rules! kinds {
    ($(#[$what:meta])* $all:ident by $tag:literal: $kind:path {
        $($(#[$doc:meta])* $name:ident($config:ty) = $text:literal,)*
    }) => {
        $(#[$what])*
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(tag = $tag)]
        pub enum $all {
            $($(#[$doc])* #[serde(rename = $text)] $name($config),)*
        }

        impl $all {
            /// Its name in configurations.
            pub fn name(&self) -> &'static str {
                match self {
                    $(Self::$name(_) => $text,)*
                }
            }

            pub(crate) fn kind(&self) -> &dyn $kind {
                match self {
                    $(Self::$name(config) => config,)*
                }
            }
        }
    };
}

pub(crate) use kinds;
