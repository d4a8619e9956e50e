//! The configuration: any text is read or refused with an error, and no error or Debug output
//! shows what came from the environment into a property. The same lines are read as keys and
//! values as well.

use gtc::Config;
use gtc::fuzzing::{configuration, properties};

const SECRET: &str = "planted-7f3a";

/// Takes one input.
///
/// # Panics
/// If it breaks what must hold.
pub fn take(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let lookup = |name: &str| (name == "S").then(|| SECRET.to_owned());
    match configuration(text, &lookup) {
        Ok(config) => {
            let shown = format!("{:?}", config.participants());
            assert!(!shown.contains(SECRET), "Debug shows a secret: {shown}");
            if let Err(error) = properties(&config) {
                check(&error);
            }
        }
        Err(error) => check(&error),
    }
    let pairs: Vec<_> = text
        .lines()
        .filter_map(|line| line.split_once('='))
        .collect();
    if let Err(error) = Config::from_values(&pairs) {
        assert!(!error.to_string().is_empty());
    }
}

fn check(error: &gtc::Error) {
    let source = std::error::Error::source(error).map(|source| format!("{source} {source:?}"));
    let shown = format!("{error} {error:?} {source:?}");
    assert!(!shown.contains(SECRET), "an error shows a secret: {shown}");
    assert!(!error.to_string().is_empty());
}
