//! Every rule that can be left out is noticed by the history that docs/broken-rules.md names, and by that invariant.

use gtc_sim::broken::{Broken, notices, report};
use gtc_sim::{Options, run_seed};

const REFRESH: &str = "`cargo xtask sim --broken --write` writes the table anew";

#[test]
fn every_rule_is_in_the_table_and_none_goes_unnoticed() {
    let lines = report::read();
    let rules: Vec<Broken> = lines.iter().map(|line| line.rule).collect();
    assert_eq!(rules, Broken::ALL, "{REFRESH}");
    let missed = lines.iter().filter(|line| line.seed.is_none());
    let missed: Vec<Broken> = missed.map(|line| line.rule).collect();
    assert_eq!(missed, [], "{REFRESH}");
}

#[test]
fn each_history_notices_its_rule_by_the_named_invariant() {
    let mut stale = Vec::new();
    for line in report::read() {
        let Some(seed) = line.seed else { continue };
        let options = Options::default();
        let whole = run_seed(seed, options).result;
        assert!(whole.is_ok(), "seed {seed} with all rules: {whole:?}");
        let violation = notices(line.rule, seed, options);
        let found = violation.as_ref().map(|violation| violation.invariant);
        if found != Some(&*line.invariant) {
            stale.push(format!(
                "{}: {violation:?}, not {}",
                line.rule.name(),
                line.invariant
            ));
        }
    }
    assert!(
        stale.is_empty(),
        "the model has changed: {REFRESH}\n{}",
        stale.join("\n")
    );
}
