//! What makes a cluster of one node, apart from its running process.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::config::{self, Layout, Ports};
use crate::error::{Context, Error, Result};
use crate::files::{make_dir, write_file};
use crate::install::Jars;
use crate::keys::Keys;
use crate::options::{ClusterOptions, Security};
use crate::process::Program;
use crate::training;
use crate::wire::Wire;

/// How long a broker may take until it answers, on a machine that is busy with other things.
const START_PATIENCE: Duration = Duration::from_secs(120);

/// A formatted node: configuration, keys, ports and data directory.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) options: ClusterOptions,
    pub(crate) cluster_id: String,
    pub(crate) ports: Ports,
    pub(crate) program: Program,
    keys: Option<Keys>,
}

/// A node's place in its cluster.
pub(crate) struct Seat {
    pub(crate) cluster_id: String,
    pub(crate) ports: Ports,
}

impl Seat {
    fn alone() -> Result<Self> {
        Ok(Self {
            cluster_id: random_uuid()?,
            ports: Ports::reserve()?,
        })
    }
}

impl Node {
    /// Makes everything that a broker needs in this directory, without starting it.
    pub(crate) fn prepare(options: ClusterOptions, dir: &Path) -> Result<Self> {
        Self::lay_out(trained(&options)?, options, dir)
    }

    /// As [`Self::prepare`], with these jars and this option for the archive of classes.
    pub(crate) fn lay_out(
        jars: (Jars, String),
        options: ClusterOptions,
        dir: &Path,
    ) -> Result<Self> {
        Self::take_seat(Seat::alone()?, jars, options, dir)
    }

    /// As [`Self::lay_out`], at a place in a cluster that may have other nodes.
    pub(crate) fn take_seat(
        Seat { cluster_id, ports }: Seat,
        (jars, class_archive): (Jars, String),
        options: ClusterOptions,
        dir: &Path,
    ) -> Result<Self> {
        make_dir(dir)?;
        let keys = match options.security {
            Security::Plain => None,
            Security::Secure => Some(Keys::make(dir.join("keys"))?),
        };
        let program = Program::within(dir, (jars, class_archive));
        let layout = Layout {
            options: &options,
            ports: &ports,
            data: &program.data,
            keys: keys.as_ref(),
        };
        write_file(&program.config, &layout.server_properties())?;
        program.format(&cluster_id, &format_arguments(&options))?;
        Ok(Self {
            options,
            cluster_id,
            ports,
            program,
            keys,
        })
    }

    pub(crate) fn bootstrap(&self) -> String {
        let port = self
            .options
            .advertised_port
            .unwrap_or(self.ports.client.number());
        format!("127.0.0.1:{port}")
    }

    pub(crate) fn wire(&self) -> std::io::Result<Wire> {
        Wire::connect(self.ports.internal.number(), self.options.security)
    }

    pub(crate) fn is_healthy(&self) -> bool {
        self.wire()
            .and_then(|mut wire| wire.is_ready())
            .unwrap_or(false)
    }

    /// Waits until the broker is healthy, for as long as `alive` says that it lives.
    pub(crate) fn await_health(&self, alive: impl Fn() -> bool) -> Result<()> {
        let is_healthy = || self.is_healthy();
        await_health((&self.options.name, &self.program), is_healthy, alive)
    }

    pub(crate) fn sasl_properties(
        &self,
        mechanism: &str,
        login: (&str, &str),
    ) -> BTreeMap<String, String> {
        properties([
            ("bootstrap.servers", self.bootstrap()),
            ("security.protocol", "SASL_SSL".into()),
            ("sasl.mechanism", mechanism.into()),
            ("sasl.username", login.0.into()),
            ("sasl.password", login.1.into()),
            ("ssl.ca.location", path_text(&self.keys().ca())),
        ])
    }

    pub(crate) fn mutual_tls_properties(&self) -> BTreeMap<String, String> {
        let keys = self.keys();
        let port = self.ports.mutual_tls.number();
        properties([
            ("bootstrap.servers", format!("127.0.0.1:{port}")),
            ("security.protocol", "SSL".into()),
            ("ssl.ca.location", path_text(&keys.ca())),
            (
                "ssl.certificate.location",
                path_text(&keys.client_certificate()),
            ),
            ("ssl.key.location", path_text(&keys.client_key())),
        ])
    }

    fn keys(&self) -> &Keys {
        match &self.keys {
            Some(keys) => keys,
            None => panic!(
                "cluster {} is plain: start it with Security::Secure",
                self.options.name
            ),
        }
    }
}

/// The jars of these options, and the option for their archive of classes.
pub(crate) fn trained(options: &ClusterOptions) -> Result<(Jars, String)> {
    let jars = Jars::of_version(options.generation.kafka_version())?;
    training::ensure_class_archive(&jars)?;
    let class_archive = format!("-XX:SharedArchiveFile={}", jars.class_archive().display());
    Ok((jars, class_archive))
}

/// Waits until a broker is healthy, for as long as `alive` says that it lives.
pub(crate) fn await_health(
    (name, program): (&str, &Program),
    is_healthy: impl Fn() -> bool,
    alive: impl Fn() -> bool,
) -> Result<()> {
    let deadline = Instant::now() + START_PATIENCE;
    while !is_healthy() {
        let cause = match (alive(), Instant::now() < deadline) {
            (true, true) => {
                std::thread::sleep(Duration::from_millis(20));
                continue;
            }
            (false, _) => "the broker ended",
            (true, false) => "the broker does not answer",
        };
        let operation = format!("cluster {name}: starting");
        let cause = format!("{cause}\n{}", program.log_tail());
        return Err(Error::new(
            operation,
            cause,
            "see the log; is there memory for the broker, and is its port free?",
        ));
    }
    Ok(())
}

pub(crate) fn properties<const N: usize>(pairs: [(&str, String); N]) -> BTreeMap<String, String> {
    pairs
        .into_iter()
        .map(|(name, value)| (name.to_string(), value))
        .collect()
}

fn path_text(path: &Path) -> String {
    path.display().to_string()
}

fn format_arguments(options: &ClusterOptions) -> Vec<String> {
    let features = options
        .generation
        .format_arguments()
        .iter()
        .map(ToString::to_string);
    match options.security {
        Security::Plain => features.collect(),
        Security::Secure => features.chain(config::scram_arguments()).collect(),
    }
}

/// A random id in Kafka's spelling: 16 bytes in the URL-safe base 64.
pub(crate) fn random_uuid() -> Result<String> {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut bytes = [0; 16];
    let mut source =
        std::fs::File::open("/dev/urandom").context("opening /dev/urandom", "use a Unix system")?;
    std::io::Read::read_exact(&mut source, &mut bytes)
        .context("reading /dev/urandom", "use a Unix system")?;
    // The tools of Kafka take an id that begins with a dash for an option: the first digit is a
    // letter here.
    bytes[0] &= 0x3f;
    let value = u128::from_be_bytes(bytes);
    let digit = |shift: u32| char::from(DIGITS[(value.rotate_right(shift) & 0x3f) as usize]);
    // 21 digits of 6 bits, then one of the last 2 bits, left-aligned as base 64 has it.
    let mut text: String = (0..21).map(|n| digit(122 - 6 * n)).collect();
    text.push(char::from(DIGITS[((value & 3) << 4) as usize]));
    Ok(text)
}
