//! Ports that stay ours while a broker is down between kill and restart.

use std::net::{Ipv4Addr, TcpListener};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU16, Ordering};

use crate::error::{Error, Result};
use crate::files::{FileLock, make_dir};

/// Below the range from which kernels take the ports of outgoing connections, so that nobody gets
/// one by accident.
const FIRST: u16 = 15_000;
const COUNT: u16 = 17_000;

/// A port that no other user of this crate on the machine takes while this value lives.
#[derive(Debug)]
pub(crate) struct Port {
    number: u16,
    _lock: FileLock,
}

impl Port {
    /// Reserves a port on which nobody listens.
    pub(crate) fn reserve() -> Result<Self> {
        let dir = lock_dir();
        make_dir(&dir)?;
        for _ in 0..COUNT {
            let number = next_candidate();
            let Some(lock) = FileLock::attempt(&dir.join(number.to_string()))? else {
                continue;
            };
            if TcpListener::bind((Ipv4Addr::LOCALHOST, number)).is_ok() {
                return Ok(Self {
                    number,
                    _lock: lock,
                });
            }
        }
        Err(Error::new(
            "reserving a port",
            "all are taken",
            "stop the brokers that nobody needs",
        ))
    }

    pub(crate) fn number(&self) -> u16 {
        self.number
    }
}

/// The locks are outside of `target/`, as ports are shared by all checkouts on a machine.
fn lock_dir() -> PathBuf {
    let user = rustix::process::getuid().as_raw();
    std::env::temp_dir().join(format!("gtc-ports-{user}"))
}

/// Starts at a place that differs by process and walks on from there.
fn next_candidate() -> u16 {
    static STEP: AtomicU16 = AtomicU16::new(0);
    let step = u32::from(STEP.fetch_add(1, Ordering::Relaxed));
    let start = std::process::id().wrapping_mul(37);
    let offset = start.wrapping_add(step) % u32::from(COUNT);
    FIRST + u16::try_from(offset).unwrap_or(0)
}
