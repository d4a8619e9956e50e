//! The one door to everything a developer does here: `cargo xtask --help`.

#![forbid(unsafe_code)]

mod bench;
mod clusters;
mod command;
mod fuzz;
mod help;
mod lanes;
mod languages;
mod limited;
mod package;
mod prerequisites;
mod records;
mod test_run;
mod turns;

use std::process::ExitCode;

use command::{Failure, Step, cargo, program, root};
use prerequisites::{Need, require};

fn main() -> ExitCode {
    let _ = command::this();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let stands_in = fuzz::stand_in(&arguments).or_else(|| test_run::stand_in(&arguments));
    match stands_in.unwrap_or_else(|| run(&arguments)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            if !failure.is_told() {
                eprintln!("xtask: {failure}");
            }
            ExitCode::from(failure.exit_code())
        }
    }
}

fn run(arguments: &[String]) -> Result<(), Failure> {
    let Some((name, rest)) = arguments.split_first() else {
        return Err(Failure::usage(format!(
            "say what to do\n\n{}",
            help::OVERVIEW
        )));
    };
    if matches!(name.as_str(), "help" | "--help" | "-h") {
        println!(
            "{}",
            rest.first()
                .and_then(|name| help::of(name))
                .unwrap_or(help::OVERVIEW)
        );
        return Ok(());
    }
    let Some(text) = help::of(name) else {
        return Err(Failure::usage(format!(
            "there is no `{name}`\n\n{}",
            help::OVERVIEW
        )));
    };
    // Only as the first word: later ones are for the program that is called.
    if rest
        .first()
        .is_some_and(|word| matches!(word.as_str(), "--help" | "-h"))
    {
        println!("{text}");
        return Ok(());
    }
    match name.as_str() {
        "demo" => demo(rest),
        "test" => test_run::test(rest),
        "verify" => refuse_arguments(name, rest).and_then(|()| verify()),
        "fix" => refuse_arguments(name, rest).and_then(|()| fix()),
        "generate" => generate(rest),
        "clusters" => clusters::run(rest),
        "languages" => languages::run(rest),
        "package" => package::run(rest),
        "sim" => sim(rest),
        "exhaust" => exhaust(rest),
        "chaos" => chaos(rest),
        "fuzz" => fuzz::run(rest),
        _ => bench::run(rest),
    }
}

fn demo(arguments: &[String]) -> Result<(), Failure> {
    require(&[Need::Build, Need::Clusters])?;
    // The demo looks for the program gtc beside itself.
    Step::new(
        "build",
        cargo(&["build", "--release", "-p", "gtc-cli", "-p", "gtc-chaos"]),
    )
    .run()?;
    // Not by cargo, which would choose other features for one package alone, and build it all once more.
    let mut demo = program(root().join("target/release/gtc-chaos"));
    demo.arg("demo").current_dir(root());
    // A first `--` only kept `--help` from xtask.
    demo.args(
        arguments
            .strip_prefix(&["--".to_string()])
            .unwrap_or(arguments),
    );
    Step::new("demo", demo).run()
}

/// With debug assertions: the core then checks its invariants after every step.
fn sim(arguments: &[String]) -> Result<(), Failure> {
    const LEAVE_OUT: [&str; 3] = ["--broken", "--rule", "--without"];
    require(&[Need::Build])?;
    let mut sim = cargo(&["run", "--quiet", "-p", "gtc-sim"]);
    if arguments
        .iter()
        .any(|word| LEAVE_OUT.contains(&word.as_str()))
    {
        sim.args(["--features", "broken"]);
    }
    sim.arg("--").args(arguments);
    Step::new("sim", sim).run()
}

/// Optimised: there are tens of millions of states, and the search itself asks the core for its invariants.
fn exhaust(arguments: &[String]) -> Result<(), Failure> {
    require(&[Need::Build])?;
    let program = ["--release", "-p", "gtc-sim", "--bin", "gtc-exhaust"];
    let mut exhaust = cargo(&["run", "--quiet"]);
    exhaust.args(program).arg("--").args(arguments);
    Step::new("exhaust", exhaust).run()
}

/// With debug assertions, as [`sim`].
fn chaos(arguments: &[String]) -> Result<(), Failure> {
    require(&[Need::Build, Need::Clusters])?;
    // The run looks for the program of a worker beside itself.
    let worker = ["build", "-p", "gtc", "--example", "chaos_worker"];
    Step::new("build", cargo(&worker)).run()?;
    let mut chaos = cargo(&["run", "--quiet", "-p", "gtc-chaos", "--", "faults"]);
    chaos.args(arguments);
    Step::new("chaos", chaos).run()
}

/// Everything that can be checked without a cluster; it changes nothing outside of `target/`.
fn verify() -> Result<(), Failure> {
    require(&[Need::Build])?;
    check()?;
    Step::new(
        "house",
        cargo(&["test", "--quiet", "-p", "xtask", "--test", "house"]),
    )
    .run()?;
    Step::new(
        "generated files",
        cargo(&["run", "--quiet", "-p", "gtc-generate", "--", "--check"]),
    )
    .remedy("run `cargo xtask generate`")
    .run()
}

/// The checks that are no tests.
fn check() -> Result<(), Failure> {
    Step::new("format", cargo(&["fmt", "--all", "--check"]))
        .remedy("run `cargo xtask fix`")
        .run()?;
    let clippy = [
        "clippy",
        "--workspace",
        "--all-targets",
        "--all-features",
        "--quiet",
    ];
    let mut clippy = cargo(&clippy);
    clippy.args(["--", "-D", "warnings"]);
    Step::new("clippy", clippy)
        .remedy("run `cargo xtask fix`, then mend the rest")
        .run()?;
    let mut doc = cargo(&[
        "doc",
        "--workspace",
        "--no-deps",
        "--all-features",
        "--quiet",
    ]);
    doc.env("RUSTDOCFLAGS", "-D warnings");
    Step::new("documentation", doc).run()
}

fn fix() -> Result<(), Failure> {
    let mut clippy = cargo(&[
        "clippy",
        "--fix",
        "--workspace",
        "--all-targets",
        "--all-features",
    ]);
    clippy.args(["--allow-dirty", "--allow-staged"]);
    Step::new("clippy", clippy).run()?;
    Step::new("format", cargo(&["fmt", "--all"])).run()
}

/// Writes the tables of the driver down in each language.
fn generate(arguments: &[String]) -> Result<(), Failure> {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (tables, vectors) = match words[..] {
        [] => (true, true),
        ["vectors"] => (false, true),
        _ => return Err(Failure::usage("say `vectors`, or nothing for everything")),
    };
    require(&[Need::Build])?;
    if tables {
        Step::new("generate", cargo(&["run", "--quiet", "-p", "gtc-generate"]))
            .remedy("give the documentation of that language the words it names")
            .run()?;
    }
    if vectors {
        Step::new("vectors", cargo(&["run", "--quiet", "-p", "gtc-vectors"])).run()?;
    }
    Ok(())
}

fn refuse_arguments(name: &str, arguments: &[String]) -> Result<(), Failure> {
    match arguments.first() {
        None => Ok(()),
        Some(word) => Err(Failure::usage(format!(
            "`{name}` takes no arguments, but got `{word}`"
        ))),
    }
}
