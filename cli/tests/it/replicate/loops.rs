//! Case mirror-loop: records never return to where they came from.

use gtc_clusters::{Cluster, shared};

use crate::kafka::{
    Row, assert_same, await_rows, await_true, committed, create_topic, numbered, produce, read,
};
use crate::program::{Place, Running};

/// Mirrors along the arrows, all of one topic.
fn start(topic: &str, arrows: &[(&'static Cluster, &'static Cluster)]) -> Vec<(Place, Running)> {
    let start = |(number, (from, to)): (usize, &(&'static Cluster, &'static Cluster))| {
        let place = Place::new(&format!("{topic}-{number}"), &[("from", from), ("to", to)]);
        let running = place.start(&format!("replicate --from from --to to --topic {topic}"));
        (place, running)
    };
    arrows.iter().enumerate().map(start).collect()
}

/// Waits until every mirror has read its source to the end, mirrored records included.
fn settle(
    topic: &str,
    arrows: &[(&'static Cluster, &'static Cluster)],
    places: &[(Place, Running)],
) {
    for ((from, _), (place, _)) in arrows.iter().zip(places) {
        await_true("the mirror to catch up", || {
            let position = committed(from, &place.group(), topic, 0).map(|(offset, _)| offset);
            position == Some(crate::kafka::end(from, topic, 0))
        });
    }
}

#[test]
fn an_active_active_pair_does_not_loop() {
    let [a, b] = shared::plain(2).unwrap()[..] else {
        unreachable!()
    };
    let topic = "pair";
    let arrows = [(a, b), (b, a)];
    for cluster in [a, b] {
        create_topic(cluster, topic, 1, &[]);
    }
    let of_a = numbered(0..50, 1);
    let of_b = numbered(50..100, 1);
    produce(a, topic, &of_a);
    let mirrors = start(topic, &arrows);
    produce(b, topic, &of_b);
    await_rows(a, topic, 100);
    await_rows(b, topic, 100);
    settle(topic, &arrows, &mirrors);
    assert_same(
        &sorted(read(a, topic)),
        &union(&of_a, &[], &of_b, &[b.cluster_id()]),
    );
    assert_same(
        &sorted(read(b, topic)),
        &union(&of_b, &[], &of_a, &[a.cluster_id()]),
    );
    for (_, running) in mirrors {
        running.terminate().expect(0);
    }
}

#[test]
fn a_ring_of_three_does_not_loop() {
    let [a, b, c] = shared::plain(3).unwrap()[..] else {
        unreachable!()
    };
    let topic = "ring";
    let arrows = [(a, b), (b, c), (c, a)];
    for cluster in [a, b, c] {
        create_topic(cluster, topic, 1, &[]);
    }
    produce(a, topic, &numbered(0..20, 1));
    produce(b, topic, &numbered(20..40, 1));
    let mirrors = start(topic, &arrows);
    for cluster in [a, b, c] {
        await_rows(cluster, topic, 40);
    }
    settle(topic, &arrows, &mirrors);
    let (of_a, of_b) = (numbered(0..20, 1), numbered(20..40, 1));
    let (ida, idb, idc) = (a.cluster_id(), b.cluster_id(), c.cluster_id());
    assert_same(
        &sorted(read(a, topic)),
        &union(&of_a, &[], &of_b, &[idb, idc]),
    );
    assert_same(&sorted(read(b, topic)), &union(&of_b, &[], &of_a, &[ida]));
    assert_same(
        &sorted(read(c, topic)),
        &union(&of_a, &[ida, idb], &of_b, &[idb]),
    );
    for (_, running) in mirrors {
        running.terminate().expect(0);
    }
}

fn sorted(mut rows: Vec<Row>) -> Vec<Row> {
    rows.sort();
    rows
}

fn union(left: &[Row], left_hops: &[&str], right: &[Row], right_hops: &[&str]) -> Vec<Row> {
    let left = left.iter().map(|row| row.clone().after(left_hops));
    let right = right.iter().map(|row| row.clone().after(right_hops));
    sorted(left.chain(right).collect())
}
