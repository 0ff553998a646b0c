//! Graphs of any kind as outputs.

use std::collections::HashMap;
use std::path::Path;

use dsokr_molecule::graph::{NamedGraph, parse_json_lines, read_json_lines, read_tudataset};

use crate::Error;
use crate::error::CANDIDATES;
use crate::table::Table;

/// The graphs of a file, JSON lines or a folder of the TUDataset collection, in the order of a table's
/// ids.
pub(crate) fn read(path: &Path, table: &Table, id: &str) -> Result<Vec<NamedGraph>, Error> {
    let graphs = match path.is_dir() {
        true => {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            read_tudataset(path, &name)?
        }
        false => read_json_lines(path)?,
    };
    let mut rows = HashMap::with_capacity(graphs.len());
    for (row, graph) in graphs.iter().enumerate() {
        if let Some(first) = rows.insert(graph.id.as_str(), row) {
            let (id, first, second) = (&graph.id, first + 1, row + 1);
            let message = format!("id {id:?} names graph {first} and graph {second}");
            return Err(Error::file(path, message));
        }
    }
    let ids = table.column(id)?.iter().enumerate();
    let graph = |(row, id): (usize, &String)| {
        let found = rows.get(id.as_str()).map(|&at| graphs[at].clone());
        found.ok_or_else(|| {
            let message = format!("id {id:?} is not among the graphs of {}", path.display());
            Error::line(table.path(), table.line(row), message)
        })
    };
    ids.map(graph).collect()
}

/// The graph that is a candidate's label.
pub(crate) fn of_label(label: &str) -> Result<NamedGraph, Error> {
    let mut graphs = parse_json_lines(label.as_bytes(), Path::new(CANDIDATES))?;
    graphs.pop().ok_or_else(|| Error::label(label, "a graph".into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_hold_the_graph() {
        let line = r#"{"nodes":[18446744073709551615,"red",0],"edges":[[0,2,"7"],[1,2,0]]}"#;
        let graph = of_label(line).unwrap();
        assert_eq!(of_label(&graph.json_line()).unwrap(), graph);
        assert!(of_label("{}").unwrap_err().to_string().contains("candidates.safetensors"));
    }
}
