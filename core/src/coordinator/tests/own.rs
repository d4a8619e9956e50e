//! Own producers of applications.

use super::*;

/// The class is the cluster's where none is told, and one that the cluster does not have is refused, also
/// where the application had asked before the cluster was known.
#[test]
fn an_own_producer_has_the_class_of_its_cluster() {
    let told = [None, Some(VersionClass::V1), Some(VersionClass::V2)];
    let of_an_old_one = [Some(VersionClass::V1), Some(VersionClass::V1), None];
    let of_a_new_one = [
        Some(VersionClass::V2),
        Some(VersionClass::V1),
        Some(VersionClass::V2),
    ];
    for (level, expected) in [(1, of_an_old_one), (2, of_a_new_one)] {
        for (told, expected) in told.into_iter().zip(expected) {
            assert_eq!(enlisted_class(told, level), expected, "{told:?} at {level}");
        }
    }
}

/// The class in the record of an own producer that was enlisted before anything was known of its cluster.
fn enlisted_class(told: Option<VersionClass>, level: i16) -> Option<VersionClass> {
    let mut coordinator = verified();
    coordinator.participant_mut(EU).status = ParticipantStatus::Starting;
    coordinator.participant_mut(EU).listed = false;
    coordinator.participant_mut(EU).transaction_version = 0;
    let transaction = begin(&mut coordinator, None).expect("running");
    let (participant, transactional_id) = (EU, "mine".into());
    let request = match told {
        Some(version_class) => Request::EnlistOwn {
            transaction,
            participant,
            transactional_id,
            version_class,
            producer: None,
        },
        None => Request::EnlistOwnNewest {
            transaction,
            participant,
            transactional_id,
            producer: None,
        },
    };
    let now = Now::default();
    coordinator.handle_request(request, now).expect("it waits");
    coordinator.participant_mut(EU).status = ParticipantStatus::Verified;
    coordinator.participant_mut(EU).listed = true;
    coordinator.participant_mut(EU).transaction_version = level;
    coordinator.serve_own_waiters(now);
    let inquiry = drain(&mut coordinator)
        .into_iter()
        .find_map(|output| match output {
            Output::Action(id, Action::Inquire { .. }) => Some(id),
            _ => None,
        });
    let producer = ProducerIdentity {
        producer_id: 1,
        epoch: 0,
    };
    let inquired = Response::Inquired(described(producer));
    coordinator.handle_response(inquiry.expect("it is inspected"), inquired, now);
    drain(&mut coordinator)
        .into_iter()
        .find_map(|output| match output {
            Output::Action(_, Action::Append { records, .. }) => {
                records.iter().find_map(|record| match record {
                    Record::OwnEnlisted { version_class, .. } => Some(*version_class),
                    _ => None,
                })
            }
            _ => None,
        })
}
