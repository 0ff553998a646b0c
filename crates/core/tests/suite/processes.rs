//! Exchanges between ranks, with threads of this process as ranks.

use std::collections::BTreeMap;
use std::ops::Range;

use dsokr_core::Error;
use dsokr_core::processes::{Held, Processes, threads};
use dsokr_core::store::{ByteSum, Contents, Tensor};

/// The most numbers that are added up at once.
const BUCKET: usize = 1 << 20;

#[test]
fn sums_are_taken_in_the_order_of_ranks_and_are_the_same_everywhere() {
    for size in [1, 2, 3, 7] {
        for n in [0, 1, 2, 5, BUCKET + 3] {
            let value = |rank: usize, i: usize| (i % 1000) as f32 * 0.1 + 1e7 * rank as f32;
            let sums = threads(size, |processes| {
                let mut list: Vec<f32> = (0..n).map(|i| value(processes.rank(), i)).collect();
                processes.sum(&mut list).map(|()| list)
            });
            let expected = |i| (1..size).fold(value(0, i), |sum, rank| sum + value(rank, i));
            let expected: Vec<f32> = (0..n).map(expected).collect();
            for sum in sums {
                assert!(sum.is_ok_and(|sum| sum == expected), "{size} {n}");
            }
        }
    }
}

#[test]
fn sums_in_the_background_are_those_in_the_foreground() {
    let lists = |rank: usize| (0..5).map(move |k| vec![0.1 * (rank + k) as f32; 7 * k]);
    for size in [2, 5] {
        let actual = threads(size, |processes| {
            let background = processes.background().unwrap();
            let start = background.starter();
            lists(processes.rank()).for_each(|list| start.send(list).unwrap());
            let sums: Result<Vec<_>, _> = (0..5).map(|_| background.receive()).collect();
            let mut expected: Vec<_> = lists(processes.rank()).collect();
            let summed = expected.iter_mut().try_for_each(|list| processes.sum(list));
            (sums.ok(), summed.ok().map(|()| expected))
        });
        assert!(actual.iter().all(|(sums, expected)| sums.is_some() && sums == expected));
    }
    assert!(Processes::default().background().is_none());
}

#[test]
fn the_rank_that_differs_is_named() {
    let actual = threads(3, |processes| {
        let text = if processes.rank() == 2 { "0.2" } else { "0.1" };
        processes.check_same("version", text).map_err(|error| error.to_string())
    });
    let expected = Err("rank 2: its version is 0.2, that of rank 0 is 0.1".to_string());
    assert_eq!(actual, vec![expected; 3]);
    assert!(
        threads(3, |processes| processes.check_same("version", "0.1").is_ok()).iter().all(|ok| *ok)
    );
}

#[test]
fn an_error_of_one_rank_is_that_of_all() {
    let actual = threads(3, |processes| {
        let result = match processes.rank() {
            1 => Err(Error::Numeric("it overflows".into())),
            rank => Ok(rank),
        };
        let after = processes.agree::<_, Error>(Ok(processes.rank()));
        (processes.agree(result).map_err(|error| error.to_string()), after.ok())
    });
    let [first, failed, last] = &actual[..] else { panic!("{actual:?}") };
    let named = Err("rank 1: it overflows".to_owned());
    assert_eq!((first, last), (&(named.clone(), Some(0)), &(named, Some(2))));
    assert_eq!(failed, &(Err("it overflows".to_owned()), Some(1)));
}

#[test]
fn a_rank_that_has_ended_is_named() {
    let actual = threads(2, |processes| match processes.rank() {
        0 => processes.gather(&[1]).err().map(|error| error.to_string()),
        _ => None,
    });
    assert_eq!(actual[0].as_deref(), Some("rank 1: it has ended"));
}

#[test]
fn rank_0_gives_its_value_to_all() {
    let actual = threads(3, |processes| {
        let number = processes.broadcast_number(10.5 * (1 + processes.rank()) as f64);
        (number.ok(), processes.broadcast(|| b"text".to_vec()).ok())
    });
    assert_eq!(actual, vec![(Some(10.5), Some(b"text".to_vec())); 3]);
    let alone = Processes::default();
    assert_eq!((alone.rank(), alone.size(), alone.part(7)), (0, 1, 0..7));
    assert_eq!(alone.broadcast_number(3u64).ok(), Some(3));
}

