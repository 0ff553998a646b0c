//! Tables that an id joins: texts in one file, and what they describe in another one.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use dsokr_core::message::shell_word;
use dsokr_data::cells;
use dsokr_data::table::{OnBadRow, Table, TableFormat, TableOptions};
use serde_json::{Number, Value};

use super::guess::labels::parts_of_list;
use super::guess::names::{is_unnamed, names_ids, names_rows, words_of};
use super::guess::numbers::{are_row_numbers, are_shuffled_row_numbers};
use super::kind::Lists;
use super::opened::lists_of;
use super::refuse_present;
use crate::error::Error;
use crate::run_dir::write_text;

/// The smallest share of the first table's rows that a row of another one belongs to.
const SHARED: f64 = 0.5;

/// Tables that have become one.
#[derive(Clone, Debug)]
pub struct Joined {
    /// The file that holds it.
    pub path: PathBuf,
    /// The column of the first table that names the rows of each other one, and the column of that one.
    pub by: Vec<[String; 2]>,
    /// Number of rows of the first table that belong to a row of each other one.
    pub rows: usize,
}

/// A table with all of its columns that have names.
struct Whole {
    path: PathBuf,
    names: Vec<String>,
    /// What the lists of each column of lists hold, by its name.
    lists: HashMap<String, Lists>,
    table: Table,
}

impl Whole {
    /// Reads a table.
    fn read(path: &Path) -> Result<Self, Error> {
        let header = Table::header(path, TableOptions::default())?;
        let lists = lists_of(&header);
        // pandas writes the numbers of the rows without a name
        let names: Vec<String> = header.names.into_iter().filter(|name| !name.is_empty()).collect();
        let each: Vec<&str> = names.iter().map(String::as_str).collect();
        let options = TableOptions {
            on_bad_row: OnBadRow::Skip,
            optional_keys: true,
            ..TableOptions::default()
        };
        let table = Table::read_with(path, &each, options)?;
        Ok(Self { path: path.into(), names, lists, table })
    }

    /// Returns the names and the cells of its columns.
    fn columns(&self) -> Result<Vec<(&str, &[String])>, Error> {
        self.names.iter().map(|name| Ok((name.as_str(), self.table.column(name)?))).collect()
    }

    /// Returns its columns as those of the joined table, but for the one that joins it; `taken` has the names of all of these.
    fn joined(
        &self,
        key: Option<&str>,
        taken: &mut HashSet<String>,
    ) -> Result<Vec<JoinedColumn<'_>>, Error> {
        let mut columns = self.columns()?;
        columns.retain(|&(name, _)| Some(name) != key);
        let column = |(name, cells): (&str, _)| {
            let lists = self.lists.get(name).copied();
            JoinedColumn { name: Value::from(unique(name, taken)).to_string(), cells, lists }
        };
        Ok(columns.into_iter().map(column).collect())
    }
}

/// Returns a name that none of the names in `taken` is like, and adds it to them.
fn unique(name: &str, taken: &mut HashSet<String>) -> String {
    let mut unique = name.to_owned();
    let mut count = 1;
    while !taken.insert(unique.clone()) {
        count += 1;
        unique = format!("{name}_{count}");
    }
    unique
}

/// Returns the row of each id among the cells of a column, without cells that are missing, or the first id that occurs twice.
fn places(cells: &[String]) -> Result<HashMap<&str, usize>, &str> {
    let mut places = HashMap::with_capacity(cells.len());
    for (row, cell) in cells.iter().enumerate() {
        if !cells::is_missing(cell) && places.insert(cell.as_str(), row).is_some() {
            return Err(cell.as_str());
        }
    }
    Ok(places)
}

/// A column of the joined table.
struct JoinedColumn<'t> {
    /// Its name as JSON.
    name: String,
    /// The cells of the column in its own table.
    cells: &'t [String],
    /// What these hold where they are lists.
    lists: Option<Lists>,
}

