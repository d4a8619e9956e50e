//! `gtc list`, `gtc describe`, `gtc outcome`: they change nothing.

use gtc::views::TransactionInfo;
use gtc::{Config, TransactionId};
use gtc_core::Incarnation;
use serde::Serialize;
use serde_json::json;

use super::source::{self, Branch, From, Listed, Which};
use super::view;
use crate::args::{DescribeArgs, ListArgs, OutcomeArgs};
use crate::failure::{Exit, Failure};
use crate::output::{self, Table};

/// Runs `gtc list`.
pub(crate) async fn list(config: &Config, args: &ListArgs) -> Result<Exit, Failure> {
    let listed = source::list(config, args.offline).await?;
    if args.report.json {
        output::json(&json!({
            "owner": listed.from.has_owner(),
            "owner_answers": listed.from.is_told_by_owner(),
            "started": listed.from != From::Nothing,
            "transactions": listed.transactions,
            "foreign": listed.foreign,
            "undecided": listed.undecided,
            "foreign_asked": listed.asked,
            "foreign_unknown": listed.silent,
        }));
    } else {
        show(config, &listed);
    }
    Ok(judge(&listed))
}

fn show(config: &Config, listed: &Listed) {
    match listed.from {
        From::SilentOwner => output::line(SILENT_OWNER),
        From::Nothing => output::line(&source::not_started(config)),
        _ if is_nothing_open(listed) => output::line("nothing is open"),
        _ => {}
    }
    show_transactions(listed);
    if !listed.foreign.is_empty() {
        output::line(&branch_table("OPEN BRANCH OF ANOTHER LOG", &listed.foreign));
        output::line(FOREIGN_REMEDY);
    }
    if !listed.asked {
        output::line(
            "the clusters were not asked: what was not decided, and what another log left open, shows only \
             there, without --offline, or by `gtc check` and `gtc recover`",
        );
    }
    for silent in &listed.silent {
        output::line(&format!(
            "whether something undecided, or of another log, is open at {} is not known: {}",
            silent.participant, silent.why
        ));
    }
}

fn is_nothing_open(listed: &Listed) -> bool {
    listed.transactions.is_empty() && listed.foreign.is_empty() && listed.undecided.is_empty()
}

fn show_transactions(listed: &Listed) {
    if !listed.transactions.is_empty() {
        output::line(&view::table(&listed.transactions));
    }
    if !listed.undecided.is_empty() {
        let table = branch_table("OPEN BRANCH, NOT DECIDED", &listed.undecided);
        output::line(&table);
    }
    let any = !listed.transactions.is_empty() || !listed.undecided.is_empty();
    if any && !listed.from.has_owner() {
        output::line("\nno coordinator owns this log: start it, or run `gtc recover`");
    }
}

const SILENT_OWNER: &str = "the log is owned by a process that does not answer, see the warning: what \
    follows is read from the log's file and the clusters, and may be under way";

const FOREIGN_REMEDY: &str = "\nthe log that they belong to is not this one: decide each by the \
    data of the other clusters, and end it with `gtc resolve PARTICIPANT:ID --commit|--abort`";

/// What is being completed needs a hand only where nobody completes it. A silent owner may, so that
/// only what ended otherwise than decided is sure; that it is silent is an error.
fn judge(listed: &Listed) -> Exit {
    let needs_hand = |state: &str| match state {
        "mixed" => true,
        "in-doubt" => listed.from != From::SilentOwner,
        _ => !listed.from.has_owner(),
    };
    let any = listed
        .transactions
        .iter()
        .any(|transaction| needs_hand(&transaction.state));
    let is_left = !listed.undecided.is_empty() && !listed.from.has_owner();
    if any || is_left || !listed.foreign.is_empty() {
        Exit::NeedsHand
    } else if !listed.silent.is_empty() || listed.from == From::SilentOwner {
        Exit::Error
    } else {
        Exit::Done
    }
}

