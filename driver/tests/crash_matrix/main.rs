//! The crash matrix: at each named step of a commit and of a recovery the process is killed, and
//! after a restart all clusters agree with the log, no reader is held back, and the slots work.
//!
//! The rows are made of the points that a life without a crash passes, so that none is forgotten.
//! Arguments choose variants by a part of their name, and rows after a slash: `own/prepare`.

mod child;
mod job;
mod own;
mod place;
mod points;
mod row;
mod variant;
#[path = "../coordinator/watchdog.rs"]
mod watchdog;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use job::{Own, Result};
use own::{Ask, Java};
use row::Ended;
use variant::{Plan, Section, VARIANTS, Variant};

/// Rows that run at once: each mostly waits for brokers and disk.
const AT_ONCE: usize = 4;

#[derive(Default)]
struct Tally {
    passed: usize,
    failed: Vec<String>,
    steps: BTreeSet<String>,
}

fn main() -> ExitCode {
    if let Ok(job) = std::env::var(child::JOB) {
        watchdog::end_at_last();
        return match child::main(&job) {
            // Without destructors, as a process that has nothing more to do.
            Ok(()) => std::process::exit(0),
            Err(error) => {
                eprintln!("{error}");
                ExitCode::FAILURE
            }
        };
    }
    let filters: Vec<_> = std::env::args()
        .skip(1)
        .filter(|word| !word.starts_with('-'))
        .collect();
    let runtime = tokio::runtime::Runtime::new().expect("threads");
    let tally = runtime.block_on(run_all(&filters));
    let (ok, failed) = (tally.failed.is_empty(), tally.failed.len());
    for failure in &tally.failed {
        println!("FAILED {failure}");
    }
    let result = if ok { "ok" } else { "FAILED" };
    println!(
        "test result: {result}. {} passed; {failed} failed",
        tally.passed
    );
    // The clusters end with the process.
    std::process::exit(i32::from(!ok))
}

async fn run_all(filters: &[String]) -> Tally {
    let mut tally = Tally::default();
    let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("crash-matrix");
    for variant in VARIANTS {
        let Some(rows) = chosen(variant, filters) else {
            continue;
        };
        let began = Instant::now();
        let directory = directory.join(variant.name);
        let _ = std::fs::remove_dir_all(&directory);
        let before = (tally.passed, tally.failed.len());
        if let Err(error) = run_variant((variant, &rows), directory.clone(), &mut tally).await {
            tally.failed.push(format!("{}: {error}", variant.name));
        }
        // What a failed row leaves is kept for whoever looks for the reason.
        if tally.failed.len() == before.1 {
            let _ = std::fs::remove_dir_all(&directory);
        }
        let passed = tally.passed - before.0;
        let seconds = began.elapsed().as_secs_f64();
        println!("{}: {passed} passed in {seconds:.1} s", variant.name);
    }
    if filters.is_empty() {
        let all = gtc::CRASH_STEPS.iter();
        let never: Vec<_> = all.filter(|step| !tally.steps.contains(**step)).collect();
        println!("steps without a row: {never:?}");
    }
    tally
}

/// The filters of a variant's rows; none if the variant is not chosen.
fn chosen(variant: &Variant, filters: &[String]) -> Option<Vec<String>> {
    if filters.is_empty() {
        return Some(Vec::new());
    }
    let halves = filters
        .iter()
        .map(|filter| filter.split_once('/').unwrap_or((filter, "")));
    let rows: Vec<_> = halves
        .filter(|(name, _)| variant.name.contains(name) || "crash_matrix".contains(name))
        .map(|(_, row)| row.to_owned())
        .collect();
    (!rows.is_empty()).then_some(rows)
}

async fn run_variant(
    (variant, chosen): (&'static Variant, &[String]),
    directory: PathBuf,
    tally: &mut Tally,
) -> Result {
    let blocking = tokio::task::spawn_blocking(move || -> Result<(Plan<'static>, Ask)> {
        let ask = match variant.own {
            Some(Own::V2) => Java::start()?.asking(),
            _ => own::nobody(),
        };
        Ok((Plan::new(variant, directory)?, ask))
    });
    let (plan, ask) = blocking.await??;
    let (clean, topic) = (
        format!("clean-{}", variant.name),
        format!("rows-{}", variant.name),
    );
    for member in plan.members() {
        place::create_topic(member, &clean, 8).await?;
    }
    let mut section = tokio::task::block_in_place(|| plan.rows(&ask, &clean, &topic))?;
    let steps = section.rows.iter().map(|row| row.step.clone());
    tally.steps.extend(steps);
    if !chosen.is_empty() {
        let wanted = |name: &str| chosen.iter().any(|part| name.contains(part.as_str()));
        section.rows.retain(|row| wanted(&row.name));
    }
    let last = section.rows.iter().map(|row| row.job.partition).max();
    let partitions = last.ok_or("no row is chosen")? + 1;
    for member in plan.members() {
        place::create_topic(member, &topic, partitions).await?;
    }
    let ended = run_rows(&section, &ask).await;
    compare(&plan, (section, partitions), ended, tally)
}

/// Several at once.
async fn run_rows(section: &Section, ask: &Ask) -> BTreeMap<String, Result<Ended>> {
    let permits = Arc::new(Semaphore::new(AT_ONCE));
    let mut running = JoinSet::new();
    for row in section.rows.clone() {
        let (permits, ask) = (permits.clone(), ask.clone());
        running.spawn(async move {
            let _permit = permits.acquire_owned().await;
            let began = Instant::now();
            let ended = row.run(&ask).await;
            let seconds = began.elapsed().as_secs_f64();
            let how = match &ended {
                Ok(ended) if ended.reached => "ok",
                Ok(_) => "FAILED: its point is never reached",
                Err(_) => "FAILED",
            };
            println!("test {} ... {how} ({seconds:.1} s)", row.name);
            (row.name, ended)
        });
    }
    running.join_all().await.into_iter().collect()
}

/// What each cluster shows, against what the log says.
fn compare(
    plan: &Plan<'_>,
    (section, partitions): (Section, i32),
    mut ended: BTreeMap<String, Result<Ended>>,
    tally: &mut Tally,
) -> Result {
    let mut views = Vec::new();
    for member in plan.members() {
        let read = || place::read(member, &section.topic, partitions);
        views.push((&member.name, tokio::task::block_in_place(read)?));
    }
    for row in &section.rows {
        let judged = ended
            .remove(&row.name)
            .unwrap_or(Err("it did not end".into()));
        let judged = judged.and_then(|ended| {
            for (index, (name, view)) in views.iter().enumerate() {
                let shown = view.get(&row.job.partition).ok_or("no such partition")?;
                ended
                    .agrees_with((index, shown))
                    .map_err(|error| format!("{name}: {error}"))?;
            }
            match ended.reached {
                true => Ok(()),
                false => Err("its point is never reached".into()),
            }
        });
        match judged {
            Ok(()) => tally.passed += 1,
            Err(error) => tally.failed.push(format!("{}: {error}", row.name)),
        }
    }
    Ok(())
}
