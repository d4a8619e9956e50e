//! Consume, transform, produce across clusters by the example program, while it is killed.
//!
//! Flights on `us` become delays on `eu`. The checker knows the delay of each flight and reads both clusters.

use std::collections::HashMap;
use std::path::PathBuf;
use std::time::Duration;

use gtc_clusters::Security;

use crate::check::{ClusterView, Evidence, Link, Report, group_offsets, judge, read_cluster};
use crate::error::{Error, Result};
use crate::fleet::{Coordinator, Fleet, Place};
use crate::flights;
use crate::journal::Journal;
use crate::load::Loader;
use crate::plan::Plan;
use crate::program::{Program, Watched};
use crate::record::Record;

const SOURCE: &str = "us";
const INPUT: &str = "flights";
const DESTINATION: &str = "eu";
const OUTPUT: &str = "delays";
const GROUP: &str = "transform";
const PARTITIONS: i32 = 4;

/// The column of a flight that the example keeps.
const ARRIVAL_DELAY: usize = 8;
/// Records of a batch: small, so that work is left for every kill.
const BATCH: &str = "50";
const LAST_BATCH: &str = "2000";
const AIM_PATIENCE: Duration = Duration::from_secs(180);
const END_PATIENCE: Duration = Duration::from_secs(300);
const SETTLE: Duration = Duration::from_secs(20);

/// What to run.
#[derive(Clone, Debug)]
pub struct Transform {
    /// Where; `gtc` lists in the end what is left open.
    pub place: Place,
    /// The example `transform`.
    pub example: PathBuf,
    /// The seed of the kills.
    pub seed: u64,
    /// How many kills.
    pub kills: u32,
}

impl Transform {
    /// Runs it; `say` takes lines about its progress.
    ///
    /// # Errors
    /// It could not be carried out to its end.
    pub fn run(&self, say: &dyn Fn(&str)) -> Result<(Plan, Report)> {
        self.place.prepare()?;
        let fleet = Fleet::start(&[SOURCE, DESTINATION], Security::Plain)?;
        let expected = load(&fleet)?;
        say(&format!("{} flights written to {SOURCE}", expected.len()));
        let coordinator = fleet.coordinator(&self.place, GROUP)?;
        let mut plan = Plan::new(self.seed, self.kills);
        self.kill_all(&mut plan, say)?;
        self.finish(&coordinator)?;
        Ok((plan, check(&fleet, expected)?))
    }

    fn program(&self, batch: &str) -> Program {
        let config = self.place.file(&format!("{GROUP}.toml"));
        let config = config.display().to_string();
        let arguments = [&config, SOURCE, INPUT, DESTINATION, OUTPUT, batch];
        Program {
            binary: self.example.clone(),
            arguments: arguments.map(str::to_owned).into(),
            environment: vec![("GTC_LOG".into(), "info,gtc=debug".into())],
            log: self.place.file("transform.log"),
        }
    }

    fn kill_all(&self, plan: &mut Plan, say: &dyn Fn(&str)) -> Result<()> {
        let program = self.program(BATCH);
        while let Some(aim) = plan.next_aim() {
            if plan.total() >= self.kills * 3 + 6 {
                break;
            }
            let mut life = program.start()?;
            let watched = life.watch(aim, AIM_PATIENCE)?;
            let tail = life.tail();
            match life.kill()? {
                Some(window) if watched == Watched::Reached => {
                    plan.record(window);
                    say(&format!("kill -9 {}: {window}", plan.total()));
                }
                _ => {
                    let text = format!("the example ended by itself, which ends:\n{tail}");
                    return Err(Error::new(text));
                }
            }
        }
        Ok(())
    }

    fn finish(&self, coordinator: &Coordinator) -> Result<()> {
        self.program(LAST_BATCH).output(END_PATIENCE)?;
        coordinator.expect_nothing_listed()
    }
}

/// Writes the flights, and says what is to become of them.
fn load(fleet: &Fleet) -> Result<Journal> {
    let records = flights::records(None, SOURCE, PARTITIONS)?;
    let connections = fleet.connections();
    connections[0].create_topic(INPUT, PARTITIONS)?;
    connections[1].create_topic(OUTPUT, PARTITIONS)?;
    let mut journal = Journal::new(SOURCE);
    Loader::idempotent(&connections[0], INPUT)?.load(&records, &mut journal)?;
    let delays: HashMap<String, u64> = records.iter().filter_map(delay).collect();
    for entry in journal.partitions.values_mut().flatten() {
        entry.digest = delays.get(&entry.id).copied().unwrap_or(0);
    }
    Ok(journal)
}

/// The id of a flight, and the checksum of the record that the example is to make of it.
fn delay(flight: &Record) -> Option<(String, u64)> {
    let row = String::from_utf8(flight.value.clone()?).ok()?;
    let delay = row.split(',').nth(ARRIVAL_DELAY)?;
    let made = Record {
        value: Some(delay.into()),
        ..flight.clone()
    };
    Some((flight.id()?, made.digest()))
}

fn check(fleet: &Fleet, expected: Journal) -> Result<Report> {
    let connections = fleet.connections();
    let source = read_cluster(&connections[0], INPUT, SETTLE)?;
    let destination = read_cluster(&connections[1], OUTPUT, SETTLE)?;
    let offsets = group_offsets(&connections[0], INPUT, GROUP)?;
    let link = Link {
        from: SOURCE.into(),
        to: DESTINATION.into(),
        group: GROUP.into(),
        offsets,
    };
    Ok(judge(&Evidence {
        views: vec![as_expected(source, &expected), destination],
        journals: vec![expected],
        links: vec![link],
    }))
}

/// The source holds flights and not delays: of it only the places count.
fn as_expected(mut source: ClusterView, expected: &Journal) -> ClusterView {
    let entries = expected.partitions.values().flatten();
    let digests: HashMap<&str, u64> = entries.map(|e| (e.id.as_str(), e.digest)).collect();
    let seen = source
        .partitions
        .values_mut()
        .flat_map(|view| &mut view.records);
    for record in seen {
        let digest = record.id.as_deref().and_then(|id| digests.get(id));
        record.digest = digest.copied().unwrap_or(record.digest);
    }
    source
}
