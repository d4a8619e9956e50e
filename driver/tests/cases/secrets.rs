//! No planted secret shows in any error, event or debug output: a key in PEM form, and passwords in
//! a file that cannot be read. A password on its way to a broker: see the test program coordinator.

use std::io::Write;
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError};

use gtc::{Config, Coordinator, Limits, ParticipantConfig};
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::fmt::MakeWriter;

use crate::support::{Directory, Result};
use crate::world::world;

const PASSWORD: &str = "planted-password-9c41";

/// Collects what subscribers write.
#[derive(Clone, Default)]
struct Output(Arc<Mutex<Vec<u8>>>);

impl Output {
    fn text(&self) -> String {
        let bytes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

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

/// A key with its certificate, and a line of the key to look for.
fn key_and_certificate() -> Result<(String, String, String)> {
    let directory = Directory::new("key");
    let (key, certificate) = (directory.0.join("key"), directory.0.join("certificate"));
    let made = Command::new("openssl")
        .args([
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:P-256",
        ])
        .args(["-nodes", "-subj", "/CN=gtc", "-days", "2", "-keyout"])
        .arg(&key)
        .arg("-out")
        .arg(&certificate)
        .output()?;
    assert!(made.status.success(), "{made:?}");
    let (key, certificate) = (
        std::fs::read_to_string(key)?,
        std::fs::read_to_string(certificate)?,
    );
    let line = key
        .lines()
        .nth(1)
        .ok_or("the key has no second line")?
        .to_owned();
    Ok((key, certificate, line))
}

/// A TLS client before a broker that speaks none: every call fails, and every layer says why.
#[tokio::test]
async fn no_output_shows_a_planted_key() -> Result {
    let world = world().await?;
    let (key, certificate, planted) = key_and_certificate()?;
    let output = Output::default();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(LevelFilter::TRACE)
        .with_writer(output.clone())
        .finish();
    // The test's runtime has this one thread.
    let _guard = tracing::subscriber::set_default(subscriber);
    let directory = Directory::new("secret-key");
    let participant = ParticipantConfig::kafka("eu")
        .property("bootstrap.servers", world.eu.bootstrap())
        .property("security.protocol", "ssl")
        .property("ssl.key.pem", key.clone())
        .property("ssl.certificate.pem", certificate)
        .property("debug", "security,broker,conf");
    let mut limits = Limits::default();
    limits.enlist_timeout_ms = 2_000;
    limits.connect_timeout_ms = 3_000;
    let config = Config::new("secret-key", directory.0.join("log"))
        .participant(participant)
        .limits(limits);
    let mut shown = format!("{config:?}");
    let coordinator = Coordinator::open(config).await?;
    let transaction = coordinator.begin()?;
    let error = transaction.lease("eu").await.expect_err("it speaks no TLS");
    shown += &format!("{coordinator:?} {transaction:?} {error} {error:?}");
    shown += &serde_json::to_string(&coordinator.status())?;
    transaction.abort("a test").await?;
    coordinator.close().await?;
    let events = output.text();
    assert!(
        events.contains("does not answer"),
        "the failure shows nowhere: {events}"
    );
    for text in [shown, events] {
        assert!(!text.contains(&planted), "{text}");
    }

    // A key that cannot be read.
    let broken = key.replace("-----END", "=broken=\n-----END");
    let participant = ParticipantConfig::kafka("eu")
        .property("bootstrap.servers", world.eu.bootstrap())
        .property("security.protocol", "ssl")
        .property("ssl.key.pem", broken);
    let config = Config::new("secret-key", directory.0.join("other")).participant(participant);
    let error = Coordinator::open(config)
        .await
        .expect_err("the key is broken");
    for text in [error.to_string(), format!("{error:?}")] {
        assert!(!text.contains(&planted), "{text}");
    }
    Ok(())
}

#[test]
fn no_error_of_a_configuration_shows_a_planted_password() {
    let head = "[coordinator]\nid = \"a\"\nlog = \"b\"\n[participants.eu]\nkind = \"kafka\"\n";
    for line in [
        // No end of the string, a table, a number, an unknown variable, an unknown name.
        format!("sasl.password = \"{PASSWORD}"),
        format!("sasl.password = [\"{PASSWORD}\"]"),
        format!("sasl.password = {PASSWORD}"),
        format!("sasl.password = \"{PASSWORD}${{GTC_NO_SUCH_VARIABLE}}\""),
        format!("sasl.passwort = \"{PASSWORD}\""),
        format!("sasl.password = \"{PASSWORD}\"\nsasl.password = \"{PASSWORD}\""),
        format!("socket.timeout.ms = \"{PASSWORD}\""),
    ] {
        let error = Config::from_toml(&format!("{head}{line}\n")).expect_err(&line);
        for text in [error.to_string(), format!("{error:?}")] {
            assert!(!text.contains(PASSWORD), "{text}");
        }
        let mut source = std::error::Error::source(&error);
        while let Some(cause) = source {
            assert!(
                !format!("{cause} {cause:?}").contains(PASSWORD),
                "{cause:?}"
            );
            source = cause.source();
        }
    }
}
