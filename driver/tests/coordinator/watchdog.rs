//! An end for processes that a test waits for.

use std::time::Duration;

/// Far beyond what any of them takes.
const PATIENCE: Duration = Duration::from_secs(300);

/// Ends this process where it hangs, be it in its last destructor: its parent would wait for ever.
pub fn end_at_last() {
    std::thread::spawn(|| {
        std::thread::sleep(PATIENCE);
        eprintln!(
            "stuck: this process should have ended {} s after its start",
            PATIENCE.as_secs()
        );
        std::process::abort();
    });
}
