//! Requests on the admin socket: every line gets one line of an answer, and the owner lives on.

use std::cell::RefCell;

use gtc::fuzzing::Owner;

thread_local! {
    static OWNER: RefCell<Owner> = RefCell::new(Owner::start());
}

/// Takes one input.
///
/// # Panics
/// If it breaks what must hold.
pub fn take(data: &[u8]) {
    OWNER.with_borrow(|owner| {
        let answers = owner.ask(data);
        let ended = answers.is_empty() || answers.ends_with(b"\n");
        assert!(ended, "the last answer is cut off");
        let asked = data.split_inclusive(|byte| *byte == b'\n').count();
        let answered = answers.iter().filter(|byte| **byte == b'\n').count();
        let is_text = std::str::from_utf8(data).is_ok();
        assert!(answered <= asked, "{answered} answers to {asked} lines");
        // What is no text ends the connection.
        assert!(
            answered == asked || !is_text,
            "{answered} answers to {asked} lines"
        );
    });
}
