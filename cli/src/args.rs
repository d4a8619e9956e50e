//! The command line.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgGroup, Args, Parser, Subcommand, ValueEnum};
use gtc::TransactionId;
use regex::Regex;

/// What `gtc --help` says below the commands.
const AFTER_HELP: &str = "\
Exit codes:
  0  done; nothing found that needs a hand
  1  an error; `check`: a precondition of the guarantee is not met; `list`: a cluster did not tell
     what is open there; `list`, `outcome`, `describe`: the log's owner lives and does not answer
  2  the command line or the configuration is wrong
  3  a transaction is in doubt, or ended otherwise than decided; `list`: a branch of another log is
     open, or no coordinator owns the log and anything is open
  4  `outcome`: aborted
  5  `outcome`, `describe`, `resolve`, `forget`: the log does not know the transaction: it never
     began, aborted, committed in one phase (one branch, and no key), was forgotten, or is older
     than the retention
  6  `replicate`: records were lost at the source, or a topic at a destination lacks what was
     mirrored into it, and --on-loss is `fail`
  7  `resolve`: it had ended otherwise than asked for, and nothing was changed
  8  `replicate --until-end`: a signal ended it before it saw the end reached

Environment:
  GTC_LOG  what is logged to stderr, for example `warn` or `gtc=debug,info` (default `info`)";

/// One transaction over many Kafka clusters, all or nothing.
#[derive(Debug, Parser)]
#[command(name = "gtc", version, after_help = AFTER_HELP, max_term_width = 100)]
pub(crate) struct Cli {
    /// The configuration: coordinator and participants.
    #[arg(long, global = true, value_name = "FILE", default_value = "gtc.toml")]
    pub(crate) config: PathBuf,

    /// How log lines are written to stderr.
    #[arg(long, global = true, value_name = "FORMAT", default_value = "text")]
    pub(crate) log_format: LogFormat,

    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// How log lines look.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// Lines for people.
    Text,
    /// One JSON object a line.
    Json,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Mirror topics of one cluster to one or more others, each record exactly once.
    Replicate(Box<ReplicateArgs>),
    /// List the transactions that are not ended, or ended otherwise than decided.
    List(ListArgs),
    /// Show one transaction with its branches.
    Describe(DescribeArgs),
    /// Tell how a transaction ended, by its id or by the application's key.
    ///
    /// What committed in one phase (one branch, and no key) left no record: it is `unknown`, as one is that
    /// never began.
    Outcome(OutcomeArgs),
    /// End a transaction that cannot end by itself.
    Resolve(ResolveArgs),
    /// Stop listing a transaction that ended otherwise than decided, once you have dealt with it.
    Forget(ForgetArgs),
    /// Take the log over, end everything that it left open, and exit.
    ///
    /// For a coordinator that will not return. Refused while its owner lives.
    Recover(RecoverArgs),
    /// Connect to each participant and check what the guarantee needs.
    Check(CheckArgs),
}

/// How a report is written.
#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// Write JSON to stdout instead of a table.
    #[arg(long)]
    pub(crate) json: bool,
}

/// `gtc list`.
#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// Do not ask the clusters where no coordinator owns the log: branches that were not decided, and
    /// those that another log left open, show only there.
    #[arg(long)]
    pub(crate) offline: bool,

    /// How it is written.
    #[command(flatten)]
    pub(crate) report: ReportArgs,
}

/// `gtc replicate`.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("what").required(true).args(["topic", "topics"]))]
pub(crate) struct ReplicateArgs {
    /// The participant to read from.
    #[arg(long, value_name = "PARTICIPANT")]
    pub(crate) from: String,

    /// A participant to write to; repeat it to fan out.
    #[arg(long, value_name = "PARTICIPANT", required = true)]
    pub(crate) to: Vec<String>,

    /// A topic by name; repeat it for more.
    #[arg(long, value_name = "NAME", value_parser = parse_name)]
    pub(crate) topic: Vec<String>,

