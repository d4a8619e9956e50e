//! Transactions as reports show them.

use gtc::views::{BranchInfo, TransactionInfo};

use crate::output::{self, Table};

/// The table of a list.
pub(crate) fn table(transactions: &[TransactionInfo]) -> String {
    let mut table = Table::new(&["ID", "STATE", "DECISION", "SINCE", "BRANCHES", "KEY"]);
    for transaction in transactions {
        let branches = transaction
            .branches
            .iter()
            .map(short_branch)
            .collect::<Vec<_>>();
        table.row([
            transaction.id.clone(),
            transaction.state.clone(),
            decision_text(transaction),
            output::utc(transaction.since_unix_ms),
            branches.join(" "),
            key_text(transaction),
        ]);
    }
    table.render()
}

/// All that is known of one transaction.
pub(crate) fn page(transaction: &TransactionInfo) -> String {
    let mut lines = vec![
        format!("transaction  {}", transaction.id),
        format!("state        {}", transaction.state),
        format!("decision     {}", decision_text(transaction)),
        format!("since        {}", output::utc(transaction.since_unix_ms)),
        format!("key          {}", key_text(transaction)),
    ];
    if !transaction.branches.is_empty() {
        let mut table = Table::new(&["PARTICIPANT", "STATE", "TRANSACTIONAL ID", "DETAIL"]);
        for branch in &transaction.branches {
            table.row([
                branch.participant.clone(),
                branch.state.clone(),
                branch
                    .transactional_id
                    .clone()
                    .unwrap_or_else(|| "-".to_owned()),
                branch.detail.clone().unwrap_or_default(),
            ]);
        }
        lines.extend([String::new(), table.render()]);
    }
    lines.join("\n")
}

fn short_branch(branch: &BranchInfo) -> String {
    format!("{}={}", branch.participant, branch.state.replace(' ', "-"))
}

fn decision_text(transaction: &TransactionInfo) -> String {
    transaction
        .decision
        .clone()
        .unwrap_or_else(|| "-".to_owned())
}

fn key_text(transaction: &TransactionInfo) -> String {
    match (&transaction.key, &transaction.key_hex) {
        (Some(text), _) if !text.chars().any(char::is_control) => text.clone(),
        (_, Some(hex)) => format!("0x{hex}"),
        _ => "-".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The types may grow, so they are made of what the wire carries.
    fn transaction(key: Option<&str>, key_hex: Option<&str>) -> TransactionInfo {
        let value = serde_json::json!({
            "id": "3-17",
            "key": key,
            "key_hex": key_hex,
            "state": "mixed",
            "decision": "commit",
            "since_unix_ms": 951_782_400_000_u64,
            "branches": [{
                "participant": "eu",
                "transactional_id": "gtc.c.00.3.eu.1",
                "state": "heuristic abort",
                "detail": "CompleteAbort",
            }],
        });
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn a_list_has_one_line_a_transaction() {
        let text = table(&[transaction(Some("order-9"), Some("6f"))]);
        let line = text.lines().nth(1).unwrap();
        let words: Vec<_> = line.split_whitespace().collect();
        let expected = [
            "3-17",
            "mixed",
            "commit",
            "2000-02-29T00:00:00Z",
            "eu=heuristic-abort",
            "order-9",
        ];
        assert_eq!(words, expected);
    }

    #[test]
    fn a_page_shows_the_evidence_of_each_branch() {
        let text = page(&transaction(None, None));
        for part in [
            "3-17",
            "gtc.c.00.3.eu.1",
            "CompleteAbort",
            "heuristic abort",
        ] {
            assert!(text.contains(part), "{text}");
        }
    }

    #[test]
    fn a_key_that_is_no_text_is_shown_in_hexadecimal() {
        for (key, key_hex, text) in [
            (None, Some("ff00"), "0xff00"),
            (Some("a\nb"), Some("610a62"), "0x610a62"),
            (Some("a"), Some("61"), "a"),
            (None, None, "-"),
        ] {
            assert_eq!(key_text(&transaction(key, key_hex)), text);
        }
    }
}
