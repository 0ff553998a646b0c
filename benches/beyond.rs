//! Molecules that a search beyond the candidates scores in a second of one core.
//!
//! usage: cargo bench --bench beyond -- RUN TEXTS [SETTINGS]
//!
//! RUN is a run directory whose outputs are molecules, TEXTS a file with one query a line, SETTINGS as those of
//! `decoding.beyond`, such as `rounds=4`. Reading the run does not count. Prints one JSON line; `a_core_second` is by the
//! processor time of all threads (Linux), `query_s` the median on the clock.

mod process;

use std::error::Error;
use std::time::Instant;

use dsokr::config::BeyondConfig;
use dsokr::run::Run;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = process::arguments();
    let (run, texts, settings) = match arguments.as_slice() {
        [run, texts] => (run, texts, ""),
        [run, texts, settings] => (run, texts, settings.as_str()),
        _ => return Err("usage: beyond RUN TEXTS [SETTINGS]".into()),
    };
    let settings: BeyondConfig = settings.parse()?;
    let run = Run::open(run)?.with_beyond(Some(&settings))?;
    let texts = std::fs::read_to_string(texts)?;
    let before = processor_seconds()?;
    let mut scored = 0;
    let mut times = Vec::new();
    for text in texts.lines() {
        let start = Instant::now();
        let found = run.search(text, 1)?.beyond.pop().and_then(|found| found.search);
        scored += found.map_or(0, |facts| facts.evaluated);
        times.push(start.elapsed().as_secs_f64());
    }
    if times.is_empty() {
        return Err("the file of queries is empty".into());
    }
    let seconds = processor_seconds()? - before;
    let line = serde_json::json!({
        "queries": times.len(),
        "scored": scored,
        "a_core_second": (scored as f64 / seconds).round(),
        "query_s": process::median(times),
        "peak_mib": process::peak_mib(),
    });
    println!("{line}");
    Ok(())
}

/// Returns the processor time of this process so far, read in ticks of 10 ms.
fn processor_seconds() -> Result<f64, Box<dyn Error>> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let fields = stat.rsplit(") ").next().unwrap_or_default().split_whitespace();
    let ticks: Vec<f64> = fields.skip(11).take(2).map(str::parse).collect::<Result<_, _>>()?;
    Ok(ticks.iter().sum::<f64>() / 100.0)
}
