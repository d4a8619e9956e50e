use super::*;
use crate::evidence::BrokerState::{
    CompleteAbort, CompleteCommit, Empty, Ongoing, PrepareAbort, PrepareCommit, PrepareEpochFence,
};

const SLOT: ProducerIdentity = ProducerIdentity {
    producer_id: 7,
    epoch: 2,
};

fn found(state: BrokerState, producer_id: i64, epoch: i16) -> Inquiry {
    Inquiry::Described(description(state, producer_id, epoch))
}

fn description(state: BrokerState, producer_id: i64, epoch: i16) -> TransactionDescription {
    TransactionDescription {
        state,
        producer: ProducerIdentity { producer_id, epoch },
        start_time_ms: 50,
        timeout_ms: 60_000,
    }
}

fn wrote(sent: u64, delivered: u64) -> WriteReport {
    WriteReport {
        sent,
        delivered,
        ..WriteReport::default()
    }
}

fn report(writes: WriteReport, inquiry: Option<Inquiry>) -> PrepareReport {
    PrepareReport {
        writes,
        writer: Some(SLOT),
        inquiry,
        strayed: None,
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Short {
    Yes,
    ReadOnly,
    No,
    Stranger,
}

fn short(vote: &Vote) -> Short {
    match vote {
        Vote::Yes(_) => Short::Yes,
        Vote::ReadOnly => Short::ReadOnly,
        Vote::No(objection) if objection.stranger => Short::Stranger,
        Vote::No(_) => Short::No,
    }
}

#[track_caller]
fn slot_votes(writes: WriteReport, inquiry: Option<Inquiry>, wanted: Short) {
    let report = report(writes, inquiry);
    let vote = managed(&report, &Arc::from("id"), SLOT, Rules::default());
    assert_eq!(short(&vote), wanted, "{report:?}: {vote:?}");
}

#[test]
fn a_slot_votes_yes_only_when_all_is_delivered_and_its_own_identity_is_ongoing() {
    let ongoing = || Some(found(Ongoing, 7, 2));
    slot_votes(wrote(3, 3), ongoing(), Short::Yes);
    let offsets_only = WriteReport {
        offsets_sent: 1,
        ..WriteReport::default()
    };
    slot_votes(offsets_only, ongoing(), Short::Yes);
    slot_votes(wrote(3, 2), ongoing(), Short::No);
    let failed = |failed| WriteReport {
        failed,
        ..wrote(3, 3)
    };
    slot_votes(failed(1), ongoing(), Short::No);
    let offsets_failed = WriteReport {
        offsets_sent: 1,
        offsets_failed: 1,
        ..wrote(3, 3)
    };
    slot_votes(offsets_failed, ongoing(), Short::No);
    let fenced = WriteReport {
        fenced: true,
        ..wrote(3, 3)
    };
    slot_votes(fenced, ongoing(), Short::No);
}

#[test]
fn a_slot_of_which_the_broker_says_anything_else_votes_no() {
    for state in [
        Empty,
        PrepareCommit,
        CompleteCommit,
        PrepareAbort,
        CompleteAbort,
    ] {
        slot_votes(wrote(1, 1), Some(found(state, 7, 2)), Short::No);
    }
    slot_votes(wrote(1, 1), Some(Inquiry::NotFound), Short::No);
    slot_votes(wrote(1, 1), Some(Inquiry::Refused(53)), Short::No);
    slot_votes(wrote(1, 1), Some(Inquiry::NoAnswer("x".into())), Short::No);
    slot_votes(wrote(1, 1), None, Short::No);
    let mut without_start = description(Ongoing, 7, 2);
    without_start.start_time_ms = -1;
    slot_votes(
        wrote(1, 1),
        Some(Inquiry::Described(without_start)),
        Short::No,
    );
    let mut other_writer = report(wrote(1, 1), Some(found(Ongoing, 7, 2)));
    other_writer.writer = Some(ProducerIdentity {
        producer_id: 8,
        epoch: 0,
    });
    let vote = managed(&other_writer, &Arc::from("id"), SLOT, Rules::default());
    assert_eq!(short(&vote), Short::No);
}

#[test]
fn read_only_comes_from_the_count_and_never_from_the_state() {
    slot_votes(wrote(0, 0), None, Short::ReadOnly);
    slot_votes(wrote(1, 1), Some(found(Empty, 7, 2)), Short::No);
}

/// A stranger's fence stops the participant (R7); a broker's own, of an expired transaction, does not.
#[test]
fn a_stranger_is_told_from_an_expiry() {
    slot_votes(wrote(1, 1), Some(found(Ongoing, 9, 0)), Short::Stranger);
    slot_votes(wrote(1, 1), Some(found(Empty, 7, 3)), Short::Stranger);
    slot_votes(wrote(1, 0), Some(found(Ongoing, 7, 3)), Short::Stranger);
    for state in [CompleteAbort, PrepareAbort, PrepareEpochFence] {
        slot_votes(wrote(1, 1), Some(found(state, 7, 3)), Short::No);
    }
    let fenced = WriteReport {
        fenced: true,
        ..wrote(1, 0)
    };
    slot_votes(fenced.clone(), None, Short::Stranger);
    slot_votes(fenced, Some(found(CompleteAbort, 7, 3)), Short::No);
}

#[track_caller]
fn own_votes(writes: WriteReport, inquiry: Option<Inquiry>, wanted: Short) {
    let baseline = description(CompleteCommit, 7, 2);
    let report = PrepareReport {
        writes,
        writer: None,
        inquiry,
        strayed: None,
    };
    let vote = own(
        &report,
        &Arc::from("own"),
        (&baseline, VersionClass::V2),
        Rules::default(),
    );
    assert_eq!(short(&vote), wanted, "{report:?}: {vote:?}");
}

#[test]
fn an_own_producer_votes_by_its_deliveries() {
    let stated = || WriteReport {
        stated_delivered: true,
        ..WriteReport::default()
    };
    let ongoing = || Some(found(Ongoing, 7, 2));
    own_votes(stated(), ongoing(), Short::Yes);
    own_votes(wrote(2, 2), ongoing(), Short::Yes);
    own_votes(wrote(2, 1), ongoing(), Short::No);
    own_votes(WriteReport::default(), ongoing(), Short::No);
    let failed = WriteReport {
        failed: 1,
        ..stated()
    };
    own_votes(failed, ongoing(), Short::No);
    let fenced = WriteReport {
        fenced: true,
        ..stated()
    };
    own_votes(fenced, ongoing(), Short::No);
    let offsets_only = WriteReport {
        offsets_sent: 1,
        ..WriteReport::default()
    };
    own_votes(offsets_only.clone(), ongoing(), Short::Yes);
    own_votes(offsets_only, Some(found(CompleteCommit, 7, 2)), Short::No);
}

#[test]
fn an_own_producer_that_reports_another_identity_votes_no() {
    let baseline = description(CompleteCommit, 7, 2);
    for (writer, wanted) in [
        ((7, 2), Short::Yes),
        ((7, 1), Short::No),
        ((8, 2), Short::No),
    ] {
        let mut report = report(wrote(1, 1), Some(found(Ongoing, 7, 2)));
        report.writer = Some(ProducerIdentity {
            producer_id: writer.0,
            epoch: writer.1,
        });
        let of = (&baseline, VersionClass::V2);
        let vote = own(&report, &Arc::from("own"), of, Rules::default());
        assert_eq!(short(&vote), wanted, "{writer:?}: {vote:?}");
    }
}

#[test]
fn an_own_producer_that_delivered_elsewhere_votes_no() {
    let baseline = description(CompleteCommit, 7, 2);
    let mut report = report(wrote(1, 1), Some(found(Ongoing, 7, 2)));
    report.strayed = Some("orders-3".to_string());
    let of = (&baseline, VersionClass::V2);
    let vote = own(&report, &Arc::from("own"), of, Rules::default());
    let Vote::No(objection) = vote else {
        panic!("{vote:?}")
    };
    assert!(
        objection.detail.contains("orders-3"),
        "{}",
        objection.detail
    );
}

#[test]
fn an_own_producer_is_read_only_only_if_its_state_is_unchanged() {
    let stated = || WriteReport {
        stated_delivered: true,
        ..WriteReport::default()
    };
    own_votes(stated(), Some(found(CompleteCommit, 7, 2)), Short::ReadOnly);
    own_votes(stated(), Some(found(CompleteAbort, 7, 2)), Short::No);
    own_votes(stated(), Some(found(CompleteCommit, 7, 3)), Short::No);
    own_votes(stated(), Some(found(Ongoing, 7, 3)), Short::No);
    own_votes(wrote(1, 1), Some(found(CompleteCommit, 7, 2)), Short::No);
    own_votes(stated(), Some(Inquiry::NotFound), Short::No);
    own_votes(stated(), None, Short::No);
}

#[test]
fn a_yes_carries_the_identity_that_the_broker_described() {
    let report = report(wrote(1, 1), Some(found(Ongoing, 7, 2)));
    let wanted = BranchIdentity {
        transactional_id: Arc::from("id"),
        producer: SLOT,
        start_time_ms: 50,
        timeout_ms: 60_000,
        version_class: VersionClass::V1,
    };
    assert_eq!(
        managed(&report, &Arc::from("id"), SLOT, Rules::default()),
        Vote::Yes(wanted)
    );
}