fn branch_table(title: &str, branches: &[Branch]) -> String {
    let mut table = Table::new(&[title, "STATE", "HOLDS BACK"]);
    for branch in branches {
        let id = format!("{}:{}", branch.participant, branch.transactional_id);
        table.row([id, branch.state.clone(), branch.partitions.join(" ")]);
    }
    table.render()
}

/// Runs `gtc describe`.
pub(crate) async fn describe(config: &Config, args: &DescribeArgs) -> Result<Exit, Failure> {
    let (transaction, from) = source::describe(config, args.id).await?;
    let Some(transaction) = transaction else {
        if from == From::SilentOwner {
            return Err(Failure::error(format!(
                "the log's file does not know transaction {}, and its owner, which may, does not \
                 answer: ask again once it does",
                args.id
            )));
        }
        if args.report.json {
            output::json(&json!({
                "id": args.id.to_string(),
                "state": "unknown",
                "owner": from.has_owner(),
                "owner_answers": from.is_told_by_owner(),
            }));
        }
        let why = unknown(config, &Which::Id(args.id))?;
        return Err(Failure::with(Exit::Unknown, why));
    };
    match args.report.json {
        true => output::json(&Described {
            transaction: &transaction,
            owner: from.has_owner(),
            owner_answers: from.is_told_by_owner(),
        }),
        false => output::line(&view::page(&transaction)),
    }
    Ok(Exit::Done)
}

/// A transaction, and who told of it.
#[derive(Serialize)]
struct Described<'a> {
    #[serde(flatten)]
    transaction: &'a TransactionInfo,
    owner: bool,
    owner_answers: bool,
}

/// Why nothing is known: the log keeps no trace of these, so that it cannot tell one from another.
const UNKNOWN: &str = "it was forgotten or never begun, aborted, committed in one phase, or is older than the retention";

/// What is said where the log does not know a transaction.
fn unknown(config: &Config, which: &Which) -> Result<String, Failure> {
    let Some(ledger) = source::read_ledger(config)? else {
        return Ok(source::not_started(config));
    };
    Ok(match which {
        Which::Id(id) => unknown_id(*id, ledger.incarnation()),
        Which::Key(_) => format!("the log does not know a transaction with this key: {UNKNOWN}"),
    })
}

/// The number of a start is the first part of an id, and the log knows of every start that it had.
fn unknown_id(id: TransactionId, last_start: Incarnation) -> String {
    match id.incarnation > last_start {
        true => format!(
            "the log does not know transaction {id}: it never began here, as the last start of this log has \
             number {}; where the log is a new one in place of another, that one may have known it",
            last_start.0
        ),
        false => format!("the log does not know transaction {id}: {UNKNOWN}"),
    }
}

/// Runs `gtc outcome`.
pub(crate) async fn outcome(config: &Config, args: &OutcomeArgs) -> Result<Exit, Failure> {
    let which = match (&args.id, &args.key, &args.key_hex) {
        (Some(id), ..) => Which::Id(*id),
        (_, Some(key), _) => Which::Key(key.clone().into_bytes()),
        (_, _, Some(key)) => Which::Key(key.0.clone()),
        // The parser requires one of them.
        _ => return Err(Failure::usage("name a transaction or a key")),
    };
    let told = source::outcome(config, &which).await?;
    match args.report.json {
        true => output::json(&json!({
            "id": told.id,
            "outcome": told.outcome,
            "owner": told.from.has_owner(),
            "owner_answers": told.from.is_told_by_owner(),
        })),
        false => output::line(&told.outcome),
    }
    match exit_of(&told.outcome, told.from) {
        Exit::Unknown => Err(Failure::with(Exit::Unknown, unknown(config, &which)?)),
        exit => Ok(exit),
    }
}

