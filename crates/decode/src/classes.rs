/// Candidates grouped by the distinct row that they share.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Classes {
    /// Row of each candidate.
    pub of: Vec<u32>,
    /// Candidates that share each row.
    pub counts: Vec<u32>,
    /// The candidates of row r: `members[offsets[r]..offsets[r + 1]]`, ascending.
    pub offsets: Vec<usize>,
    pub members: Vec<u32>,
}

impl Classes {
    /// Groups candidates by the rows `0..rows` that `of` gives them.
    pub(crate) fn new(of: Vec<u32>, rows: usize) -> Self {
        let mut counts = vec![0; rows];
        of.iter().for_each(|&row| counts[row as usize] += 1);
        let mut offsets = vec![0];
        offsets.extend(counts.iter().scan(0, |end, &count| {
            *end += count as usize;
            Some(*end)
        }));
        let (mut next, mut members) = (offsets.clone(), vec![0; of.len()]);
        for (candidate, &row) in (0..).zip(&of) {
            let next = &mut next[row as usize];
            members[*next] = candidate;
            *next += 1;
        }
        Self { of, counts, offsets, members }
    }

    /// Candidates of a row, ascending.
    pub(crate) fn members(&self, row: usize) -> &[u32] {
        &self.members[self.offsets[row]..self.offsets[row + 1]]
    }
}
