//! Clusters that outlive the command that started them: `cargo xtask clusters up | down | status`.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};

use crate::error::{Context, Error, Result};
use crate::files::{FileLock, make_dir, target_dir, write_file};
use crate::node::{Node, await_health, trained};
use crate::options::{ClusterOptions, Security};
use crate::process::Program;
use crate::wire::Wire;

const STOP_PATIENCE: Duration = Duration::from_secs(30);
const STATE_REMEDY: &str = "run `cargo xtask clusters down`, then up again";

/// One cluster that was started by [`Standing::up`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Status {
    /// Its name.
    pub name: String,
    /// The broker's process id.
    pub pid: u32,
    /// Where clients connect.
    pub bootstrap: String,
    /// Its cluster.id.
    pub cluster_id: String,
    /// Whether the process lives and is that broker.
    pub running: bool,
    /// Whether the broker answers and leads all its partitions.
    pub healthy: bool,
    internal_port: u16,
    dir: PathBuf,
}

/// A set of such clusters, in a directory of its own.
#[derive(Clone, Debug)]
pub struct Standing {
    dir: PathBuf,
}

impl Default for Standing {
    /// The set of this checkout.
    fn default() -> Self {
        Self::named("up")
    }
}

impl Standing {
    /// Another set, apart from that of [`Self::default`].
    #[must_use]
    pub fn named(name: &str) -> Self {
        Self {
            dir: target_dir().join("clusters").join(name),
        }
    }

    /// Sees that `count` plain clusters run, and returns all that do. A broker that has ended is
    /// started again as the same cluster: with its data, and at its address.
    pub fn up(&self, count: usize) -> Result<Vec<Status>> {
        let _lock = self.lock()?;
        std::thread::scope(|scope| {
            let starts: Vec<_> = (1..=count)
                .map(|n| scope.spawn(move || start(&self.dir.join(format!("c{n}")))))
                .collect();
            starts.into_iter().try_for_each(|start| {
                start
                    .join()
                    .unwrap_or_else(|p| std::panic::resume_unwind(p))
            })
        })?;
        self.status()
    }

    /// Ends all of them, removes their data, and returns their names.
    pub fn down(&self) -> Result<Vec<String>> {
        let _lock = self.lock()?;
        let clusters = self.status()?;
        for cluster in &clusters {
            cluster.end()?;
            let dir = &cluster.dir;
            fs::remove_dir_all(dir).context(
                format_args!("removing {}", dir.display()),
                "check the rights there",
            )?;
        }
        Ok(clusters.into_iter().map(|cluster| cluster.name).collect())
    }

    /// All that were started and not ended by [`Self::down`], by name.
    pub fn status(&self) -> Result<Vec<Status>> {
        let Ok(entries) = fs::read_dir(&self.dir) else {
            return Ok(Vec::new());
        };
        let dirs = entries.flatten().map(|entry| entry.path());
        let mut dirs: Vec<PathBuf> = dirs.filter(|dir| dir.join("state").is_file()).collect();
        dirs.sort();
        dirs.iter().map(|dir| Status::read(dir)).collect()
    }

    fn lock(&self) -> Result<FileLock> {
        make_dir(&self.dir)?;
        FileLock::wait(&self.dir.join("lock"))
    }
}

fn start(dir: &Path) -> Result<()> {
    if dir.join("state").is_file() {
        let found = Status::read(dir)?;
        return if found.running {
            Ok(())
        } else {
            start_again(&found)
        };
    }
    // Without a state nothing in it was ever in use.
    fs::remove_dir_all(dir).ok();
    let node = Node::prepare(ClusterOptions::new(name_of(dir)), dir)?;
    let process = node.program.start_detached()?;
    let pid = process.id();
    // Before the wait for health, so that `down` finds it also where this wait is interrupted.
    let place = (node.bootstrap(), node.cluster_id.clone());
    write_state(dir, (pid, node.ports.internal.number()), &place)?;
    node.await_health(|| !process.has_ended())
}

fn start_again(found: &Status) -> Result<()> {
    let options = ClusterOptions::new(&found.name);
    let program = Program::within(&found.dir, trained(&options)?);
    let process = program.start_detached()?;
    let place = (found.bootstrap.clone(), found.cluster_id.clone());
    write_state(&found.dir, (process.id(), found.internal_port), &place)?;
    let is_healthy = || is_ready(found.internal_port);
    await_health((&found.name, &program), is_healthy, || !process.has_ended())
}

fn write_state(
    dir: &Path,
    (pid, internal_port): (u32, u16),
    (bootstrap, cluster_id): &(String, String),
) -> Result<()> {
    let text = format!("{pid}\n{bootstrap}\n{cluster_id}\n{internal_port}\n");
    write_file(&dir.join("state"), &text)
}

fn is_ready(internal_port: u16) -> bool {
    Wire::connect(internal_port, Security::Plain)
        .and_then(|mut wire| wire.is_ready())
        .unwrap_or(false)
}

fn name_of(dir: &Path) -> String {
    dir.file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

/// Whether that process is the broker of this directory, and not a stranger that got its id.
fn is_broker(pid: u32, dir: &Path) -> bool {
    let command_line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let config = dir.join("server.properties").display().to_string();
    command_line
        .split(|byte| *byte == 0)
        .any(|argument| argument == config.as_bytes())
}

impl Status {
    fn read(dir: &Path) -> Result<Self> {
        let path = dir.join("state");
        let operation = format!("reading {}", path.display());
        let text = fs::read_to_string(&path).context(&operation, STATE_REMEDY)?;
        let lines: Vec<&str> = text.lines().collect();
        let [pid, bootstrap, cluster_id, internal_port] = lines[..] else {
            return Err(Error::new(
                operation,
                "it is damaged",
                "remove that directory",
            ));
        };
        let pid = pid.parse().context(&operation, "remove that directory")?;
        let internal_port = internal_port
            .parse()
            .context(&operation, "remove that directory")?;
        let running = is_broker(pid, dir);
        let healthy = running && is_ready(internal_port);
        Ok(Self {
            name: dir
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned(),
            pid,
            bootstrap: bootstrap.into(),
            cluster_id: cluster_id.into(),
            running,
            healthy,
            internal_port,
            dir: dir.to_owned(),
        })
    }

    /// The broker's log.
    #[must_use]
    pub fn log_path(&self) -> PathBuf {
        self.dir.join("broker.log")
    }

    /// SIGTERM, and SIGKILL for one that does not heed it.
    fn end(&self) -> Result<()> {
        let Some(pid) = i32::try_from(self.pid).ok().and_then(Pid::from_raw) else {
            return Ok(());
        };
        for signal in [Signal::TERM, Signal::KILL] {
            if is_broker(self.pid, &self.dir) {
                // Fails only where it has ended since.
                let _ = rustix::process::kill_process(pid, signal);
            }
            let deadline = Instant::now() + STOP_PATIENCE;
            while is_broker(self.pid, &self.dir) && Instant::now() < deadline {
                std::thread::sleep(Duration::from_millis(20));
            }
        }
        match is_broker(self.pid, &self.dir) {
            true => Err(Error::new(
                format_args!("ending cluster {}, process {}", self.name, self.pid),
                "it lives on after SIGKILL",
                "is it owned by another user?",
            )),
            false => Ok(()),
        }
    }
}
