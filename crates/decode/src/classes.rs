use dsokr_basis::store::Array;

/// Candidates grouped by the distinct row that they share.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Classes {
    /// Row of each candidate.
    pub of: Vec<u32>,
    /// Candidates that share each row.
    pub counts: Vec<u32>,
    /// The candidates of row r: `members[offsets[r]..offsets[r + 1]]`, ascending.
    pub offsets: Array<u64>,
    pub members: Array<u32>,
}

impl Classes {
    /// Groups candidates by the rows `0..rows` that `of` gives them.
    pub(crate) fn new(of: Vec<u32>, rows: usize) -> Self {
        let mut counts = vec![0; rows];
        of.iter().for_each(|&row| counts[row as usize] += 1);
        let mut offsets = vec![0];
        offsets.extend(counts.iter().scan(0, |end, &count| {
            *end += u64::from(count);
            Some(*end)
        }));
        let (mut next, mut members) = (offsets.clone(), vec![0; of.len()]);
        for (candidate, &row) in (0..).zip(&of) {
            let next = &mut next[row as usize];
            members[*next as usize] = candidate;
            *next += 1;
        }
        Self { of, counts, offsets: offsets.into(), members: members.into() }
    }

    /// The groups of `count` candidates that a file holds, or what is wrong with them.
    pub(crate) fn stored(
        offsets: Array<u64>,
        members: Array<u32>,
        rows: usize,
        count: usize,
    ) -> Result<Self, String> {
        const NONE: u32 = u32::MAX;
        if offsets.len() != rows + 1 || members.len() != count {
            return Err(format!(
                "{} row offsets and {} members for {rows} rows and {count} ids",
                offsets.len(),
                members.len()
            ));
        }
        let (mut of, mut counts) = (vec![NONE; count], Vec::with_capacity(rows));
        for row in 0..rows {
            let range = offsets[row] as usize..offsets[row + 1] as usize;
            let Some(listed) = members.get(range) else {
                return Err(format!("row offsets {row} and {} are out of order", row + 1));
            };
            if listed.is_empty() {
                return Err(format!("row {row} has no members"));
            }
            if let Some(pair) = listed.windows(2).find(|pair| pair[1] <= pair[0]) {
                return Err(format!("row {row} has the member {} behind {}", pair[1], pair[0]));
            }
            for &member in listed {
                match of.get_mut(member as usize) {
                    Some(of) if *of == NONE => *of = row as u32,
                    _ => return Err(format!("row {row} has the member {member}")),
                }
            }
            counts.push(listed.len() as u32);
        }
        match of.iter().position(|&row| row == NONE) {
            Some(candidate) => Err(format!("candidate {candidate} belongs to no row")),
            None => Ok(Self { of, counts, offsets, members }),
        }
    }

    /// Candidates of a row, ascending.
    pub(crate) fn members(&self, row: usize) -> &[u32] {
        &self.members[self.offsets[row] as usize..self.offsets[row + 1] as usize]
    }
}
