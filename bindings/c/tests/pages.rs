//! The code of the documentation is code of the samples, which run.

#![forbid(unsafe_code)]

use std::fs;
use std::path::{Path, PathBuf};

const PAGES: [&str; 2] = ["c-include/README.md", "docs/languages/c.md"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Without indentation, which a page takes away in part.
fn lines(text: &str) -> String {
    let lines: Vec<&str> = text.trim().lines().map(str::trim).collect();
    lines.join("\n")
}

#[test]
fn every_block_of_c_is_a_whole_sample() {
    let samples = fs::read_dir(root().join("c-include/samples")).unwrap();
    let samples: Vec<String> = samples
        .map(|entry| lines(&read(&entry.unwrap().path())))
        .collect();
    let mut blocks = 0;
    for page in PAGES {
        for block in read(&root().join(page)).split("```c\n").skip(1) {
            let (block, _) = block.split_once("```").unwrap();
            let found = samples.contains(&lines(block));
            assert!(found, "{page} shows what is no sample:\n{block}");
            blocks += 1;
        }
    }
    assert!(blocks >= 2, "only {blocks} blocks were found");
}
