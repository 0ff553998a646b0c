//! What an evaluation measures: the list of metrics, the scores of each kind of output, and the tables that hold them.

pub(crate) mod areas;
pub(crate) mod classes;
pub mod compare;
pub(crate) mod constants;
pub(crate) mod evaluation;
pub(crate) mod exchange;
pub(crate) mod labels;
pub(crate) mod mean;
pub(crate) mod metric;
pub(crate) mod molecules;
pub(crate) mod quantiles;
pub(crate) mod queries;
pub(crate) mod rankings;
pub(crate) mod regression;
pub(crate) mod scores;
pub(crate) mod structures;
pub mod table;
