//! `gtc-sim`: runs simulated histories by their seeds.

#![forbid(unsafe_code)]

mod without;

use std::io::Write;
use std::process::ExitCode;
use std::time::Instant;

use gtc_sim::{Fault, Many, Options, Plan, Violation, run_many, run_plan, shrink};

const USAGE: &str = "\
gtc-sim --seeds N [--first F] [--threads T]   runs N histories, from seed F (0 if not said)
gtc-sim --seed N [--trace | --story] [--without RULE] [--keep S,S] [--mute F,F]
                                              runs one, or what is left of it, and prints its lines
gtc-sim --broken [--seeds N] [--rule RULE] [--write]
                                              leaves each rule out until one of N histories names an invariant;
                                              --write keeps what was found in docs/broken-rules.md
RULE and --broken need the feature `broken`";

/// More than any machine needs.
const THREADS_MAX: u64 = 1024;

#[derive(Debug, Default)]
struct Arguments {
    seeds: Option<u64>,
    first: Option<u64>,
    seed: Option<u64>,
    threads: Option<u64>,
    trace: bool,
    story: bool,
    keep: Option<Vec<u64>>,
    mute: u64,
    broken: bool,
    write: bool,
    without: Option<String>,
}

impl Arguments {
    fn many(&self, count: u64) -> Many {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        Many {
            options: Options::default(),
            first: self.first.unwrap_or(0),
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
    if let Err(cause) = fit(&arguments) {
        eprintln!("gtc-sim: {cause}\n\n{USAGE}");
        return ExitCode::from(2);
    }
    match (arguments.seed, arguments.seeds) {
        (Some(seed), None) => one(seed, &arguments),
        (None, count) if arguments.broken => without::table(count, &arguments),
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
            "--first" => arguments.first = Some(number()?),
            "--seed" => arguments.seed = Some(number()?),
            "--threads" => arguments.threads = Some(number()?),
            "--trace" => arguments.trace = true,
            "--story" => arguments.story = true,
            "--keep" => arguments.keep = Some(steps(&words.next().unwrap_or_default())?),
            "--mute" => arguments.mute = faults(&words.next().unwrap_or_default())?,
            "--broken" => arguments.broken = true,
            "--write" => arguments.write = true,
            "--without" | "--rule" => {
                let rule = words.next().ok_or_else(|| format!("{word} needs a rule"))?;
                arguments.without = Some(rule);
            }
            _ => return Err(format!("there is no `{word}`")),
        }
    }
    Ok(arguments)
}

/// What an option that is taken and not used would show is not what was asked for.
fn fit(arguments: &Arguments) -> Result<(), String> {
    let alone = [
        ("--trace", arguments.trace),
        ("--story", arguments.story),
        ("--keep", arguments.keep.is_some()),
        ("--mute", arguments.mute != 0),
    ];
    let many = [
        ("--first", arguments.first.is_some()),
        ("--threads", arguments.threads.is_some()),
    ];
    let (others, kind): (&[_], _) = match arguments.seed {
        Some(_) => (&many, "many histories"),
        None => (&alone, "one history"),
    };
    if let Some((name, _)) = others.iter().find(|(_, given)| *given) {
        return Err(format!("{name} is for {kind}"));
    }
    match arguments {
        _ if arguments.seed.is_some() && arguments.broken => {
            Err("say either --seed or --broken".into())
        }
        _ if arguments.seeds == Some(0) => Err("--seeds needs at least 1".into()),
        _ if arguments.write && !arguments.broken => Err("--write is for --broken".into()),
        _ if arguments.without.is_some() && arguments.seed.is_none() && !arguments.broken => {
            Err("--without is for one history, and --rule for --broken".into())
        }
        _ if arguments
            .threads
            .is_some_and(|threads| !(1..=THREADS_MAX).contains(&threads)) =>
        {
            Err(format!("--threads needs a number from 1 to {THREADS_MAX}"))
        }
        _ => Ok(()),
    }
}

fn one(seed: u64, arguments: &Arguments) -> ExitCode {
    let options = match without::options(arguments) {
        Ok(options) => options,
        Err(cause) => {
            eprintln!("gtc-sim: {cause}");
            return ExitCode::from(2);
        }
    };
    let plan = Plan {
        seed,
        kept: arguments.keep.clone(),
        muted: arguments.mute,
    };
    let report = run_plan(&plan, options);
    for line in &report.trace {
        println!("{line}");
    }
    match report.result {
        Ok(summary) => {
            println!("seed {seed}: {summary:?}");
            ExitCode::SUCCESS
        }
        // Whoever names the steps has had it shrunk.
        Err(violation) if plan.kept.is_some() => {
            println!("it violates {violation}");
            ExitCode::FAILURE
        }
        Err(violation) => fail(&plan, options, &violation),
    }
}

fn steps(words: &str) -> Result<Vec<u64>, String> {
    let words = words.split(',').filter(|word| !word.is_empty());
    words
        .map(|word| {
            word.parse()
                .map_err(|_| format!("--keep needs numbers of steps, and not `{word}`"))
        })
        .collect()
}

fn faults(words: &str) -> Result<u64, String> {
    let mut muted = 0;
    for word in words.split(',') {
        let fault = Fault::ALL.iter().find(|fault| fault.name() == word);
        let fault = fault.ok_or_else(|| {
            let names: Vec<&str> = Fault::ALL.iter().map(|fault| fault.name()).collect();
            format!("there is no fault `{word}`; choose of {}", names.join(", "))
        })?;
        muted |= 1 << *fault as u64;
    }
    Ok(muted)
}

/// Says what failed, and the shortest story found that fails in the same way.
fn fail(plan: &Plan, options: Options, violation: &Violation) -> ExitCode {
    println!("seed {} violates {violation}", plan.seed);
    println!("reproduce: {plan} --trace");
    let quiet = Options {
        trace: false,
        story: false,
        ..options
    };
    let steps = run_plan(plan, quiet).steps;
    let short = shrink(plan, quiet, steps, violation.invariant);
    let story = Options {
        story: true,
        ..quiet
    };
    let report = run_plan(&short, story);
    println!("\nshrunk to {} steps:", short.steps(0).len());
    print_story(&report.trace);
    if let Err(violation) = report.result {
        println!("it violates {violation}");
    }
    println!("reproduce: {short} --trace");
    ExitCode::FAILURE
}

/// A story whose end is waited for in vain is told in part.
fn print_story(lines: &[String]) {
    const BEGINNING: usize = 100;
    const END: usize = 10;
    for (index, line) in lines.iter().enumerate() {
        match index {
            BEGINNING if lines.len() > BEGINNING + END => println!("..."),
            _ if index < BEGINNING || index + END >= lines.len() => println!("{line}"),
            _ => {}
        }
    }
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
        Err((seed, violation)) => fail(&Plan::new(seed), many.options, &violation),
    }
}

