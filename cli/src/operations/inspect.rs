//! `gtc list`, `gtc describe`, `gtc outcome`: they change nothing.

use gtc::Config;
use serde_json::json;

use super::source::{self, Foreign, From, Listed, Which};
use super::view;
use crate::args::{DescribeArgs, ListArgs, OutcomeArgs};
use crate::failure::{Exit, Failure};
use crate::output::{self, Table};

/// Runs `gtc list`.
pub(crate) async fn list(config: &Config, args: &ListArgs) -> Result<Exit, Failure> {
    let listed = source::list(config, args.offline).await?;
    if args.report.json {
        output::json(&json!({
            "owner": listed.has_owner(),
            "started": listed.from != From::Nothing,
            "transactions": listed.transactions,
            "foreign": listed.foreign,
            "foreign_asked": listed.asked,
            "foreign_unknown": listed.silent,
        }));
    } else {
        show(config, &listed);
    }
    Ok(judge(&listed))
}

fn show(config: &Config, listed: &Listed) {
    if listed.from == From::Nothing {
        output::line(&source::not_started(config));
    } else if listed.transactions.is_empty() && listed.foreign.is_empty() {
        output::line("nothing is open");
    }
    if !listed.transactions.is_empty() {
        output::line(&view::table(&listed.transactions));
        if !listed.has_owner() {
            output::line("\nno coordinator owns this log: start it, or run `gtc recover`");
        }
    }
    if !listed.foreign.is_empty() {
        output::line(&foreign_table(&listed.foreign));
        output::line(FOREIGN_REMEDY);
    }
    if !listed.asked {
        output::line(
            "the clusters were not asked: what another log left open shows only there, without \
             --offline, or by `gtc check` and `gtc recover`",
        );
    }
    for silent in &listed.silent {
        output::line(&format!(
            "whether another log left something open at {} is not known: {}",
            silent.participant, silent.why
        ));
    }
}

const FOREIGN_REMEDY: &str = "\nthe log that they belong to is not this one: decide each by the \
    data of the other clusters, and end it with `gtc resolve PARTICIPANT:ID --commit|--abort`";

/// What is being completed needs a hand only where nobody completes it.
fn judge(listed: &Listed) -> Exit {
    let needs_hand = |state: &str| match state {
        "in-doubt" | "mixed" => true,
        _ => !listed.has_owner(),
    };
    let any = listed
        .transactions
        .iter()
        .any(|transaction| needs_hand(&transaction.state));
    if any || !listed.foreign.is_empty() {
        Exit::NeedsHand
    } else if !listed.silent.is_empty() {
        Exit::Error
    } else {
        Exit::Done
    }
}

fn foreign_table(foreign: &[Foreign]) -> String {
    let mut table = Table::new(&["OPEN BRANCH OF ANOTHER LOG", "STATE", "HOLDS BACK"]);
    for branch in foreign {
        let id = format!("{}:{}", branch.participant, branch.transactional_id);
        table.row([id, branch.state.clone(), branch.partitions.join(" ")]);
    }
    table.render()
}

/// Runs `gtc describe`.
pub(crate) async fn describe(config: &Config, args: &DescribeArgs) -> Result<Exit, Failure> {
    let Some(transaction) = source::describe(config, args.id).await? else {
        let text = match source::read_ledger(config)? {
            Some(_) => format!("the log does not know transaction {}; {UNKNOWN}", args.id),
            None => source::not_started(config),
        };
        return Err(Failure::with(Exit::Unknown, text));
    };
    match args.report.json {
        true => output::json(&transaction),
        false => output::line(&view::page(&transaction)),
    }
    Ok(Exit::Done)
}

const UNKNOWN: &str =
    "it never began, aborted, committed in one phase, or is older than the retention";

/// Runs `gtc outcome`.
pub(crate) async fn outcome(config: &Config, args: &OutcomeArgs) -> Result<Exit, Failure> {
    let which = match (&args.id, &args.key, &args.key_hex) {
        (Some(id), ..) => Which::Id(*id),
        (_, Some(key), _) => Which::Key(key.clone().into_bytes()),
        (_, _, Some(key)) => Which::Key(key.0.clone()),
        // The parser requires one of them.
        _ => return Err(Failure::usage("name a transaction or a key")),
    };
    let (id, outcome) = source::outcome(config, &which).await?;
    match args.report.json {
        true => output::json(&json!({ "id": id, "outcome": outcome })),
        false => output::line(&outcome),
    }
    Ok(exit_of(&outcome))
}

fn exit_of(outcome: &str) -> Exit {
    match outcome {
        "committed" => Exit::Done,
        "aborted" => Exit::Aborted,
        "in-doubt" | "mixed" | "undecided" => Exit::NeedsHand,
        _ => Exit::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(state: &str, has_owner: bool) -> Listed {
        let transaction = json!({
            "id": "1-1", "key": null, "key_hex": null, "state": state, "decision": "commit",
            "since_unix_ms": 0, "branches": [],
        });
        let transactions = vec![serde_json::from_value(transaction).unwrap()];
        Listed {
            transactions,
            foreign: Vec::new(),
            silent: Vec::new(),
            from: if has_owner { From::Owner } else { From::Log },
            asked: true,
        }
    }

    #[test]
    fn a_list_needs_a_hand_where_nobody_else_will_end_it() {
        for (state, has_owner, exit) in [
            ("completing", true, Exit::Done),
            ("completing", false, Exit::NeedsHand),
            ("active", true, Exit::Done),
            ("in-doubt", true, Exit::NeedsHand),
            ("mixed", true, Exit::NeedsHand),
            ("mixed", false, Exit::NeedsHand),
        ] {
            assert_eq!(
                judge(&listed(state, has_owner)),
                exit,
                "{state} {has_owner}"
            );
        }
    }

    #[test]
    fn what_another_log_left_needs_a_hand() {
        let mut listed = listed("active", true);
        listed.foreign.push(Foreign {
            participant: "eu".to_owned(),
            transactional_id: "gtc.c.7.1.eu.1".to_owned(),
            state: "Ongoing".to_owned(),
            partitions: vec!["orders-0".to_owned()],
        });
        assert_eq!(judge(&listed), Exit::NeedsHand);
        let table = foreign_table(&listed.foreign);
        let line = table.lines().nth(1).unwrap();
        let words: Vec<_> = line.split_whitespace().collect();
        assert_eq!(words, ["eu:gtc.c.7.1.eu.1", "Ongoing", "orders-0"]);
    }

    #[test]
    fn a_list_that_lacks_what_a_cluster_did_not_tell_is_not_well() {
        let config = Config::from_values(&[
            ("coordinator.id", "silent"),
            ("coordinator.log", "/nonexistent/log"),
            ("participants.eu.kind", "kafka"),
            // Nobody listens there.
            ("participants.eu.bootstrap.servers", "127.0.0.1:1"),
        ]);
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let listed = runtime.block_on(source::list(&config.unwrap(), false));
        let mut listed = listed.unwrap();
        assert_eq!(listed.silent[0].participant, "eu");
        assert_eq!(judge(&listed), Exit::Error);
        // What needs a hand is told before.
        listed.transactions = self::listed("mixed", false).transactions;
        assert_eq!(judge(&listed), Exit::NeedsHand);
    }

    #[test]
    fn every_outcome_has_its_exit_code() {
        for (outcome, code) in [
            ("committed", 0),
            ("aborted", 4),
            ("in-doubt", 3),
            ("undecided", 3),
            ("mixed", 3),
            ("unknown", 5),
        ] {
            assert_eq!(exit_of(outcome) as i32, code, "{outcome}");
        }
    }
}
