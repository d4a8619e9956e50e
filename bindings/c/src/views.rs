//! What is listed, described and found, as plain structures. Each is freed by the function of its
//! name, with everything that it points to.
#![allow(unsafe_code, reason = "structures are given out and taken back here")]

use std::ffi::c_char;

use gtc::check::{Finding, Level};
use gtc::facade::{Notice, NoticeKind};
use gtc::views::{ForeignInfo, Status, TransactionInfo};
use gtc::{PartitionLag, PartitionOffset};

use crate::arena::{Arena, free};
use crate::border::read;
use crate::record::gtc_bytes;
use crate::words::{gtc_level, gtc_notice_kind};

/// One branch.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct gtc_branch_info {
    /// The participant's name.
    pub participant: *const c_char,
    /// The transactional.id; NULL if not known yet.
    pub transactional_id: *const c_char,
    /// Its state.
    pub state: *const c_char,
    /// The last error, or the evidence; NULL if there is none.
    pub detail: *const c_char,
}

/// One transaction.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct gtc_transaction_info {
    /// Its id.
    pub id: *const c_char,
    /// The application's key; its data is NULL if there is none.
    pub key: gtc_bytes,
    /// Its state: active, preparing, deciding, completing, in-doubt, ended or mixed.
    pub state: *const c_char,
    /// `commit` or `abort`; NULL until it is decided.
    pub decision: *const c_char,
    /// When it was decided (or began), in milliseconds since the Unix epoch.
    pub since_unix_ms: u64,
    /// Its branches.
    pub branches: *const gtc_branch_info,
    /// How many there are.
    pub branches_length: usize,
}

/// Transactions.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct gtc_transactions {
    /// The first one.
    pub items: *const gtc_transaction_info,
    /// How many there are.
    pub length: usize,
}

pub(crate) fn transactions(listed: &[TransactionInfo]) -> *mut gtc_transactions {
    let mut arena = Arena::default();
    let items = listed.iter().map(|info| transaction(info, &mut arena));
    let items: Vec<_> = items.collect();
    let view = gtc_transactions {
        length: items.len(),
        items: arena.list(items),
    };
    arena.give(view)
}

fn transaction(info: &TransactionInfo, arena: &mut Arena) -> gtc_transaction_info {
    let branches = info.branches.iter().map(|branch| gtc_branch_info {
        participant: arena.text(&branch.participant),
        transactional_id: arena.optional(branch.transactional_id.as_deref()),
        state: arena.text(&branch.state),
        detail: arena.optional(branch.detail.as_deref()),
    });
    let branches: Vec<_> = branches.collect();
    gtc_transaction_info {
        id: arena.text(&info.id),
        key: key(info.key_hex.as_deref(), arena),
        state: arena.text(&info.state),
        decision: arena.optional(info.decision.as_deref()),
        since_unix_ms: info.since_unix_ms,
        branches_length: branches.len(),
        branches: arena.list(branches),
    }
}

fn key(digits: Option<&str>, arena: &mut Arena) -> gtc_bytes {
    let Some(digits) = digits else {
        return gtc_bytes::NONE;
    };
    let pairs = (0..digits.len() / 2).filter_map(|at| digits.get(2 * at..2 * at + 2));
    let bytes: Vec<u8> = pairs
        .filter_map(|pair| u8::from_str_radix(pair, 16).ok())
        .collect();
    let length = bytes.len();
    let data = match length {
        // Empty, which differs from none.
        0 => c"".as_ptr().cast(),
        _ => arena.list(bytes).cast(),
    };
    gtc_bytes { data, length }
}

/// An open branch that another log left under this coordinator's id.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct gtc_foreign_branch {
    /// The participant's name.
    pub participant: *const c_char,
    /// Its transactional.id.
    pub transactional_id: *const c_char,
    /// Its state at the last listing.
    pub state: *const c_char,
}

/// Branches of another log.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct gtc_foreign_branches {
    /// The first one.
    pub items: *const gtc_foreign_branch,
    /// How many there are.
    pub length: usize,
}

pub(crate) fn foreign_branches(listed: &[ForeignInfo]) -> *mut gtc_foreign_branches {
    let mut arena = Arena::default();
    let items = foreign(listed, &mut arena);
    let view = gtc_foreign_branches {
        length: items.len(),
        items: arena.list(items),
    };
    arena.give(view)
}

