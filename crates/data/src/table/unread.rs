//! Files that are no tables, each with what makes a table of it.

use std::io::Read;
use std::path::{Path, PathBuf};

use dsokr_core::message::shell_word;
use dsokr_core::store::BYTE_ORDER_MARK;

use super::formats::{TableFormat, TextFormat, all_extensions, is_gzip, open_text, uncompressed};
use crate::error::{Error, extension_of};

/// Returns the format of a table, whose columns have names.
pub(super) fn named_format(path: &Path) -> Result<TextFormat, Error> {
    if let Some(format) = TableFormat::from_path(path) {
        return Ok(format.rows);
    }
    if let Some(name) = name_of_json_lines(path) {
        let message = format!("the lines are JSON objects: name it {}", name.display());
        return Err(Error::file(path, message));
    }
    let all = all_extensions();
    let official = "data.source = \"official\" reads the official ChEBI-20 .txt layout";
    let remedy = remedy(path);
    Err(Error::extension(path, &format!("{all} ({official}); {remedy}")))
}

/// Returns what makes a table of a file whose extension is that of no table, or reads it otherwise.
fn remedy(path: &Path) -> String {
    let extension = extension_of(path);
    let by_pandas = |read: &str, write: &str, to: &str| {
        conversion(path, &format!("import pandas, sys; pandas.{read}.{write}"), to)
    };
    let to_parquet = |read: &str| {
        by_pandas(&format!("{read}(sys.argv[1])"), "to_parquet(sys.argv[2])", "parquet")
    };
    match extension.as_str() {
        "parquet" => by_pandas(
            "read_parquet(sys.argv[1])",
            "to_json(sys.argv[2], orient='records', lines=True, date_format='iso', double_precision=15)",
            "jsonl",
        ),
        "feather" | "arrow" | "arrows" | "ipc" if is_stream_of_arrow(path) => {
            conversion(path, PROGRAM_OF_ARROW_STREAM, "parquet")
        }
        "feather" | "arrow" | "arrows" | "ipc" => to_parquet("read_feather"),
        // without `dtype=str` codes such as 0389 lose their zeros
        "xlsx" | "xls" | "ods" => by_pandas(
            "read_excel(sys.argv[1], dtype=str, na_filter=False)",
            "to_csv(sys.argv[2], index=False)",
            "csv",
        ),
        "pkl" | "pickle" => to_parquet("read_pickle"),
        "h5" | "hdf" | "hdf5" => {
            let convert = to_parquet("read_hdf");
            format!("where pandas wrote it, {convert}; matrices of h5py are .npy files by numpy.save")
        }
        "orc" => to_parquet("read_orc"),
        "dta" => to_parquet("read_stata"),
        "sav" => to_parquet("read_spss"),
        "sas7bdat" | "xpt" => to_parquet("read_sas"),
        "rds" => {
            let to = path.with_extension("csv");
            let [from, to] = [path, &to].map(|path| path.display().to_string());
            let program = format!("write.csv(readRDS({from:?}), {to:?}, row.names = FALSE)");
            format!("convert it: Rscript -e {}", shell_word(&program))
        }
        "rda" | "rdata" => "in R, load it and write its frame: write.csv(frame, \"table.csv\", row.names = FALSE)".into(),
        "db" | "sqlite" | "sqlite3" => {
            let from = shell_word(&path.display().to_string());
            format!("write one of its tables: sqlite3 -header -csv {from} 'select * from NAME' > NAME.csv")
        }
        "json" => conversion(path, program_of_json(path), "jsonl"),
        "fasta" | "fa" | "faa" | "fna" => conversion(path, PROGRAM_OF_FASTA, "tsv"),
        "smi" | "smiles" | "ism" | "can" => conversion(path, PROGRAM_OF_SMILES, "tsv"),
        "mol2" | "pdb" | "xyz" | "cml" | "cdx" | "cdxml" => {
            let to = path.with_extension("sdf");
            let [from, to] = [path, &to].map(|path| shell_word(&path.display().to_string()));
            format!("Open Babel converts it: obabel {from} -O {to}")
        }
        "npy" | "npz" | "safetensors" => {
            "a matrix has no columns with names: inputs = { kind = \"features\", table = …, file = … } under [data] reads it beside \
             a table of ids, which book/src/vectors.md describes"
                .into()
        }
        "mzxml" => "ProteoWizard converts it: msconvert --mzML".into(),
        "ms" => "of what SIRIUS reads, the program that made it writes MGF too".into(),
        "arff" | "libsvm" | "svm" => {
            "data.source = \"multi-label\" reads it, as configs/bibtex-best.toml does".into()
        }
        "xarff" => conversion(path, PROGRAM_OF_RANKED_ARFF, "csv"),
        "soc" | "soi" | "toc" | "toi" => {
            "votes of PrefLib have no inputs: write a table with a row for each voter, what is known of the voter, and the order, \
             as in tea>milk=water"
                .into()
        }
        _ if begins_with_double_colons(path) => remedy_of_double_colons(path),
        _ if first_bytes(path).contains(&0) => {
            "it is no text: have the program that made it write .csv or .parquet".into()
        }
        _ => "if it is a table, name it .tsv or .csv; if its lines are labels with numbered features, name it .svm, which \
              data.source = \"multi-label\" reads"
            .into(),
    }
}

