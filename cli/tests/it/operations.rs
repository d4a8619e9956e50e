//! The commands of operators.

mod check;
mod foreign;
mod hand;
mod inspect;
mod moved;
