//! `gtc list`, `gtc describe`, `gtc outcome`: they change nothing.

use gtc::Config;
use gtc::views::ForeignInfo;
use serde_json::json;

use super::source::{self, Listed, Which};
use super::view;
use crate::args::{DescribeArgs, OutcomeArgs, ReportArgs};
use crate::failure::{Exit, Failure};
use crate::output::{self, Table};

/// Runs `gtc list`.
pub(crate) async fn list(config: &Config, args: &ReportArgs) -> Result<Exit, Failure> {
    let listed = source::list(config).await?;
    let exit = judge(&listed);
    if args.json {
        let Listed {
            transactions,
            foreign,
            has_owner,
        } = listed;
        output::json(&json!({
            "owner": has_owner,
            "transactions": transactions,
            "foreign": foreign,
        }));
        return Ok(exit);
    }
    if listed.transactions.is_empty() && listed.foreign.is_empty() {
        output::line("nothing is open");
        return Ok(exit);
    }
    if !listed.transactions.is_empty() {
        output::line(&view::table(&listed.transactions));
    }
    if !listed.foreign.is_empty() {
        output::line(&foreign_table(&listed.foreign));
    }
    if exit == Exit::NeedsHand && !listed.has_owner {
        output::line("\nno coordinator owns this log: start it, or run `gtc recover`");
    }
    Ok(exit)
}

/// What is being completed needs a hand only where nobody completes it.
fn judge(listed: &Listed) -> Exit {
    let needs_hand = |state: &str| match state {
        "in-doubt" | "mixed" => true,
        _ => !listed.has_owner,
    };
    let any = listed
        .transactions
        .iter()
        .any(|transaction| needs_hand(&transaction.state));
    if any || !listed.foreign.is_empty() {
        Exit::NeedsHand
    } else {
        Exit::Done
    }
}

fn foreign_table(foreign: &[ForeignInfo]) -> String {
    let mut table = Table::new(&["OPEN BRANCH OF ANOTHER LOG", "STATE"]);
    for branch in foreign {
        let id = format!("{}:{}", branch.participant, branch.transactional_id);
        table.row([id, branch.state.clone()]);
    }
    table.render()
}

/// Runs `gtc describe`.
pub(crate) async fn describe(config: &Config, args: &DescribeArgs) -> Result<Exit, Failure> {
    let Some(transaction) = source::describe(config, args.id).await? else {
        let text = format!("the log does not know transaction {}; {UNKNOWN}", args.id);
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
            has_owner,
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
