//! Histories of the core in the simulated world: the input is the seed, the kinds of faults that are left out, and the
//! steps that are taken. After every step the core checks its own invariants; the oracle judges the rest.

use gtc_sim::{Options, Plan, run_plan};

/// Longer histories take long and find no more.
const STEPS_MAX: usize = 1000;

/// Takes one input.
///
/// # Panics
/// If it breaks what must hold.
pub fn take(data: &[u8]) {
    let Some((head, steps)) = data.split_first_chunk::<16>() else {
        return;
    };
    let (seed, muted) = (
        u64::from_le_bytes(std::array::from_fn(|at| head[at])),
        u64::from_le_bytes(std::array::from_fn(|at| head[8 + at])),
    );
    let plan = Plan {
        seed,
        muted,
        kept: Some(taken(steps)),
    };
    if let Err(violation) = run_plan(&plan, Options::default()).result {
        panic!("{violation}");
    }
}

/// The steps whose bit is set, in order.
fn taken(bits: &[u8]) -> Vec<u64> {
    (0..bits.len().saturating_mul(8).min(STEPS_MAX))
        .filter(|at| bits[at / 8] & (1 << (at % 8)) != 0)
        .map(|at| at as u64)
        .collect()
}
