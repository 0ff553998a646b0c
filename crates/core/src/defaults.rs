/// The values of keys that a configuration leaves out: functions that `#[serde(default = "name")]` names, a line
/// `name: type = value` for each.
#[macro_export]
macro_rules! defaults {
    ($($visible:vis $name:ident: $type:ty = $value:expr),+ $(,)?) => {
        $($visible fn $name() -> $type {
            $value
        })+
    };
}
