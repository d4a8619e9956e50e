//! Cases operator-needs-a-hand and orphans-after-shrink: what a job that died for good left behind
//! is ended from its log alone.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use gtc::admin::{self, AdminRequest, DecisionName};
use gtc_clusters::{Cluster, ClusterOptions, Proxy, Verdict, shared};

use crate::kafka::{await_rows, await_true, create_topic, end, high_watermark, numbered, produce};
use crate::program::{Ended, Place};

#[test]
fn orphans_of_a_killed_mirror_are_ended_by_recover() {
    let [a, b] = shared::plain(2).unwrap()[..] else {
        unreachable!()
    };
    let place = Place::new("orphans", &[("a", a), ("b", b)]);
    create_topic(a, "orphans", 1, &[]);
    create_topic(b, "orphans", 1, &[]);
    produce(a, "orphans", &numbered(0..30_000, 1));
    let command =
        "replicate --from a --to b --topic orphans --batch-records 30000 --linger-ms 60000";
    let running = place.start(command);
    // Killed while its batch is being written: the branch at b is open, and pins the readers there.
    await_true("records to arrive", || high_watermark(b, "orphans", 0) > 0);
    running.kill();
    let pinned = end(b, "orphans", 0);
    let report = place.run("recover --json").expect(0).json().remove(0);
    assert_eq!(report["recovered"], true, "{report}");
    assert_eq!(report["status"]["open"], 0, "{report}");
    await_true("readers to be let go", || {
        end(b, "orphans", 0) == high_watermark(b, "orphans", 0)
    });
    assert!(
        end(b, "orphans", 0) > pinned,
        "nothing was open: the kill came too late"
    );
    // Again, with nothing left to do.
    let again = place.run("recover").expect(0).stdout;
    assert!(
        again.contains("the log held nothing open") && again.contains("recovered"),
        "{again}"
    );
    place
        .run("replicate --from a --to b --topic orphans --until-end")
        .expect(0);
    assert_eq!(await_rows(b, "orphans", 30_000).len(), 30_000);
}

/// A recovery that waits says for whom, before it gives anybody up.
#[test]
fn a_recovery_that_waits_names_who_does_not_answer() {
    let [a] = shared::plain(1).unwrap()[..] else {
        unreachable!()
    };
    let b = Cluster::start(ClusterOptions::new("frozen")).unwrap();
    let place = Place::new("frozen", &[("a", a), ("b", &b)]);
    create_topic(a, "frozen", 1, &[]);
    place
        .run("replicate --from a --to b --topic frozen --until-end")
        .expect(0);
    b.pause().unwrap();
    // What it is told to wait is the whole of it, and not one of its waits.
    let begun = Instant::now();
    place.run("recover --wait-s 4").expect(3);
    let took = begun.elapsed();
    assert!(took < Duration::from_secs(16), "it took {took:?}");
    let mut running = place.start("recover");
    running.await_stderr("waiting for b to answer");
    assert!(!running.stderr().contains("does not answer in time"));
    b.resume().unwrap();
    let ended = running.await_end().expect(0);
    assert!(ended.stdout.contains("recovered"), "{}", ended.stdout);
}

