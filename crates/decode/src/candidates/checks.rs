use super::texts::Texts;
use crate::Error;

/// Refuses constants that are not finite, of rows from `first` on.
pub(super) fn check_constants(first: usize, constants: &[f32]) -> Result<(), Error> {
    match constants.iter().position(|value| !value.is_finite()) {
        None => Ok(()),
        Some(at) => Err(Error::NotFinite {
            place: format!("candidate row {}, constant", first + at),
            value: constants[at],
        }),
    }
}

/// Refuses classes that are not numbered in the order in which they first appear, from 0 to
/// `rows` − 1.
pub(super) fn check_order<'a>(
    classes: impl Iterator<Item = u32>,
    id: impl Fn(usize) -> &'a str,
    rows: usize,
) -> Result<(), Error> {
    let mut next = 0;
    for (candidate, class) in classes.enumerate() {
        let refuse = |allowed| {
            let id = id(candidate);
            Err(Error::out_of_range(format!("candidate {id:?} is of class {class}"), allowed))
        };
        if class as usize >= rows {
            return refuse(format!("0..{rows}, the distinct rows"));
        }
        if class > next {
            return refuse(format!(
                "0..={next}, since classes are numbered in the order in which they first appear"
            ));
        }
        next = next.max(class + 1);
    }
    match (next as usize) < rows {
        true => Err(Error::Inconsistent(format!("distinct row {next} belongs to no candidate"))),
        false => Ok(()),
    }
}

/// Candidates in the order of their ids; an id that occurs twice is an error.
pub(super) fn sorted(ids: &Texts) -> Result<Vec<u32>, Error> {
    let mut order: Vec<u32> = (0..ids.len() as u32).collect();
    let key = |candidate: u32| (ids.get(candidate as usize), candidate);
    order.sort_unstable_by(|&a, &b| key(a).cmp(&key(b)));
    let same = |pair: &&[u32]| ids.get(pair[0] as usize) == ids.get(pair[1] as usize);
    match order.windows(2).filter(same).min_by_key(|pair| pair[1]) {
        Some(pair) => Err(same_id(pair[0], pair[1], ids.get(pair[0] as usize))),
        None => Ok(order),
    }
}

pub(super) fn same_id(first: u32, second: u32, id: &str) -> Error {
    Error::Inconsistent(format!("candidates {first} and {second} have the same id {id:?}"))
}
