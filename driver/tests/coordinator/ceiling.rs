//! Case timeout-above-ceiling, against a broker with a low ceiling.

use gtc::{Config, Coordinator, ErrorKind};
use gtc_clusters::{Cluster, ClusterOptions};

use crate::support::{Directory, Result, committed, create_topic, participant, record};

#[tokio::test(flavor = "multi_thread")]
async fn timeout_above_ceiling() -> Result {
    let options = ClusterOptions::new("ceiling").property("transaction.max.timeout.ms", "15000");
    // Starting it blocks for seconds.
    let cluster = tokio::task::spawn_blocking(|| Cluster::start(options)).await??;
    create_topic(&cluster, "ceiling").await?;
    let directory = Directory::new("ceiling");
    let config = Config::new("ceiling", directory.0.join("log"));
    let above = participant("eu", &cluster).transaction_timeout_ms(15_001);
    let error = Coordinator::open(config.clone().participant(above))
        .await
        .expect_err("the cluster holds a transaction for 15 s only");
    assert_eq!(error.kind(), ErrorKind::Config);
    assert_eq!(error.participant(), Some("eu"));
    let text = error.to_string();
    for part in ["15001", "15000", "transaction.max.timeout.ms"] {
        assert!(text.contains(part), "{text}");
    }
    // By default it is the ceiling itself, whatever that is.
    let coordinator = Coordinator::open(config.participant(participant("eu", &cluster))).await?;
    let transaction = coordinator.begin()?;
    transaction.send("eu", record("ceiling", "kept")).await?;
    transaction.commit().await?;
    assert_eq!(committed(&cluster, "ceiling").await?, ["kept"]);
    coordinator.close().await?;
    Ok(())
}
