//! The end of a history: the faults stop, everything must end, and the slots must work again.

use std::time::Duration;

use gtc_core::{ParticipantId, ParticipantStatus, Request, TransactionId, TransactionState};

use super::World;
use super::app::Stage;
use super::log::Sync;
use super::oracle::Told;

impl World {
    /// The faults are over: everything must end.
    pub fn heal(&mut self) {
        self.note(|| "healing".into());
        self.faults = false;
        for broker in &mut self.brokers {
            broker.up = true;
        }
        for _ in 0..400 {
            if self.heal_once() && self.is_quiet() {
                return;
            }
        }
        let list = self.coordinator.list();
        let out = &self.driver.outstanding;
        panic!(
            "everything ends: {list:#?}\nrecovered {}, {out:?}",
            self.recovered
        );
    }

    /// Whether nothing was left to do but to wait.
    fn heal_once(&mut self) -> bool {
        if self.stopped {
            self.restart();
            self.faults = false;
        }
        let idle = self.driver.outstanding.is_empty()
            && self.driver.responses.is_empty()
            && self.log.is_idle();
        while !self.late.is_empty() {
            self.deliver_late();
        }
        while !self.log.is_idle() {
            self.sync_log(Sync::Durable);
        }
        for _ in 0..self.driver.outstanding.len() {
            self.run_action(0);
        }
        while !self.driver.responses.is_empty() {
            self.answer_some();
        }
        self.finish_app();
        let idle = idle && self.driver.outstanding.is_empty() && self.log.is_idle();
        if idle {
            let wake = self.wake.unwrap_or(self.now.monotonic);
            let span = wake.saturating_since(self.now.monotonic);
            self.advance(span.max(Duration::from_millis(1)));
        } else {
            self.advance(Duration::from_millis(1));
        }
        idle
    }

    fn finish_app(&mut self) {
        let open: Vec<TransactionId> = self.app.open.keys().copied().collect();
        for id in open {
            let open = &self.app.open[&id];
            if self.finishing && !open.asked && open.waiting == 0 {
                self.commit(id);
            }
        }
        for index in 0..self.app.owns.len() {
            self.settle_own(index);
        }
    }

    fn settle_own(&mut self, index: usize) {
        let own = &mut self.app.owns[index];
        if own.stage == Stage::Fresh {
            let request = Request::Settle {
                participant: ParticipantId(own.p as u16),
                transactional_id: own.name.clone(),
            };
            if self.coordinator.handle_request(request, self.now).is_ok() {
                own.stage = Stage::Settling;
            }
            self.drain();
        }
    }

    fn is_quiet(&self) -> bool {
        let open = self.brokers.iter().any(|b| b.open_tags().next().is_some());
        let owns = self.app.owns.iter().all(|own| own.stage == Stage::Ready);
        let listed = self.coordinator.list();
        let ended = listed.iter().all(|view| {
            matches!(
                view.state,
                TransactionState::Mixed | TransactionState::InDoubt
            )
        });
        self.recovered && !open && owns && ended && self.app.open.is_empty()
    }

    pub fn judge(&self) {
        let outcome = |id| self.coordinator.outcome(id);
        self.oracle.judge(&self.brokers, &outcome);
        self.coordinator.validate().expect("invariants hold");
    }

    /// Every slot works again: a new transaction over all participants commits.
    pub fn prove_usable(&mut self) {
        self.finishing = false;
        for _ in 0..100 {
            if !(0..self.brokers.len()).all(|p| self.is_verified(p)) {
                self.heal_once();
            }
        }
        // A slot whose id its cluster forgot fails once, and is replaced.
        let attempts = 4;
        let committed = (0..attempts).any(|_| self.commit_everywhere());
        assert!(committed, "the slots work again");
    }

    fn is_verified(&self, p: usize) -> bool {
        let status = self.coordinator.participant_status(ParticipantId(p as u16));
        status == Some(&ParticipantStatus::Verified)
    }

    fn commit_everywhere(&mut self) -> bool {
        self.app.open.clear();
        let before = self.oracle.accounts.len();
        self.begin();
        assert!(
            self.oracle.accounts.len() > before,
            "a new transaction begins"
        );
        let id = *self.app.open.keys().next_back().expect("it is open");
        for p in 0..self.brokers.len() {
            self.enlist(id, p);
        }
        for _ in 0..40 {
            self.settle_world();
            if self.app.open.get(&id).is_none_or(|open| open.waiting == 0) {
                break;
            }
        }
        let slots = self.app.open[&id].slots.clone();
        assert_eq!(
            slots.len(),
            self.brokers.len(),
            "every participant leases a slot"
        );
        for slot in slots {
            self.write(id, slot);
        }
        self.commit(id);
        for _ in 0..10 {
            self.settle_world();
        }
        self.oracle.account(id).told == Some(Told::Committed)
    }

    fn settle_world(&mut self) {
        self.heal_once();
        self.heal_once();
    }
}
