use std::path::PathBuf;

/// Everything that can go wrong in this crate; each variant carries the offending values.
///
/// Queries and candidates are named by their ids where they have one, else as `#` and their
/// position from 0.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file of candidates could not be read or written.
    #[error(transparent)]
    Store(#[from] dsokr_basis::Error),
    /// The parts of a candidate file contradict one another.
    #[error("{}: {reason}", path.display())]
    BadFile {
        /// The file.
        path: PathBuf,
        /// What contradicts what.
        reason: String,
    },
    /// The operating system refused to read a file.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// Two lists that belong together have different lengths.
    #[error("{found} {what}, expected {expected}")]
    Length {
        /// What there are too few or too many of.
        what: &'static str,
        /// How many there are.
        found: usize,
        /// How many are needed.
        expected: usize,
    },
    /// Coordinates of zero dimensions.
    #[error("{what} of dimension 0, at least 1 is needed")]
    ZeroDimension {
        /// Whose coordinates.
        what: &'static str,
    },
    /// A number of values that is not a whole number of rows.
    #[error("{what}: {values} values are not a whole number of rows of {dim}")]
    Ragged {
        /// Whose coordinates.
        what: &'static str,
        /// Number of values.
        values: usize,
        /// Values in a row.
        dim: usize,
    },
    /// A prediction is NaN or infinite.
    #[error("query {query}, coordinate {column}: {value} is not a finite number")]
    QueryNotFinite {
        /// The query.
        query: String,
        /// Coordinate, from 0.
        column: usize,
        /// Its value.
        value: f32,
    },
    /// A coordinate of a candidate is NaN or infinite.
    #[error("candidate row {row}, coordinate {column}: {value} is not a finite number")]
    CandidateNotFinite {
        /// Distinct row, from 0.
        row: usize,
        /// Coordinate, from 0.
        column: usize,
        /// Its value.
        value: f32,
    },
    /// The constant of a candidate is NaN or infinite.
    #[error("candidate row {row}: constant {value} is not a finite number")]
    ConstantNotFinite {
        /// Distinct row, from 0.
        row: usize,
        /// The constant.
        value: f32,
    },
    /// A score is NaN or infinite: the product overflowed, or a streamed block holds such a number.
    #[error("query {query}, candidate row {row}: score {score} is not a finite number")]
    ScoreNotFinite {
        /// The query.
        query: String,
        /// Distinct row, from 0.
        row: usize,
        /// The score.
        score: f32,
    },
    /// There are no candidates.
    #[error("no candidates, at least 1 is needed")]
    NoCandidates,
    /// More candidates than indices can count.
    #[error("{found} candidates, allowed: 1..={}", u32::MAX)]
    TooManyCandidates {
        /// How many there are.
        found: u64,
    },
    /// More candidates share a distinct row than a file can count.
    #[error("{found} candidates share the distinct row {row}, a file can hold at most {most}")]
    TooManyMembers {
        /// The row, from 0.
        row: usize,
        /// How many candidates share it.
        found: u32,
        /// How many may.
        most: u32,
    },
    /// Two candidates have the same id.
    #[error("candidates {first} and {second} have the same id {id:?}")]
    DuplicateCandidate {
        /// The id.
        id: String,
        /// Index of the first of the two, from 0.
        first: usize,
        /// Index of the second, from 0.
        second: usize,
    },
    /// A candidate belongs to a distinct row that does not exist.
    #[error("candidate {candidate:?} is of class {class}, but there are {rows} distinct rows")]
    ClassOutOfRange {
        /// Id of the candidate.
        candidate: String,
        /// Its class.
        class: u32,
        /// Number of distinct rows.
        rows: usize,
    },
    /// Classes are not numbered in the order in which they first appear.
    #[error(
        "candidate {candidate:?} is of class {class}, expected at most {expected}: \
         classes are numbered in the order in which they first appear"
    )]
    ClassOrder {
        /// Id of the candidate.
        candidate: String,
        /// Its class.
        class: u32,
        /// The next class that could appear.
        expected: u32,
    },
    /// A distinct row that no candidate belongs to.
    #[error("distinct row {row} belongs to no candidate")]
    UnusedRow {
        /// The row, from 0.
        row: usize,
    },
    /// Queries and candidates have coordinates of different dimensions.
    #[error("queries of dimension {queries}, candidates of dimension {candidates}")]
    DimensionMismatch {
        /// Dimension of the queries.
        queries: usize,
        /// Dimension of the candidates.
        candidates: usize,
    },
    /// Rows outside of a set of candidates were asked for.
    #[error("rows {start}..{end} of {rows} distinct candidate rows")]
    RowRange {
        /// First row.
        start: usize,
        /// One after the last row.
        end: usize,
        /// Number of distinct rows.
        rows: usize,
    },
    /// A source of blocks returned one of the wrong size.
    #[error("block of candidate rows {start}..{end}: {found} {what}, expected {expected}")]
    BlockShape {
        /// What there are too few or too many of.
        what: &'static str,
        /// First row.
        start: usize,
        /// One after the last row.
        end: usize,
        /// How many there are.
        found: usize,
        /// How many are needed.
        expected: usize,
    },
    /// The row of a gold candidate does not exist.
    #[error("query {query}: gold row {row}, but there are {rows} distinct rows")]
    GoldRow {
        /// The query.
        query: String,
        /// The gold row.
        row: u32,
        /// Number of distinct rows.
        rows: usize,
    },
    /// The gold candidate of a query is not among its candidates.
    #[error("query {query}: its gold candidate {gold} is not among its candidates")]
    MissingGold {
        /// The query.
        query: String,
        /// The gold candidate: its id, or `row` and its distinct row.
        gold: String,
    },
    /// The top 0 were asked for.
    #[error("the top 0 candidates were asked for, at least 1 is needed")]
    TopZero,
    /// More of the best candidates were asked for than there are.
    #[error("the top {k} of {candidates} candidates were asked for{}", for_query(query))]
    TopTooLarge {
        /// How many were asked for.
        k: usize,
        /// How many there are.
        candidates: u64,
        /// The query, where each has its own candidates.
        query: Option<String>,
    },
    /// A line of a file of candidate lists is not what it should be.
    #[error(
        "{}:{line}: {reason}; expected {{\"query\": \"id\", \"candidates\": [\"id\", ...]}}",
        path.display()
    )]
    BadLine {
        /// The file.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// What the JSON reader said.
        reason: String,
    },
    /// A list names a candidate that does not exist.
    #[error("{}:{line}: query {query:?} lists the unknown candidate {candidate:?}", path.display())]
    UnknownCandidate {
        /// The file.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// The query.
        query: String,
        /// Id of the candidate.
        candidate: String,
    },
    /// A list names a candidate twice.
    #[error("{}:{line}: query {query:?} lists the candidate {candidate:?} twice", path.display())]
    ListedTwice {
        /// The file.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// The query.
        query: String,
        /// Id of the candidate.
        candidate: String,
    },
    /// A list is empty.
    #[error("{}:{line}: query {query:?} has no candidates, at least 1 is needed", path.display())]
    EmptyList {
        /// The file.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// The query.
        query: String,
    },
    /// A query has two lists.
    #[error("{}:{line}: query {query:?} has a list in line {first} already", path.display())]
    RepeatedQuery {
        /// The file.
        path: PathBuf,
        /// Line of the second list, from 1.
        line: usize,
        /// The query.
        query: String,
        /// Line of the first list, from 1.
        first: usize,
    },
    /// A query has no list.
    #[error("{}: no list of candidates for query {query:?}", path.display())]
    NoList {
        /// The file.
        path: PathBuf,
        /// The query.
        query: String,
    },
    /// A list in memory is empty, out of range or repeats a candidate.
    #[error("candidate list {list}: {reason}")]
    BadList {
        /// Position of the list, from 0.
        list: usize,
        /// What is wrong with it.
        reason: String,
    },
    /// A number of items that cannot be ranked, or not exactly.
    #[error("{found} items, allowed: 1..={most}")]
    Items {
        /// How many there are.
        found: usize,
        /// The most that are taken.
        most: usize,
    },
    /// A weight of a pair, a position or a label is NaN or infinite.
    #[error("weight {at}: {value} is not a finite number")]
    WeightNotFinite {
        /// Which weight, from 0.
        at: usize,
        /// Its value.
        value: f32,
    },
    /// An order of items that names one twice, or one that does not exist.
    #[error(
        "position {position}: item {item} of {items}, numbered from 0, is unknown or ranked already"
    )]
    BadOrder {
        /// Position in the order, from 0.
        position: usize,
        /// The item.
        item: u32,
        /// Number of items.
        items: usize,
    },
    /// A basis that holds anchors or is tempered has no direction in feature space.
    #[error(
        "the basis of the kernel {kernel:?} holds anchors or is tempered; without candidates only \
         kernels that are linear in features are decoded"
    )]
    NotLinear {
        /// The kernel.
        kernel: String,
    },
    /// The rows of a basis are not those of rankings.
    #[error("rows of width {width}; rankings of K items have rows of {expected}")]
    NotRankings {
        /// Width of the rows.
        width: usize,
        /// What rows of rankings are.
        expected: &'static str,
    },
    /// Hub means of no neighbours, or of more than there are predictions.
    #[error("{found} neighbours of {predictions} predictions, allowed: 1 to {predictions}")]
    Neighbours {
        /// Neighbours asked for.
        found: usize,
        /// Number of predictions.
        predictions: usize,
    },
    /// The weight of a hub correction is out of range.
    #[error("hub weight {value}, allowed: finite numbers from 0")]
    HubWeight {
        /// The value.
        value: f32,
    },
    /// Sizes of label sets that are none, or more than there are labels.
    #[error("sets of {start}..={end} labels, allowed: sizes within 0..={labels}, at least one")]
    SetSizes {
        /// Smallest size.
        start: usize,
        /// Largest size.
        end: usize,
        /// Number of labels.
        labels: usize,
    },
    /// The three numbers of a rank contradict one another.
    #[error(
        "rank with {above} above and {tied} tied of {pool}: needs 1 <= tied and above + tied <= pool"
    )]
    BadRank {
        /// Candidates above the gold one.
        above: u64,
        /// Candidates tied with it, itself included.
        tied: u64,
        /// Candidates in all.
        pool: u64,
    },
    /// An ensemble without members.
    #[error("an ensemble of no members, at least 1 is needed")]
    NoMembers,
    /// Queries and candidates of one member of an ensemble do not go together, or cannot be scored.
    #[error("ensemble member {member}: {source}")]
    Member {
        /// The member.
        member: String,
        /// What is wrong with it.
        source: Box<Error>,
    },
    /// Members of an ensemble predict for different queries.
    #[error("query {at} is {expected} for ensemble member {first} and {found} for {member}")]
    MemberQueries {
        /// The first member.
        first: String,
        /// The member that differs from it.
        member: String,
        /// Position of the first query that differs, from 0.
        at: usize,
        /// The query of the first member, or that there is none.
        expected: String,
        /// The query of the other member, or that there is none.
        found: String,
    },
    /// Members of an ensemble have different candidates.
    #[error("candidate {id:?} of ensemble member {has} is not a candidate of {lacks}")]
    MemberCandidates {
        /// Id of the first candidate that only one of the two has.
        id: String,
        /// The member that has it.
        has: String,
        /// The member that lacks it.
        lacks: String,
    },
    /// Scores that are not comparable are combined as they are.
    #[error(
        "the rule {rule:?} combines scores, but the kernel of ensemble member {member} is not \
         normalised: standardise the scores or combine ranks"
    )]
    Unnormalised {
        /// The rule.
        rule: &'static str,
        /// The first member whose kernel is not normalised.
        member: String,
    },
    /// Not one weight a member.
    #[error("{found} weights for {members} ensemble members")]
    WeightCount {
        /// How many weights there are.
        found: usize,
        /// How many members there are.
        members: usize,
    },
    /// A weight of an ensemble member is negative, infinite or NaN.
    #[error("weight {value} of ensemble member {member}, allowed: 0 and above")]
    MemberWeight {
        /// The member.
        member: String,
        /// Its weight.
        value: f64,
    },
    /// The weights of an ensemble do not sum to one.
    #[error("the weights of the ensemble sum to {sum}, expected 1 within {tolerance}")]
    WeightSum {
        /// What they sum to.
        sum: f64,
        /// How far from 1 they may be.
        tolerance: f64,
    },
    /// Weights are to be fitted for a rule that has none.
    #[error("the rule {rule:?} has no weights")]
    NoWeights {
        /// The rule.
        rule: &'static str,
    },
    /// The constant of reciprocal rank fusion is not above 0.
    #[error("reciprocal rank constant {found}, allowed: above 0 and finite")]
    RankConstant {
        /// Its value.
        found: f64,
    },
    /// A histogram of ranks without bins.
    #[error("{found} bins a decade of ranks, allowed: 1..={most}")]
    Bins {
        /// How many bins a decade were asked for.
        found: u32,
        /// The most that are taken.
        most: u32,
    },
    /// A candidate of a report does not exist.
    #[error("query {query:?}: candidate {candidate} of {candidates} candidates")]
    ReportedCandidate {
        /// The query.
        query: String,
        /// Index of the candidate.
        candidate: usize,
        /// Number of candidates.
        candidates: usize,
    },
    /// Metrics of no queries were asked for.
    #[error("no queries, at least 1 is needed")]
    NoQueries,
    /// Too few bootstrap resamples for a 95 % interval.
    #[error("{found} bootstrap resamples, at least {least} are needed")]
    TooFewResamples {
        /// How many were asked for.
        found: usize,
        /// The least that give an interval.
        least: usize,
    },
}

fn for_query(query: &Option<String>) -> String {
    query.as_ref().map_or_else(String::new, |query| format!(" for query {query}"))
}