    /// All topics whose whole name matches; new ones join as they appear. Internal ones never
    /// match.
    #[arg(long, value_name = "REGEX", value_parser = parse_regex)]
    pub(crate) topics: Option<Regex>,

    /// The consumer group at the source whose offsets record what is mirrored; a new one mirrors everything
    /// again [default: gtc-<coordinator id>].
    #[arg(long, value_name = "GROUP", value_parser = parse_name)]
    pub(crate) group: Option<String>,

    /// Close a batch at this many records.
    #[arg(long, value_name = "N", default_value_t = 5_000, value_parser = at_least_one)]
    pub(crate) batch_records: usize,

    /// Close a batch at this many bytes of keys and values.
    #[arg(long, value_name = "BYTES", default_value_t = 8_388_608, value_parser = at_least_one)]
    pub(crate) batch_bytes: usize,

    /// Close a batch this long after its first record, in milliseconds.
    #[arg(long, value_name = "MS", default_value = "50", value_parser = parse_millis)]
    pub(crate) linger_ms: Duration,

    /// What to do when records that were not mirrored yet are gone at the source, or a topic at a
    /// destination is not the one any more that was mirrored into.
    #[arg(long, value_name = "POLICY", default_value = "fail")]
    pub(crate) on_loss: OnLoss,

    /// Exit once everything is mirrored that the source held at the start; with code 8 where a
    /// signal ends it before.
    #[arg(long)]
    pub(crate) until_end: bool,

    /// Fail instead of creating topics that are missing at a destination.
    #[arg(long)]
    pub(crate) no_create_topics: bool,

    /// At the start, add partitions to destination topics that have fewer than the source.
    #[arg(long, conflicts_with = "no_create_topics")]
    pub(crate) extend_topics: bool,

    /// Write one JSON object a second to stdout instead of a progress line to stderr.
    #[arg(long)]
    pub(crate) json: bool,

    /// Serve `/metrics` (Prometheus) and `/health` on this address, for example 127.0.0.1:9400.
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) metrics: Option<SocketAddr>,
}

/// The policy on records lost at the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OnLoss {
    /// Stop, say what is lost, exit with code 6.
    Fail,
    /// Warn, count it, go on with what is there.
    Continue,
}

/// `gtc describe`.
#[derive(Debug, Args)]
pub(crate) struct DescribeArgs {
    /// The transaction, for example 3-17.
    #[arg(value_name = "ID", value_parser = parse_transaction)]
    pub(crate) id: TransactionId,

    /// How it is written.
    #[command(flatten)]
    pub(crate) report: ReportArgs,
}

/// `gtc outcome`.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("which").required(true).args(["id", "key", "key_hex"]))]
pub(crate) struct OutcomeArgs {
    /// The transaction, for example 3-17.
    #[arg(value_name = "ID", value_parser = parse_transaction)]
    pub(crate) id: Option<TransactionId>,

    /// The application's key, as text.
    #[arg(long, value_name = "TEXT")]
    pub(crate) key: Option<String>,

    /// The application's key, as hexadecimal digits.
    #[arg(long, value_name = "HEX", value_parser = parse_hex)]
    pub(crate) key_hex: Option<Hex>,

    /// How it is written.
    #[command(flatten)]
    pub(crate) report: ReportArgs,
}

/// `gtc resolve`.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("decision").required(true).args(["commit", "abort"]))]
pub(crate) struct ResolveArgs {
    /// The transaction, for example 3-17; or PARTICIPANT:TRANSACTIONAL_ID of an open branch that
    /// `list` shows as another log's.
    #[arg(value_name = "ID", value_parser = parse_target)]
    pub(crate) target: Target,

    /// Finish the commit: try its open branches again now.
    #[arg(long)]
    pub(crate) commit: bool,

    /// Give its open branches up. Where the decision was commit, this is a heuristic outcome. How a branch ends that
    /// is given up is not known: it may have committed, as the commit may have reached its cluster before.
    #[arg(long)]
    pub(crate) abort: bool,

    /// How it is written.
    #[command(flatten)]
    pub(crate) report: ReportArgs,
}

