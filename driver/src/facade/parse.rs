//! Words that languages without our enums write as text.

use gtc_core::{Decision, Reuse, TransactionId, VersionClass};

use crate::error::{Error, ErrorKind};
use crate::kafka::consumer::OffsetReset;

/// A transaction id, such as `3-17`.
///
/// # Errors
/// Config where it has another form.
pub fn transaction_id(text: &str) -> Result<TransactionId, Error> {
    text.parse().map_err(|form: &str| {
        Error::new(ErrorKind::Config, "read transaction id", form)
            .with_remedy("give the id as gtc writes it, such as 3-17")
    })
}

/// `commit` or `abort`.
///
/// # Errors
/// Config for any other word.
pub fn decision(word: &str) -> Result<Decision, Error> {
    match word {
        "commit" => Ok(Decision::Commit),
        "abort" => Ok(Decision::Abort),
        _ => Err(no_such("decision", word, "commit or abort")),
    }
}

/// `v1` or `v2`: how an own producer ends its transactions.
///
/// # Errors
/// Config for any other word.
pub fn version_class(word: &str) -> Result<VersionClass, Error> {
    match word {
        "v1" => Ok(VersionClass::V1),
        "v2" => Ok(VersionClass::V2),
        _ => Err(no_such("version class", word, "v1 or v2")),
    }
}

/// `earliest`, `latest` or `fail`: what happens where the cluster does not have a position.
///
/// # Errors
/// Config for any other word.
pub fn offset_reset(word: &str) -> Result<OffsetReset, Error> {
    match word {
        "earliest" => Ok(OffsetReset::Earliest),
        "latest" => Ok(OffsetReset::Latest),
        "fail" => Ok(OffsetReset::Fail),
        _ => Err(no_such("reset", word, "earliest, latest or fail")),
    }
}

/// `reuse` or `discard`.
#[must_use]
pub const fn reuse_name(reuse: Reuse) -> &'static str {
    match reuse {
        Reuse::Reuse => "reuse",
        Reuse::Discard => "discard",
    }
}

fn no_such(what: &str, word: &str, known: &str) -> Error {
    let problem = format!("there is no {what} `{word}`");
    Error::new(ErrorKind::Config, "read value", problem).with_remedy(format!("write {known}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_and_others_are_refused_with_the_known_ones() {
        assert_eq!(transaction_id("3-17").unwrap().to_string(), "3-17");
        assert_eq!(decision("abort").unwrap(), Decision::Abort);
        assert_eq!(version_class("v2").unwrap(), VersionClass::V2);
        assert_eq!(offset_reset("fail").unwrap(), OffsetReset::Fail);
        let error = offset_reset("none").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Config);
        assert!(
            error.to_string().contains("earliest, latest or fail"),
            "{error}"
        );
        assert_eq!(transaction_id("17").unwrap_err().kind(), ErrorKind::Config);
    }
}
