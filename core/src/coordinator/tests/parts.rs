//! Coordinators in parts.

use super::*;
use crate::coordinator::explore::Part;

/// Two transactions with branches on both participants, and actions under way.
fn busy() -> Coordinator {
    let mut coordinator = started(|_| {});
    for _ in 0..2 {
        let transaction = begin(&mut coordinator, None).expect("running");
        for participant in [ParticipantId(0), ParticipantId(1)] {
            let enlist = Request::Enlist {
                transaction,
                participant,
            };
            let enlisted = coordinator.handle_request(enlist, Now::default());
            assert_eq!(enlisted, Ok(Accepted::Pending));
        }
    }
    coordinator
}

#[test]
fn a_whole_is_the_same_after_it_was_in_parts() {
    let before = busy();
    let after = Coordinator::from_parts(before.clone().into_parts());
    assert_eq!(after, Some(before));
}

#[test]
fn most_parts_of_two_that_differ_little_are_the_same() {
    let before = busy();
    let mut after = before.clone();
    begin(&mut after, None).expect("running");
    let before = before.into_parts();
    let shared = |part: &&Part| before.contains(part);
    let parts = after.into_parts();
    assert!(parts.iter().filter(shared).count() > parts.len() / 2);
}

#[test]
fn what_are_not_the_parts_of_one_is_refused() {
    let parts = busy().into_parts();
    let without = |index: usize| {
        let others = parts.iter().enumerate().filter(move |(i, _)| *i != index);
        others.map(|(_, part)| part.clone())
    };
    for missing in 0..parts.len() {
        assert_eq!(Coordinator::from_parts(without(missing)), None);
    }
    let twice = parts.iter().chain(parts.last()).cloned();
    assert_eq!(Coordinator::from_parts(twice), None);
}
