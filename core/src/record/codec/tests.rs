use alloc::string::String;
use alloc::vec;

use proptest::collection::vec as many;
use proptest::option;
use proptest::prelude::{Just, Strategy, any, prop_assert_eq, prop_oneof, proptest};

use super::*;

fn text() -> impl Strategy<Value = Arc<str>> {
    many(any::<char>(), 0..12).prop_map(|chars| chars.into_iter().collect::<String>().into())
}

fn id() -> impl Strategy<Value = TransactionId> {
    (any::<u32>(), any::<u64>()).prop_map(|(incarnation, sequence)| TransactionId {
        incarnation: Incarnation(incarnation),
        sequence,
    })
}

fn key() -> impl Strategy<Value = Option<Arc<[u8]>>> {
    option::of(many(any::<u8>(), 0..20).prop_map(Arc::from))
}

fn producer() -> impl Strategy<Value = ProducerIdentity> {
    let identity = |(producer_id, epoch)| ProducerIdentity { producer_id, epoch };
    (any::<i64>(), any::<i16>()).prop_map(identity)
}

fn class() -> impl Strategy<Value = VersionClass> {
    prop_oneof![Just(VersionClass::V1), Just(VersionClass::V2)]
}

fn decision() -> impl Strategy<Value = Decision> {
    prop_oneof![Just(Decision::Commit), Just(Decision::Abort)]
}

fn heuristic() -> impl Strategy<Value = HeuristicKind> {
    prop_oneof![
        Just(HeuristicKind::Aborted),
        Just(HeuristicKind::Committed),
        Just(HeuristicKind::Hazard),
        Just(HeuristicKind::Abandoned),
    ]
}

fn branch() -> impl Strategy<Value = DecidedBranch> {
    let numbers = (any::<i64>(), any::<i32>(), class(), any::<bool>());
    (text(), text(), producer(), numbers).prop_map(|(participant, name, producer, numbers)| {
        let (start_time_ms, timeout_ms, version_class, own) = numbers;
        DecidedBranch {
            participant,
            identity: BranchIdentity {
                transactional_id: name,
                producer,
                start_time_ms,
                timeout_ms,
                version_class,
            },
            own,
        }
    })
}

fn log_wide() -> impl Strategy<Value = Record> {
    let started = (any::<u32>(), any::<u64>()).prop_map(|(incarnation, unix_ms)| Record::Started {
        incarnation: Incarnation(incarnation),
        unix_ms,
    });
    let bound = (text(), text()).prop_map(|(participant, cluster_id)| Record::ClusterBound {
        participant,
        cluster_id,
    });
    let names = (any::<[u32; 3]>(), text(), any::<u64>()).prop_map(
        |([incarnation, first, count], participant, unix_ms)| Record::Names {
            incarnation: Incarnation(incarnation),
            participant,
            first,
            count,
            unix_ms,
        },
    );
    let gone = (any::<u32>(), text()).prop_map(|(incarnation, participant)| Record::NamesGone {
        incarnation: Incarnation(incarnation),
        participant,
    });
    let discarded =
        (text(), text(), producer()).prop_map(|(participant, transactional_id, producer)| {
            Record::Discarded {
                participant,
                transactional_id,
                producer,
            }
        });
    let discard_gone =
        (text(), text(), producer()).prop_map(|(participant, transactional_id, producer)| {
            Record::DiscardGone {
                participant,
                transactional_id,
                producer,
            }
        });
    prop_oneof![started, bound, names, gone, discarded, discard_gone]
}

fn of_a_transaction() -> impl Strategy<Value = Record> {
    let own = (id(), text(), text(), producer(), class()).prop_map(
        |(transaction, participant, transactional_id, producer, version_class)| {
            Record::OwnEnlisted {
                transaction,
                participant,
                transactional_id,
                producer,
                version_class,
            }
        },
    );
    let decided = (id(), key(), any::<u64>(), many(branch(), 0..4)).prop_map(
        |(transaction, key, unix_ms, branches)| Record::Decided {
            transaction,
            key,
            unix_ms,
            branches: branches.into(),
        },
    );
    let acknowledged =
        (id(), text(), text()).prop_map(|(transaction, participant, transactional_id)| {
            Record::Acknowledged {
                transaction,
                participant,
                transactional_id,
            }
        });
    let completed = (id(), decision(), key(), any::<u64>()).prop_map(
        |(transaction, decision, key, unix_ms)| Record::Completed {
            transaction,
            decision,
            key,
            unix_ms,
        },
    );
    let mixed = (id(), decision(), (text(), text()), heuristic(), text()).prop_map(
        |(transaction, decision, (participant, transactional_id), kind, detail)| {
            Record::Heuristic {
                transaction,
                decision,
                participant,
                transactional_id,
                kind,
                detail,
            }
        },
    );
    let forgotten = id().prop_map(|transaction| Record::Forgotten { transaction });
    prop_oneof![own, decided, acknowledged, completed, mixed, forgotten]
}

