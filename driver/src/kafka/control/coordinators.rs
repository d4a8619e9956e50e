//! Which broker coordinates which transactional.id, as far as it is known.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::kafka::properties::Endpoint;

/// The most ids that are remembered. Beyond it everything is forgotten and found again.
const MAX_REMEMBERED: usize = 16_384;

#[derive(Default)]
pub(super) struct Coordinators(Mutex<HashMap<String, Endpoint>>);

impl Coordinators {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, Endpoint>> {
        // Nothing panics while it holds the lock.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn get(&self, id: &str) -> Option<Endpoint> {
        self.lock().get(id).cloned()
    }

    pub(super) fn remember(&self, id: &str, endpoint: Endpoint) {
        let mut known = self.lock();
        if known.len() >= MAX_REMEMBERED {
            known.clear();
        }
        known.insert(id.to_owned(), endpoint);
    }

    pub(super) fn forget(&self, id: &str) {
        self.lock().remove(id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_bounded() {
        let coordinators = Coordinators::default();
        let endpoint = Endpoint {
            host: "one".to_owned(),
            port: 1,
        };
        for number in 0..=MAX_REMEMBERED {
            coordinators.remember(&number.to_string(), endpoint.clone());
        }
        assert_eq!(coordinators.get("0"), None);
        assert_eq!(
            coordinators.get(&MAX_REMEMBERED.to_string()),
            Some(endpoint)
        );
        coordinators.forget(&MAX_REMEMBERED.to_string());
        assert!(coordinators.lock().is_empty());
    }
}
