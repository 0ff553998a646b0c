use std::collections::BTreeMap;
use std::path::Path;

use dsokr_core::Argument;
use dsokr_core::store::{check_inside, read_text};
use serde::{Deserialize, Serialize};

use crate::error::Error;

/// The data sets that the program knows.
const BUILT_IN: &str = include_str!("sets.toml");

/// Data sets by name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Table(pub BTreeMap<String, DataSet>);

/// A data set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DataSet {
    /// A description, in a line.
    pub title: String,
    /// A page that describes it.
    pub page: String,
    /// The licence; `unknown` where none is stated.
    pub licence: String,
    /// The citation.
    pub citation: String,
    /// The files that are downloaded.
    pub files: Vec<RemoteFile>,
    /// Conversions of the files, in this order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub make: Vec<Conversion>,
}

/// A file that is published.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RemoteFile {
    /// The name of the download, also in the folder of `--from`.
    pub name: String,
    /// The address, `https` or `http`.
    pub url: String,
    /// The SHA-256 of the download, in hexadecimal digits, where it is known.
    pub sha256: Option<String>,
    /// The id of the download as a file of a git repository, in hexadecimal digits, where it is known: the SHA-1 of
    /// `blob`, a space, the size, a zero byte and the bytes, which `git ls-tree -r COMMIT` lists.
    pub git: Option<String>,
    /// The size of the download in bytes, where it is known.
    pub bytes: Option<u64>,
    /// The most bytes that the download, and each file in it, may have; 4 GiB if left out.
    #[serde(default = "most")]
    pub most_bytes: u64,
    /// How it is packed.
    pub unpack: Unpack,
    /// The path under the data root, for a file that is not an archive.
    pub to: Option<String>,
    /// The entries of an archive that are taken, by name or by the last part of their path, and the path of each under
    /// the data root.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub entries: BTreeMap<String, String>,
}

dsokr_core::defaults!(most: u64 = 4 << 30);

/// How a download is packed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unpack {
    /// The file is not compressed.
    #[default]
    Plain,
    /// One file, compressed by gzip.
    Gzip,
    /// A zip archive.
    Zip,
    /// A tar archive, compressed by gzip.
    TarGz,
}

/// A file, or several, that are made of those that were fetched. Paths are under the data root.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Conversion {
    /// A column of a table of comma-separated values as the lines of a text file.
    Column {
        /// The table.
        from: String,
        /// The column.
        column: String,
        /// The text file.
        to: String,
    },
    /// Tables of texts and molecules, from the official files of ChEBI-20 (id, vector, description) and
    /// files of the same splits with SMILES (id, SMILES, description; with a header): `molecules.tsv`,
    /// `train.tsv`, `val.tsv`, `test.tsv` and `mol2vec.safetensors`.
    TextToMolecule {
        /// The official files: training, validation, test.
        official: [String; 3],
        /// The files with SMILES.
        smiles: Vec<String>,
        /// The folder of the tables.
        to: String,
    },
    /// Spectra to train on, from a library of mass spectra. The spectra are of one adduct, by instruments that resolve
    /// elements, merged for each molecule and kind of instrument. `train.mgf` and `validation.mgf` share no molecule;
    /// `molecules.tsv` has all molecules of the library.
    Spectra {
        /// The library.
        from: String,
        /// The adduct, such as `[M+H]+`.
        adduct: String,
        /// The share of molecules whose spectra are validation spectra.
        validation: f64,
        /// The seed that draws them.
        seed: u64,
        /// The folder of the three files.
        to: String,
    },
}

impl Table {
    /// Creates the table of the data sets that the program knows and the data sets of `file`, which take precedence
    /// over those of the same name.
    ///
    /// # Errors
    /// [`Error::Table`] for a file that is not such a table; [`dsokr_core::Error::Value`] for a path that leaves the
    /// data root, or an invalid SHA-256 or git id.
    pub fn with(file: Option<&Path>) -> Result<Self, Error> {
        let parse = |path: &Path, text: &str| {
            let parsed = toml::from_str::<Self>(text);
            parsed.map_err(|e| Error::Table { path: path.into(), message: e.to_string() })
        };
        let mut table = parse(Path::new("the built-in table of data sets"), BUILT_IN)?;
        if let Some(file) = file {
            let text = read_text(file).map_err(Error::reading(file))?;
            table.0.extend(parse(file, &text)?.0);
        }
        table.0.iter().try_for_each(|(name, set)| set.check(name))?;
        Ok(table)
    }

