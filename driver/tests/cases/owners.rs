//! Cases of two coordinators that both believe to be the owner.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use gtc::{Config, Coordinator, Error, ErrorKind};
use rustix::process::Signal;

use crate::child::{self, Child};
use crate::setup::Setup;
use crate::support::{Result, committed, record};
use crate::world::{wait_until_open, world};

#[tokio::test(flavor = "multi_thread")]
async fn two_coordinators() -> Result {
    if let Some(file) = child::config_file() {
        return hold_one_open(file).await;
    }
    let world = world().await?;
    world.topic("two").await?;
    let setup = Setup::new("two", world);
    let mut first = Child::start("owners::two_coordinators", &setup, None)?;
    assert_eq!(first.says()?, "open");

    assert_names_owner(&setup.refused().await?, first.id());
    first.signal(Signal::STOP)?;
    let asked = Instant::now();
    assert_names_owner(&setup.refused().await?, first.id());
    assert!(
        asked.elapsed() < Duration::from_secs(10),
        "{:?}",
        asked.elapsed()
    );
    first.signal(Signal::CONT)?;
    first.tell("commit")?;
    assert_eq!(first.says()?, "committed");

    // Killed, it lets go at once, and the next owner finds its work done.
    first.kill()?;
    let coordinator = setup.recover().await?;
    for cluster in world.clusters() {
        assert_eq!(committed(cluster, "two").await?, ["x"]);
    }
    Ok(coordinator.close().await?)
}

/// The kind: the same id with a log of its own, as after the loss of the first (R12).
#[tokio::test(flavor = "multi_thread")]
async fn another_log_of_the_same_id_touches_nothing() -> Result {
    if let Some(file) = child::config_file() {
        return hold_one_open(file).await;
    }
    let world = world().await?;
    world.topic("same-id").await?;
    let setup = Setup::new("same-id", world);
    let test = "owners::another_log_of_the_same_id_touches_nothing";
    let mut first = Child::start(test, &setup, None)?;
    assert_eq!(first.says()?, "open");
    for cluster in world.clusters() {
        wait_until_open(cluster, "same-id", 1).await?;
    }
    let elsewhere = Setup::new("same-id", world);
    let other = elsewhere.recover().await?;
    let mut foreign: Vec<_> = other
        .foreign()
        .iter()
        .map(|f| f.participant.clone())
        .collect();
    foreign.sort();
    assert_eq!(foreign, ["eu", "us"]);
    let transaction = other.begin()?;
    transaction.send("eu", record("same-id", "other")).await?;
    transaction.commit().await?;

    first.tell("commit")?;
    assert_eq!(first.says()?, "committed");
    other.close().await?;
    assert_eq!(committed(&world.us, "same-id").await?, ["x"]);
    let mut eu = committed(&world.eu, "same-id").await?;
    eu.sort();
    assert_eq!(eu, ["other", "x"]);
    first.kill()
}

/// The kind: a log that was copied, or restored from a backup (R13).
#[tokio::test(flavor = "multi_thread")]
async fn a_copied_log_is_refused() -> Result {
    let world = world().await?;
    world.topic("copied").await?;
    let setup = Setup::new("copied", world);
    let work = async |setup: &Setup| {
        let coordinator = setup.recover().await?;
        for participant in ["eu", "us"] {
            let transaction = coordinator.begin()?;
            transaction.send(participant, record("copied", "x")).await?;
            transaction.commit().await?;
        }
        Result::Ok(coordinator.close().await?)
    };
    work(&setup).await?;
    let copy = setup.directory().join("copy");
    copy_directory(&setup.log(), &copy)?;

    let config = |log: &Path, adopt| -> Result<Config> {
        let text = std::fs::read_to_string(setup.file()?)?;
        let text = text.replace("log = \"log\"", &format!("log = {log:?}\nadopt = {adopt}"));
        Ok(Config::from_toml(&text)?)
    };
    let error = Coordinator::open(config(&copy, false)?).await;
    let error = error.expect_err("it lies elsewhere");
    assert_eq!(error.kind(), ErrorKind::Log, "{error}");
    assert!(error.to_string().contains("adopt"), "{error}");

    // Adopted, it shows by the names of a later start, which the copy cannot know, however often a supervisor starts it.
    work(&setup).await?;
    let read = |log: &Path| -> Result<Vec<(String, Vec<u8>)>> {
        let mut files = Vec::new();
        for entry in std::fs::read_dir(log)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            // Who looked last.
            if name != "owner" {
                files.push((name, std::fs::read(entry.path())?));
            }
        }
        files.sort();
        Ok(files)
    };
    let untouched = read(&copy)?;
    for _ in 0..6 {
        let error = Coordinator::open(config(&copy, true)?).await;
        let error = error.expect_err("the original went on");
        assert_eq!(error.kind(), ErrorKind::Log, "{error}");
        assert!(
            error.problem().contains("which this log never made"),
            "{error}"
        );
        // Nothing of the refused adoption is left: without it the copy is still where it was not made.
        let error = Coordinator::open(config(&copy, false)?).await;
        let error = error.expect_err("it lies elsewhere");
        assert!(error.to_string().contains("another directory"), "{error}");
    }
    assert_eq!(read(&copy)?, untouched, "a refused adoption writes nothing");
    // The original is none the worse.
    work(&setup).await
}

fn assert_names_owner(error: &Error, process: u32) {
    assert_eq!(error.kind(), ErrorKind::Log, "{error}");
    assert!(error.to_string().contains(&process.to_string()), "{error}");
}

fn copy_directory(from: &Path, to: &Path) -> Result {
    let status = Command::new("cp").arg("-a").args([from, to]).status()?;
    match status.success() {
        true => Ok(()),
        false => Err(format!("cp: {status}").into()),
    }
}

/// The child: a transaction that is written and not decided until the parent says so.
async fn hold_one_open(file: PathBuf) -> Result {
    let coordinator = Coordinator::open(Config::from_file(file)?).await?;
    let topic = coordinator.id().to_owned();
    let transaction = coordinator.begin()?;
    for participant in ["eu", "us"] {
        transaction.send(participant, record(&topic, "x")).await?;
    }
    child::say("open")?;
    child::told().await?;
    transaction.commit().await?;
    child::say("committed")?;
    child::told().await?;
    Err("it was not killed".into())
}
