//! The border: what comes in as a pointer, and what must not go out as a panic.
#![allow(unsafe_code, reason = "the memory of callers is read and written here")]

use std::any::Any;
use std::ffi::{CStr, c_char};
use std::mem::MaybeUninit;
use std::panic::{AssertUnwindSafe, catch_unwind};

use gtc::facade::Pending;

use crate::error::{self, Failure};
use crate::record::gtc_bytes;
use crate::status::gtc_status;

/// What a verb gives.
pub(crate) type Answer<T> = Result<T, Failure>;

/// Runs a verb. Its error is kept for this thread; a panic is an error too.
pub(crate) fn enter(verb: impl FnOnce() -> Answer<()>) -> gtc_status {
    error::tell(guard(verb))
}

/// Runs what makes a result; a panic becomes an error.
pub(crate) fn guard<T>(work: impl FnOnce() -> Answer<T>) -> Answer<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| Err(panicked(&*panic)))
}

/// Reads something that has a value for want of a better one.
pub(crate) fn read<T>(otherwise: T, work: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or(otherwise)
}

fn panicked(panic: &(dyn Any + Send)) -> Failure {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    Failure::Panic(text.unwrap_or("no message").to_owned())
}

/// Waits for a verb that has no value.
pub(crate) fn done(pending: Pending<()>) -> Answer<()> {
    pending.wait().map_err(Failure::from)
}

/// What a pointer points to.
///
/// # Safety
/// It is NULL, or readable for as long as the result is used.
pub(crate) unsafe fn shared<'a, T>(pointer: *const T, name: &'static str) -> Answer<&'a T> {
    // SAFETY: as the caller promises.
    unsafe { pointer.as_ref() }.ok_or(Failure::null(name))
}

/// Text that ends with a NUL.
///
/// # Safety
/// It is NULL, or such text for as long as the result is used.
pub(crate) unsafe fn text<'a>(pointer: *const c_char, name: &'static str) -> Answer<&'a str> {
    // SAFETY: as the caller promises.
    let found = unsafe { optional_text(pointer, name) }?;
    found.ok_or(Failure::null(name))
}

/// As [`text`], where NULL means that there is none.
///
/// # Safety
/// As there.
pub(crate) unsafe fn optional_text<'a>(
    pointer: *const c_char,
    name: &'static str,
) -> Answer<Option<&'a str>> {
    if pointer.is_null() {
        return Ok(None);
    }
    // SAFETY: as the caller promises.
    let text = unsafe { CStr::from_ptr(pointer) };
    let text = text.to_str().map_err(|_| Failure::no_utf8(name));
    text.map(Some)
}

/// Items in a row; NULL where there are none.
///
/// # Safety
/// `pointer` is NULL, or so many items are readable for as long as the result is used.
pub(crate) unsafe fn items<'a, T>(
    pointer: *const T,
    length: usize,
    name: &'static str,
) -> Answer<&'a [T]> {
    let largest = isize::MAX.unsigned_abs() / size_of::<T>().max(1);
    match (pointer.is_null(), length) {
        (_, 0) => Ok(&[]),
        (true, _) => Err(Failure::null(name)),
        (false, length) if length > largest => Err(Failure::Argument(name, "is impossibly long")),
        // SAFETY: as the caller promises.
        _ => Ok(unsafe { std::slice::from_raw_parts(pointer, length) }),
    }
}

/// Texts in a row.
///
/// # Safety
/// As for [`items`] and [`text`].
pub(crate) unsafe fn texts(
    pointer: *const *const c_char,
    length: usize,
    name: &'static str,
) -> Answer<Vec<String>> {
    // SAFETY: as the caller promises.
    let items = unsafe { items(pointer, length, name) }?;
    // SAFETY: as the caller promises.
    let texts = items.iter().map(|item| unsafe { text(*item, name) });
    texts.map(|text| text.map(str::to_owned)).collect()
}

