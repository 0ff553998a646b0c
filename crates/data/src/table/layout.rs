//! How the fields of a stream are divided, as its first bytes say.

use std::io::Read;

use super::formats::TextFormat;
use super::lines::Lines;
use super::record::Dialect;
use super::separators::{blanks_follow, have_names_of_rows, separator, separator_divides_all};
use crate::error::Error;

/// The names of columns of fields that a separator divides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Header {
    /// The first record.
    FirstRecord,
    /// The reader: its columns are all that there are.
    Columns,
    /// The columns are named by their position: `column_1`, `column_2` and so on.
    Places,
}

/// How a stream is written, as its first bytes say.
#[derive(Clone, Copy)]
pub(super) struct Layout {
    pub(super) format: TextFormat,
    /// How the fields of [`TextFormat::Commas`] are divided and quoted.
    pub(super) dialect: Dialect,
    /// The names of the columns: those of the reader where no separator divides fields.
    pub(super) header: Header,
    /// Number of lines before the header that are comments.
    pub(super) comments: usize,
    /// Whether each row has a name of its own before its fields, which the header does not name.
    pub(super) has_row_names: bool,
}

impl Layout {
    /// Looks at the first bytes of a stream, and takes the lines before the names of the columns.
    pub(super) fn detect<R: Read>(
        lines: &mut Lines<R>,
        format: TextFormat,
        header: Header,
    ) -> Result<Self, Error> {
        if !format.has_separators() {
            let dialect = Dialect::default();
            let header = Header::Columns;
            return Ok(Self { format, dialect, header, comments: 0, has_row_names: false });
        }
        lines.check_start()?;
        let has_names = header != Header::Columns;
        let is_first_names = header == Header::FirstRecord;
        let has_tabs = format == TextFormat::Tabs;
        let comments = if has_names { lines.skip_comments(has_tabs, is_first_names)? } else { 0 };
        let stated = if has_names { lines.stated_separator()? } else { None };
        let separator = match stated {
            Some(stated) => stated,
            None => separator(lines.first_bytes()?),
        };
        let (format, separator, escapes) = match format {
            // a .tsv file that others separate all of its lines by has the wrong extension
            TextFormat::Tabs
                if lines.lacks_tabs()?
                    && separator_divides_all(lines.first_bytes()?, separator) =>
            {
                (TextFormat::Commas, separator, false)
            }
            // as R writes them
            TextFormat::Tabs if has_names && lines.quotes_all()? => {
                (TextFormat::Commas, b'\t', true)
            }
            format => (format, separator, false),
        };
        let mut dialect = Dialect { separator, escapes, skips_blanks: false };
        if has_names && format == TextFormat::Commas {
            dialect.skips_blanks = blanks_follow(lines.first_bytes()?, dialect);
        }
        let is_tabbed = format == TextFormat::Tabs || separator == b'\t';
        let has_row_names = is_first_names
            && is_tabbed
            && have_names_of_rows(lines.first_bytes()?, Dialect { separator: b'\t', ..dialect });
        Ok(Self { format, dialect, header, comments, has_row_names })
    }
}