#[test]
fn operator_needs_a_hand() {
    let [a] = shared::plain(1).unwrap()[..] else {
        unreachable!()
    };
    let hold = Arc::new(AtomicBool::new(false));
    let (proxy, b) = behind_proxy("hand", &hold);
    let place = Place::new("hand", &[("a", a), ("b", &b)]);
    create_topic(a, "hand", 1, &[]);
    create_topic(&b, "hand", 1, &[]);
    produce(a, "hand", &numbered(0..100, 1));
    let mut running = place.start_with(
        "replicate --from a --to b --topic hand --log-format json",
        "gtc=debug,info",
    );
    await_rows(&b, "hand", 100);
    // The next commit is decided, and b cannot be told: the job dies for good in between.
    hold.store(true, Ordering::SeqCst);
    produce(a, "hand", &numbered(100..200, 1));
    proxy
        .await_held(Duration::from_secs(30))
        .expect("an EndTxn for b");
    running.await_stderr(r#""phase":"decided""#);
    let id = last_decided(&running.stderr());
    running.kill();
    proxy.cut_all();

    let listed = place.run("list --json").expect(3).json().remove(0);
    assert_eq!(listed["transactions"][0]["id"], id.as_str(), "{listed}");
    assert_eq!(
        place.run(&format!("outcome {id}")).expect(3).stdout,
        "in-doubt\n"
    );
    let page = place.run(&format!("describe {id}")).expect(0).stdout;
    assert!(page.contains(&id) && page.contains("commit"), "{page}");

    hold.store(false, Ordering::SeqCst);
    let resolved = place
        .run(&format!("resolve {id} --commit"))
        .expect(0)
        .stdout;
    assert!(resolved.contains("ended"), "{resolved}");
    assert_eq!(await_rows(&b, "hand", 200).len(), 200);
    assert_eq!(
        place.run(&format!("outcome {id}")).expect(0).stdout,
        "committed\n"
    );
    place.run("list").expect(0);
}

/// What cannot be ended at all is given up by an operator, is reported as mixed until it is
/// forgotten, and no mirror goes on as if nothing were.
#[test]
fn a_branch_given_up_is_listed_until_it_is_forgotten() {
    let [a] = shared::plain(1).unwrap()[..] else {
        unreachable!()
    };
    let hold = Arc::new(AtomicBool::new(true));
    let (proxy, b) = behind_proxy("given-up", &hold);
    let place = Place::new("given-up", &[("a", a), ("b", &b)]);
    create_topic(a, "given-up", 1, &[]);
    create_topic(&b, "given-up", 1, &[]);
    produce(a, "given-up", &numbered(0..10, 1));
    let command = "replicate --from a --to b --topic given-up";
    let watched = format!("{command} --json --log-format json");
    let mut running = place.start_with(&watched, "gtc=debug,info");
    proxy
        .await_held(Duration::from_secs(30))
        .expect("an EndTxn for b");
    running.await_stderr(r#""phase":"decided""#);
    let id = last_decided(&running.stderr());
    // Through the socket of the living owner.
    place.run(&format!("resolve {id} --abort")).expect(3);
    let ended = running.await_end().expect(3);
    assert!(
        ended.stderr.contains(&format!("gtc forget {id}")),
        "{}",
        ended.stderr
    );
    the_records_are_told(&ended, &id);
    proxy.cut_all();
    hold.store(false, Ordering::SeqCst);

    assert_eq!(
        place.run(&format!("outcome {id}")).expect(3).stdout,
        "mixed\n"
    );
    let refused = place.run(&format!("{command} --until-end")).expect(3);
    // It was another run that knew the records.
    let group = format!("group `{}` at `a`", place.group());
    let parts = [
        &id,
        "may differ",
        "before anything is written again",
        &group,
    ];
    for part in parts {
        assert!(
            refused.stderr.contains(part),
            "no {part} in {}",
            refused.stderr
        );
    }
    let recovered = place.run("recover").expect(3).stdout;
    for part in ["`gtc forget ID`", "running it again changes nothing"] {
        assert!(recovered.contains(part), "no {part} in {recovered}");
    }
    // There is nothing left to resolve, and what is left to do is said.
    for decision in ["--commit", "--abort"] {
        let told = place.run(&format!("resolve {id} {decision}")).expect(3);
        for part in ["(mixed)", &format!("`gtc forget {id}`")] {
            assert!(told.stderr.contains(part), "no {part} in {}", told.stderr);
        }
        assert!(told.stdout.contains("mixed"), "{}", told.stdout);
    }
    place.run(&format!("forget {id}")).expect(0);
    place.run("list").expect(0);
    let told = place.run(&format!("outcome {id}")).expect(5).stderr;
    assert!(told.contains("it was forgotten or never begun"), "{told}");
    place.run(&format!("{command} --until-end")).expect(0);
}

/// A batch whose outcome is known no more may be at its destination already: it is not sent again.
#[test]
fn a_batch_whose_outcome_was_forgotten_while_it_was_in_doubt_is_not_sent_again() {
    let [a] = shared::plain(1).unwrap()[..] else {
        unreachable!()
    };
    let hold = Arc::new(AtomicBool::new(true));
    let (proxy, b) = behind_proxy("forgotten", &hold);
    let place = Place::new("forgotten", &[("a", a), ("b", &b)]);
    place.limit(&["report_timeout_ms = 200"]);
    create_topic(a, "forgotten", 1, &[]);
    create_topic(&b, "forgotten", 1, &[]);
    produce(a, "forgotten", &numbered(0..10, 1));
    let command = "replicate --from a --to b --topic forgotten --json --log-format json";
    let mut running = place.start_with(command, "gtc=debug,info");
    running.await_stderr("in doubt: nothing more is sent until it is known");
    let id = last_decided(&running.stderr());
    give_up_and_forget(&place, &id);
    let ended = running.await_end().expect(3);
    let unsettled = &ended.json().pop().unwrap()["unsettled"];
    assert_eq!(unsettled["transaction"], id, "{unsettled}");
    proxy.cut_all();
    hold.store(false, Ordering::SeqCst);
}

/// So soon after each other that a mirror, which looks five times a second, hardly ever sees what is between.
fn give_up_and_forget(place: &Place, id: &str) {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let log = place.log();
    let ask = |request: AdminRequest| runtime.block_on(admin::ask(&log, &request));
    let transaction = || id.to_owned();
    ask(AdminRequest::Resolve {
        transaction: transaction(),
        decision: DecisionName::Abort,
    })
    .unwrap();
    await_true("it to be forgotten", || {
        ask(AdminRequest::Forget {
            transaction: transaction(),
        })
        .is_ok()
    });
}

/// Which records of the source a mixed transaction carried: in the error, the log lines and the last report.
fn the_records_are_told(ended: &Ended, id: &str) {
    let report = ended.json().pop().unwrap();
    let unsettled = &report["unsettled"];
    assert_eq!(
        (&unsettled["transaction"], &unsettled["outcome"]),
        (&id.into(), &"mixed".into())
    );
    let carried = &unsettled["carried"][0];
    assert_eq!(
        (&carried["topic"], &carried["partition"], &carried["first"]),
        (&"given-up".into(), &0.into(), &0.into())
    );
    // How many of the ten records a batch takes is a matter of time.
    let last = carried["last"].as_i64().unwrap();
    assert_eq!(carried["records"], last + 1);
    for part in [
        format!("it carried the source's records (offsets) given-up-0 0 to {last}"),
        format!(r#""topic":"given-up","partition":0,"first":0,"last":{last}"#),
        "may have committed".to_owned(),
    ] {
        assert!(
            ended.stderr.contains(&part),
            "no {part} in {}",
            ended.stderr
        );
    }
}

/// A cluster whose answers to EndTxn can be kept from its clients' eyes: the requests are held.
fn behind_proxy(name: &str, hold: &Arc<AtomicBool>) -> (Proxy, Cluster) {
    const END_TXN: i16 = 26;
    let hold = Arc::clone(hold);
    let proxy = Proxy::start_with_rule(move |header| {
        match header.api_key == END_TXN && hold.load(Ordering::SeqCst) {
            true => Verdict::Hold,
            false => Verdict::Forward,
        }
    });
    let proxy = proxy.unwrap();
    let options = ClusterOptions::new(name).advertised_port(proxy.port());
    let cluster = Cluster::start(options).unwrap();
    proxy.forward_to(cluster.listen_port());
    (proxy, cluster)
}

fn last_decided(stderr: &str) -> String {
    let line = stderr
        .lines()
        .rfind(|line| line.contains(r#""phase":"decided""#))
        .unwrap();
    let line: serde_json::Value = serde_json::from_str(line).unwrap();
    line["txn"].as_str().unwrap().to_owned()
}
