//! What commands ask of the configuration.

use std::path::Path;

use gtc::{Config, ParticipantConfig};

use crate::failure::Failure;

/// Reads the configuration file.
pub(crate) fn read(path: &Path) -> Result<Config, Failure> {
    Config::from_file(path).map_err(|error| Failure::usage(error.to_string()))
}

/// The consumer group of a coordinator that was not given another one.
pub(crate) fn default_group(config: &Config) -> String {
    format!("gtc-{}", config.id())
}

/// A participant by name.
pub(crate) fn participant<'a>(
    config: &'a Config,
    name: &str,
) -> Result<&'a ParticipantConfig, Failure> {
    let known = config.participants();
    known
        .iter()
        .find(|participant| participant.name() == name)
        .ok_or_else(|| {
            let names: Vec<_> = known.iter().map(ParticipantConfig::name).collect();
            Failure::usage(format!(
                "the configuration has no participant `{name}`; it has: {}",
                names.join(", ")
            ))
        })
}
