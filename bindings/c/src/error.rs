//! The last error of each thread.
#![allow(unsafe_code, reason = "the names of the functions are exported")]

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char};

use crate::border::read;
use crate::status::{gtc_retry, gtc_status};

/// Why a call failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// As the façade says.
    Gtc(gtc::Error),
    /// A value in the call cannot be one: its name, and why.
    Argument(&'static str, &'static str),
    /// What the bare core cannot read, and why.
    Misfit(String),
    /// This library panicked.
    Panic(String),
}

impl Failure {
    pub(crate) fn null(name: &'static str) -> Self {
        Self::Argument(name, "is NULL")
    }

    pub(crate) fn no_utf8(name: &'static str) -> Self {
        Self::Argument(name, "is not UTF-8")
    }
}

impl From<gtc::Error> for Failure {
    fn from(error: gtc::Error) -> Self {
        Self::Gtc(error)
    }
}

/// A failure, as its thread asks for it.
struct Told {
    kind: gtc_status,
    retry: gtc_retry,
    text: CString,
    operation: Option<CString>,
    problem: CString,
    participant: Option<CString>,
    transaction: Option<CString>,
    remedy: Option<CString>,
}

impl From<Failure> for Told {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Gtc(error) => Self::of_gtc(&error),
            Failure::Argument(name, why) => {
                let remedy = "pass what the header asks for";
                Self::of_border(gtc_status::Config, &format!("`{name}` {why}"), remedy)
            }
            Failure::Misfit(why) => {
                let remedy = "write what vectors/README.md describes";
                Self::of_border(gtc_status::Config, &why, remedy)
            }
            Failure::Panic(why) => {
                let remedy =
                    "report this defect; ask for the outcome of the transactions under way";
                Self::of_border(
                    gtc_status::Internal,
                    &format!("gtc panicked: {why}"),
                    remedy,
                )
            }
        }
    }
}

impl Told {
    fn of_gtc(error: &gtc::Error) -> Self {
        let transaction = error.transaction().map(|id| id.to_string());
        Self {
            kind: error.kind().into(),
            retry: error.retry().into(),
            text: c_text(&error.to_string()),
            operation: Some(c_text(error.operation())),
            problem: c_text(error.problem()),
            participant: error.participant().map(c_text),
            transaction: transaction.as_deref().map(c_text),
            remedy: Some(c_text(error.remedy())),
        }
    }

    fn of_border(kind: gtc_status, problem: &str, remedy: &str) -> Self {
        let name = kind.name().to_string_lossy();
        Self {
            kind,
            retry: gtc_retry::Never,
            text: c_text(&format!("{name}: {problem}; remedy: {remedy}")),
            operation: None,
            problem: c_text(problem),
            participant: None,
            transaction: None,
            remedy: Some(c_text(remedy)),
        }
    }
}

/// Text for C. A NUL inside, which no name of ours has, becomes a space.
pub(crate) fn c_text(text: &str) -> CString {
    CString::new(text.replace('\0', " ")).unwrap_or_default()
}

thread_local! {
    static LAST: RefCell<Option<Told>> = const { RefCell::new(None) };
}

/// Keeps what came of a call for its thread.
pub(crate) fn tell(result: Result<(), Failure>) -> gtc_status {
    let told = result.err().map(Told::from);
    let status = told.as_ref().map_or(gtc_status::Ok, |told| told.kind);
    // At the very end of a thread there is nobody left to ask.
    let _ = LAST.try_with(|last| *last.borrow_mut() = told);
    status
}

fn last<T>(otherwise: T, get: impl FnOnce(&Told) -> T) -> T
where
    T: Copy,
{
    read(otherwise, || {
        let found = LAST.try_with(|last| last.borrow().as_ref().map(get));
        found.ok().flatten().unwrap_or(otherwise)
    })
}

fn pointer(text: Option<&CString>) -> *const c_char {
    text.map_or(std::ptr::null(), |text| text.as_ptr())
}

/// The kind of the last error of this thread; `GTC_STATUS_OK` if its last call worked.
///
/// A thread's error is that of its last call that gave back a `gtc_status`. In a callback it is
/// that of the work which the callback is told of. The texts of all `gtc_error` functions are valid
/// until the next such call of the same thread.
#[unsafe(no_mangle)]
pub extern "C" fn gtc_error_kind() -> gtc_status {
    last(gtc_status::Ok, |told| told.kind)
}

/// Whether asking again helps.
#[unsafe(no_mangle)]
pub extern "C" fn gtc_error_retry() -> gtc_retry {
    last(gtc_retry::Never, |told| told.retry)
}

/// The whole error in one line, for people and no API. Empty if the last call worked.
#[unsafe(no_mangle)]
pub extern "C" fn gtc_error_text() -> *const c_char {
    last(c"".as_ptr(), |told| told.text.as_ptr())
}

