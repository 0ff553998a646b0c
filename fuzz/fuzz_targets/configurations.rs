//! Any text as a configuration: it is refused, or it reads back as the same when it is written.

#![no_main]

use dsokr::Config;
use dsokr_fuzz::file;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let Ok(checked) = Config::load(file("a.toml", text)) else { return };
    let written = checked.to_toml().unwrap();
    let again =
        Config::load(file("b.toml", &written)).unwrap_or_else(|error| panic!("{error}\n{written}"));
    assert_eq!(again.to_toml().unwrap(), written);
    assert_eq!(again.fingerprint().unwrap(), checked.fingerprint().unwrap());
    // members are configurations of their own
    if checked.ensemble.is_some() {
        for member in checked.members().into_iter().flatten() {
            Config::load(file("member.toml", member.to_toml().unwrap())).unwrap();
        }
    }
});
