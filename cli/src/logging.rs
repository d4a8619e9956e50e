//! Log lines on stderr.

use std::io;

use tracing_subscriber::EnvFilter;

use crate::args::LogFormat;
use crate::failure::Failure;

/// The variable that says what is logged.
const VARIABLE: &str = "GTC_LOG";

/// Starts logging. Each line is written at once: a watcher acts on the last step of a killed
/// process.
pub(crate) fn start(format: LogFormat) -> Result<(), Failure> {
    let filter = std::env::var(VARIABLE).unwrap_or_else(|_| "info".to_owned());
    let filter = EnvFilter::try_new(&filter)
        .map_err(|error| Failure::usage(format!("reading {VARIABLE}=`{filter}`: {error}")))?;
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(io::stderr)
        .with_ansi(false);
    match format {
        LogFormat::Text => builder.init(),
        LogFormat::Json => builder.json().flatten_event(true).init(),
    }
    Ok(())
}
