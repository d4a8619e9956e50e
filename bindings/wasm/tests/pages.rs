//! What the package says beside its code: types that have every word, and pages whose code runs.

#![forbid(unsafe_code)]

use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn the_types_have_every_word_of_the_core() {
    let types = read(&root().join("wasm/index.d.ts"));
    assert!(!gtc_core::WORDS.is_empty());
    for (member, words) in gtc_core::WORDS {
        for word in *words {
            let found = types.contains(&format!("'{word}'"));
            assert!(found, "index.d.ts lacks the {member} '{word}'");
        }
    }
}

/// Without indentation, which a page takes away in part.
fn lines(text: &str) -> String {
    let lines: Vec<&str> = text.trim().lines().map(str::trim).collect();
    lines.join("\n")
}

#[test]
fn every_block_of_javascript_stands_in_the_example() {
    let sources = fs::read_dir(root().join("wasm/example")).unwrap();
    let sources: Vec<String> = sources
        .map(|entry| lines(&read(&entry.unwrap().path())))
        .collect();
    let page = read(&root().join("docs/languages/wasm.md"));
    let blocks: Vec<&str> = page.split("```js\n").skip(1).collect();
    assert!(blocks.len() >= 2, "only {} blocks were found", blocks.len());
    for block in blocks {
        let (block, _) = block.split_once("```").unwrap();
        let found = sources.iter().any(|source| source.contains(&lines(block)));
        assert!(
            found,
            "the page shows what the example does not have:\n{block}"
        );
    }
}
