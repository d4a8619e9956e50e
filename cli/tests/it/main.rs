//! The program against real brokers. One test program, so that its clusters are started once.

mod kafka;
mod program;

mod operations;
mod replicate;