fn record() -> impl Strategy<Value = Record> {
    prop_oneof![log_wide(), of_a_transaction()]
}

/// The bytes with a checksum that matches, so that the fields themselves are judged.
fn sealed(body: &[u8]) -> Vec<u8> {
    let mut bytes = body.to_vec();
    bytes.extend_from_slice(&CRC32C.checksum(body).to_le_bytes());
    bytes
}

proptest! {
    #[test]
    fn what_is_encoded_is_decoded(record in record()) {
        prop_assert_eq!(decode(&encode(&record)), Ok(record));
    }

    #[test]
    fn every_truncation_and_every_changed_byte_is_refused(record in record(), flip in 1..=255_u8) {
        let bytes = encode(&record);
        for length in 0..bytes.len() {
            assert!(decode(&bytes[..length]).is_err(), "cut to {length}");
        }
        for index in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[index] ^= flip;
            assert!(decode(&changed).is_err(), "byte {index}");
        }
    }

    #[test]
    fn any_bytes_are_refused_or_are_a_record(bytes in many(any::<u8>(), 0..200)) {
        let mut body = vec![RECORD_VERSION];
        body.extend(bytes);
        if let Ok(record) = decode(&sealed(&body)) {
            prop_assert_eq!(encode(&record), sealed(&body));
        }
    }
}

#[test]
fn a_newer_version_says_so_whatever_follows() {
    for bytes in [vec![RECORD_VERSION + 1], vec![255, 1, 2, 3]] {
        assert_eq!(decode(&bytes), Err(RecordError::Version(bytes[0])));
    }
    assert_eq!(decode(&[0, 1, 2]), Err(RecordError::Field("version")));
    assert_eq!(decode(&[]), Err(RecordError::Truncated));
}

#[test]
fn unknown_kinds_and_values_and_left_over_bytes_are_refused() {
    assert_eq!(decode(&sealed(&[1, 0])), Err(RecordError::Kind(0)));
    assert_eq!(decode(&sealed(&[1, 99])), Err(RecordError::Kind(99)));
    let forgotten = Record::Forgotten {
        transaction: TransactionId {
            incarnation: Incarnation(1),
            sequence: 2,
        },
    };
    let mut body = encode(&forgotten);
    body.truncate(body.len() - CHECKSUM_BYTES);
    body.push(7);
    assert_eq!(decode(&sealed(&body)), Err(RecordError::Trailing(1)));
    let mut completed = vec![1, kind::COMPLETED];
    completed.extend([0; 12]);
    completed.push(3);
    let error = Err(RecordError::Field("decision"));
    assert_eq!(decode(&sealed(&completed)), error);
    let bound = [1, kind::CLUSTER_BOUND, 1, 0, 0, 0, 0xff, 0, 0, 0, 0];
    let error = Err(RecordError::Field("participant"));
    assert_eq!(decode(&sealed(&bound)), error);
}

/// A length or a count that the bytes do not hold ends at the first missing byte.
#[test]
fn hostile_lengths_are_refused() {
    let mut decided = vec![1, kind::DECIDED];
    decided.extend([0; 12]);
    decided.push(0);
    decided.extend([0; 8]);
    decided.extend(u32::MAX.to_le_bytes());
    assert_eq!(decode(&sealed(&decided)), Err(RecordError::Truncated));
    let mut bound = vec![1, kind::CLUSTER_BOUND];
    bound.extend(u32::MAX.to_le_bytes());
    bound.extend(*b"eu");
    assert_eq!(decode(&sealed(&bound)), Err(RecordError::Truncated));
}

#[test]
fn errors_say_what_to_do() {
    use std::string::ToString;
    let text = RecordError::Version(9).to_string();
    assert!(
        text.contains("version 9") && text.contains("start it with the gtc"),
        "{text}"
    );
}
