//! Commit, abort, and what is left when a coordinator goes away.

use gtc::{Coordinator, ErrorKind, KnownOutcome, TransactionOptions};

use crate::support::{Directory, Result, committed, config, create_topic, record, two};

#[tokio::test(flavor = "multi_thread")]
async fn commits_are_visible_on_both_and_aborts_on_none() -> Result {
    let clusters = two().await?;
    for cluster in &clusters {
        create_topic(cluster, "basic").await?;
    }
    let directory = Directory::new("basic");
    let coordinator = Coordinator::open(config("basic", &directory, &clusters)).await?;
    for round in 0..5 {
        let options = TransactionOptions::new().key(format!("round-{round}"));
        let transaction = coordinator.begin_with(options)?;
        for participant in ["eu", "us"] {
            let value = format!("kept-{round}");
            transaction
                .send(participant, record("basic", value))
                .await?;
        }
        let id = transaction.commit().await?.id;
        assert_eq!(coordinator.outcome(id), KnownOutcome::Committed);

        let transaction = coordinator.begin()?;
        for participant in ["eu", "us"] {
            transaction
                .send(participant, record("basic", "dropped"))
                .await?;
        }
        transaction.abort("a test").await?;
    }
    let kept: Vec<_> = (0..5).map(|round| format!("kept-{round}")).collect();
    for cluster in &clusters {
        assert_eq!(committed(cluster, "basic").await?, kept);
    }
    let found = coordinator.outcome_by_key(b"round-3");
    assert_eq!(
        found.map(|(_, outcome)| outcome),
        Some(KnownOutcome::Committed)
    );
    assert!(coordinator.list().is_empty());
    coordinator.recovered().await?;
    coordinator.close().await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_owner_is_refused_while_the_first_lives() -> Result {
    let clusters = two().await?;
    let directory = Directory::new("second");
    let first = Coordinator::open(config("second", &directory, &clusters)).await?;
    let again = Coordinator::open(config("second", &directory, &clusters)).await;
    let error = again.expect_err("the log has an owner");
    assert_eq!(error.kind(), ErrorKind::Log);
    let owner = std::process::id().to_string();
    assert!(error.to_string().contains(&owner), "{error}");
    first.close().await?;
    Coordinator::open(config("second", &directory, &clusters))
        .await?
        .close()
        .await?;
    Ok(())
}