/// Of what a silent owner works on, the file tells only what has ended.
fn exit_of(outcome: &str, from: From) -> Exit {
    match outcome {
        "committed" => Exit::Done,
        "aborted" => Exit::Aborted,
        "mixed" => Exit::NeedsHand,
        _ if from == From::SilentOwner => Exit::Error,
        "in-doubt" | "undecided" => Exit::NeedsHand,
        _ => Exit::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(state: &str, from: From) -> Listed {
        let transaction = json!({
            "id": "1-1", "key": null, "key_hex": null, "state": state, "decision": "commit",
            "since_unix_ms": 0, "branches": [],
        });
        let transactions = vec![serde_json::from_value(transaction).unwrap()];
        Listed {
            transactions,
            foreign: Vec::new(),
            undecided: Vec::new(),
            silent: Vec::new(),
            from,
            asked: true,
        }
    }

    #[test]
    fn a_list_needs_a_hand_where_nobody_else_will_end_it() {
        for (state, from, exit) in [
            ("completing", From::Owner, Exit::Done),
            ("completing", From::SilentOwner, Exit::Error),
            ("completing", From::Log, Exit::NeedsHand),
            ("active", From::Owner, Exit::Done),
            ("in-doubt", From::Owner, Exit::NeedsHand),
            ("in-doubt", From::SilentOwner, Exit::Error),
            ("in-doubt", From::Log, Exit::NeedsHand),
            ("mixed", From::Owner, Exit::NeedsHand),
            ("mixed", From::SilentOwner, Exit::NeedsHand),
            ("mixed", From::Log, Exit::NeedsHand),
        ] {
            assert_eq!(judge(&listed(state, from)), exit, "{state} {from:?}");
        }
        let mut nothing = listed("active", From::SilentOwner);
        nothing.transactions.clear();
        assert_eq!(judge(&nothing), Exit::Error);
    }

    fn branch() -> Branch {
        Branch {
            participant: "eu".to_owned(),
            transactional_id: "gtc.c.7.1.eu.1".to_owned(),
            state: "Ongoing".to_owned(),
            partitions: vec!["orders-0".to_owned()],
        }
    }

    #[test]
    fn what_was_not_decided_needs_a_hand_where_nobody_will_decide_it() {
        for (from, exit) in [
            (From::SilentOwner, Exit::Error),
            (From::Log, Exit::NeedsHand),
        ] {
            let mut listed = listed("active", from);
            listed.transactions.clear();
            listed.undecided.push(branch());
            assert_eq!(judge(&listed), exit, "{from:?}");
            assert!(!is_nothing_open(&listed));
        }
    }

    #[test]
    fn what_another_log_left_needs_a_hand() {
        let mut listed = listed("active", From::Owner);
        listed.foreign.push(branch());
        assert_eq!(judge(&listed), Exit::NeedsHand);
        let table = branch_table("OPEN", &listed.foreign);
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
        listed.transactions = self::listed("mixed", From::Log).transactions;
        assert_eq!(judge(&listed), Exit::NeedsHand);
    }

    #[test]
    fn forgotten_is_told_from_never_begun_only_where_the_log_knows() {
        let id = |text: &str| text.parse::<TransactionId>().unwrap();
        for (asked, last_start, expected) in [
            ("4-1", 3, "never began here"),
            ("3-1", 3, "forgotten or never begun"),
            ("1-1", 3, "forgotten or never begun"),
        ] {
            let told = unknown_id(id(asked), Incarnation(last_start));
            assert!(told.contains(asked) && told.contains(expected), "{told}");
        }
    }

    #[test]
    fn every_outcome_has_its_exit_code() {
        for (outcome, code, silent_code) in [
            ("committed", 0, 0),
            ("aborted", 4, 4),
            ("in-doubt", 3, 1),
            ("undecided", 3, 1),
            ("mixed", 3, 3),
            ("unknown", 5, 1),
        ] {
            assert_eq!(exit_of(outcome, From::Owner) as i32, code, "{outcome}");
            assert_eq!(exit_of(outcome, From::Log) as i32, code, "{outcome}");
            let silent = exit_of(outcome, From::SilentOwner);
            assert_eq!(silent as i32, silent_code, "{outcome}");
        }
    }
}
