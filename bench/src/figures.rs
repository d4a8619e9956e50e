//! Percentiles and a place for files.

use std::path::{Path, PathBuf};
use std::time::Duration;

/// The value below which `percent` of the sorted samples lie.
pub fn percentile(sorted: &[Duration], percent: usize) -> Duration {
    let last = sorted.len().saturating_sub(1);
    sorted
        .get(last * percent / 100)
        .copied()
        .unwrap_or_default()
}

/// Sorts the samples and returns their median and 99th percentile.
pub fn median_and_p99(mut samples: Vec<Duration>) -> (Duration, Duration) {
    samples.sort_unstable();
    (percentile(&samples, 50), percentile(&samples, 99))
}

/// The middle one.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}

/// The median of the rounds' own ratios: drift of the machine between rounds cancels.
pub fn ratio(above: &[f64], below: &[f64]) -> f64 {
    let each: Vec<f64> = above.iter().zip(below).map(|(a, b)| a / b).collect();
    median(&each)
}

/// Milliseconds with two digits.
pub fn millis(span: Duration) -> String {
    format!("{:.2}", span.as_secs_f64() * 1e3)
}

/// A directory of this process's own that is removed in the end.
pub struct Scratch(PathBuf);

impl Scratch {
    /// Makes `name` below `parent`, by default below the build's target directory.
    pub fn new(parent: Option<&Path>, name: &str) -> std::io::Result<Self> {
        let parent = parent.map_or_else(|| PathBuf::from("target/bench"), Path::to_path_buf);
        let path = parent.join(format!("{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path)?;
        Ok(Self(path))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.0) {
            eprintln!("{} could not be removed: {error}", self.0.display());
        }
    }
}
