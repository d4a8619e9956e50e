//! Listings: is the log stale, what is orphaned, what belongs to another log (R8, R12, R13).

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::journal::Purpose;
use super::start::{FENCE_TIMEOUT_MS, PROBE};
use super::state::Cycle;
use super::{Coordinator, Pending};
use crate::action::{Action, Durability};
use crate::broken::Broken;
use crate::event::{Event, ForeignBranch, ParticipantStatus, StopReason};
use crate::evidence::{EndAnswer, ListedTransaction, Listing};
use crate::identity::{LogId, ParticipantId, SlotName};
use crate::ledger::Ledger;
use crate::record::Record;
use crate::time::Now;
use crate::timers::Timer;

/// A broker forgets an unused transactional.id after `transactional.id.expiration.ms`, 7 days by default.
const NAMES_KEPT_MS: u64 = 8 * 24 * 3600 * 1000;

impl Ledger {
    /// Why these records are not the newest ones of their log, by a look at a cluster before anything is
    /// started from them: a name that they do not know (R13). A start finds the same, and has written by then.
    #[must_use]
    pub fn stale(&self, (coordinator, log_id): (&str, LogId), listing: &Listing) -> Option<String> {
        listing.transactions.iter().find_map(|listed| {
            let name = SlotName::parse(coordinator, &listed.transactional_id)?;
            let known = self.knows(&name.participant, name.incarnation, name.number);
            (name.log_id == log_id && !known).then(|| never_made(&listed.transactional_id))
        })
    }
}

pub(super) fn never_made(transactional_id: &str) -> String {
    format!(
        "a cluster lists {transactional_id}, which this log never made: it is an old copy, or was \
         restored from a backup"
    )
}

impl Coordinator {
    pub(super) fn listed(&mut self, p: ParticipantId, listing: &Listing, now: Now) {
        self.participant_mut(p).cycle = Cycle::Waiting;
        if let Some(why) = self.stale(listing) {
            return self.stop(StopReason::StaleLog(why), now);
        }
        let missing = self.missing(p, listing);
        let participant = self.participant_mut(p);
        participant.listed = true;
        participant.proved |= missing.is_none();
        for at in core::mem::take(&mut participant.blocked) {
            self.run_step(at, now);
        }
        match missing {
            Some(missing) => {
                let why = format!("its transactions cannot be listed completely: {missing}");
                self.cycle_failed(p, why, now);
            }
            None => self.sweep(p, listing, now),
        }
    }

    /// Why a listing does not count as complete (R8).
    fn missing(&self, p: ParticipantId, listing: &Listing) -> Option<String> {
        let probe = self.slot_name(p, PROBE);
        let mut listed = listing.transactions.iter();
        let shown = listing.complete && listed.any(|t| t.transactional_id == probe);
        if shown || self.rules.lack(Broken::R8Unverified) {
            return None;
        }
        Some(listing.detail.clone().unwrap_or_else(|| {
            let grant = self.grant_describe();
            format!("the just initialised id {probe} is not shown: {grant}")
        }))
    }

    /// The first look, before any name is made known: its incarnation's own names are not to be there yet.
    pub(super) fn looked(&mut self, p: ParticipantId, listing: &Listing, now: Now) {
        if let Some(why) = self.stale(listing) {
            return self.stop(StopReason::StaleLog(why), now);
        }
        if !listing.complete {
            let detail = listing
                .detail
                .as_deref()
                .unwrap_or("a broker did not answer");
            let why = format!("its transactions cannot be listed completely: {detail}");
            return self.cycle_failed(p, why, now);
        }
        self.name_the_probe(p, now);
    }

    /// A name of our own log that the log does not know, or of an incarnation to come (R13).
    fn stale(&self, listing: &Listing) -> Option<String> {
        listing.transactions.iter().find_map(|listed| {
            let name = SlotName::parse(&self.config.coordinator, &listed.transactional_id)?;
            let ours = name.log_id == self.config.log_id;
            let known = self.made(&name) || self.rules.lack(Broken::R13Stale);
            (ours && !known).then(|| never_made(&listed.transactional_id))
        })
    }

    /// Whether this log, and in its own incarnation this very coordinator, made the name.
    fn made(&self, name: &SlotName) -> bool {
        if name.incarnation != self.incarnation {
            let ledger = &self.ledger;
            let forgets = self.rules.lack(Broken::R6Gone);
            return name.incarnation < self.incarnation
                && ledger.knows(&name.participant, name.incarnation, name.number)
                && !(forgets && ledger.has_forgotten(&name.participant, name.incarnation));
        }
        self.participants
            .iter()
            .find(|participant| *participant.name == *name.participant)
            .is_some_and(|own| own.looked && name.number < own.pool.next_number)
    }

    fn sweep(&mut self, p: ParticipantId, listing: &Listing, now: Now) {
        let participant = self.participant_mut(p);
        participant.attempts = 0;
        let status = match &participant.objection {
            Some(why) => ParticipantStatus::Unavailable(why.clone()),
            None => ParticipantStatus::Verified,
        };
        self.set_status(p, status);
        self.note_foreign(p, listing);
        self.drop_expired_names(p, listing, now);
        self.ask_about_discarded(p);
        let orphans = self.orphans(listing);
        let participant = self.participant_mut(p);
        participant.fencing = orphans.len();
        participant.unfenced = false;
        for transactional_id in orphans {
            self.counters.orphans_fenced += 1;
            let action = Action::Fence {
                participant: p,
                transactional_id,
                timeout_ms: if self.rules.lack(Broken::R15Timeout) {
                    self.participant_config(p).timeout_ms
                } else {
                    FENCE_TIMEOUT_MS
                },
            };
            self.act(action, Pending::FenceOrphan(p));
        }
        let next = now.monotonic + self.config.limits.sweep_interval;
        self.timers.set(Timer::Participant(p), next);
        self.swept_if_quiet(p, now);
        self.serve_waiters(p, now);
        self.serve_own_waiters(now);
    }

