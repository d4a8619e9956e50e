//! The rules of the house that neither the compiler nor clippy checks.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

const LONGEST_FILE_LINES: usize = 600;

/// Which crates of this workspace a crate may use, in its product and, in addition, in its tests.
/// Everything flows from the core outwards; the judges of the product know nothing of it.
const DIRECTION: &[(&str, &[&str], &[&str])] = &[
    ("gtc-core", &[], &[]),
    ("gtc-c", &["gtc", "gtc-plain"], &[]),
    ("gtc-generate", &["gtc"], &[]),
    ("gtc-jni", &["gtc"], &[]),
    ("gtc-node", &["gtc"], &[]),
    ("gtc-plain", &["gtc-core"], &[]),
    ("gtc-python", &["gtc"], &[]),
    ("gtc-wasm", &["gtc-plain"], &["gtc-core"]),
    ("gtc", &["gtc-core"], &["gtc-clusters"]),
    ("gtc-cli", &["gtc", "gtc-core"], &["gtc-clusters"]),
    ("gtc-clusters", &[], &[]),
    ("gtc-chaos", &["gtc-clusters"], &[]),
    ("gtc-bench", &["gtc", "gtc-core", "gtc-clusters"], &[]),
    ("gtc-sim", &["gtc-core"], &["gtc", "gtc-clusters"]),
    ("gtc-vectors", &["gtc-core"], &[]),
    ("gtc-fuzz", &["gtc", "gtc-core", "gtc-sim"], &[]),
    ("xtask", &["gtc-clusters"], &[]),
];

/// What the core may use from outside.
const CORE_DEPENDENCIES: &[&str] = &["crc"];

/// What it may use where somebody asks for it by a feature.
const CORE_OPTIONAL_DEPENDENCIES: &[&str] = &["serde"];

/// A pure state machine has no clock, no chance and no world.
const FORBIDDEN_IN_CORE: &[&str] = &[
    "std::time",
    "rand::",
    "getrandom",
    "std::thread",
    "std::net",
    "std::fs",
    "std::env",
];

struct Dependency {
    name: String,
    in_tests: bool,
    optional: bool,
}

struct Package {
    name: String,
    dir: PathBuf,
    targets: Vec<(String, PathBuf)>,
    dependencies: Vec<Dependency>,
    /// What it switches on in its dependencies, and by default in itself.
    features_on: Vec<String>,
}

fn metadata() -> Value {
    let output = Command::new(env!("CARGO"))
        .args([
            "metadata",
            "--format-version",
            "1",
            "--no-deps",
            "--offline",
        ])
        // In the root: elsewhere the members by default are those of that place.
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).unwrap()
}

fn packages() -> Vec<Package> {
    let packages: Vec<Package> = array(&metadata(), "packages").map(package).collect();
    assert!(
        packages.len() >= DIRECTION.len(),
        "cargo metadata shows too few crates"
    );
    packages
}

fn package(value: &Value) -> Package {
    let manifest = PathBuf::from(text(value, "manifest_path"));
    let kind = |target: &Value| target["kind"][0].as_str().unwrap().to_string();
    Package {
        name: text(value, "name"),
        dir: manifest.parent().unwrap().to_owned(),
        targets: array(value, "targets")
            .map(|target| (kind(target), PathBuf::from(text(target, "src_path"))))
            .collect(),
        dependencies: array(value, "dependencies")
            .map(|dependency| Dependency {
                name: text(dependency, "name"),
                in_tests: dependency["kind"] == "dev",
                optional: dependency["optional"] == true,
            })
            .collect(),
        features_on: features_on(value),
    }
}

fn features_on(package: &Value) -> Vec<String> {
    let requested = array(package, "dependencies").flat_map(|dependency| {
        let features = array(dependency, "features");
        features.map(|feature| feature.as_str().unwrap())
    });
    let default = package["features"]["default"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|feature| feature.as_str().unwrap());
    requested.chain(default).map(str::to_string).collect()
}

fn array<'a>(value: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> {
    value[key]
        .as_array()
        .unwrap_or_else(|| panic!("{key} in cargo metadata"))
        .iter()
}

fn text(value: &Value, key: &str) -> String {
    value[key]
        .as_str()
        .unwrap_or_else(|| panic!("{key} in cargo metadata"))
        .to_string()
}