/// `gtc forget`.
#[derive(Debug, Args)]
pub(crate) struct ForgetArgs {
    /// The transaction, for example 3-17.
    #[arg(value_name = "ID", value_parser = parse_transaction)]
    pub(crate) id: TransactionId,

    /// How it is written.
    #[command(flatten)]
    pub(crate) report: ReportArgs,
}

/// `gtc recover`.
#[derive(Debug, Args)]
pub(crate) struct RecoverArgs {
    /// Take over a log that was moved to this machine or directory. Never for a copy or a backup:
    /// two copies of one log end each other's transactions.
    #[arg(long)]
    pub(crate) adopt: bool,

    /// Give up after about this many seconds; what is left stays listed.
    #[arg(long, value_name = "SECONDS", default_value = "120", value_parser = parse_secs)]
    pub(crate) wait_s: Duration,

    /// How it is written.
    #[command(flatten)]
    pub(crate) report: ReportArgs,
}

/// `gtc check`.
#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// Check only this participant; repeat it for more [default: all].
    #[arg(long, value_name = "PARTICIPANT")]
    pub(crate) participant: Vec<String>,

    /// A consumer group that must be readable [default: gtc-<coordinator id>].
    #[arg(long, value_name = "GROUP", value_parser = parse_name)]
    pub(crate) group: Option<String>,

    /// Exit with code 1 on warnings too.
    #[arg(long)]
    pub(crate) strict: bool,

    /// How it is written.
    #[command(flatten)]
    pub(crate) report: ReportArgs,
}

/// What `gtc resolve` ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// A global transaction.
    Transaction(TransactionId),
    /// An open branch that another log left under this coordinator's id.
    Foreign {
        /// The participant.
        participant: String,
        /// The branch's transactional.id.
        transactional_id: String,
    },
}

/// Bytes written as hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Hex(pub(crate) Vec<u8>);

fn parse_transaction(text: &str) -> Result<TransactionId, &'static str> {
    text.parse()
}

fn parse_target(text: &str) -> Result<Target, &'static str> {
    match text.split_once(':') {
        Some((participant, transactional_id)) => Ok(Target::Foreign {
            participant: participant.to_owned(),
            transactional_id: transactional_id.to_owned(),
        }),
        None => text.parse().map(Target::Transaction),
    }
}

fn parse_name(text: &str) -> Result<String, &'static str> {
    if text.is_empty() {
        return Err("a name has at least one letter; leave the option out for its default");
    }
    match text.chars().any(char::is_control) {
        true => Err("a name has no line break or other control character; correct the name"),
        false => Ok(text.to_owned()),
    }
}

fn parse_regex(text: &str) -> Result<Regex, String> {
    if text.is_empty() {
        return Err("an empty pattern matches no topic; write `.*` for all of them".into());
    }
    // The whole name must match, so that `orders` does not pick up `orders-dead-letters`.
    Regex::new(&format!("^(?:{text})$")).map_err(|error| error.to_string())
}

fn at_least_one(text: &str) -> Result<usize, String> {
    match text.parse::<usize>() {
        Ok(0) => Err("must be at least 1".into()),
        Ok(value) => Ok(value),
        Err(error) => Err(error.to_string()),
    }
}

fn parse_millis(text: &str) -> Result<Duration, String> {
    text.parse()
        .map(Duration::from_millis)
        .map_err(|error| error.to_string())
}

fn parse_secs(text: &str) -> Result<Duration, String> {
    text.parse()
        .map(Duration::from_secs)
        .map_err(|error| error.to_string())
}

fn parse_hex(text: &str) -> Result<Hex, &'static str> {
    const FORM: &str = "must be an even number of hexadecimal digits";
    if !text.is_ascii() || !text.len().is_multiple_of(2) {
        return Err(FORM);
    }
    let pairs = (0..text.len()).step_by(2);
    let bytes = pairs.map(|at| u8::from_str_radix(&text[at..at + 2], 16).map_err(|_| FORM));
    bytes.collect::<Result<_, _>>().map(Hex)
}

#[cfg(test)]
mod tests;
