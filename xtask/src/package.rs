//! `cargo xtask package`: what users install, built as they get it, and each tried in an empty
//! project on two real clusters.

mod c;
mod java;
mod node;
mod python;
mod table;
mod trial;
mod wasm;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

pub(crate) use c::install as install_c;

use crate::command::{Failure, report, root};
use crate::help;
use crate::prerequisites::{Need, require};
use crate::turns::Turn;
use trial::Trial;

/// The one version of everything: a test of the house compares the manifests.
const VERSION: &str = env!("CARGO_PKG_VERSION");
/// The profile of what users get.
const PROFILE: &str = "dist";
/// As the native jars and the C archive name this machine.
const PLATFORM: (&str, &str) = (std::env::consts::OS, std::env::consts::ARCH);

/// One language.
struct Language {
    name: &'static str,
    need: Need,
    /// Builds its packages into [`home`], with features of the Rust side.
    build: fn(&str) -> Result<Packed, Failure>,
    /// Installs them into an empty project, runs `basic` there, and gives back the native parts as
    /// they were installed.
    try_out: fn(&Trial, &Packed) -> Result<Vec<PathBuf>, Failure>,
}

/// The packages of a language.
struct Packed {
    /// The one with the native part.
    native: PathBuf,
    others: Vec<PathBuf>,
}

const ALL: &[Language] = &[
    Language {
        name: "c",
        need: Need::Build,
        build: c::build,
        try_out: c::try_out,
    },
    Language {
        name: "java",
        need: Need::Java,
        build: java::build,
        try_out: java::try_out,
    },
    Language {
        name: "node",
        need: Need::Node,
        build: node::build,
        try_out: node::try_out,
    },
    Language {
        name: "python",
        need: Need::Python,
        build: python::build,
        try_out: python::try_out,
    },
    Language {
        name: "wasm",
        need: Need::Node,
        build: wasm::build,
        try_out: wasm::try_out,
    },
];

/// What the command line asks for.
struct Order {
    languages: Vec<&'static Language>,
    /// As cargo takes them.
    features: String,
    /// Where to install the C library instead.
    prefix: Option<PathBuf>,
}

pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    let order = parse(arguments)?;
    if let Some(prefix) = &order.prefix {
        require(&[Need::Build])?;
        return c::build_to(prefix, &order.features);
    }
    let mut needs = vec![Need::Build, Need::Clusters];
    needs.extend(order.languages.iter().map(|language| language.need));
    require(&needs)?;
    let _turn = Turn::at(order.languages.iter().map(|language| language.name))?;
    package(&order)
}

fn parse(arguments: &[String]) -> Result<Order, Failure> {
    let usage = || Failure::usage(help::of("package").unwrap_or_default());
    let mut order = Order {
        languages: Vec::new(),
        features: String::new(),
        prefix: None,
    };
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--features" => order.features = words.next().ok_or_else(usage)?.clone(),
            "--prefix" => order.prefix = Some(words.next().ok_or_else(usage)?.into()),
            name => order.languages.push(language(name)?),
        }
    }
    let installs_c = matches!(order.languages[..], [Language { name: "c", .. }]);
    if order.prefix.is_some() && !installs_c {
        return Err(usage());
    }
    if order.languages.is_empty() {
        order.languages.extend(ALL);
    }
    Ok(order)
}

fn language(name: &str) -> Result<&'static Language, Failure> {
    let found = ALL.iter().find(|language| language.name == name);
    found.ok_or_else(|| {
        let known: Vec<&str> = ALL.iter().map(|language| language.name).collect();
        let cause = format!(
            "there is no package `{name}`; choose of {}",
            known.join(", ")
        );
        Failure::usage(cause)
    })
}

/// Builds all before the clusters start, which would only wait.
fn package(order: &Order) -> Result<(), Failure> {
    make_directory(&home())?;
    let mut packed = Vec::new();
    for language in &order.languages {
        let start = Instant::now();
        eprintln!("xtask: packages for {} ...", language.name);
        packed.push((language, (language.build)(&order.features)?));
        report(&format!("packages for {}", language.name), start);
    }
    let trial = Trial::start()?;
    let mut rows = Vec::new();
    for (language, packed) in &packed {
        let start = Instant::now();
        eprintln!("xtask: {} in an empty project ...", language.name);
        let natives = (language.try_out)(&trial, packed)?;
        report(&format!("{} in an empty project", language.name), start);
        rows.extend(packed.others.iter().map(|file| (file.clone(), Vec::new())));
        rows.push((packed.native.clone(), natives));
    }
    table::print(&rows)?;
    println!("version {VERSION}, in {}", home().display());
    Ok(())
}

/// Where the packages go.
fn home() -> PathBuf {
    root().join("target/packages")
}

/// Where cargo puts what it builds.
pub(crate) fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or(root().join("target"), PathBuf::from)
}

/// Where a profile's programs and libraries are.
pub(crate) fn built(profile: &str) -> PathBuf {
    target().join(profile)
}

/// For a command that takes features in one argument with others.
fn with_features(arguments: &str, features: &str) -> String {
    match features {
        "" => arguments.to_owned(),
        features => format!("{arguments} --features {features}"),
    }
}

fn make_directory(path: &Path) -> Result<(), Failure> {
    fs::create_dir_all(path).map_err(|cause| about(path, &cause))
}

fn copy(from: &Path, to: &Path) -> Result<(), Failure> {
    match fs::copy(from, to) {
        Ok(_) => Ok(()),
        Err(cause) => Err(about(from, &cause)),
    }
}

fn about(path: &Path, cause: &std::io::Error) -> Failure {
    Failure::new(format!("{}: {cause}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(words: &str) -> Result<Order, Failure> {
        let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
        parse(&words)
    }

    #[test]
    fn packages_are_chosen_by_name_and_all_without_one() {
        let names = |order: Order| -> Vec<&str> {
            order
                .languages
                .iter()
                .map(|language| language.name)
                .collect()
        };
        assert_eq!(parsed("").unwrap().languages.len(), ALL.len());
        assert_eq!(names(parsed("wasm c").unwrap()), ["wasm", "c"]);
        let order = parsed("java --features rdkafka/ssl-vendored").unwrap();
        assert_eq!(order.features, "rdkafka/ssl-vendored");
        assert!(parsed("cobol").is_err() && parsed("--features").is_err());
    }

    #[test]
    fn only_the_library_for_c_goes_to_a_prefix() {
        let order = parsed("c --prefix /usr/local").unwrap();
        assert_eq!(order.prefix.unwrap(), Path::new("/usr/local"));
        for words in [
            "--prefix /usr/local",
            "c java --prefix /usr/local",
            "c --prefix",
        ] {
            assert!(parsed(words).is_err(), "{words}");
        }
    }
}
