use crate::check::{ClusterView, Evidence, Link, PartitionView, Report, Seen, judge};
use crate::journal::{Entry, Journal};

const RECORDS: i64 = 5;

fn entry(offset: i64) -> Entry {
    Entry {
        id: format!("us:{offset}"),
        digest: offset.unsigned_abs(),
        offset,
    }
}

fn seen(id: i64, offset: i64) -> Seen {
    Seen {
        id: Some(format!("us:{id}")),
        digest: id.unsigned_abs(),
        offset,
    }
}

fn view(cluster: &str) -> ClusterView {
    let records = (0..RECORDS).map(|offset| seen(offset, offset)).collect();
    let shown = PartitionView {
        records,
        stable: RECORDS,
        high: RECORDS,
    };
    ClusterView {
        cluster: cluster.into(),
        partitions: [(0, shown)].into(),
    }
}

fn link(to: &str) -> Link {
    let offsets = [(0, Some(RECORDS))].into();
    Link {
        from: "us".into(),
        to: to.into(),
        group: "g".into(),
        offsets,
    }
}

/// A fan-out from us to eu and ap where all went well.
fn evidence() -> Evidence {
    let mut journal = Journal::new("us");
    journal
        .partitions
        .insert(0, (0..RECORDS).map(entry).collect());
    Evidence {
        journals: vec![journal],
        views: vec![view("us"), view("eu"), view("ap")],
        links: vec![link("eu"), link("ap")],
    }
}

fn eu(evidence: &mut Evidence) -> &mut PartitionView {
    evidence.views[1].partitions.get_mut(&0).unwrap()
}

/// The counts of the row of eu: missing, duplicated, out of order, torn, altered, unexpected.
fn counts(report: &Report) -> [usize; 6] {
    let row = report.rows.iter().find(|row| row.cluster == "eu").unwrap();
    [
        row.missing,
        row.duplicated,
        row.out_of_order,
        row.torn,
        row.altered,
        row.unexpected,
    ]
}

#[test]
fn a_faithful_fan_out_is_clean() {
    let report = judge(&evidence());
    assert!(report.is_clean(), "{}", report.to_text());
    assert_eq!(report.rows.len(), 3);
    assert_eq!(report.groups.len(), 2);
    assert!(report.to_text().contains("check: clean"));
}

#[test]
fn a_record_that_one_destination_lacks_is_missing_and_torn() {
    let mut evidence = evidence();
    eu(&mut evidence).records.remove(2);
    let report = judge(&evidence);
    assert_eq!(counts(&report), [1, 0, 0, 1, 0, 0]);
    assert!(
        report.named.contains(&"eu/0: torn us:2".into()),
        "{:?}",
        report.named
    );
    // The group stands behind it although it is not there.
    assert_eq!(report.groups[0].ahead, 1);
    assert_eq!(report.groups[1].ahead, 0);
}

#[test]
fn a_record_that_no_destination_has_is_missing_but_not_torn() {
    let mut evidence = evidence();
    for view in &mut evidence.views[1..] {
        view.partitions.get_mut(&0).unwrap().records.pop();
    }
    for link in &mut evidence.links {
        link.offsets.insert(0, Some(RECORDS - 1));
    }
    let report = judge(&evidence);
    assert_eq!(counts(&report), [1, 0, 0, 0, 0, 0]);
    assert_eq!(report.anomalies(), 2, "{}", report.to_text());
}

#[test]
fn a_second_copy_is_duplicated_and_not_out_of_order() {
    let mut evidence = evidence();
    eu(&mut evidence).records.push(seen(1, RECORDS));
    let report = judge(&evidence);
    assert_eq!(counts(&report), [0, 1, 0, 0, 0, 0]);
    assert_eq!(report.anomalies(), 1);
}

#[test]
fn a_record_behind_its_successor_is_out_of_order() {
    let mut evidence = evidence();
    eu(&mut evidence).records.swap(1, 2);
    assert_eq!(counts(&judge(&evidence)), [0, 0, 1, 0, 0, 0]);
}

#[test]
fn changed_content_and_a_wrong_partition_are_altered() {
    let mut changed = evidence();
    eu(&mut changed).records[3].digest = 99;
    assert_eq!(counts(&judge(&changed)), [0, 0, 0, 0, 1, 0]);

    let mut moved = evidence();
    let record = eu(&mut moved).records.remove(3);
    let other = PartitionView {
        records: vec![record],
        stable: 1,
        high: 1,
    };
    moved.views[1].partitions.insert(1, other);
    let report = judge(&moved);
    assert_eq!(report.rows.iter().map(|row| row.altered).sum::<usize>(), 1);
    assert_eq!(report.anomalies(), 1, "{}", report.to_text());
}

#[test]
fn a_record_that_nobody_wrote_is_unexpected() {
    let mut evidence = evidence();
    eu(&mut evidence).records.push(Seen {
        id: None,
        digest: 0,
        offset: RECORDS,
    });
    eu(&mut evidence).records.push(seen(77, RECORDS + 1));
    assert_eq!(counts(&judge(&evidence)), [0, 0, 0, 0, 0, 2]);
}

#[test]
fn a_stable_offset_before_the_end_is_stuck() {
    let mut evidence = evidence();
    eu(&mut evidence).high += 1;
    let report = judge(&evidence);
    assert_eq!(report.anomalies(), 1);
    assert!(report.to_text().contains("5 of 6"), "{}", report.to_text());
}

#[test]
fn an_absent_partition_is_missing_as_a_whole() {
    let mut evidence = evidence();
    evidence.views[1].partitions.clear();
    assert_eq!(counts(&judge(&evidence)), [5, 0, 0, 5, 0, 0]);
}

#[test]
fn a_group_is_ahead_or_behind_by_the_records_that_contradict_it() {
    let mut behind = evidence();
    behind.links[0].offsets.insert(0, Some(3));
    assert_eq!(judge(&behind).groups[0].behind, 2);
    behind.links[0].offsets.insert(0, None);
    assert_eq!(judge(&behind).groups[0].behind, 5);

    let mut beyond = evidence();
    beyond.links[0].offsets.insert(0, Some(RECORDS + 1));
    let report = judge(&beyond);
    assert_eq!((report.groups[0].ahead, report.anomalies()), (1, 1));
}

#[test]
fn order_is_kept_per_origin_and_own_records_do_not_travel_back() {
    let mut evidence = evidence();
    let mut journal = Journal::new("eu");
    journal.partitions.insert(
        0,
        vec![Entry {
            id: "eu:0".into(),
            digest: 7,
            offset: 0,
        }],
    );
    evidence.journals.push(journal);
    for (place, view) in evidence.views.iter_mut().enumerate() {
        let shown = view.partitions.get_mut(&0).unwrap();
        let id = Some("eu:0".to_string());
        // Each cluster may place the other origin's record where it likes.
        shown.records.insert(
            place,
            Seen {
                id,
                digest: 7,
                offset: place as i64,
            },
        );
        for (offset, record) in shown.records.iter_mut().enumerate() {
            record.offset = offset as i64;
        }
        (shown.stable, shown.high) = (RECORDS + 1, RECORDS + 1);
    }
    for link in &mut evidence.links {
        link.offsets.insert(0, Some(RECORDS + 1));
    }
    let report = judge(&evidence);
    assert!(report.is_clean(), "{}", report.to_text());
    evidence.links[0].offsets.insert(0, Some(0));
    assert_eq!(judge(&evidence).groups[0].behind, 5);
}
