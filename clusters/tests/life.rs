//! Start, kill, restart, pause and stop of a real broker.

use std::time::{Duration, Instant};

use gtc_clusters::{Cluster, ClusterOptions};

fn process_exists(pid: u32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

#[test]
fn a_cluster_survives_kill_pause_and_stop_on_the_same_address_and_id() {
    let cluster = Cluster::start(ClusterOptions::new("life")).unwrap();
    let bootstrap = cluster.bootstrap();
    assert!(cluster.is_healthy());
    let first = cluster.pid().unwrap();

    cluster.kill();
    assert!(!process_exists(first));
    assert!(!cluster.is_running() && !cluster.is_healthy());
    cluster.pause().unwrap_err();
    cluster.restart().unwrap();
    assert!(cluster.is_healthy());
    assert_eq!(cluster.bootstrap(), bootstrap);
    let second = cluster.pid().unwrap();
    assert_ne!(first, second);

    cluster.pause().unwrap();
    assert!(cluster.is_running() && !cluster.is_healthy());
    cluster.resume().unwrap();
    let deadline = Instant::now() + Duration::from_secs(30);
    while !cluster.is_healthy() {
        assert!(Instant::now() < deadline, "a resumed broker answers again");
    }

    cluster.stop().unwrap();
    assert!(!process_exists(second));
    cluster.restart().unwrap();
    let third = cluster.pid().unwrap();
    let log = cluster.log_path().to_owned();
    drop(cluster);
    assert!(!process_exists(third));
    assert!(log.is_file() && !log.with_file_name("data").exists());
}

#[test]
fn a_broker_that_does_not_come_up_is_an_error_with_the_end_of_its_log() {
    let options = ClusterOptions::new("broken").property("log.retention.hours", "soon");
    let error = Cluster::start(options).unwrap_err().to_string();
    assert!(
        error.contains("cluster") || error.contains("formatting"),
        "{error}"
    );
    assert!(
        error.contains("log.retention.hours") && error.contains("remedy"),
        "{error}"
    );
}
