//! A broker's process, and its end when the caller ends.

use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions};

use crate::error::{Context, Error, Result};
use crate::install::Jars;
use crate::options::Generation;

const JAVA_REMEDY: &str = "install a JDK 17 (`apt-get install openjdk-17-jdk-headless`)";

/// Becomes the broker by `exec`, and leaves a watcher behind that reads the caller's pipe. The pipe
/// ends when the caller ends, be it by SIGKILL; then the watcher kills the broker and removes its
/// data. The word `keep` tells it that the caller has ended the broker itself. Its own end shows as
/// the end of standard output: only then may the caller reap the broker, or the watcher could kill
/// a stranger that got the same process id.
const WATCHED: &str = r#"
log=$1 data=$2
shift 2
exec 3<&0 4>&1 </dev/null >>"$log" 2>&1
(
    trap '' HUP INT TERM
    read -r word <&3
    [ "$word" = keep ] && exit
    kill -9 $$
    n=0
    while kill -0 $$ && [ $n -lt 50 ]; do sleep 0.1; n=$((n + 1)); done
    rm -rf "$data"
) >/dev/null 2>&1 &
exec 3<&- 4>&-
exec "$@"
"#;

/// Becomes the broker, deaf to the hang-up of the terminal it was started from.
const DETACHED: &str = r#"
log=$1
shift
trap '' HUP
exec "$@" </dev/null >>"$log" 2>&1
"#;

/// What to run, and where its files are.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    pub(crate) jars: Jars,
    pub(crate) config: PathBuf,
    pub(crate) data: PathBuf,
    pub(crate) log: PathBuf,
    /// How the Java machine uses or makes the archive of classes.
    pub(crate) class_archive: String,
}

impl Program {
    /// The program of a cluster's directory, with these jars and this option for the archive of classes.
    pub(crate) fn within(dir: &Path, (jars, class_archive): (Jars, String)) -> Self {
        Self {
            jars,
            config: dir.join("server.properties"),
            data: dir.join("data"),
            log: dir.join("broker.log"),
            class_archive,
        }
    }

    /// Starts a broker that ends with this process.
    pub(crate) fn start_watched(&self) -> Result<Process> {
        let child = self
            .shell(WATCHED, &[&self.log, &self.data])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context(
                format_args!("starting {}", self.config.display()),
                JAVA_REMEDY,
            )?;
        Ok(Process { child })
    }

    /// Starts a broker that outlives this process, unless [`Process::end`] is called.
    pub(crate) fn start_detached(&self) -> Result<Process> {
        let child = self
            .shell(DETACHED, &[&self.log])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .context(
                format_args!("starting {}", self.config.display()),
                JAVA_REMEDY,
            )?;
        Ok(Process { child })
    }

    /// Formats the data directory for a cluster of this id.
    pub(crate) fn format(&self, cluster_id: &str, arguments: &[String]) -> Result<()> {
        let operation = format!("formatting {}", self.data.display());
        let log = File::create(&self.log).context(&operation, "check the rights there")?;
        let errors = log
            .try_clone()
            .context(&operation, "check the rights there")?;
        let status = Command::new(java())
            .args(self.java_arguments("kafka.tools.StorageTool"))
            .args(["format", "-t", cluster_id, "-c"])
            .arg(&self.config)
            .args(arguments)
            .stdout(log)
            .stderr(errors)
            .status()
            .context(&operation, JAVA_REMEDY)?;
        if status.success() {
            return Ok(());
        }
        let cause = format!("the storage tool ended with {status}\n{}", self.log_tail());
        Err(Error::new(
            operation,
            cause,
            "check the properties given to the cluster",
        ))
    }

    pub(crate) fn log_tail(&self) -> String {
        format!(
            "{}:\n{}",
            self.log.display(),
            crate::files::tail(&self.log, 25)
        )
    }

    fn shell(&self, script: &str, paths: &[&Path]) -> Command {
        let mut command = Command::new("sh");
        command
            .args(["-c", script, "gtc-broker"])
            .args(paths)
            .arg(java())
            .args(self.java_arguments("kafka.Kafka"))
            .arg(&self.config)
            // In a group of its own, so that Ctrl-C reaches the caller alone and the caller can end
            // things in order.
            .process_group(0);
        command
    }

    fn java_arguments(&self, class: &str) -> Vec<String> {
        let logger = "-Dorg.slf4j.simpleLogger";
        vec![
            "-Xmx384m".into(),
            "-XX:+UseSerialGC".into(),
            "-XX:TieredStopAtLevel=1".into(),
            self.class_archive.clone(),
            // An archive of another Java or another place is passed over, and that is no news.
            "-Xlog:disable".into(),
            format!("{logger}.showDateTime=true"),
            format!("{logger}.dateTimeFormat=yyyy-MM-dd HH:mm:ss.SSS"),
            format!("{logger}.log.org.apache.kafka.common.config=warn"),
            "-cp".into(),
            self.jars.class_path(),
            class.into(),
        ]
    }
}

/// A call of a Java class out of the jars of the current generation: Kafka's own tools, or, given
/// the path of a source file, a program that uses Kafka's client.
///
/// ```no_run
/// # fn main() -> gtc_clusters::Result<()> {
/// let mut tool = gtc_clusters::kafka_tool("org.apache.kafka.tools.TopicCommand")?;
/// tool.args(["--bootstrap-server", "127.0.0.1:9092", "--list"]);
/// # Ok(())
/// # }
/// ```
pub fn kafka_tool(class: &str) -> Result<Command> {
    let jars = Jars::of_version(Generation::Current.kafka_version())?;
    let mut command = Command::new(java());
    command
        .args(["-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"])
        .arg("-Dorg.slf4j.simpleLogger.defaultLogLevel=warn")
        .arg("-cp")
        .arg(jars.class_path())
        .arg(class);
    Ok(command)
}

fn java() -> PathBuf {
    match std::env::var_os("JAVA_HOME") {
        Some(home) => Path::new(&home).join("bin/java"),
        None => PathBuf::from("java"),
    }
}

/// A running broker, the child of this process.
#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
}

impl Process {
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Whether it has ended; it is not reaped, so its process id still belongs to it.
    pub(crate) fn has_ended(&self) -> bool {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        match rustix::process::waitid(WaitId::Pid(self.pid()), options) {
            Ok(status) => status.is_some(),
            Err(_) => true,
        }
    }

    pub(crate) fn signal(&self, signal: Signal) -> Result<()> {
        rustix::process::kill_process(self.pid(), signal).context(
            format_args!("sending {signal:?} to the broker, process {}", self.id()),
            "start the cluster again",
        )
    }

    /// Waits for its end, and returns whether it came in time.
    pub(crate) fn await_end(&self, patience: Duration) -> bool {
        let deadline = Instant::now() + patience;
        while !self.has_ended() {
            if Instant::now() >= deadline {
                return false;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        true
    }

    /// Kills it if it still runs, and clears up after it.
    pub(crate) fn end(mut self) {
        // Fails only where the process has ended already.
        let _ = rustix::process::kill_process(self.pid(), Signal::KILL);
        self.await_end(Duration::from_secs(60));
        if let Some(mut pipe) = self.child.stdin.take() {
            // Fails only where the watcher has ended already.
            let _ = pipe.write_all(b"keep\n");
        }
        if let Some(mut pipe) = self.child.stdout.take() {
            let _ = pipe.read_to_end(&mut Vec::new());
        }
        let _ = self.child.wait();
    }

    fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }
}
