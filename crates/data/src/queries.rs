//! Which pairs are one query, and which outputs its training pairs name.

use std::collections::{HashMap, HashSet};

use crate::{DataRoot, Error, Inputs, Source, Split};

impl Split {
    /// What queries are called in errors and in lists of candidates: by ids of their own, else by those
    /// of their outputs.
    pub fn names(&self) -> &[String] {
        self.queries.as_deref().unwrap_or(&self.ids)
    }

    /// An id for each query that no other one has: its own; else that of its output, and for the second
    /// query with the same output `ID#2`, for the third `ID#3`.
    pub fn query_ids(&self) -> Vec<String> {
        let names = self.names();
        let mut taken: HashSet<String> = names.iter().cloned().collect();
        let mut seen: HashMap<&str, usize> = HashMap::with_capacity(names.len());
        let mut unique = |name: &'_ String, count: &mut usize| {
            *count += 1;
            if *count == 1 {
                return name.clone();
            }
            loop {
                let id = format!("{name}#{count}");
                if taken.insert(id.clone()) {
                    return id;
                }
                *count += 1;
            }
        };
        names.iter().map(|name| unique(name, seen.entry(name).or_insert(0))).collect()
    }

    /// The right outputs of each query, by id.
    pub fn golds(&self) -> Vec<Vec<String>> {
        let further = |query: usize| self.further.get(query).map_or(&[][..], Vec::as_slice);
        let golds = |(query, id): (usize, &String)| {
            [id].into_iter().chain(further(query)).cloned().collect()
        };
        self.ids.iter().enumerate().map(golds).collect()
    }

    /// Whether some query has several right outputs, or outputs that do not compete.
    pub fn is_filtered(&self) -> bool {
        !self.further.is_empty() || !self.known.is_empty()
    }
}

impl Source<'_> {
    /// For each query of a split the outputs that training pairs give it, by id: those of the same query
    /// id, or without query ids those of the same text.
    ///
    /// # Errors
    /// As [`Source::load`]; [`Error::Value`] for inputs that are not texts, without query ids.
    pub fn known_outputs(&self, split: &Split, root: &DataRoot) -> Result<Vec<Vec<String>>, Error> {
        let train = self.load(root)?.train;
        let (asked, trained) = match (&split.queries, &train.queries) {
            (Some(asked), Some(trained)) => (asked, trained),
            (None, _) | (_, None) => match (&split.inputs, &train.inputs) {
                (Inputs::Texts(asked), Inputs::Texts(trained)) => (asked, trained),
                _ => {
                    let found = "inputs that are not texts, without query ids";
                    return Err(Error::value(
                        "--filter-known",
                        found,
                        "texts, or ids in data.query",
                    ));
                }
            },
        };
        let mut outputs: HashMap<&str, Vec<&String>> = HashMap::new();
        for (query, id) in trained.iter().zip(&train.ids) {
            outputs.entry(query).or_default().push(id);
        }
        let known = |query: &String| {
            let ids = outputs.get(query.as_str()).map_or(&[][..], Vec::as_slice);
            ids.iter().map(|&id| id.clone()).collect()
        };
        Ok(asked.iter().map(known).collect())
    }
}
