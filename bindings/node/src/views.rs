//! What operators see, as plain objects.

use gtc::check::Finding;
use gtc::views::{BranchInfo, ForeignInfo, ParticipantInfo, Status, TransactionInfo};
use napi::bindgen_prelude::{BigInt, Buffer};
use napi_derive::napi;

use crate::convert::id_out;

/// A transaction.
#[napi(
    object,
    object_from_js = false,
    use_nullable = true,
    js_name = "TransactionInfo"
)]
pub struct TransactionView {
    pub id: Option<BigInt>,
    pub text: String,
    pub key: Option<Buffer>,
    pub state: String,
    pub decision: Option<String>,
    pub since_unix_ms: f64,
    pub branches: Vec<BranchView>,
}

/// One participant's part of it.
#[napi(
    object,
    object_from_js = false,
    use_nullable = true,
    js_name = "BranchInfo"
)]
pub struct BranchView {
    pub participant: String,
    pub transactional_id: Option<String>,
    pub state: String,
    pub detail: Option<String>,
}

impl From<TransactionInfo> for TransactionView {
    fn from(info: TransactionInfo) -> Self {
        Self {
            id: info.id.parse().ok().map(id_out),
            text: info.id,
            key: info.key_hex.as_deref().map(unhex).map(Buffer::from),
            state: info.state,
            decision: info.decision,
            since_unix_ms: info.since_unix_ms as f64,
            branches: info.branches.into_iter().map(BranchView::from).collect(),
        }
    }
}

impl From<BranchInfo> for BranchView {
    fn from(info: BranchInfo) -> Self {
        Self {
            participant: info.participant,
            transactional_id: info.transactional_id,
            state: info.state,
            detail: info.detail,
        }
    }
}

fn unhex(text: &str) -> Vec<u8> {
    let digits = (0..text.len() / 2).filter_map(|at| text.get(2 * at..2 * at + 2));
    digits
        .filter_map(|pair| u8::from_str_radix(pair, 16).ok())
        .collect()
}

/// An open branch of another log.
#[napi(object, object_from_js = false, js_name = "ForeignInfo")]
pub struct ForeignView {
    pub participant: String,
    pub transactional_id: String,
    pub state: String,
}

impl From<ForeignInfo> for ForeignView {
    fn from(info: ForeignInfo) -> Self {
        Self {
            participant: info.participant,
            transactional_id: info.transactional_id,
            state: info.state,
        }
    }
}

/// How a coordinator stands.
#[napi(
    object,
    object_from_js = false,
    use_nullable = true,
    js_name = "Status"
)]
pub struct StatusView {
    pub coordinator: String,
    pub incarnation: u32,
    pub recovered: bool,
    pub stopped: Option<String>,
    pub participants: Vec<ParticipantView>,
    pub open: f64,
}

/// How a participant stands.
#[napi(
    object,
    object_from_js = false,
    use_nullable = true,
    js_name = "ParticipantInfo"
)]
pub struct ParticipantView {
    pub name: String,
    pub state: String,
    pub detail: Option<String>,
    pub slots_open: f64,
    pub slots_free: f64,
    pub waiting: f64,
}

impl From<Status> for StatusView {
    fn from(status: Status) -> Self {
        let participants = status.participants.into_iter();
        Self {
            coordinator: status.coordinator,
            incarnation: status.incarnation,
            recovered: status.recovered,
            stopped: status.stopped,
            participants: participants.map(ParticipantView::from).collect(),
            open: status.open as f64,
        }
    }
}

impl From<ParticipantInfo> for ParticipantView {
    fn from(info: ParticipantInfo) -> Self {
        Self {
            name: info.name,
            state: info.state,
            detail: info.detail,
            slots_open: info.slots_open as f64,
            slots_free: info.slots_free as f64,
            waiting: info.waiting as f64,
        }
    }
}

/// One precondition of the guarantee on one participant.
#[napi(
    object,
    object_from_js = false,
    use_nullable = true,
    js_name = "Finding"
)]
pub struct FindingView {
    pub participant: String,
    pub check: &'static str,
    pub level: &'static str,
    pub detail: String,
    pub remedy: Option<String>,
}

pub(crate) fn findings(found: Vec<Finding>) -> Vec<FindingView> {
    let found = found.into_iter().map(|finding| FindingView {
        participant: finding.participant,
        check: finding.check,
        level: finding.level.as_str(),
        detail: finding.detail,
        remedy: finding.remedy,
    });
    found.collect()
}