fn foreign(listed: &[ForeignInfo], arena: &mut Arena) -> Vec<gtc_foreign_branch> {
    let items = listed.iter().map(|info| gtc_foreign_branch {
        participant: arena.text(&info.participant),
        transactional_id: arena.text(&info.transactional_id),
        state: arena.text(&info.state),
    });
    items.collect()
}

/// One participant.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct gtc_participant_info {
    /// Its name.
    pub name: *const c_char,
    /// `starting`, `verified`, `unavailable` or `stopped`.
    pub state: *const c_char,
    /// Why it is not verified; NULL if it is.
    pub detail: *const c_char,
    /// Slots that are open.
    pub slots_open: u64,
    /// Slots that a transaction can have at once.
    pub slots_free: u64,
    /// Callers that wait for a slot.
    pub waiting: u64,
}

/// The coordinator as a whole.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct gtc_coordinator_info {
    /// Its id.
    pub coordinator: *const c_char,
    /// The number of its start.
    pub incarnation: u32,
    /// Everything that the log left open is ended.
    pub recovered: bool,
    /// Why it stopped for good; NULL if it did not.
    pub stopped: *const c_char,
    /// Its participants.
    pub participants: *const gtc_participant_info,
    /// How many there are.
    pub participants_length: usize,
    /// Transactions that are not ended, or ended otherwise than decided.
    pub open: usize,
    /// Open branches of another log under this coordinator's id.
    pub foreign: *const gtc_foreign_branch,
    /// How many there are.
    pub foreign_length: usize,
}

pub(crate) fn coordinator_info(status: &Status) -> *mut gtc_coordinator_info {
    let mut arena = Arena::default();
    let participants = status.participants.iter().map(|info| gtc_participant_info {
        name: arena.text(&info.name),
        state: arena.text(&info.state),
        detail: arena.optional(info.detail.as_deref()),
        slots_open: info.slots_open,
        slots_free: info.slots_free,
        waiting: info.waiting,
    });
    let participants: Vec<_> = participants.collect();
    let foreign = foreign(&status.foreign, &mut arena);
    let view = gtc_coordinator_info {
        coordinator: arena.text(&status.coordinator),
        incarnation: status.incarnation,
        recovered: status.recovered,
        stopped: arena.optional(status.stopped.as_deref()),
        participants_length: participants.len(),
        participants: arena.list(participants),
        open: status.open,
        foreign_length: foreign.len(),
        foreign: arena.list(foreign),
    };
    arena.give(view)
}

/// One precondition on one participant.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct gtc_finding {
    /// The participant.
    pub participant: *const c_char,
    /// The precondition.
    pub check: *const c_char,
    /// How good it is.
    pub level: gtc_level,
    /// What was seen.
    pub detail: *const c_char,
    /// What to do about it; NULL where nothing is to be done.
    pub remedy: *const c_char,
}

/// What a check found.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct gtc_findings {
    /// The first one.
    pub items: *const gtc_finding,
    /// How many there are.
    pub length: usize,
}

pub(crate) fn findings(found: &[Finding]) -> *mut gtc_findings {
    let mut arena = Arena::default();
    let items = found.iter().map(|finding| gtc_finding {
        participant: arena.text(&finding.participant),
        check: arena.text(finding.check),
        level: level(finding.level),
        detail: arena.text(&finding.detail),
        remedy: arena.optional(finding.remedy.as_deref()),
    });
    let items: Vec<_> = items.collect();
    let view = gtc_findings {
        length: items.len(),
        items: arena.list(items),
    };
    arena.give(view)
}

fn level(level: Level) -> gtc_level {
    match level {
        Level::Ok => gtc_level::Ok,
        Level::Warn => gtc_level::Warn,
        Level::Fail => gtc_level::Fail,
    }
}

/// An offset of a partition.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct gtc_position {
    /// The topic.
    pub topic: *const c_char,
    /// The partition.
    pub partition: i32,
    /// The next offset to read.
    pub offset: i64,
}

pub(crate) fn positions(positions: &[PartitionOffset], arena: &mut Arena) -> Vec<gtc_position> {
    let items = positions.iter().map(|place| gtc_position {
        topic: arena.text(&place.topic),
        partition: place.partition,
        offset: place.offset,
    });
    items.collect()
}

/// A position that is not known yet.
pub const GTC_POSITION_UNKNOWN: i64 = -1;

