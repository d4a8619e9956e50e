//! What must hold, one invariant a file, each a pure function of what the oracle saw.
//!
//! The names of atomic commitment (AC1 to AC5) are those of Bernstein, Hadzilacos and Goodman,
//! "Concurrency Control and Recovery in Database Systems", chapter 7.

pub mod ac1_agreement;
pub mod ac2_stability;
pub mod ac3_validity;
pub mod ac4_nontriviality;
pub mod ac5_termination;
pub mod exactly_once;
pub mod external_consistency;
pub mod fence_stops;
pub mod fencing;
pub mod forgetting;
pub mod identity;
pub mod isolation;
pub mod log_identity;
pub mod no_false_alarm;
pub mod offsets;
pub mod one_answer;
pub mod one_class;
pub mod one_lease;
pub mod promise;
pub mod recovery;
pub mod told_late;
pub mod transitions;
pub mod usable;
pub mod whole_checkpoint;
pub mod write_ahead;
