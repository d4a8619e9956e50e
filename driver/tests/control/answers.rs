//! What real brokers answer to EndTxn and InitProducerId, row by row: the core's judgement of an
//! answer rests on these.

use gtc::kafka::control::{Attempt, ControlClient, EndTxnAnswer};
use gtc_core::{BrokerState, EndAnswer, ProducerIdentity, VersionClass};

use crate::producer::{Writer, await_state, create_topic, describe, open};
use crate::{CEILING_MS, client, shared};

const NONE: i16 = 0;
const INVALID_TXN_STATE: i16 = 48;
const INVALID_PRODUCER_ID_MAPPING: i16 = 49;
const INVALID_TRANSACTION_TIMEOUT: i16 = 50;
const PRODUCER_FENCED: i16 = 90;

fn control() -> ControlClient {
    client(shared().client_properties(), 20_000)
}

/// Ends a transaction and repeats it while the broker still writes the markers of the last end.
async fn end(
    control: &ControlClient,
    id: &str,
    producer: ProducerIdentity,
    class: VersionClass,
    commit: bool,
) -> EndTxnAnswer {
    loop {
        match control.end_transaction(id, producer, class, commit).await {
            Attempt::Answered(answer) if answer.code == 51 => {
                tokio::time::sleep(std::time::Duration::from_millis(20)).await;
            }
            Attempt::Answered(answer) => return answer,
            other => panic!("{id}: {other:?}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn v1_end_is_idempotent_in_its_direction_and_refused_in_the_other() {
    let (control, class) = (control(), VersionClass::V1);
    for (commit, done) in [
        (true, BrokerState::CompleteCommit),
        (false, BrokerState::CompleteAbort),
    ] {
        let id = format!("v1-end-{commit}");
        let (_writer, producer) = open(&control, &shared().client_properties(), &id).await;
        let before = describe(&control, &id).await;
        let first = end(&control, &id, producer, class, commit).await;
        assert_eq!(
            first,
            EndTxnAnswer {
                code: NONE,
                next: None
            }
        );
        await_state(&control, &id, done).await;
        let after = describe(&control, &id).await;
        assert_eq!(
            (after.producer, after.start_time_ms),
            (producer, before.start_time_ms)
        );
        assert_eq!(end(&control, &id, producer, class, commit).await.code, NONE);
        assert_eq!(
            end(&control, &id, producer, class, !commit).await.code,
            INVALID_TXN_STATE
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn v1_late_commit_commits_the_next_transaction() {
    let (control, id) = (control(), "v1-late");
    let (writer, producer) = open(&control, &shared().client_properties(), id).await;
    writer.commit();
    writer.write(id).await;
    let late = end(&control, id, producer, VersionClass::V1, true).await;
    assert_eq!(late.code, NONE, "the reason for R3");
    await_state(&control, id, BrokerState::CompleteCommit).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn v1_fenced_and_empty_and_unknown() {
    let (control, class, id) = (control(), VersionClass::V1, "v1-fenced");
    let (_writer, producer) = open(&control, &shared().client_properties(), id).await;
    let Attempt::Answered(fence) = control.init_producer_id(id, 60_000).await else {
        panic!("no answer");
    };
    // The open transaction is aborted first, and the broker asks to come again.
    let fence = if fence.code == 51 {
        init(&control, id).await
    } else {
        fence
    };
    let next = fence.next.expect("a successor");
    assert!(next.epoch > producer.epoch, "{next:?} after {producer:?}");
    for commit in [true, false] {
        assert_eq!(
            end(&control, id, producer, class, commit).await.code,
            PRODUCER_FENCED
        );
    }
    let described = describe(&control, id).await;
    assert_eq!(
        (described.state, described.start_time_ms),
        (BrokerState::Empty, -1)
    );
    assert_eq!(
        end(&control, id, next, class, true).await.code,
        INVALID_TXN_STATE
    );
    let code = end(&control, "v1-unknown", producer, class, true)
        .await
        .code;
    assert_eq!(code, INVALID_PRODUCER_ID_MAPPING);
    assert_eq!(
        control
            .describe_transaction("v1-unknown")
            .await
            .expect("answered"),
        None
    );
}

async fn init(control: &ControlClient, id: &str) -> EndTxnAnswer {
    loop {
        match control.init_producer_id(id, 60_000).await {
            Attempt::Answered(answer) if answer.code == 51 => {
                tokio::time::sleep(std::time::Duration::from_millis(20)).await;
            }
            Attempt::Answered(answer) => return answer,
            other => panic!("{id}: {other:?}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn expired_transaction_refuses_the_commit() {
    for (class, code) in [
        (VersionClass::V1, PRODUCER_FENCED),
        (VersionClass::V2, INVALID_TXN_STATE),
    ] {
        expire_and_commit(class, code).await;
    }
}

async fn expire_and_commit(class: VersionClass, expected: i16) {
    let (control, id) = (control(), &format!("expired-{}", class.as_str()));
    let properties = shared().client_properties();
    create_topic(&properties, id).await;
    let writer = Writer::open(&properties, id, 1000);
    writer.write(id).await;
    let producer = describe(&control, id).await.producer;
    await_state(&control, id, BrokerState::CompleteAbort).await;
    let expired = describe(&control, id).await;
    assert!(
        expired.producer.epoch > producer.epoch,
        "the broker fences what it expires"
    );
    let code = end(&control, id, producer, class, true).await.code;
    assert_eq!(code, expected, "{class:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn v2_end_moves_the_epoch_and_is_idempotent() {
    let (control, class) = (control(), VersionClass::V2);
    for (commit, done) in [
        (true, BrokerState::CompleteCommit),
        (false, BrokerState::CompleteAbort),
    ] {
        let id = format!("v2-end-{commit}");
        let (_writer, producer) = open(&control, &shared().client_properties(), &id).await;
        let next = ProducerIdentity {
            epoch: producer.epoch + 1,
            ..producer
        };
        let first = end(&control, &id, producer, class, commit).await;
        assert_eq!(
            first,
            EndTxnAnswer {
                code: NONE,
                next: Some(next)
            }
        );
        await_state(&control, &id, done).await;
        assert_eq!(describe(&control, &id).await.producer, next);
        let again = end(&control, &id, producer, class, commit).await;
        assert_eq!(
            again,
            EndTxnAnswer {
                code: NONE,
                next: Some(next)
            }
        );
        assert_eq!(
            end(&control, &id, producer, class, !commit).await.code,
            INVALID_TXN_STATE
        );
        let other_class = end(&control, &id, producer, VersionClass::V1, commit)
            .await
            .code;
        assert_eq!(
            other_class, PRODUCER_FENCED,
            "classes are never mixed on one branch"
        );
        init(&control, &id).await;
        assert_eq!(
            end(&control, &id, producer, class, commit).await.code,
            PRODUCER_FENCED
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn v2_of_nothing_written() {
    let (control, id) = (control(), "v2-empty");
    let producer = init(&control, id).await.next.expect("a producer");
    let commit = end(&control, id, producer, VersionClass::V2, true)
        .await
        .code;
    assert_eq!(commit, INVALID_TXN_STATE);
    assert_eq!(
        end(&control, id, producer, VersionClass::V2, false)
            .await
            .code,
        NONE
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn time_out_above_the_ceiling_is_refused_and_aborts_nothing() {
    let (control, id) = (control(), "ceiling");
    let (_writer, producer) = open(&control, &shared().client_properties(), id).await;
    let refused = control.init_producer_id(id, CEILING_MS + 1).await;
    assert_eq!(
        EndAnswer::from(refused),
        EndAnswer::Code(INVALID_TRANSACTION_TIMEOUT)
    );
    let described = describe(&control, id).await;
    assert_eq!(
        (described.state, described.producer),
        (BrokerState::Ongoing, producer)
    );
    assert_eq!(init(&control, id).await.code, NONE);
    assert_eq!(describe(&control, id).await.state, BrokerState::Empty);
}