/// Returns the line of a shell by which a program of Python makes a file with the extension `to` of one that is not read.
fn conversion(path: &Path, program: &str, to: &str) -> String {
    let mut converted = uncompressed(path).with_extension(to);
    if converted == path {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        converted.set_file_name(format!("new-{name}"));
    }
    let [from, to] = [path, &converted].map(|path| shell_word(&path.display().to_string()));
    format!("convert it: python3 -c \"{program}\" {from} {to}")
}

/// The sign between the fields of a file of MovieLens, which no format has.
pub(super) const DOUBLE_COLON: &str = "::";

/// Returns whether `::` divides the first line of a file.
fn begins_with_double_colons(path: &Path) -> bool {
    let start = first_bytes(path);
    let first = String::from_utf8_lossy(filled_lines(&start).next().unwrap_or_default());
    first.matches(DOUBLE_COLON).count() > 1
}

/// Returns what makes a table of a file whose fields `::` divides.
pub(super) fn remedy_of_double_colons(path: &Path) -> String {
    let program = "import sys; rows = open(sys.argv[1], 'rb').read(); open(sys.argv[2], \
                   'wb').write(rows.replace(b'::', b'\\t'))";
    let convert = conversion(path, program, "tsv");
    format!("fields with {DOUBLE_COLON} between, as MovieLens writes them, are not read; {convert}")
}

/// Returns the name that a .json file needs, compressed or not, whose lines are objects; none of other files.
fn name_of_json_lines(path: &Path) -> Option<PathBuf> {
    let name = uncompressed(path);
    if extension_of(&name) != "json" {
        return None;
    }
    let start = first_bytes(path);
    let mut lines = filled_lines(&start);
    let is_first = lines.next().is_some_and(|line| line.starts_with(b"{") && line.ends_with(b"}"));
    let is_second = lines.next().is_some_and(|line| line.starts_with(b"{"));
    let extension = if is_gzip(path) { "jsonl.gz" } else { "jsonl" };
    (is_first && is_second).then(|| name.with_extension(extension))
}

/// Returns the program of Python that makes JSON lines of a .json file: of a list of rows, of an object of columns or of the names of
/// columns beside rows, as pandas writes them, or of the longest list of rows in an object of several things, such as the annotations of
/// images. It changes no value, as pandas does with codes, small numbers, dates and whole numbers beside null.
fn program_of_json(path: &Path) -> &'static str {
    let start = first_bytes(path);
    if filled_lines(&start).next().is_some_and(|line| line.starts_with(b"{")) {
        "import json, sys; columns = json.load(open(sys.argv[1], 'rb')); lists = [cells for cells in columns.values() if \
         isinstance(cells, list) and cells and all(isinstance(row, dict) for row in cells)]; sizes = {len(cells) if \
         isinstance(cells, list) else None for cells in columns.values()}; whole = max(lists, key=len) if lists and \
         (len(sizes) > 1 or len(lists) == len(columns)) else []; rows = columns.get('data') if 'columns' in columns else \
         None; whole = [dict(zip(columns['columns'], row)) for row in rows] if isinstance(rows, list) and \
         all(isinstance(row, list) for row in rows) else whole; columns = {} if whole else {name: cells if \
         isinstance(cells, dict) else dict(enumerate(list.copy(cells))) for name, cells in columns.items()}; \
         rows = dict.fromkeys(row for cells in columns.values() for row in cells); open(sys.argv[2], \
         'w').writelines(json.dumps(row) + '\\n' for row in whole or ({name: cells.get(row) for name, cells in \
         columns.items()} for row in rows))"
    } else {
        "import json, sys; rows = json.load(open(sys.argv[1], 'rb')); open(sys.argv[2], 'w').writelines(json.dumps(row) + \
         '\\n' for row in rows)"
    }
}

