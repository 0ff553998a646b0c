//! Reports of an evaluation: a row a query, the worst queries, curves and comparisons of ranks.
//!
//! All are numbers. Who calls writes them as tables and draws them.
//!
//! ```
//! use dsokr_decode::{Rank, report};
//!
//! let at = |above| Rank::new(above, 1, 100).ok();
//! let (one, two) = ([at(0), at(1), at(40)], [at(0), at(3), None]);
//! let curve = report::hits_curve(&one, 50, 200, 0)?;
//! assert_eq!((curve[0].k, curve[0].hits), (1, 1.0 / 3.0));
//! assert_eq!(curve[49].hits, 1.0);
//! let bins = report::rank_histogram(&one, 1)?.bins;
//! assert_eq!((bins[0].first, bins[0].last, bins[0].queries), (1, 9, 2.0));
//! let comparison = report::compare(&one, &two, 1000, 0)?;
//! assert!(comparison.mrr.difference > 0.0 && comparison.mrr.first_better > 0.9);
//! assert_eq!(report::worst(&two, 2), [2, 1]);
//! # Ok::<(), dsokr_decode::Error>(())
//! ```

mod curve;
mod histogram;
mod paired;
mod reliability;
mod rows;

pub use curve::{HitsPoint, hits_curve};
pub use histogram::{RankBin, RankHistogram, rank_histogram};
pub use paired::{Comparison, Difference, compare};
pub use reliability::{ReliabilityBin, reliability};
pub use rows::{QueryRow, query_rows, worst};
