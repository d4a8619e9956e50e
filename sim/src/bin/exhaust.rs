//! `gtc-exhaust`: visits every state of small worlds.

#![forbid(unsafe_code)]

use std::io::Write;
use std::process::ExitCode;

use gtc_sim::exhaust::{Faults, Limits, Report, World, named, names, search};

const USAGE: &str = "\
gtc-exhaust [--world NAME]... [--faults N] [--kinds LIST] [--zombies N] [--transactions N]
            [--states MAX] [--plain] [--quick-markers] [--json]

Visits every state of the small worlds named, or of all. --faults sets how many faults happen at most,
--kinds which of them, separated by commas: crash, zombie, loss, delay, repeat, log, expiry;
--zombies how many of the faults may be zombies (1), --transactions how many transactions begin (2);
--states after how many states a search gives up; --plain searches without
reduction; --quick-markers lets clusters write their markers at once. docs/exhaustive.md says what the worlds are.";

/// The options with a value.
const VALUED: &[&str] = &[
    "--world",
    "--faults",
    "--zombies",
    "--transactions",
    "--kinds",
    "--states",
];

#[derive(Debug, Default)]
struct Arguments {
    worlds: Vec<String>,
    faults: Option<u8>,
    zombies: Option<u8>,
    transactions: Option<u8>,
    kinds: Option<Faults>,
    states: Option<u32>,
    plain: bool,
    quick: bool,
    json: bool,
}

fn main() -> ExitCode {
    let arguments = match parse(std::env::args().skip(1)) {
        Ok(arguments) => arguments,
        Err(cause) => {
            eprintln!(
                "gtc-exhaust: {cause}\n\n{USAGE}\n\nWorlds: {}",
                names().join(", ")
            );
            return ExitCode::from(2);
        }
    };
    let mut sound = true;
    for name in &arguments.worlds {
        let world = named(name).expect("the names were checked");
        sound &= run(&world, &arguments);
    }
    ExitCode::from(u8::from(!sound))
}

fn parse(mut words: impl Iterator<Item = String>) -> Result<Arguments, String> {
    let mut arguments = Arguments::default();
    while let Some(word) = words.next() {
        if word == "--help" {
            println!("{USAGE}\n\nWorlds: {}", names().join(", "));
            std::process::exit(0);
        }
        if word == "--json" {
            arguments.json = true;
            continue;
        }
        if word == "--quick-markers" {
            arguments.quick = true;
            continue;
        }
        if word == "--plain" {
            arguments.plain = true;
            continue;
        }
        if !VALUED.contains(&word.as_str()) {
            return Err(format!("there is no `{word}`"));
        }
        let value = words
            .next()
            .ok_or_else(|| format!("{word} needs a value"))?;
        let number = || {
            let number = value.parse::<u32>();
            number.map_err(|_| format!("{word} needs a number, and not `{value}`"))
        };
        let few = || u8::try_from(number()?).map_err(|_| format!("{word} is at most 255"));
        match word.as_str() {
            "--world" if named(&value).is_some() => arguments.worlds.push(value),
            "--world" => return Err(format!("there is no world `{value}`")),
            "--faults" => arguments.faults = Some(few()?),
            "--zombies" => arguments.zombies = Some(few()?),
            "--transactions" if value == "0" => return Err(format!("{word} needs at least 1")),
            "--transactions" => arguments.transactions = Some(few()?),
            "--kinds" => arguments.kinds = Some(kinds(&value)?),
            "--states" => arguments.states = Some(number()?),
            other => unreachable!("{other} takes no value"),
        }
    }
    if arguments.worlds.is_empty() {
        arguments.worlds = names();
    }
    Ok(arguments)
}

fn kinds(list: &str) -> Result<Faults, String> {
    let mut kinds = Faults::default();
    for name in list.split(',') {
        let kind = match name {
            "crash" => &mut kinds.crash,
            "zombie" => &mut kinds.zombie,
            "loss" => &mut kinds.loss,
            "delay" => &mut kinds.delay,
            "repeat" => &mut kinds.repeat,
            "log" => &mut kinds.log,
            "expiry" => &mut kinds.expiry,
            _ => return Err(format!("there is no kind of fault `{name}`")),
        };
        *kind = true;
    }
    Ok(kinds)
}

fn run(world: &World, arguments: &Arguments) -> bool {
    let mut world = world.clone();
    world.faults = arguments.faults.unwrap_or(world.faults);
    world.transactions = arguments.transactions.unwrap_or(world.transactions);
    world.zombies = arguments.zombies.unwrap_or(world.zombies);
    world.kinds = arguments.kinds.unwrap_or(world.kinds);
    world.reduced &= !arguments.plain;
    world.slow_markers &= !arguments.quick;
    let limits = arguments
        .states
        .map_or_else(Limits::default, |states| Limits { states });
    let report = search(&world, limits, |at| {
        let _ = write!(
            std::io::stderr(),
            "\r{}: {} states, {} of them to go on from, depth {} ",
            world.name,
            at.states,
            at.open,
            at.depth
        );
    });
    let _ = write!(std::io::stderr(), "\r");
    if arguments.json {
        println!("{}", json(&world, &report));
    } else {
        tell(&world, &report);
    }
    report.violation.is_none() && report.complete
}

fn tell(world: &World, report: &Report) {
    let seconds = report.took.as_secs_f64();
    println!(
        "{} with {} faults: {} states ({} of the core), {} steps, {} ends, depth {}, {} MiB, {seconds:.1} s{}",
        world.name,
        world.faults,
        report.states,
        report.cores,
        report.transitions,
        report.ends,
        report.depth,
        report.memory >> 20,
        if report.complete || report.violation.is_some() {
            ""
        } else {
            ": NOT COMPLETE, the limit of states was reached"
        }
    );
    let Some(found) = &report.violation else {
        return;
    };
    println!("violates {}: {}", found.invariant, found.detail);
    for (number, line) in found.trace.iter().enumerate() {
        println!("{:>4}. {line}", number + 1);
    }
}

fn json(world: &World, report: &Report) -> String {
    let found = report.violation.as_ref();
    let invariant = found.map_or("null".into(), |found| format!("{:?}", found.invariant));
    let trace = found.map_or_else(Vec::new, |found| found.trace.clone());
    format!(
        "{{\"world\":{:?},\"faults\":{},\"states\":{},\"cores\":{},\"transitions\":{},\"ends\":{},\"depth\":{},\
         \"memory_bytes\":{},\"seconds\":{:.1},\"complete\":{},\"violation\":{invariant},\
         \"trace\":{trace:?}}}",
        world.name,
        world.faults,
        report.states,
        report.cores,
        report.transitions,
        report.ends,
        report.depth,
        report.memory,
        report.took.as_secs_f64(),
        report.complete,
    )
}
