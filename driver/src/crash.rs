//! Crash points: a test has the process killed at a named step.
//!
//! `GTC_CRASH_AT=STEP[:PARTICIPANT]:before|after[:N]` kills this process with SIGKILL before, or
//! after, the N-th (default first) step of that name. Steps are the names of the core's actions;
//! an `append` also answers to `append-` and the kind of each of its records, and the file log
//! has `log-write` and `log-sync`. After means that the step has run, and that the core has not
//! heard of it. `GTC_CRASH_TRACE=FILE` appends every point that is passed to a file. Without the
//! feature `crash-points` none of this is compiled.

/// Which side of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// The step has not begun.
    Before,
    /// The step has run, and nobody knows.
    After,
}

#[cfg(not(feature = "crash-points"))]
pub(crate) fn point(_step: &str, _participant: Option<&str>, _side: Side) {}

#[cfg(feature = "crash-points")]
pub(crate) use armed::point;

/// The names of all steps that a process can be killed at.
#[cfg(feature = "crash-points")]
pub const CRASH_STEPS: &[&str] = &[
    "append",
    "append-acknowledged",
    "append-cluster-bound",
    "append-completed",
    "append-decided",
    "append-discarded",
    "append-forgotten",
    "append-heuristic",
    "append-names",
    "append-names-gone",
    "append-other",
    "append-own-enlisted",
    "append-started",
    "checkpoint",
    "close-slot",
    "connect",
    "end-by-writer",
    "end-transaction",
    "fence",
    "inquire",
    "list",
    "log-sync",
    "log-write",
    "open-slot",
    "prepare",
    "verify-slot",
];

#[cfg(feature = "crash-points")]
mod armed {
    use std::fs::File;
    use std::io::Write;
    use std::sync::LazyLock;
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::{CRASH_STEPS, Side};

    struct Plan {
        step: String,
        participant: Option<String>,
        side: Side,
        left: AtomicU64,
    }

    static PLAN: LazyLock<Option<Plan>> = LazyLock::new(|| {
        let text = std::env::var("GTC_CRASH_AT").ok()?;
        let plan = parse(&text);
        if plan.is_none() {
            tracing::error!(target: "gtc", text, "GTC_CRASH_AT is not understood");
        }
        plan
    });

    static TRACE: LazyLock<Option<File>> = LazyLock::new(|| {
        let path = std::env::var_os("GTC_CRASH_TRACE")?;
        let opened = File::options().create(true).append(true).open(path);
        opened
            .inspect_err(|error| tracing::error!(target: "gtc", %error, "GTC_CRASH_TRACE"))
            .ok()
    });

    pub(crate) fn point(step: &str, participant: Option<&str>, side: Side) {
        // The matrix of crashes is complete only if its list of steps is.
        debug_assert!(CRASH_STEPS.contains(&step), "{step} is in no list");
        if let Some(mut trace) = TRACE.as_ref() {
            let place = participant.unwrap_or("-");
            let side = format!("{side:?}").to_lowercase();
            // One write each, so that lines stay whole. A test misses what could not be written.
            let _ = trace.write_all(format!("{step} {place} {side}\n").as_bytes());
        }
        let Some(plan) = PLAN.as_ref() else { return };
        if plan.matches(step, participant, side) && plan.left.fetch_sub(1, Ordering::SeqCst) == 1 {
            kill();
        }
    }

    impl Plan {
        fn matches(&self, step: &str, participant: Option<&str>, side: Side) -> bool {
            let there = self.participant.is_none() || self.participant.as_deref() == participant;
            self.step == step && self.side == side && there
        }
    }

    fn kill() -> ! {
        let _ =
            rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
        // SIGKILL cannot be refused by oneself; if it ever were, the test must still see an end.
        std::process::abort()
    }

    fn parse(text: &str) -> Option<Plan> {
        let mut parts: Vec<_> = text.split(':').collect();
        let count = match parts.last()?.parse() {
            Ok(count) => {
                parts.pop();
                count
            }
            Err(_) => 1,
        };
        let side = match parts.pop()? {
            "before" => Side::Before,
            "after" => Side::After,
            _ => return None,
        };
        let (step, participant) = match parts[..] {
            [step] => (step, None),
            [step, participant] => (step, Some(participant.to_owned())),
            _ => return None,
        };
        let left = AtomicU64::new(count);
        Some(Plan {
            step: step.to_owned(),
            participant,
            side,
            left,
        })
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn plans_are_read() {
            let plan = parse("end-by-writer:eu:after:3").expect("a full plan");
            assert!(plan.matches("end-by-writer", Some("eu"), Side::After));
            assert!(!plan.matches("end-by-writer", Some("us"), Side::After));
            assert_eq!(plan.left.load(Ordering::SeqCst), 3);
            let plan = parse("append-decided:before").expect("a short plan");
            assert!(plan.matches("append-decided", None, Side::Before));
            assert!(!plan.matches("append-decided", None, Side::After));
            assert!(parse("append").is_none());
            assert!(parse("append:during").is_none());
        }
    }
}
