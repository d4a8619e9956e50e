//! A repository that does not answer.

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::time::{Duration, Instant};

use gtc_clusters::maven;

/// Maven's own is half an hour; with this one it still has its own start and end to do.
const LONG: Duration = Duration::from_secs(120);

#[test]
fn a_silent_repository_is_given_up_and_told() {
    // Nobody accepts; the kernel does.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = silent.local_addr().unwrap();
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("silent-repository");
    let _ = fs::remove_dir_all(&directory);
    fs::create_dir_all(&directory).unwrap();
    let settings = directory.join("settings.xml");
    let repository = directory.join("repository");
    let text = format!(
        "<settings><localRepository>{}</localRepository><mirrors><mirror><id>silent</id>\
         <mirrorOf>*</mirrorOf><url>http://{address}/</url></mirror></mirrors></settings>",
        repository.display()
    );
    fs::write(&settings, text).unwrap();
    let begun = Instant::now();
    let output = maven::command(Duration::from_secs(2))
        .arg("--settings")
        .arg(&settings)
        .arg("--file")
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("jars/pom.xml"))
        .arg("dependency:copy-dependencies")
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(!output.status.success(), "{told}");
    assert!(maven::was_broken_off(&told), "{told}");
    assert!(begun.elapsed() < LONG, "{told}");
}
