//! The C library: installed to a prefix, or packed as an archive that works wherever it is unpacked.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::trial::Trial;
use super::{PLATFORM, PROFILE, Packed, VERSION, about, built, home, make_directory};
use crate::command::{Failure, Step, cargo, root};

const MAJOR: &str = env!("CARGO_PKG_VERSION_MAJOR");
/// The prefix of an archive, from its descriptions for pkg-config.
const RELATIVE: &str = "${pcfiledir}/../..";
/// Where the licences of gtc, and of what is linked in, are below a prefix.
const LICENCES: &str = "share/doc/gtc";

/// Builds the library and installs it to a prefix.
pub(super) fn build_to(prefix: &Path, features: &str) -> Result<(), Failure> {
    compile(features)?;
    let features: Vec<&str> = features.split(',').collect();
    install(PROFILE, &features, prefix)?;
    strip(prefix)?;
    println!("libgtc {VERSION} is in {}", prefix.display());
    Ok(())
}

/// An archive with one directory, which is its prefix.
pub(super) fn build(features: &str) -> Result<Packed, Failure> {
    compile(features)?;
    let name = archive();
    let prefix = home().join(&name);
    let features: Vec<&str> = features.split(',').collect();
    let copied = make_directory(&prefix)
        .and_then(|()| install_as(PROFILE, &features, (&prefix, RELATIVE)))
        .and_then(|()| strip(&prefix));
    copied?;
    let packed = home().join(format!("{name}.tar.gz"));
    let mut pack = Command::new("tar");
    pack.arg("-czf").arg(&packed);
    pack.arg("-C").arg(home()).arg(&name);
    Step::new("archive", pack).run()?;
    fs::remove_dir_all(&prefix).map_err(|cause| about(&prefix, &cause))?;
    Ok(Packed {
        native: packed,
        others: Vec::new(),
    })
}

fn archive() -> String {
    let (system, machine) = PLATFORM;
    format!("libgtc-{VERSION}-{system}-{machine}")
}

fn compile(features: &str) -> Result<(), Failure> {
    let mut build = cargo(&["build", "--profile", PROFILE, "-p", "gtc-c"]);
    if !features.is_empty() {
        build.args(["--features", features]);
    }
    Step::new("library for C", build).run()
}

/// The linker has stripped the shared library.
fn strip(prefix: &Path) -> Result<(), Failure> {
    let mut strip = Command::new("strip");
    strip.arg("--strip-debug").arg(prefix.join("lib/libgtc.a"));
    Step::new("static library", strip).run()
}

/// A program with each of both libraries.
pub(super) fn try_out(trial: &Trial, packed: &Packed) -> Result<Vec<PathBuf>, Failure> {
    let project = trial.project("c")?;
    let mut unpack = Command::new("tar");
    unpack
        .arg("-xzf")
        .arg(&packed.native)
        .arg("-C")
        .arg(&project);
    Step::new("installation", unpack).run()?;
    let prefix = project.join(archive());
    for file in ["LICENSE", "THIRD-PARTY-NOTICES"] {
        let file = prefix.join(LICENCES).join(file);
        fs::metadata(&file).map_err(|cause| about(&file, &cause))?;
    }
    let library = prefix.join("lib");
    for (description, name) in [("gtc", "basic"), ("gtc-static", "basic-static")] {
        compile_basic(&library, description, &project.join(name))?;
        let mut basic = Command::new(project.join(name));
        basic.env("LD_LIBRARY_PATH", &library);
        trial.basic((&project, name), basic)?;
    }
    let shared = library.join(format!("libgtc.so.{VERSION}"));
    Ok(vec![shared, library.join("libgtc.a")])
}

/// As the documentation says.
fn compile_basic(library: &Path, description: &str, program: &Path) -> Result<(), Failure> {
    let samples = root().join("c-include/samples");
    let line = format!("cc \"$1/basic.c\" -o \"$2\" $(pkg-config --cflags --libs {description})");
    let mut compile = Command::new("sh");
    compile
        .args([OsStr::new("-ec"), line.as_ref(), "sh".as_ref()])
        .arg(samples)
        .arg(program)
        .env("PKG_CONFIG_PATH", library.join("pkgconfig"));
    Step::new("compilation", compile).run()
}

/// Puts the library of a profile, its header and its descriptions for pkg-config under a prefix.
pub(crate) fn install(profile: &str, features: &[&str], prefix: &Path) -> Result<(), Failure> {
    let made = make_directory(prefix);
    let whole = made.and_then(|()| prefix.canonicalize().map_err(|cause| about(prefix, &cause)));
    let whole = whole?;
    install_as(profile, features, (prefix, &whole.to_string_lossy()))
}

/// As [`install`], with the prefix as the descriptions are to name it.
fn install_as(profile: &str, features: &[&str], prefix: (&Path, &str)) -> Result<(), Failure> {
    let (place, _) = prefix;
    let failed =
        |cause: io::Error| Failure::new(format!("installing to {}: {cause}", place.display()));
    copy_all(profile, features, prefix).map_err(failed)
}

fn copy_all(profile: &str, features: &[&str], (prefix, named): (&Path, &str)) -> io::Result<()> {
    let (include, library) = (prefix.join("include"), prefix.join("lib"));
    let descriptions = library.join("pkgconfig");
    fs::create_dir_all(&include)?;
    fs::create_dir_all(&descriptions)?;
    fs::copy(root().join("c-include/gtc.h"), include.join("gtc.h"))?;
    let licences = prefix.join(LICENCES);
    fs::create_dir_all(&licences)?;
    for file in ["LICENSE", "c-include/THIRD-PARTY-NOTICES"].map(|file| root().join(file)) {
        fs::copy(&file, licences.join(file.file_name().unwrap_or_default()))?;
    }
    let from = built(profile);
    replace(&from.join("libgtc_c.a"), &library.join("libgtc.a"))?;
    let shared = format!("libgtc.so.{VERSION}");
    replace(&from.join("libgtc_c.so"), &library.join(&shared))?;
    for name in [format!("libgtc.so.{MAJOR}"), "libgtc.so".to_owned()] {
        let link = library.join(name);
        let _ = fs::remove_file(&link);
        symlink(&shared, link)?;
    }
    for (name, links) in [("gtc", "-L${libdir} -lgtc"), ("gtc-static", WHOLE)] {
        let needs = if name == "gtc" {
            String::new()
        } else {
            needs(features)
        };
        let text = description(named, links, &needs);
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

fn description(prefix: &str, links: &str, needs: &str) -> String {
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
        let text = description("/usr/local", WHOLE, "zlib");
        assert!(
            text.contains("prefix=/usr/local\n") && text.contains("Requires: zlib\n"),
            "{text}"
        );
        assert!(text.contains("Libs: ${libdir}/libgtc.a"), "{text}");
        assert!(text.contains(&format!("Version: {VERSION}\n")), "{text}");
    }
}
