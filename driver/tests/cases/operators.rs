//! Cases of an operator.

use std::time::Duration;

use gtc::{
    Coordinator, Decision, ErrorKind, KnownOutcome, TransactionId, TransactionState, read_log,
};

use crate::child;
use crate::setup::Setup;
use crate::support::{PATIENCE, Result, committed, record};
use crate::world::world;

#[tokio::test(flavor = "multi_thread")]
async fn operator_needs_a_hand() -> Result {
    if let Some(file) = child::config_file() {
        return child::commit_one(file).await;
    }
    let world = world().await?;
    world.topic("operator").await?;
    let setup = Setup::new("operator", world);
    let test = "operators::operator_needs_a_hand";
    let id = child::killed_at("append-decided:after", test, &setup)?;

    // From the log alone: no process, no lock, no cluster.
    let ledger = read_log(setup.log())?;
    let list = ledger.list();
    let [view] = list.as_slice() else {
        panic!("one is listed, not {list:?}");
    };
    assert_eq!((view.id, view.decision), (id, Some(Decision::Commit)));
    assert_eq!(view.key.as_deref(), Some(b"operator".as_slice()));
    assert!(
        view.branches
            .iter()
            .all(|branch| branch.transactional_id.is_some())
    );
    assert_eq!(ledger.describe(id).as_ref(), Some(view));
    assert_eq!(ledger.outcome(id), KnownOutcome::InDoubt);

    // The cluster us is gone for good, as far as this coordinator can see.
    let setup = setup.unreachable("us");
    let coordinator = setup.open().await?;
    let live = read_log(setup.log())?;
    assert_eq!(live.outcome(id), KnownOutcome::InDoubt);
    let error = coordinator.forget(id).expect_err("it is not ended");
    assert_eq!(error.kind(), ErrorKind::InvalidState, "{error}");
    // Commit: what can be ended is; the rest stays.
    coordinator.resolve(id, Decision::Commit)?;
    assert_eq!(committed(&world.eu, "operator").await?, ["operator"]);
    assert_eq!(coordinator.list().len(), 1);
    // Abort: the rest is given up, and that is told.
    coordinator.resolve(id, Decision::Abort)?;
    wait_until_mixed(&coordinator, id).await?;
    let view = coordinator.describe(id).ok_or("it is listed")?;
    let given_up = view
        .branches
        .iter()
        .find(|branch| branch.participant == "us");
    let detail = given_up.and_then(|branch| branch.detail.clone());
    assert!(
        detail.is_some_and(|detail| detail.contains("operator")),
        "{view:?}"
    );
    coordinator.close().await?;
    assert_eq!(read_log(setup.log())?.outcome(id), KnownOutcome::Mixed);

    // The cluster is back: what was given up is an orphan, and ended as one.
    let setup = setup.participant("us", &world.us);
    let coordinator = setup.recover().await?;
    assert_eq!(committed(&world.us, "operator").await?, [""; 0]);
    assert_eq!(coordinator.list().len(), 1);
    coordinator.forget(id)?;
    let next = coordinator.begin()?;
    next.send("us", record("operator", "next")).await?;
    next.commit().await?;
    coordinator.close().await?;
    assert!(read_log(setup.log())?.list().is_empty());
    Ok(())
}

async fn wait_until_mixed(coordinator: &Coordinator, id: TransactionId) -> Result {
    let mixed = async {
        while coordinator
            .describe(id)
            .is_some_and(|view| view.state != TransactionState::Mixed)
        {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    Ok(tokio::time::timeout(PATIENCE, mixed).await?)
}
