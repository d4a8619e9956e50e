//! Which topics are mirrored.

use std::collections::BTreeSet;

use regex::Regex;

use crate::failure::Failure;

/// The topics that a user asked for.
#[derive(Clone, Debug)]
pub(crate) enum Selection {
    /// These, by name.
    Names(BTreeSet<String>),
    /// All whose whole name matches, also ones that appear later.
    Pattern(Regex),
}

impl Selection {
    /// The selection by names, or by a regex where there are none.
    pub(crate) fn new(names: &[String], pattern: Option<Regex>) -> Result<Self, Failure> {
        if let Some(pattern) = pattern {
            return Ok(Self::Pattern(pattern));
        }
        match names.iter().find(|name| is_internal(name)) {
            Some(name) => Err(Failure::usage(format!(
                "topic {name}: internal topics belong to their cluster and are not mirrored; \
                 leave it out"
            ))),
            None => Ok(Self::Names(names.iter().cloned().collect())),
        }
    }

    /// Whether this topic is to be mirrored.
    pub(crate) fn selects(&self, topic: &str) -> bool {
        match self {
            Self::Names(names) => names.contains(topic),
            Self::Pattern(pattern) => {
                !is_internal(topic) && !is_of_gtc(topic) && pattern.is_match(topic)
            }
        }
    }

    /// The named topics that are not among these.
    pub(crate) fn missing<'a>(&'a self, present: &BTreeSet<&str>) -> Vec<&'a str> {
        match self {
            Self::Names(names) => {
                let names = names.iter().map(String::as_str);
                names.filter(|name| !present.contains(name)).collect()
            }
            Self::Pattern(_) => Vec::new(),
        }
    }
}

/// Topics that Kafka keeps for itself.
fn is_internal(topic: &str) -> bool {
    topic.starts_with("__")
}

/// Topics that gtc keeps for itself.
fn is_of_gtc(topic: &str) -> bool {
    topic.starts_with("gtc.")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Result<Selection, Failure> {
        let names: Vec<String> = names.iter().map(ToString::to_string).collect();
        Selection::new(&names, None)
    }

    fn pattern(text: &str) -> Selection {
        Selection::new(&[], Some(Regex::new(text).unwrap())).unwrap()
    }

    #[test]
    fn names_select_themselves_only_and_may_be_of_gtc() {
        let selection = names(&["orders", "gtc.log"]).unwrap();
        for (topic, selected) in [("orders", true), ("gtc.log", true), ("orders2", false)] {
            assert_eq!(selection.selects(topic), selected, "{topic}");
        }
    }

    #[test]
    fn internal_topics_cannot_be_named() {
        let failure = names(&["orders", "__consumer_offsets"]).unwrap_err();
        assert!(failure.text.contains("__consumer_offsets"), "{failure}");
    }

    #[test]
    fn a_pattern_leaves_internal_topics_out() {
        let selection = pattern("^(?:.*)$");
        for (topic, selected) in [
            ("orders", true),
            ("__consumer_offsets", false),
            ("gtc.log", false),
            ("gtc", true),
        ] {
            assert_eq!(selection.selects(topic), selected, "{topic}");
        }
    }

    #[test]
    fn only_names_can_be_missing() {
        let present = BTreeSet::from(["orders"]);
        let selection = names(&["orders", "flights"]).unwrap();
        assert_eq!(selection.missing(&present), ["flights"]);
        assert!(pattern("^x$").missing(&present).is_empty());
    }
}
