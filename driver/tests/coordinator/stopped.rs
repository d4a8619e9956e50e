//! An owner that is stopped by SIGSTOP still owns its log; one that was killed does not.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use gtc::admin::{AdminRequest, ask};
use gtc::{Config, Coordinator, ErrorKind};
use rustix::process::{Pid, Signal, kill_process};

use crate::support::{Directory, PATIENCE, Result, configuration, two};
use crate::watchdog::end_at_last;

const CHILD: &str = "GTC_TEST_OWNER";
const TEST: &str = "stopped::two_coordinators";

#[tokio::test(flavor = "multi_thread")]
async fn two_coordinators() -> Result {
    // The test runs itself as the first owner.
    if let Ok(file) = std::env::var(CHILD) {
        end_at_last();
        let _owner = Coordinator::open(Config::from_file(file)?).await?;
        return std::future::pending().await;
    }
    let clusters = two().await?;
    let directory = Directory::new("stopped");
    let file = directory.0.join("gtc.toml");
    std::fs::write(&file, configuration("stopped", &clusters)?)?;
    let mut owner = start_owner(&file, &directory.0.join("log")).await?;
    let process = Pid::from_child(&owner);
    kill_process(process, Signal::STOP)?;
    let error = Coordinator::open(Config::from_file(&file)?)
        .await
        .expect_err("a stopped owner is an owner");
    assert_eq!(error.kind(), ErrorKind::Log);
    assert!(
        error.to_string().contains(&owner.id().to_string()),
        "{error}"
    );
    kill_process(process, Signal::KILL)?;
    owner.wait()?;
    let next = Coordinator::open(Config::from_file(&file)?).await?;
    next.recovered().await?;
    next.close().await?;
    Ok(())
}

/// Returns when the owner answers.
async fn start_owner(file: &Path, log: &Path) -> Result<Child> {
    let mut owner = Command::new(std::env::current_exe()?)
        .args(["--exact", TEST])
        .env(CHILD, file)
        .stdout(Stdio::null())
        .spawn()?;
    let deadline = Instant::now() + PATIENCE;
    while ask(log, &AdminRequest::Status).await?.is_none() {
        if let Some(status) = owner.try_wait()? {
            return Err(format!("the owner ended: {status}").into());
        }
        if Instant::now() > deadline {
            owner.kill()?;
            return Err("the owner does not answer".into());
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    Ok(owner)
}