impl JoinedColumn<'_> {
    /// Returns the entry of a row of its own table in an object of JSON: a list in a column of such lists. Without a row the
    /// text is empty.
    fn entry(&self, row: Option<usize>) -> String {
        let cell = row.map_or("", |row| self.cells[row].as_str());
        let list = match self.lists {
            // no list has such a cell, but a text among lists
            Some(Lists::Texts) if !cells::is_no_class(cell) => {
                Some(Value::from(parts_of_list(cell)))
            }
            Some(Lists::Numbers | Lists::NumbersOrNone) if !cell.is_empty() => {
                numbers_of_list(cell)
            }
            Some(Lists::Texts | Lists::Numbers | Lists::NumbersOrNone) | None => None,
        };
        format!("{}: {}", self.name, list.unwrap_or_else(|| Value::from(cell)))
    }
}

/// Returns the list of the numbers of a cell, which has them with spaces between. None of a text among such lists.
fn numbers_of_list(cell: &str) -> Option<Value> {
    let numbers: Vec<Number> =
        cell.split(' ').map(|part| part.parse::<Number>().ok()).collect::<Option<_>>()?;
    Some(Value::from(numbers))
}

/// What joins a table to the first one.
struct Key<'t> {
    /// The columns of both.
    columns: [String; 2],
    /// The row of each id in the other table.
    places: HashMap<&'t str, usize>,
    /// Number of rows of the first table with one of the ids.
    shared: usize,
}

/// Joins the rows of the first table to those of the others that the same ids name, and writes them as JSON lines.
///
/// # Errors
/// Files that are not tables; no column of the first that names rows of another; a file that is there, unless `force`.
pub fn join(tables: &[PathBuf], to: &Path, force: bool) -> Result<Joined, Error> {
    let whole = tables.iter().map(|path| Whole::read(path)).collect::<Result<Vec<_>, Error>>()?;
    let Some((first, others)) = whole.split_first() else {
        return Err(Error::value("the tables", "none", "at least one"));
    };
    refuse_present(to, force, "remove it")?;
    let keys = others.iter().map(|other| key(first, other)).collect::<Result<Vec<_>, Error>>()?;
    let mut taken = HashSet::new();
    let of_first = first.joined(None, &mut taken)?;
    let mut of_others = Vec::with_capacity(others.len());
    for (other, Key { columns: [mine, theirs], places, .. }) in others.iter().zip(&keys) {
        let ids = first.table.column(mine)?;
        of_others.push((ids, places, other.joined(Some(theirs.as_str()), &mut taken)?));
    }
    let mut text = String::new();
    let mut rows = 0;
    for row in 0..first.table.len() {
        let mut entries: Vec<String> =
            of_first.iter().map(|column| column.entry(Some(row))).collect();
        let mut complete = true;
        for (ids, places, columns) in &of_others {
            let place = places.get(ids[row].as_str()).copied();
            complete &= place.is_some();
            entries.extend(columns.iter().map(|column| column.entry(place)));
        }
        rows += usize::from(complete);
        text += &format!("{{{}}}\n", entries.join(", "));
    }
    write_text(to, &text)?;
    Ok(Joined { path: to.into(), by: keys.into_iter().map(|key| key.columns).collect(), rows })
}

/// A column of ids that both tables have. Rows that belong together have the same id there, whatever joins them.
struct Witness<'t> {
    name: &'t str,
    /// The cells of the first table and of the other one.
    cells: [&'t [String]; 2],
}

/// Returns whether cells count the rows of their table.
fn are_counted(cells: &[String]) -> bool {
    are_shuffled_row_numbers(&cells.iter().map(String::as_str).collect::<Vec<_>>())
}

/// Returns whether two columns may number the rows of their tables, each for itself: by their names, or since one counts its rows
/// and they are not of the same name of ids, as `post_id` is. `cells` are those of the two columns.
fn may_number_rows(columns: &[String; 2], cells: [&[String]; 2]) -> bool {
    let is_name_of_rows = |name: &String| names_rows(name) || is_unnamed(name);
    let is_named = columns.iter().any(is_name_of_rows);
    let are_ids = columns[0] == columns[1] && names_ids(&columns[0]);
    is_named || (!are_ids && cells.into_iter().any(are_counted))
}

