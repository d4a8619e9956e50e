//! Holds plain clusters until standard input ends, and prints process id, data directory and
//! address of each.

#![forbid(unsafe_code)]

use std::io::Read;

use gtc_clusters::{Cluster, ClusterOptions, Result};

fn main() -> Result<()> {
    let count: u32 = std::env::args()
        .nth(1)
        .and_then(|text| text.parse().ok())
        .unwrap_or(1);
    let options = (1..=count).map(|n| ClusterOptions::new(format!("hold-{n}")));
    let clusters = Cluster::start_all(options)?;
    for cluster in &clusters {
        let pid = cluster.pid().unwrap_or_default();
        let data = cluster.log_path().with_file_name("data");
        println!("{pid} {} {}", data.display(), cluster.bootstrap());
    }
    // An error means that there is no standard input any more, which is what this waits for.
    let _ = std::io::stdin().read_to_end(&mut Vec::new());
    Ok(())
}
