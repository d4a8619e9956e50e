//! The jars of stock Kafka, fetched once by Maven.

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::{Context, Error, Result};
use crate::files::{FileLock, make_dir, tail, target_dir, write_file};
use crate::maven;

const MAVEN_REMEDY: &str = "install Maven and a JDK 17 (`apt-get install maven \
    openjdk-17-jdk-headless`), and see that Maven reaches its repository";

/// The directory of the jars of one Kafka version.
#[derive(Clone, Debug)]
pub(crate) struct Jars {
    dir: PathBuf,
}

impl Jars {
    /// Finds the jars, and fetches them first where they are not here yet.
    pub(crate) fn of_version(version: &str) -> Result<Self> {
        let kafka = target_dir().join("kafka");
        let dir = kafka.join(version);
        let jars = Self { dir };
        if !jars.complete() {
            make_dir(&kafka)?;
            // Test programs run at the same time: one fetches, the others wait for it.
            let _lock = jars.lock()?;
            if !jars.complete() {
                jars.fetch(version)?;
            }
        }
        Ok(jars)
    }

    /// The archive of loaded classes, see [`crate::training`].
    pub(crate) fn class_archive(&self) -> PathBuf {
        self.dir.join("broker.jsa")
    }

    /// The lock of whoever changes the directory.
    pub(crate) fn lock(&self) -> Result<FileLock> {
        FileLock::wait(&self.beside("lock"))
    }

    /// The class path that holds all jars.
    pub(crate) fn class_path(&self) -> String {
        format!("{}/*", self.dir.display())
    }

    /// A path next to the directory, which itself appears only when it is complete.
    fn beside(&self, suffix: &str) -> PathBuf {
        let mut path = self.dir.clone().into_os_string();
        path.push(".");
        path.push(suffix);
        path.into()
    }

    fn complete(&self) -> bool {
        self.dir.join("complete").is_file()
    }

    fn fetch(&self, version: &str) -> Result<()> {
        let partial = self.beside("partial");
        fs::remove_dir_all(&partial).ok();
        make_dir(&partial)?;
        let log = self.beside("maven.log");
        run_maven(version, &partial, &log)?;
        write_file(&partial.join("complete"), "")?;
        fs::remove_dir_all(&self.dir).ok();
        fs::rename(&partial, &self.dir).context(
            format_args!("moving the jars to {}", self.dir.display()),
            "remove that directory",
        )
    }
}

fn run_maven(version: &str, into: &Path, log: &Path) -> Result<()> {
    let operation = format!("fetching the jars of Kafka {version}");
    let mut attempts = 1;
    loop {
        let output = maven::command(maven::PATIENCE)
            .arg("--file")
            .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("jars/pom.xml"))
            .arg("dependency:copy-dependencies")
            .arg(format!("-Dkafka.version={version}"))
            .arg(format!("-DoutputDirectory={}", into.display()))
            .output()
            .context(format_args!("{operation}: running mvn"), MAVEN_REMEDY)?;
        let text = String::from_utf8_lossy(&output.stdout);
        write_file(log, &text)?;
        if output.status.success() {
            return Ok(());
        }
        if attempts == maven::ATTEMPTS || !maven::was_broken_off(&text) {
            break;
        }
        attempts += 1;
    }
    Err(Error::new(
        operation,
        format_args!("mvn failed\n{}", tail(log, 20)),
        MAVEN_REMEDY,
    ))
}
