//! Which crates are linked into a package, from cargo, and the texts that they come with.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::{BUNDLED, Package, plain, terms};

/// A crate that is linked.
pub(super) struct Linked {
    pub(super) name: String,
    version: String,
    pub(super) licence: String,
    authors: Vec<String>,
    source: PathBuf,
}

/// Those of a package, without the workspace's own.
pub(super) fn linked(package: &Package) -> io::Result<Vec<Linked>> {
    let names = named(package)?;
    let metadata = cargo(
        "metadata",
        &["--format-version", "1"],
        package,
        "--filter-platform",
    )?;
    let metadata: Value = serde_json::from_str(&metadata)?;
    let packages = metadata["packages"].as_array();
    let all = packages.into_iter().flatten();
    let foreign = all.filter(|one| !one["source"].is_null());
    let found: Vec<Linked> = foreign
        .map(described)
        .filter(|one| names.contains(&format!("{} v{}", one.name, one.version)))
        .collect();
    Ok(found)
}

/// Names and versions of what cargo links, with the features of this package and not of the whole
/// workspace. Macros and build scripts are run while it is built, and are not in it.
fn named(package: &Package) -> io::Result<BTreeSet<String>> {
    let arguments = [
        "--package",
        package.rust,
        "--edges",
        "normal,no-proc-macro",
        "--prefix",
        "none",
        "--format",
        "{p}",
    ];
    let tree = cargo("tree", &arguments, package, "--target")?;
    let names = tree
        .lines()
        .map(|line| line.trim_end_matches(" (*)").to_owned());
    Ok(names.collect())
}

fn cargo(verb: &str, arguments: &[&str], package: &Package, platform: &str) -> io::Result<String> {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut cargo = Command::new(program);
    cargo.arg(verb).arg("--locked").args(arguments);
    for one in package.platforms {
        cargo.args([platform, one]);
    }
    let output = cargo.current_dir(crate::root()).output()?;
    if !output.status.success() {
        let cause = String::from_utf8_lossy(&output.stderr);
        return Err(io::Error::other(format!("cargo {verb}: {cause}")));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn described(package: &Value) -> Linked {
    let text = |key: &str| package[key].as_str().unwrap_or_default().to_owned();
    let authors = package["authors"].as_array().into_iter().flatten();
    let authors = authors.filter_map(Value::as_str).map(str::to_owned);
    let manifest = PathBuf::from(text("manifest_path"));
    Linked {
        name: text("name"),
        version: text("version"),
        licence: text("license"),
        authors: authors.collect(),
        source: manifest.parent().map(Path::to_owned).unwrap_or_default(),
    }
}

impl Linked {
    pub(super) fn title(&self) -> String {
        format!("{} {}", self.name, self.version)
    }

    /// What it is, and the text that has to go with it.
    pub(super) fn texts(&self) -> io::Result<Vec<(String, String)>> {
        let title = format!("{} ({})", self.title(), self.licence);
        let mut files = self.files()?;
        let mut texts = Vec::new();
        if terms::is_only_apache(&self.licence) {
            // The Apache licence asks for the notices of who wrote it, and for nothing else.
            files.retain(|file| name_of(file).starts_with("NOTICE"));
        } else if files.is_empty() {
            texts.push((title.clone(), self.text_by_manifest()?));
        }
        for file in files {
            texts.push((title.clone(), plain(&file)?));
        }
        for (_, file, what) in BUNDLED.iter().filter(|(name, ..)| *name == self.name) {
            let text = plain(&self.source.join(file))?;
            texts.push((format!("{what}, from {}", self.title()), text));
        }
        Ok(texts)
    }

    /// The files with its terms, without the text of the Apache licence.
    fn files(&self) -> io::Result<Vec<PathBuf>> {
        let starts = ["LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE"];
        let mut found = Vec::new();
        for entry in std::fs::read_dir(&self.source)? {
            let path = entry?.path();
            let name = name_of(&path);
            let is_one = starts.iter().any(|start| name.starts_with(start));
            if is_one && !name.contains("APACHE") && path.is_file() {
                found.push(path);
            }
        }
        found.sort();
        Ok(found)
    }

    /// Some crates name the MIT licence, and come without its text.
    fn text_by_manifest(&self) -> io::Result<String> {
        if self.licence != "MIT" {
            let cause = format!(
                "{} comes without the text of {}",
                self.title(),
                self.licence
            );
            return Err(io::Error::other(cause));
        }
        let authors = match self.authors[..] {
            [] => format!("the authors of {}", self.name),
            _ => self.authors.join(", "),
        };
        Ok(format!(
            "Copyright (c) {authors}\n\n{}",
            include_str!("mit.txt").trim_end()
        ))
    }
}

fn name_of(file: &Path) -> String {
    let name = file.file_name().unwrap_or_default();
    name.to_string_lossy().to_uppercase()
}
