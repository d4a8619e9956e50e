//! Consumers and their batches.

use gtc::{PartitionLag, facade};
use napi::bindgen_prelude::BigInt;
use napi_derive::napi;

use crate::answer::{Answer, Now, answer, done, now};
use crate::convert::{milliseconds, offset_in, offset_out};
use crate::record::{Columns, columns};

/// How far a partition is behind.
#[napi(object, object_from_js = false, use_nullable = true)]
pub struct Lag {
    pub topic: String,
    pub partition: i32,
    pub position: Option<BigInt>,
    pub end: BigInt,
}

/// Something that happened beside the batches.
#[napi(object, object_from_js = false)]
pub struct Notice {
    pub kind: &'static str,
    pub text: String,
    pub partitions: Vec<Partition>,
}

/// A partition of a topic.
#[napi(object, object_from_js = false)]
pub struct Partition {
    pub topic: String,
    pub partition: i32,
}

/// The next offset to read of a partition.
#[napi(object, object_from_js = false)]
pub struct Position {
    pub topic: String,
    pub partition: i32,
    pub offset: BigInt,
}

/// A consumer whose offsets travel inside transactions.
#[napi]
pub struct Consumer(pub(crate) facade::Consumer);

#[napi]
impl Consumer {
    #[napi(getter, catch_unwind)]
    pub fn participant(&self) -> &str {
        self.0.participant()
    }

    /// A batch, or null when the time has passed.
    #[napi(catch_unwind)]
    pub fn next(&self, timeout_ms: Option<f64>) -> napi::Result<Answer<Option<Batch>>> {
        let pending = self.0.next(milliseconds(timeout_ms)?);
        Ok(answer(pending, |batch| batch.map(Batch)))
    }

    #[napi(catch_unwind)]
    pub fn lag(&self) -> Now<Vec<Lag>> {
        now(self
            .0
            .lag()
            .map(|lag| lag.into_iter().map(lag_out).collect()))
    }

    #[napi(catch_unwind)]
    pub fn is_caught_up(&self) -> Now<bool> {
        now(self.0.is_caught_up())
    }

    #[napi(catch_unwind)]
    pub fn notices(&self) -> Now<Vec<Notice>> {
        now(self
            .0
            .notices()
            .map(|notices| notices.into_iter().map(notice_out).collect()))
    }

    #[napi(catch_unwind)]
    pub fn resume_at(
        &self,
        topic: String,
        partition: i32,
        offset: BigInt,
    ) -> napi::Result<Answer<()>> {
        let offset = offset_in(&offset)?;
        Ok(done(self.0.resume_at(&topic, partition, offset)))
    }

    #[napi(catch_unwind)]
    pub fn close(&self) -> Answer<()> {
        done(self.0.close())
    }
}

fn lag_out(lag: PartitionLag) -> Lag {
    Lag {
        topic: lag.topic.to_string(),
        partition: lag.partition,
        position: lag.position.map(offset_out),
        end: offset_out(lag.end),
    }
}

fn notice_out(notice: facade::Notice) -> Notice {
    Notice {
        kind: notice.kind.as_str(),
        text: notice.text,
        partitions: notice.partitions.into_iter().map(partition).collect(),
    }
}

fn partition((topic, partition): (std::sync::Arc<str>, i32)) -> Partition {
    Partition {
        topic: topic.to_string(),
        partition,
    }
}

/// Records, and the offsets after them.
#[napi]
pub struct Batch(pub(crate) facade::Batch);

#[napi]
impl Batch {
    #[napi(catch_unwind)]
    pub fn columns(&self) -> Columns {
        columns(self.0.records())
    }

    #[napi(getter, catch_unwind)]
    pub fn length(&self) -> u32 {
        u32::try_from(self.0.records().len()).unwrap_or(u32::MAX)
    }

    #[napi(getter, catch_unwind)]
    pub fn positions(&self) -> Vec<Position> {
        let positions = self.0.positions().iter().map(|place| Position {
            topic: place.topic.to_string(),
            partition: place.partition,
            offset: offset_out(place.offset),
        });
        positions.collect()
    }

    #[napi(getter, catch_unwind)]
    pub fn is_stale(&self) -> bool {
        self.0.is_stale()
    }
}
