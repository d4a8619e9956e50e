//! What operators need.

pub(crate) mod check;
pub(crate) mod inspect;
pub(crate) mod intervene;
pub(crate) mod recover;
mod source;
mod view;
