/// How much of a hub each distinct candidate row is: `h(c)`, the mean of the k largest similarities
/// `⟨z_i, ψ̃(c)⟩` over predictions z_i of training queries.
///
/// In many dimensions some points are near everything, and win queries that they have nothing to do
/// with. Scores with the constant `b(c) − w h(c)` in the place of b(c) take that from them: the
/// cross-domain similarity local scaling of Conneau et al. (2018), whose term of the query itself
/// changes no ranks. A weight of 0.5 and 10 neighbours raise the validation MRR on ChEBI-20 with
/// tempered Mol2vec from .38 to .41.
///
/// Two promises are the caller's. The predictions have not seen their own targets (leave-one-out or
/// cross-fitted): others lie on their targets, which become hubs whatever they are. And all
/// predictions, these and the queries that are decoded, are on one scale, for h(c) is subtracted from
/// scores of both long and short ones: give both at unit length ([`Queries::normalised`](crate::Queries::normalised)), which takes
/// candidates of a normalised kernel, whose other constants are 0.
///
/// The means do not depend on the weight, so that it is chosen on validation queries without computing
/// them again:
///
/// ```
/// use dsokr_decode::{CandidateParts, Candidates, Hubs, Queries, top_k};
///
/// let ids = ["hub", "other"].map(String::from).to_vec();
/// let coordinates = vec![1.0, 1.0, 0.0, 1.0];
/// let mut candidates =
///     Candidates::new(CandidateParts { ids, dim: 2, coordinates, ..CandidateParts::default() })?;
/// let held_out = [1.0, 0.0, 0.75, 0.5, 0.5, 0.75];
/// let hubs = Hubs::of(&Queries::new(2, &held_out)?, &candidates, 2)?;
/// assert_eq!(hubs.means(), [1.25, 0.625]);
///
/// let query = Queries::new(2, &[0.25, 1.0])?;
/// let mut winners = Vec::new();
/// for weight in [0.0, 0.5] {
///     candidates = candidates.with_hubs(hubs.clone(), weight)?;
///     winners.push(candidates.id(top_k(&query, &candidates, 1)?[0][0].candidate).to_owned());
/// }
/// assert_eq!(winners, ["hub", "other"]);
/// # Ok::<(), dsokr_decode::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Hubs {
    neighbours: usize,
    means: Vec<f32>,
}

impl Hubs {
    /// Means that were computed before.
    pub(crate) fn new(neighbours: usize, means: Vec<f32>) -> Self {
        Self { neighbours, means }
    }

    /// k, how many similarities a mean is of.
    pub fn neighbours(&self) -> usize {
        self.neighbours
    }

    /// h(c) of all distinct rows.
    pub fn means(&self) -> &[f32] {
        &self.means
    }
}

/// A correction of the constants of candidates, and what they were before.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Correction {
    pub hubs: Hubs,
    pub weight: f32,
    pub before: Vec<f32>,
}

impl Correction {
    /// `b(c) − w h(c)`.
    pub(crate) fn constants(&self) -> Vec<f32> {
        let pairs = self.before.iter().zip(&self.hubs.means);
        pairs
            .map(|(b, h)| (f64::from(*b) - f64::from(self.weight) * f64::from(*h)) as f32)
            .collect()
    }
}