/// Returns the columns of ids that two tables have, at least half of whose ids in the first are in the other. Columns that only
/// count the rows of a table are none of them.
fn witnesses<'t>(
    mine: &[(&'t str, &'t [String])],
    theirs: &[(&'t str, &'t [String])],
    least: f64,
) -> Vec<Witness<'t>> {
    let mut witnesses = Vec::new();
    for &(name, of_first) in mine {
        let Some(&(_, of_other)) = theirs.iter().find(|&&(other, _)| other == name) else {
            continue;
        };
        if !names_ids(name) || names_rows(name) || are_counted(of_first) || are_counted(of_other) {
            continue;
        }
        let ids: HashSet<&str> = of_other.iter().map(String::as_str).collect();
        let is_shared =
            |cell: &&String| !cells::is_missing(cell.as_str()) && ids.contains(cell.as_str());
        if of_first.iter().filter(is_shared).count() as f64 >= least {
            witnesses.push(Witness { name, cells: [of_first, of_other] });
        }
    }
    witnesses
}

/// Returns the first column in which most of the rows that a key joins have different ids, if more columns speak against the key than
/// for it; `ids` are the cells of the first table in the column that joins. Ids that are no whole numbers are shared by no chance.
fn contradiction<'t>(key: &Key, ids: &[String], witnesses: &[Witness<'t>]) -> Option<&'t str> {
    let is_whole = |id: &str| id.strip_suffix(".0").unwrap_or(id).parse::<u64>().is_ok();
    let mut joined: Vec<[usize; 2]> = Vec::with_capacity(key.shared);
    for (row, id) in ids.iter().enumerate() {
        let Some(&place) = key.places.get(id.as_str()) else { continue };
        if !is_whole(id) {
            return None;
        }
        joined.push([row, place]);
    }
    let mut against = Vec::new();
    let mut agreeing = 0;
    for &Witness { name, cells: [of_first, of_other] } in witnesses {
        if key.columns.iter().all(|column| column == name) {
            continue;
        }
        let both = joined.iter().map(|&[row, place]| [&of_first[row], &of_other[place]]);
        let known: Vec<[&String; 2]> =
            both.filter(|both| !both.iter().any(|cell| cells::is_missing(cell))).collect();
        let different = known.iter().filter(|[first, other]| first != other).count();
        if 2 * different > known.len() {
            against.push(name);
        } else if !known.is_empty() {
            agreeing += 1;
        }
    }
    against.first().copied().filter(|_| against.len() > agreeing)
}

/// Returns whether a column has the name of ids of the things in a file, as `post_id` and `PostId` have of `posts.csv`.
fn names_things_of(column: &str, file: &Path) -> bool {
    let words = words_of(column);
    let thing = words[..words.len().saturating_sub(1)].concat();
    let file = file.file_name().map_or(String::new(), |name| name.to_string_lossy().to_lowercase());
    names_ids(column) && !thing.is_empty() && file.replace(['_', '-'], "").starts_with(&thing)
}

/// Returns the columns that join two tables: of the same name, if such join at least half of the rows and do not only count the
/// rows of the first, else those that join most. Columns that may number the rows of each table are none where they join rows with
/// different ids in another column of both.
fn key<'t>(first: &Whole, other: &'t Whole) -> Result<Key<'t>, Error> {
    let least = SHARED * first.table.len() as f64;
    let mine = first.columns()?;
    let theirs = other.columns()?;
    let witnesses = witnesses(&mine, &theirs, least);
    let mut contradicted: Option<(String, &str)> = None;
    let mut counting = HashSet::new();
    for &(name, cells) in &mine {
        if are_row_numbers(1, &cells.iter().map(String::as_str).collect::<Vec<_>>()) {
            counting.insert(name);
        }
    }
    // numbers of rows share values with any column of small numbers
    let rank = |shared: usize, columns: &[String; 2]| {
        let is_same = columns[0] == columns[1];
        let is_id = is_same && !counting.contains(columns[0].as_str()) && shared as f64 >= least;
        (is_id, shared, is_same)
    };
    let mut best: Option<Key> = None;
    for &(name, of_other) in &theirs {
        let Ok(places) = places(of_other) else { continue };
        for &(mine, cells) in &mine {
            let shared = cells.iter().filter(|cell| places.contains_key(cell.as_str())).count();
            let columns = [mine.to_owned(), name.to_owned()];
            let better = best
                .as_ref()
                .is_none_or(|best| rank(shared, &columns) > rank(best.shared, &best.columns));
            if !better {
                continue;
            }
            let key = Key { columns, places: places.clone(), shared };
            let is_foreign = (names_rows(name) && names_things_of(mine, &other.path))
                || (names_rows(mine) && names_things_of(name, &first.path));
            let different = if !is_foreign && may_number_rows(&key.columns, [cells, of_other]) {
                contradiction(&key, cells, &witnesses)
            } else {
                None
            };
            match different {
                Some(different) => {
                    contradicted.get_or_insert_with(|| (mine.to_owned(), different));
                }
                None => best = Some(key),
            }
        }
    }
    match best {
        Some(best) if best.shared as f64 >= least => Ok(best),
        best => {
            let shared = best.map_or(0, |best| best.shared);
            Err(missing_key(
                [first, other],
                shared,
                repeated_id(first, other, least)?,
                contradicted,
            ))
        }
    }
}

