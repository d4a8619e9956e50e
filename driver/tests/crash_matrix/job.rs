//! What a child process is to do, and the transaction that both it and the test run.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use gtc::{Config, Coordinator, Limits, ParticipantConfig, Record, TransactionOptions};
use serde::{Deserialize, Serialize};

use crate::own::OwnWriter;

pub type Result<T = ()> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// The transactions of one life: the second one leases the slots of the first again.
pub const ROUNDS: usize = 2;

/// What a process does with its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Mode {
    /// Opens, commits transactions, closes.
    Commit,
    /// Opens, begins transactions and aborts them, closes.
    Abort,
    /// Opens, waits for the recovery, forgets what ended mixed, closes.
    Recover,
    /// As `Recover`, and the first member is not there: it can end by its crash point alone.
    RecoverApart,
}

impl Mode {
    /// It ends what an earlier life left.
    pub fn recovers(self) -> bool {
        matches!(self, Self::Recover | Self::RecoverApart)
    }
}

/// Nobody listens there.
const NOBODY: &str = "127.0.0.1:9";

/// The client of an own producer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Own {
    /// rdkafka, of class v1.
    V1,
    /// Java, of class v2.
    V2,
}

/// A participant, and how it is reached.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Member {
    pub name: String,
    pub properties: BTreeMap<String, String>,
}

/// A coordinator, and where its transactions write.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Job {
    pub mode: Mode,
    pub id: String,
    pub log: PathBuf,
    pub members: Vec<Member>,
    pub topic: String,
    pub partition: i32,
    /// The first member is written to by this instead of a slot.
    pub own: Option<Own>,
    pub keyed: bool,
    /// Its application initialises its producer after the first life without settling it, so that
    /// a decided branch is aborted: the outcome is mixed.
    pub breaks: bool,
    /// How often the row was tried before.
    pub attempt: u32,
}

impl Job {
    /// The same for one more attempt: nothing of an earlier one is in its way.
    pub fn attempted(&self, attempt: u32) -> Self {
        let mut again = self.clone();
        if attempt > 0 {
            again.attempt = attempt;
            again.id = format!("{}-{attempt}", self.id);
            let directory = self.log.with_file_name("");
            let name = directory.file_name().unwrap_or_default();
            let name = format!("{}-{attempt}", name.to_string_lossy());
            again.log = directory.with_file_name(name).join("log");
        }
        again
    }

    /// The value that a round writes; it is also its key.
    pub fn round_value(&self, round: usize) -> String {
        match self.attempt {
            0 => format!("round-{round}"),
            again => format!("round-{round}-again-{again}"),
        }
    }

    /// The value of the transaction that shows that the slots work again.
    pub fn after_value(&self) -> String {
        match self.attempt {
            0 => "after".to_owned(),
            again => format!("after-again-{again}"),
        }
    }

    pub async fn open(&self) -> Result<Coordinator> {
        let mut limits = Limits::default();
        // Small enough for a checkpoint in the life of a child.
        limits.checkpoint_bytes = 600;
        // And for slots to be closed while it still lives.
        limits.slot_idle_ms = 200;
        let config = Config::new(&self.id, &self.log).limits(limits);
        let members = self.members.iter().enumerate();
        let config = members.fold(config, |config, (index, member)| {
            // One slot, so that the next transaction has to have the slot of the one before.
            let kafka = ParticipantConfig::kafka(&member.name).slots(1);
            let properties = member.properties.iter();
            let kafka = properties.fold(kafka, |kafka, (k, v)| kafka.property(k, v));
            let is_away = index == 0 && self.mode == Mode::RecoverApart;
            config.participant(match is_away {
                true => kafka.property("bootstrap.servers", NOBODY),
                false => kafka,
            })
        });
        let coordinator = Coordinator::open(config).await?;
        coordinator.recovered().await?;
        Ok(coordinator)
    }

    /// The operator's part where the application broke its own: the mixed outcome is forgotten.
    pub async fn forget_mixed(&self, coordinator: &Coordinator) -> Result {
        if self.breaks {
            for mixed in coordinator.list() {
                coordinator.forget(mixed.id)?;
            }
            while !coordinator.list().is_empty() {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        }
        Ok(())
    }

    /// The transactional.id of the own producer.
    pub fn own_id(&self) -> String {
        format!("own-{}", self.id)
    }

    /// Runs one transaction that writes `value` to every member, and tells of its commit.
    pub async fn transact(&self, coordinator: &Coordinator, value: &str, app: &mut App) -> Result {
        let options = match self.keyed {
            true => TransactionOptions::new().key(value),
            false => TransactionOptions::new(),
        };
        let transaction = coordinator.begin_with(options)?;
        let mut managed = &self.members[..];
        let mut branch = None;
        if let (Some(own), Some((first, rest))) = (&mut app.own, self.members.split_first()) {
            managed = rest;
            let class = own.version_class();
            let own_id = self.own_id();
            let enlisted = transaction.enlist(&first.name, &own_id, class).await?;
            own.write(self, value, &enlisted).await?;
            branch = Some(enlisted);
        }
        for member in managed {
            let record = Record {
                partition: Some(self.partition),
                value: Some(value.as_bytes().to_vec().into()),
                ..Record::to(self.topic.as_str())
            };
            transaction.send(&member.name, record).await?;
        }
        if self.mode == Mode::Abort {
            transaction.abort("the row wants it").await?;
        } else {
            transaction.commit().await?;
            (app.tell)(value);
        }
        if let (Some(own), Some(branch)) = (&mut app.own, branch) {
            own.finish(self, branch.finished().await?)?;
        }
        Ok(())
    }
}

/// The application's side of a job.
pub struct App {
    pub own: Option<OwnWriter>,
    /// Hears of each commit.
    pub tell: fn(&str),
}
