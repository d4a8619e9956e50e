//! Leaving rules out, on the command line.

use std::process::ExitCode;

use gtc_sim::Options;

use crate::Arguments;

/// The options of one history.
#[cfg(not(feature = "broken"))]
pub fn options(arguments: &Arguments) -> Result<Options, String> {
    let options = Options {
        trace: arguments.trace,
        story: arguments.story,
        ..Options::default()
    };
    match &arguments.without {
        Some(_) => Err(MISSING.into()),
        None => Ok(options),
    }
}

#[cfg(not(feature = "broken"))]
const MISSING: &str = "this build cannot leave a rule out: build it with `--features broken`";

/// Says that it cannot.
#[cfg(not(feature = "broken"))]
pub fn table(_: Option<u64>, arguments: &Arguments) -> ExitCode {
    let what = if arguments.write {
        "--write"
    } else {
        "--broken"
    };
    eprintln!("gtc-sim: {what}: {MISSING}");
    ExitCode::from(2)
}

#[cfg(feature = "broken")]
pub use with_the_feature::{options, table};

#[cfg(feature = "broken")]
mod with_the_feature {
    use std::time::Instant;

    use gtc_sim::broken::{Broken, Survival, report, search};

    use super::{Arguments, ExitCode, Options};

    /// How many histories a rule may survive, if not said.
    const HISTORIES: u64 = 100_000;

    /// The options of one history.
    pub fn options(arguments: &Arguments) -> Result<Options, String> {
        let without = rule(arguments)?;
        Ok(Options {
            trace: arguments.trace,
            story: arguments.story,
            without,
            mask: without.and_then(report::mask),
            ..Options::default()
        })
    }

    fn rule(arguments: &Arguments) -> Result<Option<Broken>, String> {
        let Some(name) = &arguments.without else {
            return Ok(None);
        };
        let rule = Broken::named(name);
        rule.map(Some)
            .ok_or_else(|| format!("there is no rule `{name}`"))
    }

    /// Looks for all rules, or for one, and prints a line for each.
    pub fn table(count: Option<u64>, arguments: &Arguments) -> ExitCode {
        match look(count.unwrap_or(HISTORIES), arguments) {
            Ok(0) => ExitCode::SUCCESS,
            Ok(_) => ExitCode::FAILURE,
            Err(cause) => {
                eprintln!("gtc-sim: {cause}");
                ExitCode::from(2)
            }
        }
    }

    /// How many rules nothing noticed.
    fn look(count: u64, arguments: &Arguments) -> Result<usize, String> {
        let rules = match rule(arguments)? {
            Some(_) if arguments.write => return Err("--write is for all rules together".into()),
            Some(rule) => vec![rule],
            None => Broken::ALL.to_vec(),
        };
        let began = Instant::now();
        let survivals = search(&rules, arguments.many(count));
        survivals.iter().for_each(print);
        let missed = survivals.iter().filter(|s| s.found.is_none()).count();
        let seconds = began.elapsed().as_secs_f64();
        println!(
            "{} rules, {missed} not noticed, {seconds:.0} s",
            rules.len()
        );
        if arguments.write {
            report::write(&survivals).map_err(|error| error.to_string())?;
        }
        Ok(missed)
    }

    fn print(survival: &Survival) {
        let name = survival.rule.name();
        let took_ms = survival.took.as_millis();
        match (&survival.found, &survival.vague) {
            (Some(found), _) => {
                let (seed, histories) = (found.seed, found.histories);
                let violation = &found.violation;
                println!(
                    "{name:<20} seed {seed:>7} {histories:>7} histories {took_ms:>7} ms  {violation}"
                );
            }
            (None, Some(vague)) => println!("{name:<20} not noticed by name, but {vague}"),
            (None, None) => println!("{name:<20} not noticed: {}", survival.rule.description()),
        }
    }
}