    /// Returns the data set of a name.
    ///
    /// # Errors
    /// [`dsokr_core::Error::Value`] with the names that are known.
    pub fn get(&self, name: &str) -> Result<&DataSet, Error> {
        self.0.get(name).ok_or_else(|| {
            let names: String = self.0.keys().map(|name| format!("{name}, ")).collect();
            let argument = Argument::new("table");
            let allowed = format_args!("{names}or a name of the file that {argument} names");
            Error::value("the data set", format!("{name:?}"), allowed)
        })
    }
}

impl DataSet {
    fn check(&self, name: &str) -> Result<(), Error> {
        for file in &self.files {
            let key = |key: &str| format!("{name}.files.{key}");
            let name = &file.name;
            let url = &file.url;
            let plain = !name.is_empty() && !name.starts_with('.') && !name.contains(['/', '\\']);
            let allowed = "a file name, not starting with '.'";
            dsokr_core::Error::ensure(plain, key("name"), format!("{name:?}"), allowed)?;
            let web = url.starts_with("https://") || url.starts_with("http://");
            let allowed = "an address that starts with https:// or http://";
            dsokr_core::Error::ensure(web, key("url"), format!("{url:?}"), allowed)?;
            let (holds, allowed) = match file.unpack {
                Unpack::Plain | Unpack::Gzip => (
                    file.to.is_some() && file.entries.is_empty(),
                    "\"to\" and no \"entries\", for \"plain\" and \"gzip\"",
                ),
                Unpack::Zip | Unpack::TarGz => (
                    file.to.is_none() && !file.entries.is_empty(),
                    "\"entries\" and no \"to\", for archives",
                ),
            };
            dsokr_core::Error::ensure(holds, key("unpack"), format!("{:?}", file.unpack), allowed)?;
            for (entry, to) in file.targets() {
                check_inside(&key("entries"), &entry)?;
                check_inside(&key("to"), &to)?;
            }
            for (name, sum, digits) in [("sha256", &file.sha256, 64), ("git", &file.git, 40)] {
                let valid = |sum: &String| sum.len() == digits && is_hexadecimal(sum);
                let allowed = format!("{digits} hexadecimal digits");
                dsokr_core::Error::ensure(
                    sum.as_ref().is_none_or(valid),
                    key(name),
                    format!("{:?}", sum.as_deref().unwrap_or("")),
                    allowed,
                )?;
            }
        }
        let paths = self.make.iter().flat_map(Conversion::paths);
        Ok(paths.into_iter().try_for_each(|path| check_inside(&format!("{name}.make"), path))?)
    }
}

pub(crate) fn is_hexadecimal(text: &str) -> bool {
    text.chars().all(|c| c.is_ascii_hexdigit())
}

impl RemoteFile {
    /// Returns whether the bytes of the download are known.
    pub(crate) fn has_checksum(&self) -> bool {
        self.sha256.is_some() || self.git.is_some()
    }

    /// Returns the entries that are taken, and their places under the data root.
    pub fn targets(&self) -> Vec<(String, String)> {
        let whole = self.to.iter().map(|to| (self.name.clone(), to.clone()));
        let entries = self.entries.iter().map(|(entry, to)| (entry.clone(), to.clone()));
        whole.chain(entries).collect()
    }
}

impl Conversion {
    fn paths(&self) -> Vec<&String> {
        match self {
            Self::Column { from, column: _, to } => vec![from, to],
            Self::TextToMolecule { official, smiles, to } => {
                official.iter().chain(smiles).chain([to]).collect()
            }
            Self::Spectra { from, to, .. } => vec![from, to],
        }
    }
}
