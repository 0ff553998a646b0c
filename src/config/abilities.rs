//! What the rest of the program asks of a learner.

use dsokr_data::InputKind;

use crate::encoders::WordsRead;

/// The inputs, needs and predictions of a learner, by its settings. Everything that treats learners differently asks
/// these, and not which learner it is.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Abilities<'a> {
    /// The kind of inputs that it reads (default: texts).
    pub reads: InputKind,
    /// Whether the texts that it reads must be mass spectra (default: false).
    pub spectra: bool,
    /// Whether these spectra must name the formula of their molecule (default: false).
    pub formulas: bool,
    /// How far it reads texts by their words (default: not at all).
    pub words: WordsRead,
    /// Whether its fit weighs training pairs by the weights of their files (default: false),
    /// [`Split::weights`](dsokr_data::Split::weights).
    pub weighs_pairs: bool,
    /// The levels, if its coordinates are quantiles (default: none, coordinates are points of a feature space).
    pub levels: Option<&'a [f64]>,
    /// Whether it can be fitted on the CPU only (default: false).
    pub needs_cpu: bool,
    /// Whether several processes can share its fit, those that [`Request::run_shared`](crate::Request::run_shared) is given (default:
    /// false). All of them make the targets and fit; only rank 0 writes, and what the fit returns to the others is
    /// not used.
    pub shares_training: bool,
    /// Whether it is trained in steps as `[training]` says, with evaluations between them (default: false). A fit
    /// without steps is quick: `dsokr sketch` makes one for every sketch size.
    pub trains_in_steps: bool,
    /// Whether its fit looks at validation pairs (default: false).
    pub needs_validation: bool,
    /// What its fit chooses on validation pairs, as the beginning of a sentence such as "checkpoints are" (default: nothing).
    pub chosen_on_validation: Option<&'static str>,
    /// What its fit chooses by predictions for training inputs that it has not seen, likewise (default: nothing).
    pub chosen_on_held_out: Option<&'static str>,
    /// The predictions for training inputs that it has not seen which its fit leaves (default: none; where they are needed, it
    /// is prepared and fitted anew without parts of the pairs).
    pub held_out: HeldOutPredictions,
    /// Whether it finds the weights of several output kernels, `output.weights` (default: false).
    pub weighs_kernels: bool,
    /// Whether its predictions are weights of the training outputs where these are not sketched, `sketch.full` (default:
    /// false, they are feature rows).
    pub weighs_outputs: bool,
    /// Whether it chooses the coordinates of its targets itself (default: false); then no sketch can be studied.
    pub learns_targets: bool,
    /// Whether outputs that belong to no pair are sketched too (default: false).
    pub sketches_unlabelled: bool,
}

/// Predictions for training inputs by models that were not fitted to their pair, which a learner gives at less than the cost
/// of further fits. A learner that gives one kind gives the kinds before it, too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum HeldOutPredictions {
    /// None: `decoding.hubs`, `decoding.held_out` and `decoding.reranker` have it fitted anew.
    #[default]
    None,
    /// For training pairs, [`Fitted::held_out`](crate::Fitted::held_out), where `decoding` needs them; a reranker has it
    /// fitted anew without each fold.
    Pairs,
    /// By models that were fitted without a fold of the pairs, [`Fit::fold_predictions`](crate::Fit::fold_predictions), for
    /// `decoding.reranker`.
    Parts,
    /// By a model without one fold of the pairs that the fit leaves on its way, for `decoding.reranker.refit = false`:
    /// [`Fit::fold_predictions`](crate::Fit::fold_predictions) is called after the fit with that fold alone.
    PartOfFit,
}
