//! What the module exports. A call that cannot be made gives back the number that its documentation
//! names, and the text that comes out says why.
#![allow(unsafe_code, reason = "the names of the functions are exported")]

use alloc::string::{String, ToString};
use alloc::vec;
use core::cell::{RefCell, RefMut};
use core::panic::PanicInfo;

use gtc_plain::{Now, Time};

use crate::cores::Cores;

#[global_allocator]
static ALLOCATOR: dlmalloc::GlobalDlmalloc = dlmalloc::GlobalDlmalloc;

/// What a module of one thread shares.
struct Alone<T>(RefCell<T>);

// SAFETY: a module without threads has one.
unsafe impl<T> Sync for Alone<T> {}

static CORES: Alone<Cores> = Alone(RefCell::new(Cores::new()));
static PANIC: Alone<String> = Alone(RefCell::new(String::new()));

/// After a panic in a call, every further one panics here: nobody knows what state the cores are in.
fn cores() -> RefMut<'static, Cores> {
    CORES.0.borrow_mut()
}

/// Leaves the text of a panic, which the host asks for, and ends the call with a trap.
#[panic_handler]
fn panicked(panic: &PanicInfo<'_>) -> ! {
    if let Ok(mut text) = PANIC.0.try_borrow_mut()
        && text.is_empty()
    {
        *text = panic.to_string();
    }
    core::arch::wasm32::unreachable()
}

/// JavaScript's numbers are exact up to 2^53, which is as many microseconds as 285 years have.
fn now(monotonic_us: f64, unix_ms: f64) -> Now {
    Now {
        monotonic: Time::from_micros(monotonic_us as u64),
        unix_ms: unix_ms as u64,
    }
}

/// Makes room for a text of `length` bytes, and tells where it is to be written.
#[unsafe(no_mangle)]
pub extern "C" fn text_in(length: usize) -> *mut u8 {
    let mut cores = cores();
    cores.text_in = vec![0; length];
    cores.text_in.as_mut_ptr()
}

/// Where the text is that came out last; it stays there until the next call.
#[unsafe(no_mangle)]
pub extern "C" fn text_out() -> *const u8 {
    cores().text_out.as_ptr()
}

/// How long it is.
#[unsafe(no_mangle)]
pub extern "C" fn text_out_length() -> usize {
    cores().text_out.len()
}

/// Where the text of a panic is.
#[unsafe(no_mangle)]
pub extern "C" fn panic_text() -> *const u8 {
    PANIC
        .0
        .try_borrow()
        .map_or(core::ptr::null(), |text| text.as_ptr())
}

/// How long it is; zero if there was none.
#[unsafe(no_mangle)]
pub extern "C" fn panic_text_length() -> usize {
    PANIC.0.try_borrow().map_or(0, |text| text.len())
}

/// Takes a record of the log in, of the core that is made next: its hexadecimal digits. False: they
/// are none, and the records before it are forgotten.
#[unsafe(no_mangle)]
pub extern "C" fn log_record() -> bool {
    let mut cores = cores();
    let taken = cores.record();
    cores.tell(taken).is_some()
}

/// Makes a core of the configuration, and gives its number. Zero: it cannot.
#[unsafe(no_mangle)]
pub extern "C" fn core_new(monotonic_us: f64, unix_ms: f64) -> u32 {
    let mut cores = cores();
    let made = cores.make(now(monotonic_us, unix_ms));
    cores.tell(made).unwrap_or(0)
}

/// Takes a request in; the answer comes out. False: it is none.
#[unsafe(no_mangle)]
pub extern "C" fn core_request(core: u32, monotonic_us: f64, unix_ms: f64) -> bool {
    let mut cores = cores();
    let answered = cores.request(core, now(monotonic_us, unix_ms));
    cores.tell(answered).is_some()
}

/// Takes the response to an action in. False: it is none.
#[unsafe(no_mangle)]
pub extern "C" fn core_response(core: u32, id: f64, monotonic_us: f64, unix_ms: f64) -> bool {
    let mut cores = cores();
    let taken = cores.response(core, id as u64, now(monotonic_us, unix_ms));
    cores.tell(taken).is_some()
}

/// Does what is due. False: there is no such core.
#[unsafe(no_mangle)]
pub extern "C" fn core_timeout(core: u32, monotonic_us: f64, unix_ms: f64) -> bool {
    let mut cores = cores();
    let done = cores.timeout(core, now(monotonic_us, unix_ms));
    cores.tell(done).is_some()
}

/// The next output comes out: 0 is a wait, 1 an action, 2 an event. -1: there is no such core.
#[unsafe(no_mangle)]
pub extern "C" fn core_poll(core: u32) -> i32 {
    let mut cores = cores();
    let found = cores.poll(core);
    cores.tell(found).map_or(-1, |kind| kind as i32)
}

/// Frees a core; freeing it twice does no harm.
#[unsafe(no_mangle)]
pub extern "C" fn core_free(core: u32) {
    cores().free(core);
}
