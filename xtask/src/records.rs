//! Topics and records by Kafka's own tools, which know nothing of gtc.

use std::io::Write;
use std::process::{Command, Stdio};

use gtc_clusters::kafka_tool;

use crate::command::Failure;

/// Makes a topic with one partition.
pub(crate) fn make_topic(address: &str, topic: &str) -> Result<(), Failure> {
    let mut tool = tool(address, "org.apache.kafka.tools.TopicCommand")?;
    tool.args(["--create", "--topic", topic, "--partitions", "1"]);
    said(tool).map(drop)
}

/// Whether there is a topic of this name. A reader would wait for one that is not, or make it.
pub(crate) fn has_topic(address: &str, topic: &str) -> Result<bool, Failure> {
    let mut tool = tool(address, "org.apache.kafka.tools.TopicCommand")?;
    tool.arg("--list");
    Ok(said(tool)?.lines().any(|line| line == topic))
}

/// How many offsets its partitions have given out, to records of any kind.
pub(crate) fn end(address: &str, topic: &str) -> Result<u64, Failure> {
    let mut tool = tool(address, "org.apache.kafka.tools.GetOffsetShell")?;
    tool.args(["--topic-partitions", topic]);
    let told = said(tool)?;
    let partitions = told.lines().filter_map(|line| line.rsplit_once(':'));
    // The tool takes the name for a pattern.
    partitions
        .filter(|(partition, _)| {
            partition
                .rsplit_once(':')
                .is_some_and(|(name, _)| name == topic)
        })
        .map(|(_, end)| end.parse::<u64>())
        .sum::<Result<_, _>>()
        .map_err(|_| Failure::new(format!("Kafka's tools: no offsets in `{told}`")))
}

/// The values that a reader of committed records sees from the beginning, until `end` as the tool
/// takes it.
pub(crate) fn read(address: &str, topic: &str, end: &[&str]) -> Result<Vec<String>, Failure> {
    let mut tool = tool(address, "org.apache.kafka.tools.consumer.ConsoleConsumer")?;
    tool.args(["--topic", topic, "--from-beginning"]);
    tool.args(["--isolation-level", "read_committed"]).args(end);
    Ok(said(tool)?.lines().map(str::to_owned).collect())
}

/// Writes values, outside of any transaction.
pub(crate) fn write(address: &str, topic: &str, values: &[&str]) -> Result<(), Failure> {
    let mut tool = tool(address, "org.apache.kafka.tools.ConsoleProducer")?;
    tool.args(["--topic", topic]).stdin(Stdio::piped());
    let failed = |cause| Failure::new(format!("Kafka's tools: {cause}"));
    let mut child = tool.spawn().map_err(failed)?;
    if let Some(mut input) = child.stdin.take() {
        for value in values {
            writeln!(input, "{value}").map_err(failed)?;
        }
    }
    let status = child.wait().map_err(failed)?;
    match status.success() {
        true => Ok(()),
        false => Err(Failure::new(format!(
            "Kafka's producer ended with {status}"
        ))),
    }
}

fn tool(address: &str, class: &str) -> Result<Command, Failure> {
    let mut tool = kafka_tool(class)?;
    tool.args(["--bootstrap-server", address]);
    Ok(tool)
}

fn said(mut tool: Command) -> Result<String, Failure> {
    let output = tool
        .output()
        .map_err(|cause| Failure::new(format!("Kafka's tools: {cause}")))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    match output.status.success() {
        true => Ok(text(&output.stdout)),
        false => Err(Failure::new(text(&output.stdout) + &text(&output.stderr))),
    }
}

#[cfg(test)]
mod tests {
    use gtc_clusters::shared;

    use super::*;

    #[test]
    fn a_topic_that_does_not_exist_is_told_from_an_empty_one() {
        let [cluster] = shared::plain(1).unwrap()[..] else {
            unreachable!()
        };
        let address = cluster.bootstrap();
        let has = |topic: &str| has_topic(&address, topic).unwrap();
        assert!(!has("told-apart"));
        make_topic(&address, "told-apart").unwrap();
        assert!(has("told-apart") && !has("told"));
        assert_eq!(end(&address, "told-apart").unwrap(), 0);
        write(&address, "told-apart", &["one", "two"]).unwrap();
        assert_eq!(end(&address, "told-apart").unwrap(), 2);
    }
}
