//! When to kill: chosen from a seed, aimed at the windows where it hurts, counted by where it really hit.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::phase::Window;
use crate::table::aligned;

/// A small generator (splitmix64): the same seed gives the same plan on every machine.
#[derive(Clone, Debug)]
pub struct Seeded(u64);

impl Seeded {
    /// Begins at `seed`.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A number below `bound`, which is not 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound
    }
}

/// Where the next kill is aimed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aim {
    /// The `nth` time that the program enters this window, after `jitter`.
    Window {
        /// The window.
        window: Window,
        /// From 1.
        nth: u32,
        /// How long to wait then.
        jitter: Duration,
    },
    /// This long after the start, wherever the program is.
    After(Duration),
}

impl Aim {
    /// Whether a life can come there after it has decided something: it recovers once, at its start.
    #[must_use]
    pub const fn is_of_any_time(&self) -> bool {
        !matches!(
            self,
            Self::Window {
                window: Window::Recovering,
                ..
            }
        )
    }
}

/// Counts kills by where they hit, and chooses the next aim so that a third falls after a decision.
#[derive(Clone, Debug)]
pub struct Plan {
    seeded: Seeded,
    wanted: u32,
    last: Option<Window>,
    hits: BTreeMap<Window, u32>,
}

impl Plan {
    /// A plan for `wanted` kills.
    #[must_use]
    pub fn new(seed: u64, wanted: u32) -> Self {
        Self {
            seeded: Seeded::new(seed),
            wanted,
            last: None,
            hits: BTreeMap::new(),
        }
    }

    /// The next aim, or `None` when the plan is fulfilled.
    pub fn next_aim(&mut self) -> Option<Aim> {
        if self.is_fulfilled() {
            return None;
        }
        let left = self.wanted.saturating_sub(self.total());
        if left <= self.decided_short() {
            return Some(self.aim_at(Window::Decided));
        }
        let left_work = matches!(self.last, Some(Window::Decided | Window::Deciding));
        Some(match self.seeded.below(if left_work { 15 } else { 12 }) {
            0..=4 => self.aim_at(Window::Decided),
            5 | 6 => self.aim_at(Window::Preparing),
            7 | 8 => self.aim_at(Window::Deciding),
            9 => self.aim_at(Window::Writing),
            10 => self.aim_at(Window::Idle),
            11 => Aim::After(Duration::from_millis(200 + self.seeded.below(2000))),
            // Only a predecessor that left something open gives a successor anything to recover.
            _ => Aim::Window {
                window: Window::Recovering,
                nth: 1,
                jitter: self.jitter(),
            },
        })
    }

    /// Counts a kill.
    pub fn record(&mut self, window: Window) {
        self.last = Some(window);
        *self.hits.entry(window).or_default() += 1;
    }

    /// How many kills are wanted.
    #[must_use]
    pub fn wanted(&self) -> u32 {
        self.wanted
    }

    /// How many kills there were.
    #[must_use]
    pub fn total(&self) -> u32 {
        self.hits.values().sum()
    }

    /// Whether there were enough, and a third of them between a decision and its last acknowledgement.
    #[must_use]
    pub fn is_fulfilled(&self) -> bool {
        self.total() >= self.wanted && self.decided_short() == 0
    }

    /// A table of the windows.
    #[must_use]
    pub fn to_text(&self) -> String {
        let row = |window: Window| {
            let hits = self.hits.get(&window).copied().unwrap_or_default();
            vec![window.to_string(), hits.to_string()]
        };
        let mut rows: Vec<_> = Window::ALL.into_iter().map(row).collect();
        rows.push(vec!["all".into(), self.total().to_string()]);
        aligned(&["window", "kills"], &rows, 1)
    }

    /// How many kills after a decision are lacking.
    fn decided_short(&self) -> u32 {
        let decided = self.hits.get(&Window::Decided).copied().unwrap_or_default();
        self.total()
            .max(self.wanted)
            .div_ceil(3)
            .saturating_sub(decided)
    }

    fn aim_at(&mut self, window: Window) -> Aim {
        let nth = [1, 2, 3][self.choose(3)];
        // A decision is acknowledged within milliseconds.
        let jitter = if window == Window::Decided {
            Duration::ZERO
        } else {
            self.jitter()
        };
        Aim::Window {
            window,
            nth,
            jitter,
        }
    }

    fn jitter(&mut self) -> Duration {
        match self.seeded.below(2) {
            0 => Duration::ZERO,
            _ => Duration::from_micros(self.seeded.below(3000)),
        }
    }

    fn choose(&mut self, count: u64) -> usize {
        usize::try_from(self.seeded.below(count)).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Plays a plan where a kill hits its aim, or always `instead`.
    fn play(seed: u64, wanted: u32, instead: Option<Window>, limit: u32) -> Plan {
        let mut plan = Plan::new(seed, wanted);
        while let Some(aim) = plan.next_aim() {
            let aimed = match aim {
                Aim::Window { window, .. } => window,
                Aim::After(_) => Window::Idle,
            };
            plan.record(instead.unwrap_or(aimed));
            if plan.total() == limit {
                break;
            }
        }
        plan
    }

    #[test]
    fn kills_that_hit_their_aim_fulfil_the_plan_with_no_more_than_wanted() {
        for seed in 0..500 {
            let plan = play(seed, 8, None, 100);
            assert!(plan.is_fulfilled());
            assert_eq!(plan.total(), 8, "seed {seed}\n{}", plan.to_text());
        }
    }

    #[test]
    fn a_plan_is_not_fulfilled_by_kills_that_miss_the_decision() {
        let plan = play(1, 8, Some(Window::Preparing), 30);
        assert!(!plan.is_fulfilled());
        assert_eq!(plan.total(), 30);
    }

    #[test]
    fn the_same_seed_gives_the_same_plan_and_seeds_reach_every_window() {
        let mut seen = BTreeMap::new();
        for seed in 0..200 {
            let (one, two) = (play(seed, 12, None, 100), play(seed, 12, None, 100));
            assert_eq!(one.hits, two.hits);
            seen.extend(one.hits);
        }
        assert_eq!(seen.len(), Window::ALL.len());
    }

    #[test]
    fn a_life_that_has_worked_is_not_waited_for_to_recover() {
        for seed in 0..200 {
            let mut plan = Plan::new(seed, 8);
            let mut late = 0;
            while let Some(aim) = plan.next_aim() {
                let recovers = !aim.is_of_any_time();
                let after_work = matches!(plan.last, Some(Window::Decided | Window::Deciding));
                assert!(!recovers || after_work, "seed {seed}: nothing to recover");
                late += u32::from(!recovers && plan.total() >= 4);
                plan.record(match aim {
                    Aim::Window { window, .. } => window,
                    Aim::After(_) => Window::Idle,
                });
            }
            assert!(
                late > 0,
                "seed {seed}: no life in which a broker can be killed"
            );
        }
    }
}
