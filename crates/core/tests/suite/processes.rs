//! Exchanges between ranks, with threads of this process as ranks.

use dsokr_core::Error;
use dsokr_core::processes::{Held, Processes, threads};

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
        let add = |sum: &mut [f64], rows: std::ops::Range<usize>| {
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
