//! Clusters that outlive the command that started them.

use std::process::Command;
use std::time::{Duration, Instant};

use gtc_clusters::up::{Standing, Status};

/// Ends the clusters also where the test fails.
struct Ended(Standing);

impl Drop for Ended {
    fn drop(&mut self) {
        self.0.down().unwrap();
    }
}

fn directory_id(data: &std::path::Path) -> String {
    let identity = std::fs::read_to_string(data.join("meta.properties")).unwrap();
    let line = identity
        .lines()
        .find(|line| line.starts_with("directory.id="));
    line.expect("an id").to_owned()
}

fn pids(clusters: &[Status]) -> Vec<u32> {
    clusters.iter().map(|cluster| cluster.pid).collect()
}

#[test]
fn standing_clusters_are_started_once_and_again_as_they_were_and_ended() {
    let set = Ended(Standing::named("standing-test"));
    set.0.down().unwrap();
    let first = set.0.up(2).unwrap();
    assert_eq!(
        first.iter().map(|c| c.name.as_str()).collect::<Vec<_>>(),
        ["c1", "c2"]
    );
    assert!(
        first
            .iter()
            .all(|cluster| cluster.running && cluster.healthy)
    );
    assert_ne!(first[0].bootstrap, first[1].bootstrap);
    assert_eq!(pids(&set.0.up(1).unwrap()), pids(&first));

    // Formatting a directory gives it a random id.
    let before = directory_id(&first[0].log_path().with_file_name("data"));
    let victim = first[0].pid.to_string();
    assert!(
        Command::new("kill")
            .args(["-9", &victim])
            .status()
            .unwrap()
            .success()
    );
    let deadline = Instant::now() + Duration::from_secs(20);
    while set.0.status().unwrap()[0].running {
        assert!(Instant::now() < deadline, "a killed broker shows as ended");
    }
    let second = set.0.up(2).unwrap();
    assert_ne!(second[0].pid, first[0].pid);
    assert_eq!(second[1].pid, first[1].pid);
    assert!(second[0].healthy && second[0].log_path().is_file());
    // The same cluster at the same address: what was written to it is still there.
    assert_eq!(
        (&second[0].bootstrap, &second[0].cluster_id),
        (&first[0].bootstrap, &first[0].cluster_id)
    );
    let data = second[0].log_path().with_file_name("data");
    let identity = std::fs::read_to_string(data.join("meta.properties")).unwrap();
    assert!(
        identity.contains(&format!("cluster.id={}", first[0].cluster_id)),
        "{identity}"
    );
    assert_eq!(
        directory_id(&data),
        before,
        "the directory was formatted anew"
    );

    assert_eq!(set.0.down().unwrap(), ["c1", "c2"]);
    assert!(set.0.status().unwrap().is_empty() && !second[1].log_path().exists());
    let command_line = std::fs::read(format!("/proc/{}/cmdline", second[1].pid));
    assert!(
        command_line.unwrap_or_default().is_empty(),
        "the broker has ended"
    );
}