/// Returns the error for tables of which no column joins at least half of the rows, but one so many: since a column has an id several
/// times (`repeated`), or another one speaks against a column (`contradicted`), where such columns are known.
fn missing_key(
    [first, other]: [&Whole; 2],
    shared: usize,
    repeated: Option<(&str, &str)>,
    contradicted: Option<(String, &str)>,
) -> Error {
    let key = "ids that join the tables";
    let named = other.path.display();
    let path = first.path.display();
    if let Some((column, id)) = repeated {
        let found = format!("{id:?} in several rows of the column {column:?} of {named}");
        return Error::value(key, found, "each id once");
    }
    let allowed = format!(
        "a column of {path} whose cells are ids in a column of {named}, for at least half of the rows"
    );
    if let Some((column, different)) = contradicted {
        let found = format!("{column:?}, whose rows have different ids in {different:?}");
        let allowed = format!(
            "{allowed}; rename one of the two columns {different:?} if they are different things"
        );
        return Error::value(key, found, allowed);
    }
    // as files of a set that is divided among several have
    let are_parts = first.names == other.names;
    let remedy = if are_parts {
        format!(
            "; both have the same columns: where each has a part of the rows, put these into one table{}",
            concatenation([&first.path, &other.path])
        )
    } else {
        String::new()
    };
    Error::value(key, format!("{shared} rows"), format!("{allowed}{remedy}"))
}

/// Returns the line of a shell, behind a colon, that puts the rows of tables into one; nothing of compressed ones.
fn concatenation(paths: [&Path; 2]) -> String {
    let [first, _] = paths;
    let extension = first.extension().unwrap_or_default().to_string_lossy().to_lowercase();
    let Some(format) = TableFormat::from_path(first).filter(|_| extension != "gz") else {
        return String::new();
    };
    let files = paths.map(|path| shell_word(&path.display().to_string())).join(" ");
    if !format.is_text() {
        return format!(
            ": python3 -c \"import pandas, sys; pandas.concat(map(pandas.read_{extension}, sys.argv[2:]), \
             ignore_index=True).to_{extension}(sys.argv[1])\" all.{extension} {files}"
        );
    }
    // the names of the columns stand in the first table alone
    let command = if format.rows.has_separators() { "awk 'FNR > 1 || NR == 1'" } else { "cat" };
    format!(": {command} {files} > all.{extension}")
}

/// Returns the column of the other table that has an id several times and would otherwise join so many rows of the first, and
/// the id; of several such columns the one with the most different ids.
fn repeated_id<'t>(
    first: &Whole,
    other: &'t Whole,
    least: f64,
) -> Result<Option<(&'t str, &'t str)>, Error> {
    let differ = |cells: &[String]| 2 * cells.iter().collect::<HashSet<_>>().len() > cells.len();
    let mut best: Option<(usize, &str, &str)> = None;
    let mine = first.columns()?;
    for (name, cells) in other.columns()? {
        let Err(id) = places(cells) else { continue };
        let ids = cells.iter().map(String::as_str);
        let ids: HashSet<&str> = ids.filter(|id| !cells::is_missing(id)).collect();
        for &(mine, cells) in &mine {
            let shared = cells.iter().filter(|cell| ids.contains(cell.as_str())).count();
            // a few values that recur everywhere are no ids
            let are_ids = 2 * ids.len() > other.table.len() || (mine == name && differ(cells));
            let are_more = best.is_none_or(|(count, ..)| ids.len() > count);
            if are_ids && are_more && shared as f64 >= least {
                best = Some((ids.len(), name, id));
            }
        }
    }
    Ok(best.map(|(_, name, id)| (name, id)))
}
