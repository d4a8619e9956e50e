//! Who may write through a slot now: a write that comes late must not reach the next transaction.

use gtc_core::TransactionId;
use tokio::sync::watch;

/// Opened for one transaction at a time.
pub(super) struct Gate {
    holder: watch::Sender<Holder>,
}

#[derive(Default)]
struct Holder {
    transaction: Option<TransactionId>,
    writing: usize,
}

/// Leave to write; revoking the gate waits for it to be given back.
pub(super) struct Pass<'a> {
    gate: &'a Gate,
    holder: watch::Receiver<Holder>,
}

impl Default for Gate {
    fn default() -> Self {
        Self {
            holder: watch::Sender::new(Holder::default()),
        }
    }
}

impl Gate {
    /// From now on `transaction` may write.
    pub(super) fn open(&self, transaction: TransactionId) {
        self.holder
            .send_modify(|holder| holder.transaction = Some(transaction));
    }

    /// Nobody may write any more. Returns when no write is under way.
    pub(super) async fn revoke(&self) {
        self.holder.send_modify(|holder| holder.transaction = None);
        // The sender lives in `self`, so that this ends by the condition alone.
        let _ = self
            .holder
            .subscribe()
            .wait_for(|holder| holder.writing == 0)
            .await;
    }

    /// Leave to write for `transaction`, if the gate is open for it.
    pub(super) fn enter(&self, transaction: TransactionId) -> Option<Pass<'_>> {
        let mut entered = false;
        self.holder.send_if_modified(|holder| {
            entered = holder.transaction == Some(transaction);
            holder.writing += usize::from(entered);
            false
        });
        entered.then(|| Pass {
            gate: self,
            holder: self.holder.subscribe(),
        })
    }
}

impl Pass<'_> {
    /// Resolves when the leave is taken back.
    pub(super) async fn revoked(mut self) {
        // As in `revoke`.
        let _ = self
            .holder
            .wait_for(|holder| holder.transaction.is_none())
            .await;
    }
}

impl Drop for Pass<'_> {
    fn drop(&mut self) {
        self.gate.holder.send_if_modified(|holder| {
            holder.writing -= 1;
            // Only who revokes waits for it.
            holder.writing == 0 && holder.transaction.is_none()
        });
    }
}

#[cfg(test)]
mod tests {
    use gtc_core::Incarnation;

    use super::*;

    fn id(sequence: u64) -> TransactionId {
        TransactionId {
            incarnation: Incarnation(1),
            sequence,
        }
    }

    #[tokio::test]
    async fn revoking_wakes_a_write_and_waits_until_it_has_left() {
        let gate = Gate::default();
        assert!(gate.enter(id(1)).is_none());
        gate.open(id(1));
        assert!(gate.enter(id(2)).is_none());
        let pass = gate.enter(id(1)).expect("it is open for 1");
        // Joined: the pass leaves only once it is revoked, and revoking ends only once it left.
        tokio::join!(gate.revoke(), pass.revoked());
        assert!(gate.enter(id(1)).is_none());
        gate.open(id(2));
        assert!(gate.enter(id(1)).is_none());
        assert!(gate.enter(id(2)).is_some());
    }
}
