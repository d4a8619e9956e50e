//! `cargo xtask package`: what users install.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use crate::command::{Failure, Step, cargo, root};
use crate::help;
use crate::prerequisites::{Need, require};

const VERSION: &str = env!("CARGO_PKG_VERSION");
const MAJOR: &str = env!("CARGO_PKG_VERSION_MAJOR");

pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["c", prefix] => c(Path::new(prefix), &[]),
        ["c", prefix, "--features", features] => {
            let features: Vec<&str> = features.split(',').collect();
            c(Path::new(prefix), &features)
        }
        _ => Err(Failure::usage(help::of("package").unwrap_or_default())),
    }
}

fn c(prefix: &Path, features: &[&str]) -> Result<(), Failure> {
    require(&[Need::Build])?;
    let mut build = cargo(&["build", "--release", "-p", "gtc-c"]);
    if !features.is_empty() {
        build.arg("--features").arg(features.join(","));
    }
    Step::new("library for C", build).run()?;
    install_c("release", features, prefix)?;
    println!("libgtc {VERSION} is in {}", prefix.display());
    Ok(())
}

/// Where a profile's programs and libraries are.
pub(crate) fn built(profile: &str) -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or(root().join("target"), PathBuf::from);
    target.join(profile)
}

/// Puts the library of a profile, its header and its descriptions for pkg-config under a prefix.
pub(crate) fn install_c(profile: &str, features: &[&str], prefix: &Path) -> Result<(), Failure> {
    let failed =
        |cause: io::Error| Failure::new(format!("installing to {}: {cause}", prefix.display()));
    copy_c(profile, features, prefix).map_err(failed)
}

fn copy_c(profile: &str, features: &[&str], prefix: &Path) -> io::Result<()> {
    let (include, library) = (prefix.join("include"), prefix.join("lib"));
    let descriptions = library.join("pkgconfig");
    fs::create_dir_all(&include)?;
    fs::create_dir_all(&descriptions)?;
    fs::copy(root().join("c-include/gtc.h"), include.join("gtc.h"))?;
    let from = built(profile);
    replace(&from.join("libgtc_c.a"), &library.join("libgtc.a"))?;
    let shared = format!("libgtc.so.{VERSION}");
    replace(&from.join("libgtc_c.so"), &library.join(&shared))?;
    for name in [format!("libgtc.so.{MAJOR}"), "libgtc.so".to_owned()] {
        let link = library.join(name);
        let _ = fs::remove_file(&link);
        symlink(&shared, link)?;
    }
    let prefix = prefix.canonicalize()?;
    for (name, links) in [("gtc", "-L${libdir} -lgtc"), ("gtc-static", WHOLE)] {
        let needs = if name == "gtc" {
            String::new()
        } else {
            needs(features)
        };
        let text = description(&prefix, links, &needs);
        fs::write(descriptions.join(format!("{name}.pc")), text)?;
    }
    Ok(())
}

/// A new file, as the old one may be in use.
fn replace(from: &Path, to: &Path) -> io::Result<()> {
    let _ = fs::remove_file(to);
    fs::copy(from, to).map(drop)
}

/// `pkg-config --static` would still find the shared library first.
const WHOLE: &str = "${libdir}/libgtc.a -pthread -ldl -lm";

/// What the static library does not hold itself.
fn needs(features: &[&str]) -> String {
    let links = [
        ("rdkafka/ssl-vendored", "openssl"),
        ("rdkafka/libz-static", "zlib"),
    ];
    let needed = links
        .iter()
        .filter(|(feature, _)| !features.contains(feature));
    let names: Vec<&str> = needed.map(|(_, name)| *name).collect();
    names.join(" ")
}

fn description(prefix: &Path, links: &str, needs: &str) -> String {
    let prefix = prefix.display();
    format!(
        "prefix={prefix}\nlibdir=${{prefix}}/lib\nincludedir=${{prefix}}/include\n\n\
         Name: gtc\nDescription: One transaction over many Kafka clusters\nVersion: {VERSION}\n\
         Requires: {needs}\nCflags: -I${{includedir}}\nLibs: {links}\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_linked_in_is_not_needed() {
        assert_eq!(needs(&[]), "openssl zlib");
        assert_eq!(needs(&["rdkafka/ssl-vendored"]), "zlib");
        let text = description(Path::new("/usr/local"), WHOLE, "zlib");
        assert!(
            text.contains("prefix=/usr/local\n") && text.contains("Requires: zlib\n"),
            "{text}"
        );
        assert!(text.contains("Libs: ${libdir}/libgtc.a"), "{text}");
    }
}
