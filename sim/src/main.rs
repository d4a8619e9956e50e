//! `gtc-sim`: runs simulated histories by their seeds.

#![forbid(unsafe_code)]

mod without;

use std::io::Write;
use std::process::ExitCode;
use std::time::Instant;

use gtc_sim::{Many, Options, Violation, run_many, run_seed};

const USAGE: &str = "\
gtc-sim --seeds N [--first F] [--threads T]   runs N histories, from seed F (0 if not said)
gtc-sim --seed N [--trace] [--without RULE]   runs one, and prints its lines
gtc-sim --broken --seeds N [--without RULE]   leaves each rule out until one of N histories notices
RULE and --broken need the feature `broken`";

#[derive(Debug, Default)]
struct Arguments {
    seeds: Option<u64>,
    first: u64,
    seed: Option<u64>,
    threads: Option<u64>,
    trace: bool,
    broken: bool,
    without: Option<String>,
}

impl Arguments {
    fn many(&self, count: u64) -> Many {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        Many {
            options: Options::default(),
            first: self.first,
            count,
            threads: self.threads.map_or(processors, |threads| threads as usize),
        }
    }
}

fn main() -> ExitCode {
    // A failing history is reported by its seed and its invariant, and not by where it was noticed.
    std::panic::set_hook(Box::new(|_| {}));
    let arguments = match parse(std::env::args().skip(1)) {
        Ok(arguments) => arguments,
        Err(cause) => {
            eprintln!("gtc-sim: {cause}\n\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    match (arguments.seed, arguments.seeds) {
        (Some(seed), None) => one(seed, &arguments),
        (None, Some(count)) if arguments.broken => without::table(count, &arguments),
        (None, Some(count)) => many(count, &arguments),
        _ => {
            eprintln!("gtc-sim: say either --seeds or --seed\n\n{USAGE}");
            ExitCode::from(2)
        }
    }
}

fn parse(mut words: impl Iterator<Item = String>) -> Result<Arguments, String> {
    let mut arguments = Arguments::default();
    while let Some(word) = words.next() {
        let mut number = || {
            let value = words.next().unwrap_or_default();
            let parsed = value.parse::<u64>();
            parsed.map_err(|_| format!("{word} needs a number, and not `{value}`"))
        };
        match word.as_str() {
            "--seeds" => arguments.seeds = Some(number()?),
            "--first" => arguments.first = number()?,
            "--seed" => arguments.seed = Some(number()?),
            "--threads" => arguments.threads = Some(number()?),
            "--trace" => arguments.trace = true,
            "--broken" => arguments.broken = true,
            "--without" => arguments.without = words.next(),
            _ => return Err(format!("there is no `{word}`")),
        }
    }
    Ok(arguments)
}

fn one(seed: u64, arguments: &Arguments) -> ExitCode {
    let options = match without::options(arguments) {
        Ok(options) => options,
        Err(cause) => {
            eprintln!("gtc-sim: {cause}");
            return ExitCode::from(2);
        }
    };
    let report = run_seed(seed, options);
    for line in &report.trace {
        println!("{line}");
    }
    match report.result {
        Ok(summary) => {
            println!("seed {seed}: {summary:?}");
            ExitCode::SUCCESS
        }
        Err(violation) => fail(seed, &violation),
    }
}

fn fail(seed: u64, violation: &Violation) -> ExitCode {
    println!("seed {seed} violates {violation}");
    println!("reproduce: cargo xtask sim --seed {seed} --trace");
    ExitCode::FAILURE
}

fn many(count: u64, arguments: &Arguments) -> ExitCode {
    let many = arguments.many(count);
    let began = Instant::now();
    let tell_every = (count / 20).max(1000);
    let progress = |done: u64| {
        if done.is_multiple_of(tell_every) {
            let rate = rate(done, began);
            let _ = writeln!(
                std::io::stderr(),
                "{done} of {count} histories, {rate} a minute"
            );
        }
    };
    match run_many(many, progress) {
        Ok(sum) => {
            let (seconds, rate) = (began.elapsed().as_secs_f64(), rate(count, began));
            println!("{count} histories in {seconds:.1} s, {rate} a minute: {sum:?}");
            ExitCode::SUCCESS
        }
        Err((seed, violation)) => fail(seed, &violation),
    }
}

fn rate(done: u64, began: Instant) -> u64 {
    let seconds = began.elapsed().as_secs_f64().max(1e-9);
    (done as f64 * 60.0 / seconds) as u64
}
