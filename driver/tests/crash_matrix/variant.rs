//! The variants of the matrix, and their rows.

use std::collections::BTreeSet;
use std::path::PathBuf;

use gtc_clusters::{Cluster, shared};

use crate::child::{self, Orders};
use crate::job::{Job, Member, Mode, Own, Result};
use crate::own::Ask;
use crate::points::{self, Point};
use crate::row::Row;

/// So many lives without a crash have to pass a point that is to have a row.
const LIVES: u32 = 4;
/// Steps of every life.
const START: &[&str] = &["append-started", "connect", "fence", "list"];
/// Steps of a life that commits by slots.
const COMMIT: &[&str] = &[
    "append-cluster-bound",
    "append-names",
    "close-slot",
    "end-by-writer",
    "open-slot",
    "prepare",
    "verify-slot",
];
/// Steps of a life whose decisions are recorded.
const DECIDE: &[&str] = &["append-completed", "append-decided", "checkpoint"];
/// Steps of a life with an own producer.
const OWN: &[&str] = &["append-own-enlisted", "end-transaction", "inquire"];

/// Where the life before a recovery is killed, and what the recovery then has to do.
pub struct Base {
    pub name: &'static str,
    crash: &'static str,
    steps: &'static [&'static str],
}

/// Decided, and no branch is ended.
const DECIDED: Base = Base {
    name: "decided",
    crash: "append-decided:after",
    steps: &["append-completed", "end-transaction", "inquire"],
};
/// Decided, and one branch is ended.
const HALF: Base = Base {
    name: "half",
    crash: "end-by-writer:us:after",
    steps: &["append-completed", "inquire"],
};
/// Written everywhere, and undecided.
const UNDECIDED: Base = Base {
    name: "undecided",
    crash: "prepare:us:after",
    steps: &[],
};

/// Decided, and then the application of the own producer breaks its part.
const BROKEN: Base = Base {
    name: "broken",
    crash: "append-decided:after",
    steps: &[
        "append-completed",
        "append-discarded",
        "append-forgotten",
        "append-heuristic",
        "inquire",
    ],
};
/// Its abort was asked for.
const ABORTING: Base = Base {
    name: "aborting",
    crash: "end-by-writer:us:before",
    steps: &[],
};

/// A variant.
pub struct Variant {
    pub name: &'static str,
    names: &'static [&'static str],
    old_cluster: bool,
    pub own: Option<Own>,
    mode: Mode,
    keyed: bool,
    /// Every point of every life, or each step once.
    complete: bool,
    bases: &'static [Base],
    decides: bool,
    breaks: bool,
}

const PAIRWISE: Variant = Variant {
    name: "",
    names: &["eu", "us"],
    old_cluster: false,
    own: None,
    mode: Mode::Commit,
    keyed: true,
    complete: false,
    bases: &[DECIDED, UNDECIDED],
    decides: true,
    breaks: false,
};

/// All of them.
pub const VARIANTS: &[Variant] = &[
    Variant {
        name: "two-clusters",
        complete: true,
        bases: &[DECIDED, HALF, UNDECIDED],
        ..PAIRWISE
    },
    Variant {
        name: "three-clusters",
        names: &["eu", "us", "ap"],
        ..PAIRWISE
    },
    Variant {
        name: "one-phase",
        names: &["us"],
        keyed: false,
        bases: &[UNDECIDED],
        decides: false,
        ..PAIRWISE
    },
    Variant {
        name: "own-v1",
        own: Some(Own::V1),
        ..PAIRWISE
    },
    Variant {
        name: "own-v2",
        own: Some(Own::V2),
        ..PAIRWISE
    },
    Variant {
        name: "mixed",
        own: Some(Own::V1),
        bases: &[BROKEN],
        breaks: true,
        ..PAIRWISE
    },
    Variant {
        name: "transaction-version-1",
        old_cluster: true,
        ..PAIRWISE
    },
    Variant {
        name: "abort",
        mode: Mode::Abort,
        bases: &[ABORTING],
        decides: false,
        ..PAIRWISE
    },
];

/// The rows that share a topic, each with a partition of its own.
#[derive(Default)]
pub struct Section {
    pub topic: String,
    pub rows: Vec<Row>,
}

/// A variant in a directory, on its clusters.
pub struct Plan<'a> {
    variant: &'a Variant,
    directory: PathBuf,
    members: Vec<Member>,
}

impl<'a> Plan<'a> {
    /// Starts the clusters where they are missing.
    pub fn new(variant: &'a Variant, directory: PathBuf) -> Result<Self> {
        let mut clusters: Vec<&Cluster> = shared::plain(variant.names.len())?;
        if variant.old_cluster {
            clusters[0] = shared::transaction_version_1(1)?[0];
        }
        let members = variant.names.iter().zip(clusters);
        let members = members.map(|(name, cluster)| Member {
            name: (*name).to_owned(),
            properties: cluster.client_properties(),
        });
        Ok(Self {
            variant,
            directory,
            members: members.collect(),
        })
    }

    pub fn members(&self) -> &[Member] {
        &self.members
    }

