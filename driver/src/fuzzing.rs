//! What the fuzz targets drive: decoders and clients behind their own doors. No part of the API.

use std::sync::Arc;

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::admin;
use crate::error::Error;
use crate::testing::World;
use crate::{Config, Coordinator, Transaction};

pub use crate::kafka::control::fuzzing::{Answer, Call, Meeting, properties as client_properties};
pub use crate::log::fuzzing::{Segment, open_log};

/// Reads a configuration whose environment is `lookup`.
///
/// # Errors
/// As [`Config::from_toml`].
pub fn configuration(text: &str, lookup: &dyn Fn(&str) -> Option<String>) -> Result<Config, Error> {
    crate::config::read(Some("configuration"), text, lookup)
}

/// Whether the libraries under the configuration take the participants' properties as well.
///
/// # Errors
/// The first that cannot be used.
pub fn properties(config: &Config) -> Result<(), Error> {
    config
        .participants()
        .iter()
        .try_for_each(|participant| participant.kafka_properties().map(drop))
}

/// An owner of a log and of two clusters, all in memory, with open transactions `1-1` and `1-2`.
pub struct Owner {
    runtime: tokio::runtime::Runtime,
    coordinator: Coordinator,
    /// Dropping them would abort them.
    _open: [Transaction; 2],
}

impl Owner {
    /// Starts one.
    ///
    /// # Panics
    /// If it cannot start.
    #[must_use]
    pub fn start() -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime");
        let (coordinator, open) = runtime.block_on(async {
            let coordinator = World::new().open().await.expect("starts");
            let open = [(); 2].map(|()| coordinator.begin().expect("begins"));
            (coordinator, open)
        });
        Self {
            runtime,
            coordinator,
            _open: open,
        }
    }

    /// Sends these bytes as one operator's connection and returns the answers.
    ///
    /// # Panics
    /// If the owner does not end the connection.
    #[must_use]
    pub fn ask(&self, bytes: &[u8]) -> Vec<u8> {
        self.runtime.block_on(async {
            let (mut here, there) = tokio::io::duplex(1 << 20);
            let shared = Arc::downgrade(self.coordinator.shared());
            let served = tokio::spawn(admin::serve(there, shared));
            here.write_all(bytes).await.expect("room");
            // A connection that was given up already cannot be shut down.
            let _ = here.shutdown().await;
            let mut answers = Vec::new();
            here.read_to_end(&mut answers).await.expect("in memory");
            served.await.expect("no panic");
            answers
        })
    }
}
