//! The C library: installed to a prefix under target/, its samples and tests compiled against that
//! with the address sanitizer, and run. The samples are what the tests call.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::Words;
use super::clusters::Clusters;
use super::crash::require_built;
use crate::command::{Failure, Step, cargo, root, run_reading};
use crate::package::{built, install_c};
use crate::test_run::Sum;

const SAMPLES: [&str; 7] = [
    "basic",
    "abort",
    "crash_and_recover",
    "resolve_in_doubt",
    "consume_transform_produce",
    "fan_out",
    "own_producer",
];
const STRICT: [&str; 6] = ["-g", "-O1", "-Wall", "-Wextra", "-Wpedantic", "-Werror"];
const BENCH: &str = "transactions";
const LSAN_OPTIONS: &str = "LSAN_OPTIONS";
const SANITIZED: [&str; 2] = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"];

pub(super) fn test(clusters: &Clusters) -> Result<Sum, Failure> {
    let compiler = Compiler::new(home(), "debug")?;
    compiler.compile_all()?;
    let mut tests = Command::new("./tests");
    tests
        .current_dir(&compiler.home)
        .env("GTC_PROGRAM", built("debug").join("gtc"))
        .env("GTC_VECTORS", root().join("vectors/golden"))
        .env(LSAN_OPTIONS, leaks_of_others())
        .env("VALGRIND_OPTS", suppressions("--suppressions", "valgrind"));
    clusters.name_in(&mut tests);
    let mut last = String::new();
    let status = run_reading("tests of C", tests, |line| last = line.trim().to_owned())?;
    compiler.clean()?;
    match (status.success(), Sum::closing(&last)) {
        (true, Some(sum)) if sum.passed > 0 => Ok(sum),
        (false, Some(sum)) if sum.failed > 0 => Ok(sum),
        _ => Err(Failure::new(format!(
            "the tests of C ended with {status}: {last}"
        ))),
    }
}

/// The program, compiled against the installed library.
pub(super) fn bench(home: &Path) -> Result<Words, Failure> {
    let build = cargo(&["build", "--quiet", "--release", "-p", "gtc-c"]);
    Step::new("library for C", build).run()?;
    let compiler = Compiler::new(home.to_owned(), "release")?;
    compiler.compile_bench(&["-O2"])?;
    Ok(vec![home.join(BENCH)])
}

/// The sample as the tests have compiled it; the crash test gives it a configuration.
pub(super) fn crash_and_recover() -> Result<Command, Failure> {
    let program = home().join("crash_and_recover");
    require_built("c", &program)?;
    let mut sample = Command::new(program);
    sample.env(LSAN_OPTIONS, leaks_of_others());
    Ok(sample)
}

fn home() -> PathBuf {
    root().join("target/languages/c")
}

fn leaks_of_others() -> String {
    suppressions("print_suppressions=0:suppressions", "asan")
}

/// Leaks that are not ours.
fn suppressions(option: &str, tool: &str) -> String {
    let file = root().join(format!("c-include/tests/leaks-{tool}.supp"));
    format!("{option}={}", file.canonicalize().unwrap_or(file).display())
}

/// Compiles against an installed library.
struct Compiler {
    home: PathBuf,
    prefix: PathBuf,
}

impl Compiler {
    /// Installs the library of a profile below `home`.
    fn new(home: PathBuf, profile: &str) -> Result<Self, Failure> {
        let prefix = home.join("prefix");
        install_c(profile, &[], &prefix)?;
        let compiler = Self { home, prefix };
        compiler.clean()?;
        Ok(compiler)
    }

    /// Removes the logs of the tests, which are large.
    fn clean(&self) -> Result<(), Failure> {
        let work = self.home.join("work");
        match std::fs::remove_dir_all(&work) {
            Err(cause) if work.exists() => {
                Err(Failure::new(format!("{}: {cause}", work.display())))
            }
            _ => Ok(()),
        }
    }

    fn compile_all(&self) -> Result<(), Failure> {
        let rdkafka = pkg_config(None, &["--cflags", "--libs", "rdkafka"])?;
        let shared = [self.flags("gtc")?, rdkafka].concat();
        let none = Vec::new();
        for name in SAMPLES {
            let source = [format!("samples/{name}.c")];
            self.cc("cc", (name, &source), [&shared, &strings(&SANITIZED)])?;
        }
        self.compile_bench(&[])?;
        let tests = [
            "main",
            "world",
            "vectors",
            "handles",
            "coordinator",
            "process",
        ];
        let tests = tests.map(|name| format!("tests/{name}.c"));
        self.cc("cc", ("tests", &tests), [&shared, &strings(&SANITIZED)])?;
        self.cc("cc", ("tests-plain", &tests), [&shared, &none])?;
        let cpp = ["tests/usable_from_cpp.cpp".to_owned()];
        let program = ("usable_from_cpp", &cpp[..]);
        self.cc("c++", program, [&shared, &strings(&SANITIZED)])?;
        let basic = ["samples/basic.c".to_owned()];
        // Valgrind and the sanitizer exclude each other.
        self.cc("cc", ("basic-plain", &basic), [&shared, &none])?;
        let whole = self.flags("gtc-static")?;
        self.cc("cc", ("basic-static", &basic), [&whole, &none])
    }

    fn compile_bench(&self, flags: &[&str]) -> Result<(), Failure> {
        let source = [format!("bench/{BENCH}.c")];
        let flags = [&self.flags("gtc")?, &strings(flags)];
        self.cc("cc", (BENCH, &source), flags)
    }

    /// What a program needs to find the library, at compile time and when it runs.
    fn flags(&self, package: &str) -> Result<Vec<String>, Failure> {
        let mut flags = pkg_config(Some(&self.prefix), &["--cflags", "--libs", package])?;
        let library = self.prefix.join("lib");
        flags.push(format!("-Wl,-rpath,{}", library.display()));
        Ok(flags)
    }

    fn cc(
        &self,
        compiler: &str,
        (name, sources): (&str, &[String]),
        flags: [&Vec<String>; 2],
    ) -> Result<(), Failure> {
        let mut command = Command::new(compiler);
        let sources = sources
            .iter()
            .map(|source| root().join("c-include").join(source));
        command
            .args(STRICT)
            .args(sources)
            .arg("-o")
            .arg(self.home.join(name));
        command.args(flags[0]).args(flags[1]).arg("-pthread");
        if compiler == "cc" {
            command.args(["-std=gnu11", "-D_GNU_SOURCE"]);
        }
        run_quietly(name, command)
    }
}

/// Fourteen programs are compiled: only one that fails is worth a line.
fn run_quietly(name: &str, mut command: Command) -> Result<(), Failure> {
    let status = command
        .status()
        .map_err(|cause| Failure::new(format!("{name}: {cause}")))?;
    match status.success() {
        true => Ok(()),
        false => Err(Failure::new(format!(
            "{name} does not compile: {command:?}"
        ))),
    }
}

fn strings(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

fn pkg_config(prefix: Option<&Path>, arguments: &[&str]) -> Result<Vec<String>, Failure> {
    let mut command = Command::new("pkg-config");
    command.args(arguments);
    if let Some(prefix) = prefix {
        command.env("PKG_CONFIG_PATH", prefix.join("lib/pkgconfig"));
    }
    let output = command
        .output()
        .map_err(|cause| Failure::new(format!("pkg-config: {cause}")))?;
    if !output.status.success() {
        return Err(Failure::new(String::from_utf8_lossy(&output.stderr)));
    }
    let flags = String::from_utf8_lossy(&output.stdout);
    Ok(flags.split_whitespace().map(str::to_owned).collect())
}
