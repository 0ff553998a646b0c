//! Seconds that a pretrained encoder takes to embed the texts of a table; benches/embed.py is its
//! PyTorch peer.
//!
//! usage: cargo bench --bench embed -- FOLDER TABLE.tsv [BATCH]
//!
//! Texts (column `description`, at most 256 tokens) are tokenised first and sorted by length; the time
//! is that of the model alone, the median of three rounds. Prints one JSON line; `sum` is that of all
//! absolute values, equal to the peer's but for rounding.

mod process;

use std::error::Error;
use std::path::Path;
use std::time::Instant;

use burn::tensor::Device;
use dsokr_nn::pretrained::Pretrained;
use dsokr_nn::{Pass, Pooling};

fn main() -> Result<(), Box<dyn Error>> {
    dsokr::cli::keep_pages(true);
    let arguments = process::arguments();
    let usage = "usage: embed FOLDER TABLE.tsv [BATCH]";
    let (folder, table, size) = match arguments.as_slice() {
        [folder, table] => (folder, table, 64),
        [folder, table, size] => (folder, table, size.parse()?),
        _ => return Err(usage.into()),
    };
    let model = Pretrained::open(Path::new(folder))?;
    let (body, _) = model.body(&Device::flex())?;
    let text = std::fs::read_to_string(table)?;
    let mut lines = text.lines().map(|line| line.split('\t').collect::<Vec<_>>());
    let header = lines.next().ok_or("the table is empty")?;
    let column = header.iter().position(|name| *name == "description");
    let column = column.ok_or("the table has no column `description`")?;
    let mut ids = Vec::new();
    for line in lines {
        let text = line.get(column).ok_or("a line of the table is too short")?;
        ids.push(model.tokenizer.encode(text, 256)?.0);
    }
    ids.sort_by_key(Vec::len);
    let batches: Vec<Vec<&[u32]>> =
        ids.chunks(size).map(|batch| batch.iter().map(Vec::as_slice).collect()).collect();
    let mut times = Vec::new();
    let mut total = 0.0;
    for _ in 0..3 {
        let begun = Instant::now();
        total = 0.0;
        for batch in &batches {
            let z = body.pooled(batch, Pooling::Mean, Pass::Evaluate);
            total += f64::from(z.abs().sum().into_scalar::<f32>());
        }
        times.push(begun.elapsed().as_secs_f64());
    }
    let result = serde_json::json!({
        "texts": ids.len(),
        "tokens": ids.iter().map(Vec::len).sum::<usize>(),
        "embed_s": process::median(times),
        "sum": total,
        "peak_mib": process::peak_mib(),
    });
    println!("{result}");
    Ok(())
}