/// The program of Python that makes a table of FASTA: of each record the line behind `>`, and the sequence, whose lines are joined.
const PROGRAM_OF_FASTA: &str = "import sys; records = ('\\n' + open(sys.argv[1]).read()).split('\\n>')[1:]; open(sys.argv[2], \
                                'w').writelines(['header\\tsequence\\n'] + ['\\t'.join([lines[0].replace('\\t', ' '), \
                                ''.join(lines[1:])]) + '\\n' for lines in map(str.splitlines, records)])";

/// The program of Python that makes a table of a stream of Arrow, as the library datasets of Hugging Face saves.
const PROGRAM_OF_ARROW_STREAM: &str = "import pyarrow.parquet, sys; stream = pyarrow.ipc.open_stream(open(sys.argv[1], 'rb')); \
                                       pyarrow.parquet.write_table(stream.read_all(), sys.argv[2])";

/// The bytes at the start of the files of Arrow that are no streams, of both versions of Feather.
const STARTS_OF_FEATHER: [&[u8]; 2] = [b"ARROW1", b"FEA1"];

/// Returns whether a file of Arrow is a stream.
fn is_stream_of_arrow(path: &Path) -> bool {
    let start = first_bytes(path);
    !start.is_empty() && !STARTS_OF_FEATHER.iter().any(|feather| start.starts_with(feather))
}

/// The program of Python that makes a table of lines of SMILES, with the names of molecules behind blanks or not. The first line may
/// have the names of the columns, as RDKit writes it.
const PROGRAM_OF_SMILES: &str = "import sys; rows = [line.split(None, 1) + [''] for line in open(sys.argv[1]) if \
                                 line.strip()]; rows = rows[rows[0][0].lower() == 'smiles':]; open(sys.argv[2], \
                                 'w').writelines(['smiles\\ttitle\\n'] + [row[0] + '\\t' + row[1].strip().replace('\\t', ' ') + \
                                 '\\n' for row in rows])";

/// The program of Python that makes a table of an .arff file with an attribute of rankings, which no other .arff file has.
const PROGRAM_OF_RANKED_ARFF: &str = "import sys; lines = [line.strip() for line in open(sys.argv[1]) if line.strip()]; start = \
                                      [line.lower() for line in lines].index('@data'); names = [line.split()[1] for line in \
                                      lines[:start] if line.lower().startswith('@attribute')]; open(sys.argv[2], \
                                      'w').writelines(line + '\\n' for line in [','.join(names)] + lines[start + 1:])";

/// The most bytes at the start of a file that tell how to convert it.
const FIRST_BYTES: u64 = 1 << 20;

/// Returns the first bytes of a file, decompressed; none of a stream, and of what cannot be read, which the caller refuses for its
/// name.
fn first_bytes(path: &Path) -> Vec<u8> {
    let mut start = Vec::new();
    if path.is_file()
        && let Ok(text) = open_text(path)
        && text.take(FIRST_BYTES).read_to_end(&mut start).is_err()
    {
        start.clear();
    }
    start
}

/// Returns the lines at the start of a file that are not blank, without the white space around them.
fn filled_lines(start: &[u8]) -> impl Iterator<Item = &[u8]> {
    let start = start.strip_prefix(BYTE_ORDER_MARK).unwrap_or(start);
    let lines = start.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii);
    lines.filter(|line| !line.is_empty())
}
