//! All queries and all candidates, tile by tile.

use std::ops::Range;

use dsokr_basis::{Cancellation, Processes};
use rayon::prelude::*;

use super::pass::{Buffers, Pass, Span};
use super::reduce::Reduce;
use super::tile::{Blocking, QueryTile};
use crate::{CandidateBlocks, Error, Queries};

/// Visits all scores: every candidate is fetched by spans, every span meets every tile of queries. Of several
/// [`Processes`] each visits the scores of its part of the candidates, and an error of one is that of all.
///
/// `start` makes what takes in the scores of a tile with a span, on the threads of the current rayon pool, in no
/// particular order.
pub(crate) fn scan<R: Reduce<f32>>(
    queries: &Queries,
    tiles: &[QueryTile],
    candidates: &dyn CandidateBlocks,
    blocking: Blocking,
    start: impl Fn(&QueryTile) -> R + Sync,
) -> Result<(), Error> {
    let open = |span, strip: Range<usize>| {
        let coded = tiles[strip].iter().any(|tile| tile.codes().is_some());
        Span::new(candidates, span, coded)
    };
    each_span(
        candidates.scored(),
        tiles.len(),
        blocking,
        open,
        |span, at, buffers: &mut Buffers| {
            let tile = &tiles[at];
            let (mut reducer, mut pass) =
                (start(tile), Pass::new(tile, span, blocking.rows, buffers));
            match pass.coded() && reducer.ready() {
                true => reducer.decide(&mut pass)?,
                false => pass.each(|mut scores| match scores.reduce(&mut reducer) {
                    true => Ok(()),
                    false => scores.not_finite(queries, tile),
                })?,
            }
            reducer.finish();
            Ok(())
        },
    )
}

/// Calls `open` for each span of the candidates that this process scores, in the given parts, and `visit` with it for
/// each tile of queries. A span is opened once for each of its [`tasks`].
pub(crate) fn each_span<T, B: Default>(
    parts: Vec<Range<usize>>,
    tiles: usize,
    blocking: Blocking,
    open: impl Fn(Range<usize>, Range<usize>) -> Result<T, Error> + Sync,
    visit: impl Fn(&T, usize, &mut B) -> Result<(), Error> + Sync,
) -> Result<(), Error> {
    let cancellation = Cancellation::current();
    let parts = parts.into_iter();
    let all: Vec<_> = parts.flat_map(|part| tasks(part, tiles, blocking)).collect();
    let scanned = all.into_par_iter().try_for_each_init(B::default, |buffers, (span, strip)| {
        let span = open(span, strip.clone())?;
        strip.into_iter().try_for_each(|tile| {
            cancellation.check()?;
            visit(&span, tile, buffers)
        })
    });
    Processes::current().agree(scanned)
}

/// Spans of candidate rows, each with the tiles of queries that it meets at once.
///
/// A span meets all tiles, unless there are so few spans that the tiles have to be split for all
/// threads of the current rayon pool to have work.
fn tasks(
    rows: Range<usize>,
    tiles: usize,
    blocking: Blocking,
) -> Vec<(Range<usize>, Range<usize>)> {
    let spans = rows.len().div_ceil(blocking.span);
    let strips = (8 * rayon::current_num_threads()).div_ceil(spans.max(1)).min(tiles);
    let per_strip = tiles.div_ceil(strips.max(1)).max(1);
    let span = |start: usize| start..(start + blocking.span).min(rows.end);
    let strip = |start: usize| start..(start + per_strip).min(tiles);
    rows.clone()
        .step_by(blocking.span)
        .flat_map(|first| (0..tiles).step_by(per_strip).map(move |tile| (span(first), strip(tile))))
        .collect()
}