/// Bytes; NULL is none, which differs from empty ones.
///
/// # Safety
/// As for [`items`].
pub(crate) unsafe fn bytes<'a>(bytes: &gtc_bytes, name: &'static str) -> Answer<Option<&'a [u8]>> {
    if bytes.data.is_null() && bytes.length == 0 {
        return Ok(None);
    }
    // SAFETY: as the caller promises.
    unsafe { items(bytes.data.cast(), bytes.length, name) }.map(Some)
}

/// Where a result goes.
pub(crate) struct Place<'a, T>(&'a mut MaybeUninit<T>);

impl<T> Place<'_, T> {
    pub(crate) fn fill(self, value: T) {
        self.0.write(value);
    }
}

/// Where a value goes.
///
/// # Safety
/// It is NULL, or writable for as long as the result is used.
pub(crate) unsafe fn place<'a, T>(pointer: *mut T, name: &'static str) -> Answer<Place<'a, T>> {
    // SAFETY: as the caller promises; it need not hold a value yet.
    let place = unsafe { pointer.cast::<MaybeUninit<T>>().as_mut() };
    place.map(Place).ok_or(Failure::null(name))
}

/// Where a pointer goes: NULL until then, so that it can be freed whatever came of the call.
///
/// # Safety
/// As for [`place`].
pub(crate) unsafe fn pointer_place<'a, T>(
    pointer: *mut *mut T,
    name: &'static str,
) -> Answer<Place<'a, *mut T>> {
    // SAFETY: as the caller promises.
    let place = unsafe { place(pointer, name) }?;
    place.0.write(std::ptr::null_mut());
    Ok(place)
}

/// Gives a handle out.
pub(crate) fn hand_out<T>(handle: T) -> *mut T {
    Box::into_raw(Box::new(handle))
}

/// Takes a handle back.
///
/// # Safety
/// It is NULL, or from [`hand_out`], and is not used any more.
pub(crate) unsafe fn take_back<T>(handle: *mut T) -> Option<Box<T>> {
    // SAFETY: as the caller promises.
    (!handle.is_null()).then(|| unsafe { Box::from_raw(handle) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_internal_error_with_its_text() {
        let status = enter(|| panic!("no {}", "way"));
        assert_eq!(status, gtc_status::Internal);
        // SAFETY: it is valid until the next call on this thread.
        let text = unsafe { CStr::from_ptr(error::gtc_error_text()) };
        assert!(text.to_str().unwrap().contains("no way"), "{text:?}");
        assert_eq!(read(7, || panic!("again")), 7);
    }

    #[test]
    fn null_and_other_impossible_pointers_are_refused() {
        let null = |failure: Failure| assert!(matches!(failure, Failure::Argument("it", _)));
        // SAFETY: nothing is read through any of them.
        unsafe {
            null(shared::<u8>(std::ptr::null(), "it").unwrap_err());
            null(text(std::ptr::null(), "it").unwrap_err());
            null(text(c"\xff".as_ptr(), "it").unwrap_err());
            null(items::<u64>(std::ptr::null(), 1, "it").unwrap_err());
            null(items([1_u64].as_ptr(), usize::MAX / 8, "it").unwrap_err());
            null(place::<u8>(std::ptr::null_mut(), "it").err().unwrap());
            assert!(items::<u8>(std::ptr::null(), 0, "it").unwrap().is_empty());
        }
    }

    #[test]
    fn no_bytes_differ_from_empty_ones() {
        let none = gtc_bytes::NONE;
        let empty = gtc_bytes::of(Some(b""));
        // SAFETY: both are of this function.
        unsafe {
            assert_eq!(bytes(&none, "it").unwrap(), None);
            assert_eq!(bytes(&empty, "it").unwrap(), Some(&b""[..]));
        }
        let length_without_data = gtc_bytes { length: 3, ..none };
        // SAFETY: nothing is read through it.
        assert!(unsafe { bytes(&length_without_data, "it") }.is_err());
    }
}
