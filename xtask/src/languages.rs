//! `cargo xtask languages`: the packages for other languages, built, installed and tested as their
//! users would have them, on two real clusters.

mod c;
mod clusters;
mod crash;
mod java;
mod node;
mod python;
mod wasm;

pub(crate) use clusters::Clusters;
pub(crate) use wasm::build as build_wasm;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use crate::command::{Failure, Step, cargo, report, root};
use crate::prerequisites::{Need, require};
use crate::test_run::Sum;
use crate::turns::Turn;

/// In groups that take about as long as each other, for runs side by side.
pub(crate) const GROUPS: [&[&str]; 2] = [&["c", "java"], &["node", "python", "wasm"]];
/// The step after the languages, which is called by this name beside theirs.
pub(crate) const CRASH: &str = "crash";

/// How cargo builds the libraries of all languages and the program gtc: as it builds for the tests
/// of the workspace, so that nothing is compiled twice. With the examples, as these make cargo
/// choose the features that tests have; crash points are for the crash tests.
const AS_TESTED: [&str; 6] = [
    "--workspace",
    "--all-features",
    "--lib",
    "--bin",
    "gtc",
    "--examples",
];

/// A program and its first arguments.
type Words = Vec<PathBuf>;
type BuildBench = fn(&Path) -> Result<Words, Failure>;

/// One language.
struct Language {
    name: &'static str,
    need: Need,
    /// Builds and tests its package; the environment of each test program is set by
    /// [`Clusters::name_in`].
    test: fn(&Clusters) -> Result<Sum, Failure>,
    /// How its sample crash-and-recover is called once the package is built and tested; none for
    /// a language without the driver.
    crash: Option<fn() -> Result<Command, Failure>>,
    /// Builds its program of the benchmark in a directory, with the package, for release, and tells
    /// the words that start it.
    bench: Option<BuildBench>,
}

const ALL: &[Language] = &[
    Language {
        name: "c",
        need: Need::C,
        test: c::test,
        crash: Some(c::crash_and_recover),
        bench: Some(c::bench),
    },
    Language {
        name: "java",
        need: Need::Java,
        test: java::test,
        crash: Some(java::crash_and_recover),
        bench: Some(java::bench),
    },
    Language {
        name: "node",
        need: Need::Node,
        test: node::test,
        crash: Some(node::crash_and_recover),
        bench: Some(node::bench),
    },
    Language {
        name: "python",
        need: Need::Python,
        test: python::test,
        crash: Some(python::crash_and_recover),
        bench: Some(python::bench),
    },
    Language {
        name: "wasm",
        need: Need::Node,
        test: wasm::test,
        crash: None,
        bench: None,
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

/// Tests the named languages, or all, and then lets them recover each other's crashes.
pub(crate) fn test(names: &[String]) -> Result<Sum, Failure> {
    let chosen = Chosen::of(names)?;
    let mut needs = vec![Need::Build, Need::Clusters];
    let languages = || chosen.languages.iter().chain(&chosen.ring);
    needs.extend(languages().map(|language| language.need));
    require(&needs)?;
    let _turn = Turn::at(languages().map(|language| language.name))?;
    if !chosen.languages.is_empty() {
        build()?;
    }
    let clusters = Clusters::start()?;
    let mut sum = Sum::default();
    for language in chosen.languages {
        let start = Instant::now();
        eprintln!("xtask: {} ...", language.name);
        sum += (language.test)(&clusters)?;
        report(language.name, start);
    }
    if !chosen.ring.is_empty() {
        sum += crash::test(&clusters, &chosen.ring)?;
    }
    Ok(sum)
}

/// Builds what the packages are made of.
pub(crate) fn build() -> Result<(), Failure> {
    let mut build = cargo(&["build"]);
    build.args(AS_TESTED);
    Step::new("libraries for the languages", build).run()
}

/// Each language with the words that start its program of the benchmark, built for release.
pub(crate) fn bench_programs() -> Result<Vec<(&'static str, Words)>, Failure> {
    let needs: Vec<Need> = needs().collect();
    require(&needs)?;
    let _turn = Turn::at(ALL.iter().map(|language| language.name))?;
    let build = |language: &Language| {
        let home = root().join("target/bench/languages").join(language.name);
        let made = std::fs::create_dir_all(&home).and_then(|()| home.canonicalize());
        let home = made.map_err(|cause| about(&home, &cause))?;
        language
            .bench
            .map(|bench| Ok((language.name, bench(&home)?)))
            .transpose()
    };
    ALL.iter()
        .filter_map(|language| build(language).transpose())
        .collect()
}

fn about(path: &Path, cause: &std::io::Error) -> Failure {
    Failure::new(format!("{}: {cause}", path.display()))
}

/// What was asked for.
struct Chosen {
    languages: Vec<&'static Language>,
    /// Those that recover each other's crashes.
    ring: Vec<&'static Language>,
}

impl Chosen {
    /// Everything, or what is named. The step `crash` alone takes all languages as they were built
    /// before.
    fn of(names: &[String]) -> Result<Self, Failure> {
        let is_named = |name: &str| names.iter().any(|one| one == name);
        let mut known: Vec<&str> = ALL.iter().map(|language| language.name).collect();
        known.push(CRASH);
        if let Some(name) = names.iter().find(|name| !known.contains(&name.as_str())) {
            let cause = format!("there is no `{name}`; choose of {}", known.join(", "));
            return Err(Failure::usage(cause));
        }
        let all = || ALL.iter();
        let mut languages: Vec<_> = all().filter(|language| is_named(language.name)).collect();
        let mut ring = match languages.is_empty() {
            true => all().collect(),
            false => languages.clone(),
        };
        ring.retain(|language| language.crash.is_some());
        if names.is_empty() {
            languages = all().collect();
        } else if !is_named(CRASH) {
            ring.clear();
        }
        match ring.len() {
            1 => Err(Failure::usage(
                "one crash is recovered by another language: name two",
            )),
            _ => Ok(Self { languages, ring }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(languages: &[&Language]) -> Vec<&'static str> {
        languages.iter().map(|language| language.name).collect()
    }

    #[test]
    fn languages_are_chosen_by_name_and_all_without_one() {
        let chosen = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            Chosen::of(&words).map(|chosen| (names(&chosen.languages), names(&chosen.ring)))
        };
        let ring = ["c", "java", "node", "python"];
        let all = chosen(&[]).unwrap();
        assert_eq!(all.0, [&ring[..], &["wasm"]].concat());
        assert_eq!(all.1, ring);
        assert_eq!(chosen(&["python"]).unwrap(), (vec!["python"], vec![]));
        assert_eq!(chosen(&["crash"]).unwrap(), (vec![], ring.to_vec()));
        let two = vec!["c", "node"];
        assert_eq!(chosen(&["node", "crash", "c"]).unwrap(), (two.clone(), two));
        assert!(chosen(&["cobol"]).is_err());
        let mut grouped = GROUPS.concat();
        grouped.sort_unstable();
        assert_eq!(grouped, all.0);
        assert!(chosen(&["c", "crash"]).is_err());
    }
}
