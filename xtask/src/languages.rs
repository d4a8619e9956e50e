//! `cargo xtask languages`: the packages for other languages, built, installed and tested as their
//! users would have them, on two real clusters.

mod c;
mod java;
mod node;
mod python;
mod wasm;

use std::process::Command;
use std::time::Instant;

use gtc_clusters::{Cluster, ClusterOptions};

use crate::command::{Failure, report};
use crate::prerequisites::{Need, require};
use crate::test_run::Sum;

/// The names of the clusters, as configurations call them.
const CLUSTERS: [&str; 2] = ["eu", "us"];
/// Tells the tests of every language where the clusters are: `eu=HOST:PORT us=HOST:PORT`.
const ENVIRONMENT: &str = "GTC_TEST_CLUSTERS";

/// One language.
struct Language {
    name: &'static str,
    need: Need,
    /// Builds and tests its package; the environment of each test program is set by
    /// [`Clusters::name_in`].
    test: fn(&Clusters) -> Result<Sum, Failure>,
}

const ALL: &[Language] = &[
    Language {
        name: "c",
        need: Need::C,
        test: c::test,
    },
    Language {
        name: "java",
        need: Need::Java,
        test: java::test,
    },
    Language {
        name: "node",
        need: Need::Node,
        test: node::test,
    },
    Language {
        name: "python",
        need: Need::Python,
        test: python::test,
    },
    Language {
        name: "wasm",
        need: Need::Node,
        test: wasm::test,
    },
];

/// What the languages need, for a run of all tests.
pub(crate) fn needs() -> impl Iterator<Item = Need> {
    ALL.iter().map(|language| language.need)
}

/// Runs the command.
pub(crate) fn run(names: &[String]) -> Result<(), Failure> {
    let sum = test(names)?;
    println!("{} passed, {} failed", sum.passed, sum.failed);
    match sum.failed {
        0 => Ok(()),
        _ => Err(Failure::told()),
    }
}

/// Tests the named languages, or all.
pub(crate) fn test(names: &[String]) -> Result<Sum, Failure> {
    let languages = chosen(names)?;
    let mut needs = vec![Need::Build, Need::Clusters];
    needs.extend(languages.iter().map(|language| language.need));
    require(&needs)?;
    let clusters = Clusters::start()?;
    let mut sum = Sum::default();
    for language in languages {
        let start = Instant::now();
        eprintln!("xtask: {} ...", language.name);
        sum += (language.test)(&clusters)?;
        report(language.name, start);
    }
    Ok(sum)
}

fn chosen(names: &[String]) -> Result<Vec<&'static Language>, Failure> {
    let known: Vec<&str> = ALL.iter().map(|language| language.name).collect();
    if let Some(name) = names.iter().find(|name| !known.contains(&name.as_str())) {
        let cause = format!("there is no `{name}`; choose of {}", known.join(", "));
        return Err(Failure::usage(cause));
    }
    let is_chosen =
        |language: &&Language| names.is_empty() || names.iter().any(|name| name == language.name);
    Ok(ALL.iter().filter(is_chosen).collect())
}

/// Two clusters that end with this command.
struct Clusters(Vec<Cluster>);

impl Clusters {
    fn start() -> Result<Self, Failure> {
        let options = CLUSTERS.map(|name| ClusterOptions::new(format!("languages-{name}")));
        Ok(Self(Cluster::start_all(options)?))
    }

    /// Tells `command` where they are.
    fn name_in(&self, command: &mut Command) {
        let pairs: Vec<String> = CLUSTERS
            .iter()
            .zip(&self.0)
            .map(|(name, cluster)| format!("{name}={}", cluster.bootstrap()))
            .collect();
        command.env(ENVIRONMENT, pairs.join(" "));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn languages_are_chosen_by_name_and_all_without_one() {
        assert_eq!(chosen(&[]).unwrap().len(), ALL.len());
        let python = chosen(&["python".to_owned()]).unwrap();
        assert_eq!(python[0].name, "python");
        assert!(chosen(&["cobol".to_owned()]).is_err());
    }
}
