//! Commit, abort, and what is left when a coordinator goes away.

use gtc::{
    Config, Coordinator, ErrorKind, KnownOutcome, Limits, ParticipantConfig, TransactionOptions,
};

use crate::support::{
    Directory, Result, committed, config, create_topic, participant, record, two,
};

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

#[tokio::test(flavor = "multi_thread")]
async fn a_participant_that_is_down_holds_back_nobody_else() -> Result {
    let clusters = two().await?;
    create_topic(clusters[0], "alone").await?;
    let directory = Directory::new("down");
    let mut limits = Limits::default();
    limits.connect_timeout_ms = 2_000;
    let down = ParticipantConfig::kafka("us").property("bootstrap.servers", "127.0.0.1:1");
    let config = Config::new("down", directory.0.join("log"))
        .limits(limits)
        .participant(participant("eu", clusters[0]))
        .participant(down);
    let coordinator = Coordinator::open(config).await?;
    coordinator.verified("eu").await?;
    let transaction = coordinator.begin()?;
    transaction.send("eu", record("alone", "kept")).await?;
    let error = transaction
        .lease("us")
        .await
        .expect_err("nobody listens there");
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    assert_eq!(error.participant(), Some("us"));
    transaction.commit().await?;
    assert_eq!(committed(clusters[0], "alone").await?, ["kept"]);
    coordinator.close().await?;
    Ok(())
}
