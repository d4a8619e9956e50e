//! A coordinator is killed at a named step of a commit, and opened again.

use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Command;

use gtc::{Config, Coordinator, KnownOutcome, TransactionOptions};
use gtc_clusters::Cluster;

use crate::support::{
    Directory, Result, committed, configuration, create_topic, record, show_events, two,
};
use crate::watchdog::end_at_last;

const CHILD: &str = "GTC_TEST_CHILD";
const TEST: &str = "kill::a_kill_at_any_step_leaves_all_or_nothing";
const SIGKILL: i32 = 9;

/// Steps of a two-phase commit, and whether the transaction has committed if it is killed there.
const STEPS: &[(&str, bool)] = &[
    ("prepare:us:before", false),
    ("prepare:eu:after", false),
    ("append-decided:before", false),
    ("append-decided:after", true),
    ("end-by-writer:us:before", true),
    ("end-by-writer:eu:after", true),
    ("append-completed:before", true),
];

#[tokio::test(flavor = "multi_thread")]
async fn a_kill_at_any_step_leaves_all_or_nothing() -> Result {
    // The test runs itself as the process that is killed.
    if let Ok(file) = std::env::var(CHILD) {
        end_at_last();
        return be_killed(Path::new(&file)).await;
    }
    let clusters = two().await?;
    for cluster in &clusters {
        create_topic(cluster, "kill").await?;
    }
    let directory = Directory::new("kill");
    let file = directory.0.join("gtc.toml");
    std::fs::write(&file, configuration("kill", &clusters)?)?;
    let mut expected = Vec::new();
    for (step, commits) in STEPS {
        let status = Command::new(std::env::current_exe()?)
            .args(["--exact", TEST, "--nocapture"])
            .env(CHILD, &file)
            .env("GTC_CRASH_AT", step)
            .status()?;
        assert_eq!(status.signal(), Some(SIGKILL), "{step}: {status}");
        if *commits {
            expected.push((*step).to_owned());
        }
        check(step, (&file, *commits), &clusters, &expected).await?;
    }
    Ok(())
}

async fn be_killed(file: &Path) -> Result {
    show_events();
    let coordinator = Coordinator::open(Config::from_file(file)?).await?;
    let step = std::env::var("GTC_CRASH_AT")?;
    let options = TransactionOptions::new().key(step.as_bytes());
    let transaction = coordinator.begin_with(options)?;
    transaction
        .send("eu", record("kill", step.as_bytes()))
        .await?;
    transaction
        .send("us", record("kill", step.as_bytes()))
        .await?;
    transaction.commit().await?;
    coordinator.close().await?;
    Err("it was not killed".into())
}

/// What a start after the kill finds and leaves.
async fn check(
    step: &str,
    (file, commits): (&Path, bool),
    clusters: &[&Cluster],
    expected: &[String],
) -> Result {
    let coordinator = Coordinator::open(Config::from_file(file)?).await?;
    coordinator.recovered().await?;
    for cluster in clusters {
        assert_eq!(committed(cluster, "kill").await?, expected, "after {step}");
    }
    let outcome = coordinator.outcome_by_key(step.as_bytes());
    let outcome = outcome.map(|(_, outcome)| outcome);
    assert_eq!(
        outcome,
        commits.then_some(KnownOutcome::Committed),
        "after {step}"
    );
    assert!(coordinator.list().is_empty(), "after {step}");
    coordinator.close().await?;
    Ok(())
}
