//! A planted secret shows in no event, error or debug output, also while everything fails.

use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};

use gtc::{Config, Coordinator, ParticipantConfig};
use tracing_subscriber::fmt::MakeWriter;

use crate::support::{Directory, Result, two};

const SECRET: &str = "planted-secret-5e1f";

#[derive(Clone, Default)]
struct Output(Arc<Mutex<Vec<u8>>>);

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let mut output = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        output.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Output {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

#[tokio::test]
async fn no_output_shows_a_planted_secret() -> Result {
    let clusters = two().await?;
    let output = Output::default();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing_subscriber::filter::LevelFilter::TRACE)
        .with_writer(output.clone())
        .finish();
    // The test's runtime has this one thread.
    let _guard = tracing::subscriber::set_default(subscriber);
    let directory = Directory::new("secrets");
    // The plain broker understands nothing of it, so that every call fails.
    let participant = ParticipantConfig::kafka("eu")
        .property("bootstrap.servers", clusters[0].bootstrap())
        .property("security.protocol", "sasl_plaintext")
        .property("sasl.mechanism", "SCRAM-SHA-256")
        .property("sasl.username", "gtc")
        .property("sasl.password", SECRET)
        .property("debug", "security,broker,conf");
    let mut config = Config::new("secrets", directory.0.join("log")).participant(participant);
    let mut shown = format!("{config:?}");
    let mut limits = gtc::Limits::default();
    limits.enlist_timeout_ms = 2_000;
    limits.connect_timeout_ms = 3_000;
    config = config.limits(limits);
    let coordinator = Coordinator::open(config).await?;
    let transaction = coordinator.begin()?;
    let error = transaction
        .lease("eu")
        .await
        .expect_err("it cannot be used");
    shown += &format!("{coordinator:?} {transaction:?} {error} {error:?}");
    shown += &serde_json::to_string(&coordinator.status())?;
    drop(transaction);
    coordinator.close().await?;
    let events = output
        .0
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .clone();
    let events = String::from_utf8_lossy(&events).into_owned();
    assert!(
        events.contains("unavailable"),
        "the failure shows nowhere: {events}"
    );
    for text in [shown, events] {
        assert!(!text.contains(SECRET), "{text}");
    }
    Ok(())
}
