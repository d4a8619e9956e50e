//! The kills and the checker have teeth: a mirror without a coordinator does not get through.

mod support;

use std::io::Write;

use gtc_chaos::demo::Demo;
use gtc_chaos::flights;

#[test]
fn a_mirror_that_commits_one_cluster_after_the_other_is_found_out() {
    let place = support::place("naive", support::build("naive_mirror"));
    let input = place.directory.with_extension("csv");
    let mut file = std::fs::File::create(&input).unwrap();
    writeln!(file, "carrier,flight").unwrap();
    for record in flights::records(None, "us", 1).unwrap().iter().take(2_000) {
        let key = String::from_utf8(record.key.clone().unwrap()).unwrap();
        let (carrier, flight) = key.split_at(2);
        writeln!(file, "{carrier},{flight}").unwrap();
    }
    let demo = Demo {
        place,
        input: Some(input),
        seed: 1,
        kills: 3,
        partitions: 2,
    };
    let outcome = demo.run(&|line| println!("{line}")).unwrap();
    println!("{}\n{}", outcome.plan.to_text(), outcome.report.to_text());
    assert!(outcome.plan.is_fulfilled());
    assert!(!outcome.report.is_clean() && !outcome.is_good());
    let of = |cluster: &str| {
        let rows = outcome
            .report
            .rows
            .iter()
            .filter(move |row| row.cluster == cluster);
        rows.map(|row| row.duplicated).sum::<usize>()
    };
    assert!(
        of("eu") > 0,
        "eu got again what it had committed before the kill"
    );
}
