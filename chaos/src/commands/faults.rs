//! `gtc-chaos faults`.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Args;
use gtc_chaos::error::{Context, Error, Result};
use gtc_chaos::faults::{Faults, Shape};

#[derive(Debug, Args)]
pub(super) struct FaultsArgs {
    /// How long faults are made; healing and the audit come on top.
    #[arg(long, value_name = "M", default_value_t = 3.0)]
    minutes: f64,

    /// The seed of clusters, workers, faults and work.
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,

    /// The program of a worker [default: examples/chaos_worker beside this program]
    #[arg(long, value_name = "FILE")]
    worker: Option<PathBuf>,

    /// Where to keep configurations, logs and journals [default: chaos-faults beside the target's profile]
    #[arg(long, value_name = "DIRECTORY")]
    directory: Option<PathBuf>,

    /// Only print what the seed chooses: the shape of the run and the schedule of its faults.
    #[arg(long)]
    plan: bool,

    /// Print the result as JSON; progress goes to stderr.
    #[arg(long)]
    json: bool,
}

impl FaultsArgs {
    pub(super) fn run(self) -> Result<bool> {
        let begin = Instant::now();
        let faults = self.faults()?;
        if self.plan {
            let shape = Shape::new(self.seed, true);
            println!("{}", shape.to_text());
            for planned in faults.schedule(&shape) {
                println!("{planned}");
            }
            return Ok(true);
        }
        let directory = faults.directory.display();
        eprintln!("seed {}; files in {directory}", self.seed);
        let say = |line: &str| eprintln!("{:6.1} s  {line}", begin.elapsed().as_secs_f32());
        let outcome = faults.run(&say)?;
        let is_clean = outcome.verdict.is_clean();
        if self.json {
            let text = serde_json::to_string_pretty(&outcome).context("write the result")?;
            println!("{text}");
            return Ok(is_clean);
        }
        println!("\n{}\n{}", outcome.fault_table, outcome.verdict.to_text());
        let (seed, kills, rate) = (self.seed, outcome.kills, outcome.rate);
        let (minutes, seconds) = (self.minutes, begin.elapsed().as_secs());
        let verdict = if is_clean { "passed" } else { "FAILED" };
        println!(
            "{verdict}: seed {seed}, {minutes} minutes of faults, {kills} kill -9, {rate:.1} tx/s; {seconds} s in all"
        );
        if !is_clean {
            println!("again: cargo xtask chaos --minutes {minutes} --seed {seed}");
        }
        Ok(is_clean)
    }

    fn faults(&self) -> Result<Faults> {
        let me = std::env::current_exe().context("find this program")?;
        let beside = me
            .parent()
            .ok_or_else(|| Error::new("this program is in no directory"))?;
        let worker = self.worker.clone();
        let worker = worker.unwrap_or_else(|| beside.join("examples/chaos_worker"));
        if !worker.is_file() && !self.plan {
            let (worker, remedy) = (
                worker.display(),
                "cargo build -p gtc --example chaos_worker",
            );
            return Err(Error::new(format!(
                "there is no program {worker}; build it: {remedy}, or name it by --worker"
            )));
        }
        if !(0.1..=1440.0).contains(&self.minutes) {
            return Err(Error::new("--minutes takes 0.1 to 1440"));
        }
        let target = beside.parent().unwrap_or(beside);
        let directory = self.directory.clone();
        Ok(Faults {
            worker,
            directory: directory.unwrap_or_else(|| target.join("chaos-faults")),
            seed: self.seed,
            length: Duration::from_secs_f64(self.minutes * 60.0),
        })
    }
}
