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
pub fn table(_: u64, _: &Arguments) -> ExitCode {
    eprintln!("gtc-sim: {MISSING}");
    ExitCode::from(2)
}

#[cfg(feature = "broken")]
pub use with_the_feature::{options, table};

#[cfg(feature = "broken")]
mod with_the_feature {
    use std::time::Instant;

    use gtc_sim::broken::{Broken, Survival, search};

    use super::{Arguments, ExitCode, Options};

    /// The options of one history.
    pub fn options(arguments: &Arguments) -> Result<Options, String> {
        Ok(Options {
            trace: arguments.trace,
            story: arguments.story,
            without: rule(arguments)?,
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
    pub fn table(count: u64, arguments: &Arguments) -> ExitCode {
        let rules = match rule(arguments) {
            Ok(Some(rule)) => vec![rule],
            Ok(None) => Broken::ALL.to_vec(),
            Err(cause) => {
                eprintln!("gtc-sim: {cause}");
                return ExitCode::from(2);
            }
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
        ExitCode::from(u8::from(missed > 0))
    }

    fn print(survival: &Survival) {
        let name = survival.rule.name();
        match &survival.found {
            Some((histories, violation)) => println!("{name:<20} {histories:>8} {violation}"),
            None => println!("{name:<20}        - {}", survival.rule.description()),
        }
    }
}