#[test]
fn rows_that_are_held_are_found_and_passed_in_their_order() {
    let groups = [0..5, 5..6, 6..20];
    for size in [1, 2, 3, 30] {
        let value = |row: usize| 1e-9 + row as f64 * 0.1 + f64::from(u8::from(row == 7)) * 1e9;
        let add = |sum: &mut [f64], rows: Range<usize>| {
            rows.for_each(|row| sum[0] += value(row));
        };
        let mut expected = [0.25];
        add(&mut expected, 0..20);
        let ranks = threads(size, |processes| {
            let held = Held::parts(processes, &groups);
            let whole = Held::all(20).fold(processes, vec![0.25], add).unwrap();
            let sum = held.fold(processes, vec![0.25], add).unwrap();
            (held, sum, whole)
        });
        let mut times = vec![0; 20];
        for (held, sum, whole) in ranks {
            // bit for bit
            assert_eq!((&sum[..], &whole[..]), (&expected[..], &expected[..]), "{size}");
            assert_eq!((held.rows(), held.len() == 20), (20, size == 1));
            let rows: Vec<usize> = held.each().collect();
            assert_eq!((rows.len(), rows.is_empty()), (held.len(), held.is_empty()));
            for (place, &row) in rows.iter().enumerate() {
                times[row] += 1;
                assert_eq!(held.place(&(row..row + 1)), Some(place..place + 1));
            }
            let others = (0..20).filter(|row| !rows.contains(row));
            others.for_each(|row| assert_eq!(held.place(&(row..row + 1)), None));
            // the rows 3, 19 and 3 again, as they are held
            let chosen = held.select(&[3, 19, 3]);
            let expected: Vec<usize> = [3, 19, 3]
                .iter()
                .enumerate()
                .filter(|(_, row)| rows.contains(row))
                .map(|(at, _)| at)
                .collect();
            let held_places: Vec<usize> = chosen.each().collect();
            assert_eq!(held_places, expected);
            assert_eq!(held.check("rows", &(0..20)).is_ok(), size == 1);
        }
        assert_eq!(times, vec![1; 20], "{size}");
    }
}

#[test]
fn numbers_of_all_ranks_are_joined_in_the_order_of_ranks() {
    for size in [1, 2, 3] {
        // nothing, fewer than are sent at once, and more
        let list = |rank: usize| -> Vec<f32> {
            let length = [2 * BUCKET + 5, 0, 7][rank];
            (0..length).map(|at| (at % 1000) as f32 + 0.5 * rank as f32).collect()
        };
        let expected: Vec<f32> = (0..size).flat_map(list).collect();
        for joined in threads(size, |processes| processes.join(list(processes.rank()))) {
            assert!(joined.unwrap() == expected, "{size}");
        }
    }
}

#[test]
fn rank_0_reads_the_rows_of_all_ranks() {
    let n = 20;
    for size in [1, 2, 3, 30] {
        let read = threads(size, |processes| {
            let part = processes.part(n);
            let held = |rows: Range<usize>| -> Vec<f32> {
                let rows = rows.start.max(part.start)..rows.end.min(part.end);
                rows.map(|row| row as f32).collect()
            };
            let all = processes.with_rows(held, |all| {
                let read = (0..n).step_by(7).map(|start| all(start..n.min(start + 7)));
                Ok::<_, Error>(read.collect::<Result<Vec<_>, _>>()?.concat())
            });
            // in step they meet in the same exchange
            (all.unwrap(), processes.check_same("next step", "the same").is_ok())
        });
        for (rank, (all, in_step)) in read.into_iter().enumerate() {
            let expected = (rank == 0).then(|| (0..n).map(|row| row as f32).collect::<Vec<_>>());
            assert_eq!((all, in_step), (expected, true), "{size} ranks, {rank}");
        }
    }
}

#[test]
fn an_error_of_rank_0_ends_the_reading_of_rows_on_all_ranks() {
    let errors = threads(3, |processes| {
        let read = processes.with_rows(
            |_| vec![1.0f32],
            |all| match all(0..1) {
                Ok(rows) => Err::<(), _>(Error::Numeric(format!("{} rows", rows.len()))),
                Err(error) => Err(error),
            },
        );
        let in_step = processes.check_same("next step", "the same").is_ok();
        (read.unwrap_err().to_string(), in_step)
    });
    let expected = ["3 rows", "rank 0: 3 rows", "rank 0: 3 rows"];
    assert_eq!(errors, expected.map(|error| (error.to_owned(), true)));
}

#[test]
fn the_checksum_of_parts_is_that_of_the_whole() {
    let values: Vec<f32> = (0..1000).map(|at| at as f32 * 0.1).collect();
    let none = BTreeMap::new();
    let checksum = |values: Tensor| {
        let tensors = [Tensor::u8("a", &[2], b"ab"), values, Tensor::u32("z", &[3], &[1, 2, 3])];
        Contents::new("any", 1, &none, &tensors).checksum()
    };
    let whole = checksum(Tensor::f32("values", &[100, 10], &values));
    for size in [1, 2, 3, 7] {
        let sums = threads(size, |processes| {
            // the first rank has no part
            let part = match processes.rank() {
                0 if size > 1 => 0..0,
                rank => {
                    let first = usize::from(size > 1);
                    let n = values.len();
                    n * (rank - first) / (size - first)..n * (rank + 1 - first) / (size - first)
                }
            };
            let bytes: Vec<u8> =
                values[part].iter().flat_map(|value| value.to_le_bytes()).collect();
            ByteSum::of(&bytes).joined(processes).unwrap()
        });
        for sum in sums {
            assert_eq!(checksum(Tensor::summed::<f32>("values", &[100, 10], sum)), whole, "{size}");
        }
    }
    // there is nothing to write
    let folder = tempfile::tempdir().unwrap();
    let tensors = [Tensor::summed::<f32>("values", &[1], ByteSum::of(&[0; 4]))];
    let error = Contents::new("any", 1, &none, &tensors).write(&folder.path().join("file"));
    assert!(error.unwrap_err().to_string().contains("its bytes do not fill its shape"));
}
