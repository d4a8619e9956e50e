//! What C reads as plain structures, with everything that they point to.
#![allow(unsafe_code, reason = "pointers are given out and taken back here")]

use std::any::Any;
use std::ffi::{CString, c_char};
use std::ptr;

use crate::border::{hand_out, take_back};
use crate::error::c_text;

/// Keeps texts and lists where they are, for as long as a structure points to them.
#[derive(Default)]
pub(crate) struct Arena {
    texts: Vec<CString>,
    kept: Vec<Box<dyn Any + Send>>,
}

/// A list that only its arena reads again, to drop it.
struct List<T>(#[expect(dead_code, reason = "what points to it reads it")] Vec<T>);

// SAFETY: the lists hold plain data and pointers into the same arena, and nothing that belongs to a
// thread.
unsafe impl<T> Send for List<T> {}

impl Arena {
    pub(crate) fn text(&mut self, text: &str) -> *const c_char {
        let text = c_text(text);
        let pointer = text.as_ptr();
        self.texts.push(text);
        pointer
    }

    pub(crate) fn optional(&mut self, text: Option<&str>) -> *const c_char {
        text.map_or(ptr::null(), |text| self.text(text))
    }

    /// NULL where there are none.
    pub(crate) fn list<T: 'static>(&mut self, items: Vec<T>) -> *const T {
        if items.is_empty() {
            return ptr::null();
        }
        let pointer = items.as_ptr();
        self.kept.push(Box::new(List(items)));
        pointer
    }

    /// Gives the structure out, which owns the arena from now on.
    pub(crate) fn give<T>(self, view: T) -> *mut T {
        self.give_with(view, ())
    }

    /// As [`give`](Self::give), with something that belongs to it.
    pub(crate) fn give_with<T, K>(self, view: T, kept: K) -> *mut T {
        let owned = Owned {
            view,
            kept,
            arena: self,
        };
        hand_out(owned).cast()
    }
}

/// The structure stands first, so that a pointer to it is one to the whole.
#[repr(C)]
pub(crate) struct Owned<T, K = ()> {
    view: T,
    pub(crate) kept: K,
    arena: Arena,
}

/// Frees a structure with all that it points to.
///
/// # Safety
/// It is NULL, or from [`Arena::give_with`] with the same `K`, and is not used any more.
pub(crate) unsafe fn free<T, K>(view: *mut T) {
    // SAFETY: as the caller promises.
    drop(unsafe { take_back(view.cast::<Owned<T, K>>()) });
}
