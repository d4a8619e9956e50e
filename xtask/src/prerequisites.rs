//! What must be installed, and the line that installs it.

use std::process::{Command, Output, Stdio};

use crate::command::{Failure, cargo};

/// What something is needed for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Need {
    /// Compiling.
    Build,
    /// Running Kafka brokers.
    Clusters,
    /// The tests of the C library.
    C,
    /// The Java package.
    Java,
    /// The Node package.
    Node,
    /// The Python package.
    Python,
}

struct Prerequisite {
    need: Need,
    name: &'static str,
    /// The package that brings it on Debian and Ubuntu.
    package: &'static str,
    is_present: fn() -> bool,
}

const ALL: &[Prerequisite] = &[
    Prerequisite {
        need: Need::Build,
        name: "a C and C++ compiler with make",
        package: "build-essential",
        is_present: || {
            ["cc", "c++", "make"]
                .iter()
                .all(|name| runs(name, &["--version"]))
        },
    },
    Prerequisite {
        need: Need::Build,
        name: "pkg-config",
        package: "pkg-config",
        is_present: || runs("pkg-config", &["--version"]),
    },
    Prerequisite {
        need: Need::Build,
        name: "the headers of OpenSSL",
        package: "libssl-dev",
        is_present: || has_library("openssl"),
    },
    Prerequisite {
        need: Need::Build,
        name: "the headers of zlib",
        package: "zlib1g-dev",
        is_present: || has_library("zlib"),
    },
    Prerequisite {
        need: Need::Clusters,
        name: "a Java runtime, 17 or newer",
        package: "openjdk-17-jdk-headless",
        is_present: has_java,
    },
    Prerequisite {
        need: Need::Clusters,
        name: "Maven",
        package: "maven",
        is_present: || runs("mvn", &["--version"]),
    },
    Prerequisite {
        need: Need::Clusters,
        name: "the program openssl",
        package: "openssl",
        is_present: || runs("openssl", &["version"]),
    },
    Prerequisite {
        need: Need::C,
        name: "the headers of librdkafka, for an own producer",
        package: "librdkafka-dev",
        is_present: || has_library("rdkafka"),
    },
    Prerequisite {
        need: Need::C,
        name: "Valgrind",
        package: "valgrind",
        is_present: || runs("valgrind", &["--version"]),
    },
    Prerequisite {
        need: Need::Java,
        name: "a Java compiler, 17 or newer",
        package: "openjdk-17-jdk-headless",
        is_present: || runs("javac", &["--release", "17", "--version"]),
    },
    Prerequisite {
        need: Need::Node,
        name: "Node, 20 or newer",
        package: "nodejs",
        is_present: || {
            let check = "process.exit(process.versions.node.split('.')[0] < 20 ? 1 : 0)";
            runs("node", &["-e", check])
        },
    },
    Prerequisite {
        need: Need::Node,
        name: "npm",
        package: "npm",
        is_present: || runs("npm", &["--version"]),
    },
    Prerequisite {
        need: Need::Python,
        name: "Python, 3.9 or newer, with venv",
        package: "python3-venv",
        is_present: || {
            let check = "import sys, ensurepip, venv; sys.exit(sys.version_info < (3, 9))";
            runs("python3", &["-c", check])
        },
    },
];

/// Fails with all that is missing, and the one line that installs it.
pub(crate) fn require(needs: &[Need]) -> Result<(), Failure> {
    let missing: Vec<&Prerequisite> = ALL
        .iter()
        .filter(|one| needs.contains(&one.need) && !(one.is_present)())
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err(Failure::new(message(&missing)))
}

/// Fails where the toolchain has no rustfmt or clippy.
pub(crate) fn require_lints() -> Result<(), Failure> {
    for name in ["fmt", "clippy"] {
        if !succeeds(&mut cargo(&[name, "--version"])) {
            let text =
                format!("cargo {name} is missing. Run:\n  rustup component add rustfmt clippy");
            return Err(Failure::new(text));
        }
    }
    Ok(())
}

fn message(missing: &[&Prerequisite]) -> String {
    let names: Vec<&str> = missing.iter().map(|one| one.name).collect();
    let packages: Vec<&str> = missing.iter().map(|one| one.package).collect();
    format!(
        "missing: {}. Run:\n  sudo apt-get install -y {}\n(or what brings them on this system)",
        names.join(", "),
        packages.join(" ")
    )
}

fn runs(program: &str, arguments: &[&str]) -> bool {
    succeeds(Command::new(program).args(arguments))
}

fn succeeds(command: &mut Command) -> bool {
    let silent = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    silent.status().is_ok_and(|status| status.success())
}

/// Without pkg-config nobody can tell, so its absence names the libraries too.
fn has_library(name: &str) -> bool {
    runs("pkg-config", &["--exists", name])
}

fn has_java() -> bool {
    let java = match std::env::var_os("JAVA_HOME") {
        Some(home) => std::path::Path::new(&home).join("bin/java"),
        None => "java".into(),
    };
    Command::new(java)
        .arg("-version")
        .output()
        .is_ok_and(|output| java_major(&output) >= 17)
}

/// From a line such as `openjdk version "17.0.15" 2025-04-15`; the old ones began with 1.
fn java_major(output: &Output) -> u32 {
    let text = String::from_utf8_lossy(&output.stderr);
    let version = text.split('"').nth(1).unwrap_or_default();
    version
        .split(['.', '-'])
        .next()
        .and_then(|major| major.parse().ok())
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn says(line: &str) -> Output {
        let output = Command::new("true").output().unwrap();
        Output {
            stderr: line.as_bytes().to_vec(),
            ..output
        }
    }

    #[test]
    fn the_version_of_java_is_read() {
        assert_eq!(
            java_major(&says("openjdk version \"17.0.15\" 2025-04-15")),
            17
        );
        assert_eq!(java_major(&says("openjdk version \"25\" 2025-09-16")), 25);
        assert_eq!(java_major(&says("java version \"1.8.0_402\"")), 1);
        assert_eq!(java_major(&says("command not found")), 0);
    }

    #[test]
    fn what_is_missing_is_named_with_the_line_that_installs_it() {
        let text = message(
            &ALL.iter()
                .filter(|one| one.need == Need::Clusters)
                .collect::<Vec<_>>(),
        );
        assert!(text.contains("Maven") && text.contains("Java"), "{text}");
        let line = "apt-get install -y openjdk-17-jdk-headless maven openssl\n";
        assert!(text.contains(line), "{text}");
    }
}