    /// Runs each kind of life once without a crash, and makes rows of what it passed.
    pub fn rows(&self, ask: &Ask, clean: &str, topic: &str) -> Result<Section> {
        let mut section = Section {
            topic: topic.to_owned(),
            rows: Vec::new(),
        };
        let mut steps = [START, COMMIT].concat();
        if self.variant.own.is_some() {
            steps.extend(OWN);
        }
        if self.variant.decides {
            steps.extend(DECIDE);
        }
        if self.variant.mode == Mode::Abort {
            steps.retain(|step| *step != "prepare");
        }
        // A broker that has only just started is asked more often, which no row would see again.
        let warm = self.job((clean, 0), "warm");
        child::run(&warm, &Orders::default(), ask)?;
        let commits = (0..LIVES).map(|life| {
            let job = self.job((clean, 0), &format!("commit-{life}"));
            self.trace(&job, &steps, ask)
        });
        let points = points::common(&commits.collect::<Result<Vec<_>>>()?);
        // Before its application breaks anything, the life is that of the variant `own-v1`.
        if !self.variant.breaks {
            self.add(&mut section, None, &points);
        }
        for (partition, base) in (1..).zip(self.variant.bases) {
            let steps = [START, base.steps].concat();
            let recoveries = (0..LIVES).map(|life| {
                let job = self.job((clean, partition), &format!("{}-{life}", base.name));
                self.trace_recovery(job, (base, &steps), ask)
            });
            let points = points::common(&recoveries.collect::<Result<Vec<_>>>()?);
            self.add(&mut section, Some(base), &points);
        }
        if self.variant.complete {
            self.add_apart(&mut section);
        }
        Ok(section)
    }

    fn trace_recovery(
        &self,
        job: Job,
        (base, steps): (&Base, &[&str]),
        ask: &Ask,
    ) -> Result<Vec<Point>> {
        let before = child::run(&job, &base.orders(), ask)?;
        if !before.killed {
            return Err(format!("{} is not reached", base.crash).into());
        }
        job.break_promise(ask)?;
        let recover = Job {
            mode: Mode::Recover,
            ..job
        };
        self.trace(&recover, steps, ask)
    }

    /// One branch is acknowledged while the other waits for its cluster (R16).
    fn add_apart(&self, section: &mut Section) {
        let step = "append-acknowledged";
        for side in ["before", "after"] {
            let crash = Orders {
                crash: Some(format!("{step}:{side}:1")),
                trace: None,
            };
            let lives = vec![
                (self.variant.mode, HALF.orders()),
                (Mode::RecoverApart, crash),
            ];
            self.push(
                section,
                (step, format!("recover-apart/{step}:{side}:1")),
                lives,
            );
        }
    }

    fn add(&self, section: &mut Section, base: Option<&Base>, points: &[Point]) {
        let chosen = match self.variant.complete {
            true => points.to_vec(),
            false => points::pairwise(points),
        };
        for point in chosen {
            let kind = base.map_or("commit".to_owned(), |base| format!("recover-{}", base.name));
            let crash = Orders {
                crash: Some(point.to_string()),
                trace: None,
            };
            let mut lives = Vec::new();
            if let Some(base) = base {
                lives.push((self.variant.mode, base.orders()));
                lives.push((Mode::Recover, crash));
            } else {
                lives.push((self.variant.mode, crash));
            }
            self.push(section, (&point.step, format!("{kind}/{point}")), lives);
        }
    }

    fn push(
        &self,
        section: &mut Section,
        (step, name): (&str, String),
        lives: Vec<(Mode, Orders)>,
    ) {
        let partition = section.rows.len();
        let place = (
            section.topic.as_str(),
            i32::try_from(partition).unwrap_or(0),
        );
        section.rows.push(Row {
            step: step.to_owned(),
            name: format!("{}/{name}", self.variant.name),
            job: self.job(place, &format!("row-{partition}")),
            lives,
        });
    }

    fn job(&self, (topic, partition): (&str, i32), name: &str) -> Job {
        Job {
            mode: self.variant.mode,
            id: format!("{}-{name}", self.variant.name),
            log: self.directory.join(name).join("log"),
            members: self.members.clone(),
            topic: topic.to_owned(),
            partition,
            own: self.variant.own,
            keyed: self.variant.keyed,
            breaks: self.variant.breaks,
            attempt: 0,
        }
    }

    /// The points of a life without a crash, which has to pass all of `steps`.
    fn trace(&self, job: &Job, steps: &[&str], ask: &Ask) -> Result<Vec<Point>> {
        let trace = job.log.with_extension("trace");
        let orders = Orders {
            crash: None,
            trace: Some(trace.clone()),
        };
        if child::run(job, &orders, ask)?.killed {
            return Err("a child was killed, and not by its crash point".into());
        }
        let points = points::read(&trace)?;
        let passed: BTreeSet<_> = points.iter().map(|point| point.step.as_str()).collect();
        let missing: Vec<_> = steps
            .iter()
            .filter(|step| !passed.contains(*step))
            .collect();
        match missing[..] {
            [] => Ok(points),
            _ => Err(format!("{}: a life does not pass {missing:?}", job.id).into()),
        }
    }
}

impl Base {
    fn orders(&self) -> Orders {
        Orders {
            crash: Some(self.crash.to_owned()),
            trace: None,
        }
    }
}
