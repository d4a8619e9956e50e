//! The configuration of the program under test, as its user writes it.

use std::collections::BTreeMap;
use std::path::Path;

use crate::error::{Context, Result};

/// The property that goes through the environment, as a user would do it with a secret.
const SECRET: &str = "sasl.password";

/// A configuration file's text and the environment it needs.
#[derive(Clone, Debug, Default)]
pub struct Configuration {
    text: String,
    limits: String,
    /// The variables that the text refers to.
    pub environment: Vec<(String, String)>,
}

impl Configuration {
    /// A coordinator with its log beside the file.
    #[must_use]
    pub fn new(coordinator: &str) -> Self {
        let text = format!("[coordinator]\nid = \"{coordinator}\"\nlog = \"log-{coordinator}\"\n");
        Self {
            text,
            ..Self::default()
        }
    }

    /// Adds a participant with these client properties.
    #[must_use]
    pub fn participant(mut self, name: &str, properties: &BTreeMap<String, String>) -> Self {
        self.text
            .push_str(&format!("\n[participants.{name}]\nkind = \"kafka\"\n"));
        for (property, value) in properties {
            let value = if property == SECRET {
                let variable = format!("{}_PASSWORD", name.to_uppercase());
                self.environment.push((variable.clone(), value.clone()));
                format!("${{{variable}}}")
            } else {
                value
                    .replace('\\', "\\\\")
                    .replace('"', "\\\"")
                    .replace("${", "$${")
            };
            self.text.push_str(&format!("{property} = \"{value}\"\n"));
        }
        self
    }

    /// Sets a number of the participant that was added last.
    #[must_use]
    pub fn participant_number(mut self, name: &str, value: u64) -> Self {
        self.text.push_str(&format!("{name} = {value}\n"));
        self
    }

    /// Sets a limit of the coordinator.
    #[must_use]
    pub fn limit(mut self, name: &str, value: u64) -> Self {
        self.limits.push_str(&format!("{name} = {value}\n"));
        self
    }

    /// Writes the file.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn save(&self, path: &Path) -> Result<()> {
        let limits = match self.limits.as_str() {
            "" => String::new(),
            limits => format!("\n[coordinator.limits]\n{limits}"),
        };
        let text = format!("{}{limits}", self.text);
        std::fs::write(path, text).context(format!("write {}", path.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_goes_through_the_environment_and_the_rest_into_the_file() {
        let properties = [("bootstrap.servers", "a:1"), (SECRET, "s3cret")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into();
        let configuration = Configuration::new("demo").participant("eu", &properties);
        assert!(configuration.text.contains("bootstrap.servers = \"a:1\""));
        assert!(
            configuration
                .text
                .contains("sasl.password = \"${EU_PASSWORD}\"")
        );
        assert!(!configuration.text.contains("s3cret"));
        assert_eq!(
            configuration.environment,
            [("EU_PASSWORD".into(), "s3cret".into())]
        );
    }
}
