//! All packages carry one version, that of the workspace, and the licence. The C library has both
//! from xtask, which makes the archive and writes the descriptions for pkg-config.

#![forbid(unsafe_code)]

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

const VERSION: &str = env!("CARGO_PKG_VERSION");

fn read(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn json(path: &str) -> Value {
    serde_json::from_str(&read(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// What stands between two texts, first.
fn between<'a>(text: &'a str, start: &str, end: &str) -> &'a str {
    let (_, rest) = text.split_once(start).unwrap_or_else(|| panic!("{start}"));
    rest.split_once(end).unwrap_or_else(|| panic!("{end}")).0
}

/// The wheel takes its version from the crate, and so do the source distribution and the libraries.
#[test]
fn every_crate_has_the_version_of_the_workspace() {
    let mut metadata = Command::new(env!("CARGO"));
    metadata.args([
        "metadata",
        "--format-version",
        "1",
        "--no-deps",
        "--offline",
    ]);
    let output = metadata.current_dir(env!("CARGO_MANIFEST_DIR")).output();
    let metadata: Value = serde_json::from_slice(&output.unwrap().stdout).unwrap();
    let crates = metadata["packages"].as_array().unwrap();
    assert!(crates.len() > 10, "cargo metadata shows too few crates");
    for one in crates {
        assert_eq!(one["version"], VERSION, "{}", one["name"]);
    }
    let python = read("python/pyproject.toml");
    assert!(python.contains("dynamic = [\"version\"]\n"));
    let manifest = between(&python, "\nmanifest-path = \"../", "\"");
    assert!(crates.iter().any(|one| {
        let path = one["manifest_path"].as_str().unwrap();
        path.ends_with(manifest)
    }));
}

#[test]
fn every_manifest_of_another_language_has_it() {
    for path in ["node/package.json", "wasm/package.json"] {
        assert_eq!(json(path)["version"], VERSION, "{path}");
    }
    let locked = json("node/package-lock.json");
    assert_eq!(locked["version"], VERSION);
    assert_eq!(locked["packages"][""]["version"], VERSION);
    let maven = read("java/pom.xml");
    let maven = between(&maven, "<artifactId>gtc</artifactId>", "<name>");
    assert_eq!(between(maven, "<version>", "</version>"), VERSION);
}

/// npm and pip take it from the directory of the package.
#[test]
fn every_package_has_the_licence() {
    for package in ["node", "python", "wasm"] {
        assert_eq!(
            read(&format!("{package}/LICENSE")),
            read("LICENSE"),
            "{package}"
        );
    }
    assert!(read("java/pom.xml").contains("<include>LICENSE</include>"));
}

/// A page that names a file or a dependency names the one that is made now.
#[test]
fn every_page_that_names_it_names_the_same() {
    for (path, start, end) in [
        ("node/README.md", "install ./gtc-", ".tgz"),
        ("docs/languages/node.md", "install ./gtc-", ".tgz"),
        ("wasm/README.md", "/gtc-wasm-", ".tgz"),
        ("docs/languages/java.md", "`gtc:gtc:", "`"),
        ("java/README.md", "<version>", "</version>"),
    ] {
        let page = read(path);
        assert!(page.contains(start), "{path} does not name it any more");
        for (at, _) in page.match_indices(start) {
            assert_eq!(between(&page[at..], start, end), VERSION, "{path}");
        }
    }
}