fn rate(done: u64, began: Instant) -> u64 {
    let seconds = began.elapsed().as_secs_f64().max(1e-9);
    (done as f64 * 60.0 / seconds) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(line: &str) -> Option<String> {
        let words = line.split_whitespace().map(str::to_owned);
        parse(words).and_then(|arguments| fit(&arguments)).err()
    }

    #[test]
    fn what_would_not_be_used_is_refused() {
        for (line, part) in [
            ("--seeds 10 --without r3-verify", "--without is for one"),
            ("--seeds 10 --without", "needs a rule"),
            ("--seeds 10 --trace", "--trace is for one"),
            ("--seeds 10 --keep 1,2", "--keep is for one"),
            ("--seeds 10 --write", "--write is for --broken"),
            ("--seed 7 --first 3", "--first is for many"),
            ("--seed 7 --broken", "either"),
            ("--seeds 0", "at least 1"),
            ("--seeds 10 --threads 0", "from 1 to"),
            ("--seeds 10 --threads 18446744073709551615", "from 1 to"),
            ("--seeds -1", "needs a number"),
        ] {
            let told = refusal(line).unwrap_or_default();
            assert!(told.contains(part), "{line}: {told}");
        }
        for line in [
            "--seeds 10 --first 3 --threads 2",
            "--seed 7 --trace --keep 1,2",
            "--seed 7 --without r3-verify",
            "--broken --seeds 10 --rule r3-verify",
            "--broken --write",
        ] {
            assert_eq!(refusal(line), None, "{line}");
        }
    }
}
