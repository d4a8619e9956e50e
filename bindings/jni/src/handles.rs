//! What Java holds, under numbers that are given once.

use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{LazyLock, PoisonError, RwLock};

use gtc::facade;
use jni::Env;
use jni::objects::JClass;
use jni::sys::jlong;

use crate::border::{Failure, natives};

natives! {
    fn free(handle: jlong);
}

/// Something that Java holds.
#[derive(Clone)]
pub(crate) enum Held {
    Coordinator(facade::Coordinator),
    Transaction(facade::Transaction),
    Consumer(facade::Consumer),
    Batch(facade::Batch),
    OwnBranch(facade::OwnBranch),
}

/// What can be held.
pub(crate) trait Holdable: Sized {
    fn hold(self) -> Held;
    fn held(held: Held) -> Option<Self>;
}

macro_rules! holdable {
    ($($name:ident),*) => {
        $(impl Holdable for facade::$name {
            fn hold(self) -> Held {
                Held::$name(self)
            }

            fn held(held: Held) -> Option<Self> {
                match held {
                    Held::$name(value) => Some(value),
                    _ => None,
                }
            }
        })*
    };
}
holdable!(Coordinator, Transaction, Consumer, Batch, OwnBranch);

static HELD: LazyLock<RwLock<HashMap<jlong, Held>>> = LazyLock::new(RwLock::default);

/// A number that was not given before; 0 is none.
pub(crate) fn next_number() -> jlong {
    static LAST: AtomicI64 = AtomicI64::new(0);
    LAST.fetch_add(1, Ordering::Relaxed) + 1
}

/// Holds a value for Java, which frees it.
pub(crate) fn hold(value: impl Holdable) -> jlong {
    let handle = next_number();
    let mut held = HELD.write().unwrap_or_else(PoisonError::into_inner);
    held.insert(handle, value.hold());
    handle
}

/// What is held under a number. It lives on for this call, whoever frees the number meanwhile.
pub(crate) fn get<T: Holdable>(handle: jlong) -> Result<T, Failure> {
    let held = HELD.read().unwrap_or_else(PoisonError::into_inner);
    let found = held.get(&handle).cloned();
    found.and_then(T::held).ok_or(Failure::Gone)
}

/// Lets go of what is held. A number that is freed already does no harm.
fn free<'local>(_: &mut Env<'local>, _: JClass<'local>, handle: jlong) -> Result<(), Failure> {
    let freed = {
        let mut held = HELD.write().unwrap_or_else(PoisonError::into_inner);
        held.remove(&handle)
    };
    // Without the lock, as its end may do more than free memory.
    drop(freed);
    Ok(())
}
