//! Predicted classes compared with the true ones.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::error::{Error, ensure};
use crate::metrics::queries::check_queries;

/// How well classes are predicted. F1 of a class is `2c / (t + q)` with t queries of the class, q predictions of it and c
/// that are right, and 0 where t + q is 0.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClassScores {
    /// Share of the queries whose class is predicted.
    pub accuracy: f64,
    /// F1 of the positive class; without one, [`macro_f1`](Self::macro_f1).
    pub f1: f64,
    /// Mean of the F1 of the classes that are true or predicted for some query.
    pub macro_f1: f64,
    /// Number of these classes.
    pub class_count: usize,
}

impl ClassScores {
    /// Compares predicted classes with the true ones, one with one.
    ///
    /// # Errors
    /// [`dsokr_core::Error::TooFew`] for no queries; [`dsokr_core::Error::Value`] for different numbers of classes.
    pub fn from_classes(
        truth: &[String],
        predicted: &[String],
        positive: Option<&str>,
    ) -> Result<Self, Error> {
        let all = PredictedClasses::new(truth, predicted, positive)?;
        let queries: Vec<usize> = (0..truth.len()).collect();
        Ok(Self {
            accuracy: all.accuracy(&queries),
            f1: all.f1(&queries),
            macro_f1: all.macro_f1(&queries),
            class_count: all.classes,
        })
    }
}

/// True and predicted classes as numbers, of which metrics of any queries are computed.
pub(crate) struct PredictedClasses {
    pairs: Vec<[usize; 2]>,
    classes: usize,
    positive: Option<usize>,
    /// F1 of each class of all queries.
    f1_of_all: Vec<f64>,
}

impl PredictedClasses {
    /// Numbers the classes, and counts the queries of each.
    ///
    /// # Errors
    /// As [`ClassScores::from_classes`].
    pub fn new(
        truth: &[String],
        predicted: &[String],
        positive: Option<&str>,
    ) -> Result<Self, Error> {
        check_queries(truth)?;
        let count = predicted.len();
        ensure(count == truth.len(), "predicted classes", count, truth.len())?;
        let names: BTreeSet<&str> = truth.iter().chain(predicted).map(String::as_str).collect();
        let names: Vec<&str> = names.into_iter().collect();
        let number = |class: &String| names.partition_point(|name| *name < class.as_str());
        let pairs = truth.iter().zip(predicted).map(|(a, b)| [number(a), number(b)]).collect();
        // a positive class that no query has or gets has F1 0
        let positive = positive
            .map(|class| names.iter().position(|name| *name == class).unwrap_or(names.len()));
        let mut all = Self { pairs, classes: names.len(), positive, f1_of_all: Vec::new() };
        let queries: Vec<usize> = (0..truth.len()).collect();
        all.f1_of_all = all.each(&queries).into_iter().flatten().collect();
        Ok(all)
    }

    pub fn accuracy(&self, queries: &[usize]) -> f64 {
        let right = queries.iter().filter(|&&query| self.pairs[query][0] == self.pairs[query][1]);
        right.count() as f64 / queries.len() as f64
    }

    /// Returns the F1 of each class; none of one that no query has or gets.
    fn each(&self, queries: &[usize]) -> Vec<Option<f64>> {
        let mut counts = vec![[0usize; 2]; self.classes];
        for &query in queries {
            let [truth, predicted] = self.pairs[query];
            counts[truth][0] += 1;
            counts[predicted][0] += 1;
            counts[truth][1] += usize::from(truth == predicted);
        }
        let f1 =
            |[either, both]: [usize; 2]| (either > 0).then(|| 2.0 * both as f64 / either as f64);
        counts.into_iter().map(f1).collect()
    }

    /// Returns the F1 of one class; none where no query has or gets it.
    fn of_class(&self, class: usize, queries: &[usize]) -> Option<f64> {
        self.each(queries).get(class).copied().flatten()
    }

    /// Returns the mean F1 of the classes that some query has or gets.
    pub fn macro_f1(&self, queries: &[usize]) -> f64 {
        let figures: Vec<f64> = self.each(queries).into_iter().flatten().collect();
        figures.iter().sum::<f64>() / figures.len() as f64
    }

    pub fn f1(&self, queries: &[usize]) -> f64 {
        match self.positive {
            Some(positive) => self.of_class(positive, queries).unwrap_or(0.0),
            None => self.macro_f1(queries),
        }
    }

    /// Returns the macro F1 of queries that are drawn of all. A draw says nothing of a class that none of its queries has or
    /// gets, which counts with its F1 of all queries: without it the F1 of the other classes would stand for that of a rare one.
    pub fn macro_f1_of_draw(&self, queries: &[usize]) -> f64 {
        let drawn = self.each(queries).into_iter().zip(&self.f1_of_all);
        drawn.map(|(drawn, &of_all)| drawn.unwrap_or(of_all)).sum::<f64>() / self.classes as f64
    }

    /// Returns the F1 of queries that are drawn of all; NaN where none of them has or gets the positive class.
    pub fn f1_of_draw(&self, queries: &[usize]) -> f64 {
        match self.positive {
            Some(positive) => self.of_class(positive, queries).unwrap_or(f64::NAN),
            None => self.macro_f1_of_draw(queries),
        }
    }
}
