//! Pairs drawn from one file, whose rows are inputs and outputs at once.

use std::ops::Range;
use std::path::Path;

use dsokr_basis::random::generator;
use rand::seq::SliceRandom;

use super::error::extension_of;
use super::structure::inputs;
use super::table::Table;
use super::{DataRoot, Dataset, Outputs, Split, Structure};
use crate::Error;
use crate::config::{Checked, PoolConfig, SplitName};

/// Rows of the file, in the order validation, test, training.
struct Drawn {
    rows: Vec<usize>,
    validation: Range<usize>,
    test: Range<usize>,
    train: Range<usize>,
}

/// Reads and draws all pairs of a configuration.
pub(super) fn load<R>(
    pool: &PoolConfig,
    config: &Checked<R>,
    root: &DataRoot,
) -> Result<Dataset, Error> {
    let (data, output) = (&config.data, &config.output);
    let mut columns = vec![data.id.as_str(), data.text.as_str()];
    columns.extend(output.columns());
    let table = read_table(&root.file(&pool.file), config, &columns)?;
    let drawn = draw(pool, config.seed, &table)?;
    let table = table.select(&drawn.rows);
    let all = Outputs::from_table(&table, &data.id, output, root)?;
    let split = |rows: Range<usize>| {
        let outputs: Vec<Option<usize>> = rows.clone().map(Some).collect();
        let structures = all.structures_of(&outputs);
        Ok::<_, Error>(Split { outputs, structures, ..split(&table, config, rows)? })
    };
    Ok(Dataset {
        train: split(drawn.train)?,
        validation: split(drawn.validation)?,
        test: if pool.test > 0 { Some(split(drawn.test)?) } else { None },
        outputs: all,
    })
}

/// The pairs of one split alone; none if there is no such split.
pub(super) fn read_split<R>(
    pool: &PoolConfig,
    config: &Checked<R>,
    name: SplitName,
    root: &DataRoot,
) -> Result<Option<Split>, Error> {
    let mut columns = vec![config.data.id.as_str(), config.data.text.as_str()];
    columns.extend(config.output.structure());
    let table = read_table(&root.file(&pool.file), config, &columns)?;
    let drawn = draw(pool, config.seed, &table)?;
    let rows = match name {
        SplitName::Validation => drawn.validation,
        SplitName::Test if pool.test > 0 => drawn.test,
        SplitName::Test => return Ok(None),
    };
    let table = table.select(&drawn.rows[rows.clone()]);
    let structures = config.output.structure().map(|column| Structure::column(&table, column));
    let split = split(&table, config, 0..rows.len())?;
    Ok(Some(Split { structures: structures.transpose()?, ..split }))
}

/// Columns of a table, or lines of a file that has nothing else.
pub(super) fn read_table<R>(
    path: &Path,
    config: &Checked<R>,
    columns: &[&str],
) -> Result<Table, Error> {
    let table = match extension_of(path).as_str() {
        "txt" | "smi" => Table::read_lines(path, &config.data.id, &config.data.text)?,
        _ => return Ok(Table::read(path, columns)?),
    };
    columns.iter().try_for_each(|column| table.column(column).map(|_| ()))?;
    Ok(table)
}

/// Rows in an order drawn from the seed.
fn draw(pool: &PoolConfig, seed: u64, table: &Table) -> Result<Drawn, Error> {
    let held = pool.validation.saturating_add(pool.test);
    let left = table.len().saturating_sub(held);
    let train = pool.train.unwrap_or(left);
    if train == 0 || train > left {
        let given = pool.train.map_or("the rest".into(), |train| train.to_string());
        return Err(Error::Value {
            key: "data.pool".into(),
            found: format!("{} + {} + {given}", pool.validation, pool.test),
            allowed: format!("at most {}, the rows of {}", table.len(), table.path().display()),
        });
    }
    let mut rows: Vec<usize> = (0..table.len()).collect();
    rows.shuffle(&mut generator(seed, "split", 0));
    rows.truncate(held + train);
    Ok(Drawn {
        rows,
        validation: 0..pool.validation,
        test: pool.validation..held,
        train: held..held + train,
    })
}

/// Ids and texts of some rows.
fn split<R>(table: &Table, config: &Checked<R>, rows: Range<usize>) -> Result<Split, Error> {
    let pick = |column: &str| Ok::<_, Error>(table.column(column)?[rows.clone()].to_vec());
    let texts = pick(&config.data.text)?;
    let texts = inputs(texts, config).map_err(|(at, reason)| {
        let row = rows.start + at;
        let smiles = table.column(&config.data.text).map(|all| all[row].clone());
        let (path, line) = (table.path().into(), table.line(row));
        Error::Smiles { path, line, smiles: smiles.unwrap_or_default(), reason }
    })?;
    Ok(Split {
        ids: pick(&config.data.id)?,
        texts,
        vectors: Vec::new(),
        outputs: vec![None; rows.len()],
        structures: None,
    })
}
