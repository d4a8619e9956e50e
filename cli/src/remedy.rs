//! What is left to do by hand, in the words of every command that says so.

use gtc::MIXED_REMEDY;

/// About transaction `id`, which ended mixed; `ID` where there are several.
pub(crate) fn mixed(id: &str) -> String {
    format!("see `gtc describe {id}`: {MIXED_REMEDY}, then `gtc forget {id}`")
}
