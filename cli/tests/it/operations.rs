//! The commands of operators.
