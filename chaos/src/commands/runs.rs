//! `gtc-chaos demo`, `pair`, `secure-pair` and `ring`.

use std::path::PathBuf;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use clap::Args;
use gtc_chaos::demo::Demo;
use gtc_chaos::error::{Context, Error, Result};
use gtc_chaos::fleet::Place;
use gtc_chaos::mesh::{Mesh, Shape};
use gtc_clusters::Security;

/// What all runs take.
#[derive(Debug, Args)]
struct RunArgs {
    /// The seed of the kills [default: of the clock]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,

    /// The program gtc [default: the one beside this program]
    #[arg(long, value_name = "FILE")]
    gtc: Option<PathBuf>,

    /// Where to keep configurations, logs and journals [default: chaos-NAME beside the target's profile]
    #[arg(long, value_name = "DIRECTORY")]
    directory: Option<PathBuf>,
}

impl RunArgs {
    fn place(&self, name: &str) -> Result<Place> {
        let me = std::env::current_exe().context("find this program")?;
        let beside = me
            .parent()
            .ok_or_else(|| Error::new("this program is in no directory"))?;
        let gtc = self.gtc.clone().unwrap_or_else(|| beside.join("gtc"));
        if !gtc.is_file() {
            let (gtc, remedy) = (gtc.display(), "build it: cargo build -p gtc-cli");
            return Err(Error::new(format!(
                "there is no program {gtc}; {remedy}, or name it by --gtc"
            )));
        }
        let target = beside.parent().unwrap_or(beside);
        let directory = self
            .directory
            .clone()
            .unwrap_or_else(|| target.join(format!("chaos-{name}")));
        Ok(Place { gtc, directory })
    }

    fn seed(&self) -> u64 {
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        self.seed
            .unwrap_or_else(|| u64::from(now.subsec_nanos()) % 1_000_000)
    }
}

#[derive(Debug, Args)]
pub(super) struct DemoArgs {
    #[command(flatten)]
    run: RunArgs,

    /// A .csv or .csv.xz file of flights [default: the shipped part]
    #[arg(long, value_name = "FILE")]
    input: Option<PathBuf>,

    /// How often gtc is killed.
    #[arg(long, value_name = "N", default_value_t = 8)]
    kills: u32,

    /// The partitions of the topic.
    #[arg(long, value_name = "N", default_value_t = 4)]
    partitions: i32,
}

impl DemoArgs {
    pub(super) fn run(self) -> Result<bool> {
        let (begin, seed) = (Instant::now(), self.run.seed());
        let place = self.run.place("demo")?;
        println!("seed {seed}; files in {}", place.directory.display());
        let (input, kills, partitions) = (self.input, self.kills, self.partitions);
        let demo = Demo {
            place,
            input,
            seed,
            kills,
            partitions,
        };
        let outcome =
            demo.run(&|line| println!("{:6.1} s  {line}", begin.elapsed().as_secs_f32()))?;
        println!("\n{}\n{}", outcome.plan.to_text(), outcome.report.to_text());
        Ok(verdict(outcome.is_good(), seed, begin))
    }
}

#[derive(Debug, Args)]
pub(super) struct MeshArgs {
    #[command(flatten)]
    run: RunArgs,

    /// How often a replication is killed, over all of them.
    #[arg(long, value_name = "N", default_value_t = 5)]
    kills: u32,
}

impl MeshArgs {
    pub(super) fn run(self, shape: Shape, security: Security) -> Result<bool> {
        let (begin, seed) = (Instant::now(), self.run.seed());
        let name = match (shape, security) {
            (Shape::Ring, _) => "ring",
            (Shape::Pair, Security::Secure) => "secure-pair",
            (Shape::Pair, _) => "pair",
        };
        let place = self.run.place(name)?;
        println!("seed {seed}; files in {}", place.directory.display());
        let mesh = Mesh {
            place,
            shape,
            security,
            seed,
            kills: self.kills,
        };
        let outcome =
            mesh.run(&|line| println!("{:6.1} s  {line}", begin.elapsed().as_secs_f32()))?;
        for (link, plan) in &outcome.plans {
            println!("\n{link}\n{}", plan.to_text());
        }
        for (origin, count) in &outcome.written {
            println!("{count} records were written at {origin}");
        }
        println!("\n{}", outcome.report.to_text());
        Ok(verdict(outcome.is_good(), seed, begin))
    }
}

fn verdict(is_good: bool, seed: u64, begin: Instant) -> bool {
    let seconds = begin.elapsed().as_secs();
    if is_good {
        println!("passed in {seconds} s; nothing is missing, doubled, out of order or torn");
    } else {
        println!(
            "FAILED in {seconds} s, seed {seed}: an anomaly above, or kills that missed their windows"
        );
    }
    is_good
}