    pub(super) fn orphan_fenced(&mut self, p: ParticipantId, answer: &EndAnswer, now: Now) {
        let participant = self.participant_mut(p);
        participant.fencing = participant.fencing.saturating_sub(1);
        participant.unfenced |= *answer != EndAnswer::Acknowledged;
        self.swept_if_quiet(p, now);
    }

    /// Every orphan is answered: it is either fenced, or listed again before long.
    fn swept_if_quiet(&mut self, p: ParticipantId, now: Now) {
        let participant = self.participant_mut(p);
        if participant.fencing > 0 {
            return;
        }
        if !participant.unfenced {
            participant.swept = true;
            return self.check_recovered();
        }
        participant.attempts = participant.attempts.saturating_add(1);
        let attempts = participant.attempts;
        let delay = self.jitter.delay(self.config.backoff, attempts);
        self.timers
            .set(Timer::Participant(p), now.monotonic + delay);
    }

    /// Open transactions of this log that nobody works on: presumed abort.
    fn orphans(&self, listing: &Listing) -> Vec<Arc<str>> {
        if self.rules.lack(Broken::R8Sweep) {
            return Vec::new();
        }
        let protected = self.protected_names();
        let ours = |listed: &&ListedTransaction| {
            SlotName::parse(&self.config.coordinator, &listed.transactional_id).is_some_and(
                |name| name.log_id == self.config.log_id || self.rules.lack(Broken::R12Sweep),
            )
        };
        let open = listing
            .transactions
            .iter()
            .filter(|listed| listed.state.is_open());
        open.filter(ours)
            .map(|listed| listed.transactional_id.clone())
            .filter(|name| !protected.contains(name))
            .collect()
    }

    /// Names that a live slot or an unfinished transaction may still need; of every participant, because two
    /// may be names of one cluster.
    fn protected_names(&self) -> BTreeSet<Arc<str>> {
        let participants = self.participants.iter();
        let slots = participants.flat_map(|participant| participant.pool.slots.values());
        let branches = self.transactions.values().flat_map(|t| &t.branches);
        let unfinished = branches.filter(|branch| !branch.state.is_settled());
        // A start would look at these again, and must find them as they were left.
        let open = self.ledger.open.values().filter(|entry| !entry.completed);
        let recorded = open.flat_map(|entry| entry.unfinished());
        let spared = !self.rules.lack(Broken::R8Protect);
        let found = slots
            .map(|slot| slot.name.clone())
            .chain(unfinished.filter_map(|branch| branch.transactional_id.clone()))
            .chain(recorded.map(|branch| branch.identity.transactional_id.clone()))
            .filter(|_| spared);
        // To collect them would sort them first, by code that is as large as all of this file.
        let mut names = BTreeSet::new();
        names.extend(found);
        names
    }

    fn note_foreign(&mut self, p: ParticipantId, listing: &Listing) {
        let name = self.participant_mut(p).name.clone();
        let mut seen = BTreeSet::new();
        for listed in listing
            .transactions
            .iter()
            .filter(|listed| listed.state.is_open())
        {
            let parsed = SlotName::parse(&self.config.coordinator, &listed.transactional_id);
            if parsed.is_none_or(|parsed| parsed.log_id == self.config.log_id) {
                continue;
            }
            let key = (p, listed.transactional_id.clone());
            seen.insert(key.clone());
            let branch = ForeignBranch {
                participant: name.as_ref().into(),
                transactional_id: listed.transactional_id.clone(),
                state: listed.state,
            };
            let first = self.foreign.insert(key, branch.clone()).is_none();
            if first && !self.rules.lack(Broken::R12Listed) {
                self.tell(Event::Foreign(branch));
            }
        }
        self.foreign
            .retain(|key, _| key.0 != p || seen.contains(key));
    }

    /// Names of earlier incarnations that the cluster no longer lists need not be remembered (R6), once
    /// they are so old that no initialisation of theirs can still be on its way.
    fn drop_expired_names(&mut self, p: ParticipantId, listing: &Listing, now: Now) {
        let participant = self.participant_mut(p).name.clone();
        let parsed = listing.transactions.iter();
        let parsed =
            parsed.filter_map(|t| SlotName::parse(&self.config.coordinator, &t.transactional_id));
        let mut listed = BTreeSet::new();
        listed.extend(
            parsed
                .filter(|name| *name.participant == *participant)
                .map(|name| name.incarnation),
        );
        let gone: Vec<_> = self
            .ledger
            .names
            .iter()
            .filter(|((name, incarnation), names)| {
                *name == participant
                    && *incarnation < self.incarnation
                    && !listed.contains(incarnation)
                    && (names.unix_ms.saturating_add(NAMES_KEPT_MS) < now.unix_ms
                        || self.rules.lack(Broken::R6Gone))
            })
            .map(|((_, incarnation), _)| *incarnation)
            .collect();
        for incarnation in gone {
            let record = Record::NamesGone {
                incarnation,
                participant: participant.clone(),
            };
            self.append(record, Durability::Lazy, Purpose::Nothing);
        }
    }
}
