use std::thread;

use super::*;

/// What each of `size` ranks makes of it.
fn on_ranks<T: Send>(size: usize, job: impl Fn(Ranks) -> T + Sync) -> Vec<T> {
    thread::scope(|scope| {
        let job = &job;
        let started: Vec<_> = ThreadCommunicator::group(size)
            .into_iter()
            .map(|rank| {
                let ranks = Ranks::new(Arc::new(rank), Ranks::SHARDS).unwrap();
                scope.spawn(move || job(ranks))
            })
            .collect();
        started
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect()
    })
}

/// Numbers whose sums depend on the order.
fn rows(length: usize) -> Vec<f32> {
    let number = |at: usize| ((at * 2_654_435_761) % 1000) as f32 * 10f32.powi((at % 7) as i32 - 3);
    (0..4 * length).map(number).collect()
}

#[test]
fn sums_are_the_same_to_the_bit_for_any_number_of_ranks() {
    for length in [1, 5, SMALL, SMALL + 3] {
        let rows = rows(length);
        let whole = Ranks::default().sum(rows.clone(), length).unwrap();
        assert_eq!(
            whole[0],
            (rows[0] + rows[length]) + (rows[2 * length] + rows[3 * length])
        );
        for size in [2, 4] {
            let sums = on_ranks(size, |ranks| {
                let own = ranks.own_shards() * length;
                let own = &rows[ranks.rank() * own..][..own];
                let sum = ranks.sum(own.to_vec(), length).unwrap();
                (sum, ranks.take_traffic().bytes)
            });
            for (sum, bytes) in sums {
                assert_eq!(sum, whole);
                assert!(bytes > 0);
            }
        }
    }
}

#[test]
fn all_hear_what_rank_0_has_and_why_a_rank_stops() {
    let heard = on_ranks(4, |ranks| {
        let heard = ranks.broadcast(vec![7 + ranks.rank() as u8]).unwrap();
        assert_eq!(ranks.largest(ranks.rank() + 1).unwrap(), 4);
        if ranks.rank() == 2 {
            ranks.stop(4, "the loss is not finite");
            return (heard, String::new());
        }
        (heard, ranks.total(&[1.0]).unwrap_err().to_string())
    });
    for (rank, (heard, why)) in heard.into_iter().enumerate() {
        assert_eq!(heard, [7]);
        assert!(
            rank == 2 || why.contains("rank 2") && why.contains("not finite"),
            "{why}"
        );
    }
}

#[test]
fn a_rank_that_is_gone_is_named() {
    let errors = on_ranks(2, |ranks| match ranks.rank() {
        0 => ranks.total(&[1.0]).unwrap_err().to_string(),
        _ => String::new(),
    });
    assert!(errors[0].contains("rank 1"), "{}", errors[0]);
}

#[test]
fn shards_and_batches_are_dealt_out_evenly() {
    let ranks = |size: usize, shards| {
        let mut group = ThreadCommunicator::group(size);
        Ranks::new(Arc::new(group.remove(size - 1)), shards)
    };
    assert!(ranks(3, 4).is_err() && ranks(2, 6).is_err() && ranks(8, 4).is_err());
    let last = ranks(2, 4).unwrap();
    assert_eq!(last.own_images(6).unwrap(), 3..6);
    assert!(last.own_images(7).is_err());
}
