//! Removing whoever was the same static member before.
//!
//! A group coordinator lets a static member that comes back go on with the partitions that its predecessor
//! had, without asking anybody (KIP-345). So a consumer that was started again with other topics would read
//! the old ones, and none of the new ones, for as long as nothing else made the group rebalance. Once the
//! predecessor is removed, joining is joining.

use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::time::sleep;

use super::settings::ConsumerSettings;
use super::{ConsumerEvent, Job, Shared};
use crate::kafka::control::{ControlClient, ControlError};
use crate::kafka::error::{DataError, DataErrorKind};

/// How long to wait before a removal that failed is tried again.
const PAUSE: Duration = Duration::from_secs(1);

/// The static member that a consumer is about to be.
pub(super) struct Predecessor {
    client: ControlClient,
    group: Arc<str>,
    instance: Arc<str>,
}

impl Predecessor {
    /// `None` for a consumer that is no static member.
    pub(super) fn of(settings: &ConsumerSettings) -> Result<Option<Self>, DataError> {
        let Some(instance) = settings.instance.clone() else {
            return Ok(None);
        };
        let client = ControlClient::open(&settings.properties)
            .map_err(|error| settings.error(DataErrorKind::Config, &error.problem()))?;
        let group = settings.group.clone();
        Ok(Some(Self {
            client,
            group,
            instance,
        }))
    }

    /// Lets the consumer join once its predecessor is removed; gives up when the consumer is gone.
    pub(super) async fn make_way(self, shared: Weak<Shared>) {
        while let Err(error) = self.client.remove_member(&self.group, &self.instance).await {
            match shared.upgrade() {
                Some(shared) if !shared.lock().closing => tell(&shared, &error),
                _ => return,
            }
            sleep(PAUSE).await;
        }
        if let Some(shared) = shared.upgrade() {
            shared.put_job(Job::Join);
        }
    }
}

/// A cluster that does not answer is not told here, as it is not while records are read.
fn tell(shared: &Shared, error: &ControlError) {
    let (participant, why) = (&shared.participant, error.problem());
    if error.is_transient() {
        tracing::info!(%participant, %why, "consumer");
    } else {
        shared.put_ready(ConsumerEvent::Trouble(why));
    }
}
