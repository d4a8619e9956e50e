//! Coordinators in parts: among many that differ little, there are few different parts of each kind.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::mem::take;

use crate::coordinator::journal::Journal;
use crate::coordinator::state::{Branch, Participant, Transaction};
use crate::coordinator::{Coordinator, Pending};
use crate::identity::{ActionId, TransactionId};
use crate::ledger::Ledger;
use crate::rising::Rising;
use crate::timers::Timers;

/// One part of a [`Coordinator`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Part(Kind);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Kind {
    /// What is left without the others.
    Rest(Box<Coordinator>),
    Ledger(Ledger),
    Pending(Rising<ActionId, Pending>),
    Journal(Journal),
    Timers(Timers),
    Participant(Participant),
    /// All transactions, without their branches.
    Transactions(Rising<TransactionId, Transaction>),
    /// Those of the next transaction.
    Branches(Vec<Branch>),
}

impl Coordinator {
    /// Takes it apart; [`from_parts`](Self::from_parts) makes it whole again.
    #[must_use]
    pub fn into_parts(mut self) -> Vec<Part> {
        let mut transactions = take(&mut self.transactions);
        let of_each = transactions.values_mut();
        let branches: Vec<Kind> = of_each
            .map(|transaction| Kind::Branches(take(&mut transaction.branches)))
            .collect();
        let participants = take(&mut self.participants).into_iter();
        let others = [
            Kind::Ledger(take(&mut self.ledger)),
            Kind::Pending(take(&mut self.pending)),
            Kind::Journal(take(&mut self.journal)),
            Kind::Timers(take(&mut self.timers)),
            Kind::Transactions(transactions),
        ];
        let kinds = core::iter::once(Kind::Rest(self.into())).chain(others);
        let kinds = kinds.chain(participants.map(Kind::Participant));
        kinds.chain(branches).map(Part).collect()
    }

    /// Makes one whole again of its parts, in their order; `None` where they are not those of one.
    #[must_use]
    pub fn from_parts(parts: impl IntoIterator<Item = Part>) -> Option<Self> {
        let mut parts = parts.into_iter().map(|part| part.0);
        let mut next = || parts.next();
        let (
            Some(Kind::Rest(mut whole)),
            Some(Kind::Ledger(ledger)),
            Some(Kind::Pending(pending)),
            Some(Kind::Journal(journal)),
            Some(Kind::Timers(timers)),
            Some(Kind::Transactions(transactions)),
        ) = (next(), next(), next(), next(), next(), next())
        else {
            return None;
        };
        (whole.ledger, whole.pending, whole.journal) = (ledger, pending, journal);
        (whole.timers, whole.transactions) = (timers, transactions);
        for _ in 0..whole.config.participants.len() {
            let Some(Kind::Participant(participant)) = next() else {
                return None;
            };
            whole.participants.push(participant);
        }
        for transaction in whole.transactions.values_mut() {
            let Some(Kind::Branches(branches)) = next() else {
                return None;
            };
            transaction.branches = branches;
        }
        next().is_none().then_some(*whole)
    }
}
