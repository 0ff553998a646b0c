/// The values of keys that a configuration leaves out: functions that `#[serde(default = "name")]` names, a line
/// `name: type = value` for each; or, of a whole table, `Type { key: value, … }` or `Type = value` for its `Default`.
#[macro_export]
macro_rules! defaults {
    ($($visible:vis $name:ident: $type:ty = $value:expr),+ $(,)?) => {
        $($visible fn $name() -> $type {
            $value
        })+
    };
    ($type:ident { $($fields:tt)* }) => {
        $crate::defaults!($type = Self { $($fields)* });
    };
    ($type:ident = $value:expr) => {
        impl Default for $type {
            fn default() -> Self {
                $value
            }
        }
    };
}
