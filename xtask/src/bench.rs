//! `cargo xtask bench`.

use crate::command::{Failure, Step, cargo};
use crate::languages;
use crate::prerequisites::{Need, require};

const NAMES: [&str; 5] = ["commit", "core", "languages", "log", "recovery"];
const LANGUAGES: &str = "languages";

pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    let Some((name, rest)) = arguments
        .split_first()
        .filter(|(name, _)| NAMES.contains(&name.as_str()))
    else {
        let name = arguments.first().map(String::as_str).unwrap_or_default();
        let cause = format!(
            "there is no benchmark `{name}`; choose one of {}",
            NAMES.join(", ")
        );
        return Err(Failure::usage(cause));
    };
    require(&[Need::Build, Need::Clusters])?;
    let mut bench = cargo(&["run", "--quiet", "--release", "-p", "gtc-bench", "--"]);
    bench.arg(name);
    if name == LANGUAGES {
        for (language, words) in languages::bench_programs()? {
            let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
            bench
                .arg("--program")
                .arg(format!("{language}\n{}", words.join("\n")));
        }
    }
    bench.args(rest);
    Step::new("bench", bench).run()
}
