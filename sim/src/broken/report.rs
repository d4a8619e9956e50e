//! The table of the rules, which the search writes to docs/broken-rules.md and a test replays.

use std::fmt::Write as _;
use std::io;
use std::path::PathBuf;

use super::{Broken, Survival};

const HEAD: &str = "\
# Rules left out

Each rule of the core that can be left out in test builds (feature `broken`, which no product enables), and the history
that notices it: a seed, and the invariant that is then violated by its name. Not a time-out, and not a panic. With all
rules the same history is clean. The test `broken` replays every line. A rule that another one masks is left out together
with that one; without the other one alone the same history is clean as well.

*Histories* is how many seeds, from 0 on, the search looked at; *ms* is how long it took on one thread of the machine
that wrote this file, most of it in the histories that notice nothing.

Seeds grow stale when the model changes. This file is written by

```
cargo xtask sim --broken --write
```

and one line of it is told as a story by `cargo xtask sim --seed SEED --without RULE`.

| rule | without it | noticed by | seed | histories | ms |
|---|---|---|---|---|---|
";

/// Rules that another one masks, so that without them alone nothing goes wrong: the other one, and how.
pub const MASKED: &[(Broken, Broken, &str)] = &[(
    Broken::R8Presumed,
    Broken::R13Described,
    "whoever owned the log after this copy was made, and came to this cluster, initialised the very probe that the first \
     look asks for",
)];

/// The rule that is left out together with this one, because it masks it.
pub fn mask(rule: Broken) -> Option<Broken> {
    let masked = MASKED.iter().find(|(masked, ..)| *masked == rule);
    masked.map(|(_, mask, _)| *mask)
}

/// What goes wrong without a rule, and what masks that.
fn described(rule: Broken) -> String {
    let what = rule.description();
    let masked = MASKED.iter().find(|(masked, ..)| *masked == rule);
    masked.map_or_else(
        || what.into(),
        |(_, mask, how)| {
            format!(
                "{what} (masked by {}, left out as well: {how})",
                mask.name()
            )
        },
    )
}

/// A line of the table.
#[derive(Debug, PartialEq, Eq)]
pub struct Line {
    /// The rule that is left out.
    pub rule: Broken,
    /// The invariant that notices.
    pub invariant: String,
    /// The history, if one was found.
    pub seed: Option<u64>,
}

fn path() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../docs/broken-rules.md")
}

/// Writes what was found.
///
/// # Errors
/// The file cannot be written.
pub fn write(survivals: &[Survival]) -> io::Result<()> {
    let mut text = String::from(HEAD);
    for survival in survivals {
        let (name, what) = (survival.rule.name(), described(survival.rule));
        let ms = survival.took.as_millis();
        let _ = match &survival.found {
            Some(found) => {
                let (seed, histories) = (found.seed, found.histories);
                let invariant = found.violation.invariant;
                writeln!(
                    text,
                    "| {name} | {what} | {invariant} | {seed} | {histories} | {ms} |"
                )
            }
            None => writeln!(
                text,
                "| {name} | {what} | nothing: a hole in the model | - | - | {ms} |"
            ),
        };
    }
    std::fs::write(path(), text)
}

/// Reads the table.
///
/// # Panics
/// The file is not there, or a line of it names no rule.
pub fn read() -> Vec<Line> {
    let text = std::fs::read_to_string(path()).expect("docs/broken-rules.md is there");
    let rows = text.lines().filter(|line| line.starts_with("| ")).skip(1);
    rows.map(line).collect()
}

fn line(row: &str) -> Line {
    let cells: Vec<&str> = row.split('|').map(str::trim).collect();
    let rule = Broken::named(cells[1]);
    Line {
        rule: rule.unwrap_or_else(|| panic!("there is no rule `{}`", cells[1])),
        invariant: cells[3].into(),
        seed: cells[4].parse().ok(),
    }
}
