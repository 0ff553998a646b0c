//! The lines of the log.

use crate::sandbox::Sandbox;

const MACHINE: &str = r#"
[encoder]
kind = "kernel-machine"
inputs = { kind = "ngrams", blocks = [{ kind = "words", min = 1, max = 1 }] }
lambda = [1e-5, 1e-3]
"#;

/// The significant digits of a number.
fn digits(number: &str) -> usize {
    let mantissa = number.split('e').next().unwrap_or_default();
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    digits.trim_start_matches('0').len()
}

#[test]
fn times_have_one_decimal_and_numbers_four_digits() {
    let sandbox = Sandbox::new();
    let config = sandbox.read("small.toml");
    let (shared, _) = config.split_once("[encoder]").unwrap();
    sandbox.write("machine.toml", &format!("{shared}{MACHINE}"));
    let output = sandbox.run(&["train", "machine.toml"]);
    let log = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{log}");
    let mut numbers = Vec::new();
    for line in log.lines() {
        let (time, said) = line.split_once(" s ").unwrap_or_else(|| panic!("no time: {line}"));
        let (seconds, decimals) = time.trim_start().split_once('.').unwrap();
        assert!(seconds.parse::<u32>().is_ok() && decimals.len() == 1, "{line}");
        let fields = ["error=", "seconds="];
        let words = said.split_whitespace();
        numbers.extend(words.filter_map(|word| {
            let number = fields.iter().find_map(|field| word.strip_prefix(field))?;
            Some(number.to_owned())
        }));
    }
    // the seconds of the targets, and an error of each λ
    assert_eq!(numbers.len(), 3, "{log}");
    for number in numbers {
        assert!(number.parse::<f64>().is_ok() && digits(&number) <= 4, "{number} in {log}");
    }
}