/// All Rust files below a directory, without what cargo has built.
fn rust_files(dir: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.ends_with("target") {
            files.extend(rust_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn dependencies_point_from_the_core_outwards_only() {
    let packages = packages();
    let ours: BTreeSet<&str> = packages
        .iter()
        .map(|package| package.name.as_str())
        .collect();
    for package in &packages {
        let name = package.name.as_str();
        let (_, product, tests) = DIRECTION
            .iter()
            .find(|(known, _, _)| *known == name)
            .unwrap_or_else(|| panic!("place the new crate {name} in DIRECTION"));
        for dependency in &package.dependencies {
            let (dependency, in_tests) = (dependency.name.as_str(), dependency.in_tests);
            // A crate may depend on itself in its tests: that is how they switch its features on.
            let allowed = product.contains(&dependency)
                || in_tests && (tests.contains(&dependency) || dependency == name);
            assert!(
                !ours.contains(dependency) || allowed,
                "{name} must not use {dependency}"
            );
        }
    }
}

#[test]
fn the_core_needs_nothing_but_its_checksum() {
    let packages = packages();
    let core = packages
        .iter()
        .find(|package| package.name == "gtc-core")
        .unwrap();
    let product = |optional: bool| -> Vec<&str> {
        let wanted = core
            .dependencies
            .iter()
            .filter(|one| !one.in_tests && one.optional == optional);
        wanted.map(|one| one.name.as_str()).collect()
    };
    assert_eq!(product(false), CORE_DEPENDENCIES);
    assert_eq!(product(true), CORE_OPTIONAL_DEPENDENCIES);
    let manifest = read(&core.dir.join("Cargo.toml"));
    let switched_on = manifest.lines().any(|line| line.starts_with("default ="));
    assert!(!switched_on, "no feature of the core is on by default");
}

/// Rules can be left out in builds that ask for it by `--features broken`, and in no other.
#[test]
fn no_crate_leaves_a_safety_rule_out() {
    let packages = packages();
    for package in &packages {
        let broken = |feature: &&String| feature.ends_with("broken");
        let found = package.features_on.iter().find(broken);
        assert!(found.is_none(), "{} switches {found:?} on", package.name);
    }
    let some = packages
        .iter()
        .any(|package| !package.features_on.is_empty());
    assert!(some, "cargo metadata shows no features");
}

#[test]
fn the_core_has_no_clock_no_chance_and_no_world() {
    let packages = packages();
    let core = packages
        .iter()
        .find(|package| package.name == "gtc-core")
        .unwrap();
    let files = rust_files(&core.dir.join("src"));
    assert!(!files.is_empty());
    for file in files {
        let source = read(&file);
        for word in FORBIDDEN_IN_CORE {
            assert!(!source.contains(word), "{} uses {word}", file.display());
        }
    }
}

/// Examples and tests are held to it by the lints of the workspace, which a manifest must take.
/// What crosses the border to another language may allow it item by item, with the reason.
#[test]
fn every_crate_forbids_unsafe_code() {
    for package in packages() {
        let manifest = read(&package.dir.join("Cargo.toml"));
        let (lints, attribute) = match crosses_a_border(&package) {
            true => ("unsafe_code = \"deny\"", "#![deny(unsafe_code)]"),
            false => ("[lints]\nworkspace = true", "#![forbid(unsafe_code)]"),
        };
        assert!(manifest.contains(lints), "{}: its lints", package.name);
        let roots = package
            .targets
            .iter()
            .filter(|(kind, _)| matches!(kind.as_str(), "lib" | "bin" | "cdylib" | "staticlib"));
        for (_, root) in roots {
            let found = read(root).contains(attribute);
            assert!(found, "{} lacks {attribute}", root.display());
        }
    }
}

/// The manifest of the workspace lists its members twice.
#[test]
fn all_but_the_fuzz_targets_are_built_by_default() {
    let metadata = metadata();
    let ids = |key: &str| -> BTreeSet<String> {
        let ids = array(&metadata, key);
        ids.map(|id| id.as_str().unwrap().to_owned()).collect()
    };
    let members = ids("workspace_members");
    let left_out: Vec<&String> = members
        .iter()
        .filter(|id| !ids("workspace_default_members").contains(*id))
        .collect();
    assert!(
        matches!(left_out[..], [only] if only.contains("/fuzz#")),
        "{left_out:?}"
    );
}

fn crosses_a_border(package: &Package) -> bool {
    let parent = package.dir.parent().and_then(Path::file_name);
    let inside = ["gtc-generate", "gtc-plain"];
    parent.is_some_and(|parent| parent == "bindings") && !inside.contains(&package.name.as_str())
}

#[test]
fn no_file_grows_too_long() {
    for package in packages() {
        for file in rust_files(&package.dir) {
            let lines = read(&file).lines().count();
            let path = file.display();
            assert!(
                lines <= LONGEST_FILE_LINES,
                "{path} has {lines} lines, of {LONGEST_FILE_LINES} at most: split it by subject"
            );
        }
    }
}
