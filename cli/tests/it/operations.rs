//! The commands of operators.

mod check;
mod hand;
mod inspect;