/// What went wrong, without the names around it. Empty if the last call worked.
#[unsafe(no_mangle)]
pub extern "C" fn gtc_error_problem() -> *const c_char {
    last(c"".as_ptr(), |told| told.problem.as_ptr())
}

/// The call or step that failed; NULL where a value in the call cannot be one.
#[unsafe(no_mangle)]
pub extern "C" fn gtc_error_operation() -> *const c_char {
    last(std::ptr::null(), |told| pointer(told.operation.as_ref()))
}

/// The participant concerned; NULL if it is none.
#[unsafe(no_mangle)]
pub extern "C" fn gtc_error_participant() -> *const c_char {
    last(std::ptr::null(), |told| pointer(told.participant.as_ref()))
}

/// The id of the transaction concerned; NULL if it is none. Keep it where the kind is in-doubt.
#[unsafe(no_mangle)]
pub extern "C" fn gtc_error_transaction() -> *const c_char {
    last(std::ptr::null(), |told| pointer(told.transaction.as_ref()))
}

/// What to do about it; NULL where nothing is known.
#[unsafe(no_mangle)]
pub extern "C" fn gtc_error_remedy() -> *const c_char {
    last(std::ptr::null(), |told| pointer(told.remedy.as_ref()))
}

/// The name of a status in every language, such as `in-doubt`. `status` is a `gtc_status`.
#[unsafe(no_mangle)]
pub extern "C" fn gtc_status_name(status: u32) -> *const c_char {
    gtc_status::from_number(status)
        .map_or(c"unknown", gtc_status::name)
        .as_ptr()
}

/// The usual advice on a retry of a status. `status` is a `gtc_status`.
#[unsafe(no_mangle)]
pub extern "C" fn gtc_status_retry(status: u32) -> gtc_retry {
    gtc_status::from_number(status).map_or(gtc_retry::Never, gtc_status::retry)
}

/// The version of the library, such as `0.1.0`.
#[unsafe(no_mangle)]
pub extern "C" fn gtc_version() -> *const c_char {
    const VERSION: &CStr =
        match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
            Ok(version) => version,
            Err(_) => c"",
        };
    VERSION.as_ptr()
}

/// What a program was compiled for; see `gtc_abi_version`.
pub const GTC_ABI_VERSION: u32 = 1;

/// The version of the binary interface of this library. A program that was compiled with another
/// `GTC_ABI_VERSION` cannot use it.
#[unsafe(no_mangle)]
pub extern "C" fn gtc_abi_version() -> u32 {
    GTC_ABI_VERSION
}

#[cfg(test)]
mod tests {
    use super::*;

    fn string(pointer: *const c_char) -> String {
        // SAFETY: texts of this thread's last error, and it makes no call meanwhile.
        let text = unsafe { CStr::from_ptr(pointer) };
        text.to_str().unwrap().to_owned()
    }

    #[test]
    fn an_error_is_that_of_its_thread_until_the_next_call() {
        assert_eq!(tell(Err(Failure::null("topic"))), gtc_status::Config);
        assert_eq!(gtc_error_kind(), gtc_status::Config);
        assert_eq!(gtc_error_retry(), gtc_retry::Never);
        assert_eq!(
            string(gtc_error_text()),
            "config: `topic` is NULL; remedy: pass what the header asks for"
        );
        assert_eq!(string(gtc_error_problem()), "`topic` is NULL");
        assert!(gtc_error_operation().is_null() && gtc_error_participant().is_null());
        let elsewhere = std::thread::spawn(|| gtc_error_kind()).join().unwrap();
        assert_eq!(elsewhere, gtc_status::Ok);
        assert_eq!(tell(Ok(())), gtc_status::Ok);
        assert_eq!(string(gtc_error_text()), "");
        assert!(gtc_error_remedy().is_null());
    }

    #[test]
    fn an_error_of_the_facade_keeps_what_it_knows() {
        let error = gtc::facade::decision("maybe").unwrap_err();
        let text = error.to_string();
        assert_eq!(tell(Err(error.into())), gtc_status::Config);
        assert_eq!(string(gtc_error_text()), text);
        assert_eq!(string(gtc_error_operation()), "read value");
        assert_eq!(string(gtc_error_remedy()), "write commit or abort");
    }

    #[test]
    fn every_status_has_its_number_and_name() {
        for (kind, name, retry, _) in gtc::ErrorKind::TABLE {
            let number = u32::from(kind.code());
            assert_eq!(gtc_status::from(*kind) as u32, number);
            assert_eq!(string(gtc_status_name(number)), *name);
            assert_eq!(gtc_status_retry(number), gtc_retry::from(*retry));
        }
        assert_eq!(string(gtc_status_name(0)), "ok");
        assert_eq!(string(gtc_status_name(4_000_000_000)), "unknown");
        assert_eq!(string(gtc_version()), env!("CARGO_PKG_VERSION"));
    }
}
