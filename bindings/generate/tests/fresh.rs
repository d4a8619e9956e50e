//! What is generated is up to date.

use gtc_generate::{LANGUAGES, root, stale};

#[test]
fn no_language_lags_behind_the_tables() {
    assert!(!LANGUAGES.is_empty());
    let found = stale(&root());
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn a_missing_file_is_stale() {
    let nowhere = root().join("target/no-such-directory");
    assert!(
        stale(&nowhere)
            .iter()
            .any(|what| what.contains("cargo xtask generate"))
    );
}
