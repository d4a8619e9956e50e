//! Records of the decision log: whatever decodes encodes to the same bytes, and a ledger takes or
//! refuses it.
//!
//! The input is a list of records, each behind its length in two bytes; their checksums are put
//! right, as else nothing would ever get behind them.

use gtc_core::{Ledger, Record, RecordError};

use crate::vocabulary::seal;

fn check(bytes: &[u8]) -> Option<Record> {
    match Record::decode(bytes) {
        Ok(record) => {
            assert_eq!(record.encode(), bytes, "{record:?} has two forms");
            Some(record)
        }
        Err(error) => {
            let order = matches!(error, RecordError::Order(_));
            assert!(!order, "one record alone has no order: {error}");
            None
        }
    }
}

/// Takes one input.
///
/// # Panics
/// If it breaks what must hold.
pub fn take(data: &[u8]) {
    check(data);
    let mut ledger = Ledger::new();
    let mut rest = data;
    while let Some((length, after)) = rest.split_first_chunk::<2>() {
        let length = usize::from(u16::from_le_bytes(*length)).min(after.len());
        let (body, after) = after.split_at(length);
        rest = after;
        if let Some(record) = check(&seal(body)) {
            // A refusal is an answer; a panic is none.
            let _ = ledger.apply(record);
        }
    }
    for view in ledger.list() {
        assert!(ledger.describe(view.id).is_some(), "{} is listed", view.id);
    }
}