/// How far a partition is behind.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct gtc_lag {
    /// The topic.
    pub topic: *const c_char,
    /// The partition.
    pub partition: i32,
    /// The next offset to read, or `GTC_POSITION_UNKNOWN`.
    pub position: i64,
    /// The end of what can be read.
    pub end: i64,
}

/// How far the partitions are behind.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct gtc_lags {
    /// The first one.
    pub items: *const gtc_lag,
    /// How many there are.
    pub length: usize,
}

pub(crate) fn lags(lags: &[PartitionLag]) -> *mut gtc_lags {
    let mut arena = Arena::default();
    let items = lags.iter().map(|lag| gtc_lag {
        topic: arena.text(&lag.topic),
        partition: lag.partition,
        position: lag.position.unwrap_or(GTC_POSITION_UNKNOWN),
        end: lag.end,
    });
    let items: Vec<_> = items.collect();
    let view = gtc_lags {
        length: items.len(),
        items: arena.list(items),
    };
    arena.give(view)
}

/// A partition of a topic.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct gtc_partition {
    /// The topic.
    pub topic: *const c_char,
    /// The partition.
    pub partition: i32,
}

/// Something that happened beside the batches.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct gtc_notice {
    /// What kind of thing.
    pub kind: gtc_notice_kind,
    /// What happened, for people.
    pub text: *const c_char,
    /// The partitions concerned.
    pub partitions: *const gtc_partition,
    /// How many there are.
    pub partitions_length: usize,
}

/// What happened beside the batches.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct gtc_notices {
    /// The first one.
    pub items: *const gtc_notice,
    /// How many there are.
    pub length: usize,
}

pub(crate) fn notices(notices: &[Notice]) -> *mut gtc_notices {
    let mut arena = Arena::default();
    let items = notices.iter().map(|notice| {
        let partitions = notice.partitions.iter();
        let partitions = partitions.map(|(topic, partition)| gtc_partition {
            topic: arena.text(topic),
            partition: *partition,
        });
        let partitions: Vec<_> = partitions.collect();
        gtc_notice {
            kind: notice_kind(notice.kind),
            text: arena.text(&notice.text),
            partitions_length: partitions.len(),
            partitions: arena.list(partitions),
        }
    });
    let items: Vec<_> = items.collect();
    let view = gtc_notices {
        length: items.len(),
        items: arena.list(items),
    };
    arena.give(view)
}

fn notice_kind(kind: NoticeKind) -> gtc_notice_kind {
    match kind {
        NoticeKind::Assigned => gtc_notice_kind::Assigned,
        NoticeKind::Revoked => gtc_notice_kind::Revoked,
        NoticeKind::OutOfRange => gtc_notice_kind::OutOfRange,
        // For want of a name in this version: it is for people to read.
        _ => gtc_notice_kind::Trouble,
    }
}

/// Frees them; NULL does no harm.
///
/// # Safety
/// As in the [rules](crate#rules).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gtc_transactions_free(transactions: *mut gtc_transactions) {
    // SAFETY: as the caller promises.
    read((), || unsafe { free::<_, ()>(transactions) });
}

/// Frees them; NULL does no harm.
///
/// # Safety
/// As in the [rules](crate#rules).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gtc_foreign_branches_free(branches: *mut gtc_foreign_branches) {
    // SAFETY: as the caller promises.
    read((), || unsafe { free::<_, ()>(branches) });
}

/// Frees it; NULL does no harm.
///
/// # Safety
/// As in the [rules](crate#rules).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gtc_coordinator_info_free(info: *mut gtc_coordinator_info) {
    // SAFETY: as the caller promises.
    read((), || unsafe { free::<_, ()>(info) });
}

/// Frees them; NULL does no harm.
///
/// # Safety
/// As in the [rules](crate#rules).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gtc_findings_free(findings: *mut gtc_findings) {
    // SAFETY: as the caller promises.
    read((), || unsafe { free::<_, ()>(findings) });
}

/// Frees them; NULL does no harm.
///
/// # Safety
/// As in the [rules](crate#rules).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gtc_lags_free(lags: *mut gtc_lags) {
    // SAFETY: as the caller promises.
    read((), || unsafe { free::<_, ()>(lags) });
}

/// Frees them; NULL does no harm.
///
/// # Safety
/// As in the [rules](crate#rules).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gtc_notices_free(notices: *mut gtc_notices) {
    // SAFETY: as the caller promises.
    read((), || unsafe { free::<_, ()>(notices) });
}
