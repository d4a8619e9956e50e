//! Faults where they hurt: chance alone would seldom bring them together with what they harm.

use std::time::Duration;

use gtc_core::VersionClass;

use super::app::own::Stage;
use super::{MARGIN, World};
use crate::swarm::Fault;

impl World {
    /// A late request meets what was just opened, a crash loses what is lazy, time passes up to a deadline, a producer goes on
    /// while a request of its last transaction is under way.
    pub fn hurt(&mut self) {
        self.meet_late();
        self.back_up_where_it_hurts();
        self.copy_where_it_hurts();
        self.wait_where_it_hurts();
        self.go_on_where_it_hurts();
        self.give_up_where_it_hurts();
        self.lose_rights_where_it_hurts();
        let log = &self.logs[self.process.log];
        let lazy = !log.is_idle() && !log.is_wanted();
        if lazy && self.has(Fault::Crash) && self.source.once_in(8 * self.swarm.calm) {
            self.restart();
        }
    }

    /// Time passes until a branch can hardly be promised any more, or a little further.
    fn wait_where_it_hurts(&mut self) {
        if !self.has(Fault::Time) || !self.source.once_in(16) {
            return;
        }
        let tags = self.brokers.iter().flat_map(|broker| {
            let tags = broker.open_tags();
            tags.filter_map(|tag| broker.expires_us(tag))
        });
        let Some(expires_us) = tags.min() else { return };
        let now_us = self.now.monotonic.as_micros();
        let promised_us = expires_us.saturating_sub(MARGIN.as_micros() as u64);
        let close_us = promised_us.saturating_sub(1_000_000);
        if now_us < close_us {
            self.advance(Duration::from_micros(close_us - now_us));
        } else {
            self.advance(Duration::from_secs(2));
        }
    }

    /// An own v1 producer gives up the last record of what it has open, and goes on.
    fn give_up_where_it_hurts(&mut self) {
        if !self.has(Fault::Records) || !self.source.once_in(3) {
            return;
        }
        for index in 0..self.process.app.owns.len() {
            let own = &self.process.app.owns[index];
            let Stage::Writing(id) = own.stage else {
                continue;
            };
            let open = self.process.app.open.get(&id);
            let votes = open.is_some_and(|open| !open.asked && open.waiting == 0);
            let tag = self.brokers[own.p].open_tag(&own.name);
            let wrote = tag.is_some_and(|tag| tag.transaction == id && !tag.stray);
            if own.class == VersionClass::V1 && votes && wrote {
                return self.give_up_by_own(index, id);
            }
        }
    }

    /// An own producer begins its next transaction while a request about it is under way.
    fn go_on_where_it_hurts(&mut self) {
        for index in 0..self.process.app.owns.len() {
            let own = &self.process.app.owns[index];
            let (p, name, stage) = (own.p, own.name.clone(), own.stage);
            let late = self
                .late
                .iter()
                .any(|(at, call)| *at == p && *call.id() == name);
            if !late || !self.source.once_in(2) {
                continue;
            }
            match stage {
                Stage::Ready => {
                    if let Some(id) = self.next_open(None) {
                        self.enlist_own_at(index, id);
                    }
                }
                Stage::Writing(id) if self.brokers[p].open_tag(&name).is_none() => {
                    let open = self.process.app.open.get(&id);
                    if open.is_some_and(|open| !open.asked) {
                        self.write_by_own(index, id);
                    }
                }
                _ => {}
            }
        }
    }
}
