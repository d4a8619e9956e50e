//! `gtc resolve` and `gtc forget`: through the living owner, or as owner where there is none.

use std::time::Duration;

use gtc::admin::{self, AdminAnswer, AdminRequest, DecisionName, ask};
use gtc::views::TransactionInfo;
use gtc::{Config, Coordinator, TransactionId};
use serde_json::json;
use tokio::time::{Instant, sleep};

use super::source::{self, Branch};
use super::view;
use crate::args::{ForgetArgs, ResolveArgs, Target};
use crate::failure::{Exit, Failure};
use crate::{output, remedy};

/// How long the effect of a decision is waited for.
const PATIENCE: Duration = Duration::from_secs(15);
/// How often it is looked for.
const LOOK_INTERVAL: Duration = Duration::from_millis(100);

/// Runs `gtc resolve`.
pub(crate) async fn resolve(config: &Config, args: &ResolveArgs) -> Result<Exit, Failure> {
    let decision = if args.commit {
        DecisionName::Commit
    } else {
        DecisionName::Abort
    };
    match &args.target {
        Target::Transaction(id) => {
            let request = AdminRequest::Resolve {
                transaction: id.to_string(),
                decision,
            };
            known(config)?;
            let owner = Owner::find(config).await?;
            let result = act(&owner, config, request, *id).await;
            owner.leave().await?;
            report(&result?, (*id, decision), args.report.json)
        }
        Target::Foreign {
            participant,
            transactional_id,
        } => {
            let request = AdminRequest::ResolveForeign {
                participant: participant.clone(),
                transactional_id: transactional_id.clone(),
                decision,
            };
            // Where the log is lost the new one may not be there yet: this makes it.
            let owner = Owner::find(config).await?;
            let branch = (participant.as_str(), transactional_id.as_str());
            let result = end_foreign(&owner, config, (request, branch)).await;
            owner.leave().await?;
            result?;
            say(
                args.report.json,
                "ended",
                &format!("{participant}:{transactional_id}"),
            );
            Ok(Exit::Done)
        }
    }
}

/// Runs `gtc forget`.
pub(crate) async fn forget(config: &Config, args: &ForgetArgs) -> Result<Exit, Failure> {
    let request = AdminRequest::Forget {
        transaction: args.id.to_string(),
    };
    known(config)?;
    let owner = Owner::find(config).await?;
    let result = forget_through(&owner, config, (request, args.id)).await;
    owner.leave().await?;
    result?;
    say(args.report.json, "forgotten", &args.id.to_string());
    Ok(Exit::Done)
}

async fn forget_through(
    owner: &Owner,
    config: &Config,
    (request, id): (AdminRequest, TransactionId),
) -> Result<(), Failure> {
    owner.await_recovery().await;
    if source::describe(config, id).await?.0.is_none() {
        return Err(unknown(id));
    }
    ask_owner(config, &request).await.map(drop)
}

/// Without a log there is nothing to be known, and none is made by asking.
fn known(config: &Config) -> Result<(), Failure> {
    match source::read_ledger(config)? {
        Some(_) => Ok(()),
        None => Err(Failure::with(Exit::Unknown, source::not_started(config))),
    }
}

fn unknown(id: TransactionId) -> Failure {
    let text = format!("the log does not know transaction {id}");
    Failure::with(Exit::Unknown, text)
}

/// Who acts on the log: another process, or this one for as long as it takes.
enum Owner {
    Other,
    This(Box<Coordinator>),
}

impl Owner {
    async fn find(config: &Config) -> Result<Self, Failure> {
        let answer = admin::ask_owner(config, &AdminRequest::Status)
            .await
            .map_err(Failure::from_error)?;
        if answer.is_some() {
            return Ok(Self::Other);
        }
        tracing::info!("no coordinator owns this log: acting as its owner");
        let coordinator = Coordinator::open(config.clone())
            .await
            .map_err(Failure::from_error)?;
        Ok(Self::This(Box::new(coordinator)))
    }

    /// Recovery may end a transaction by itself; what is acted upon is the state after that.
    async fn await_recovery(&self) {
        if let Self::This(coordinator) = self {
            let _ = tokio::time::timeout(PATIENCE, coordinator.recovered()).await;
        }
    }

    async fn leave(self) -> Result<(), Failure> {
        let Self::This(coordinator) = self else {
            return Ok(());
        };
        match coordinator.close().await {
            // What stays open is what the report shows.
            Err(error) if error.kind() == gtc::ErrorKind::Log => Err(Failure::from_error(error)),
            _ => Ok(()),
        }
    }
}

/// Both kinds of owner listen on the socket, so that one way of asking serves them.
async fn ask_owner(config: &Config, request: &AdminRequest) -> Result<AdminAnswer, Failure> {
    let answer = ask(config.log(), request)
        .await
        .map_err(Failure::from_error)?;
    answer.ok_or_else(|| Failure::error("the owner of the log ended meanwhile; ask again"))
}

async fn act(
    owner: &Owner,
    config: &Config,
    request: AdminRequest,
    id: TransactionId,
) -> Result<Option<TransactionInfo>, Failure> {
    owner.await_recovery().await;
    let (before, _) = source::describe(config, id).await?;
    // Nothing is known of it, or nothing is left to do.
    if before.as_ref().is_none_or(is_settled) {
        return Ok(before);
    }
    ask_owner(config, &request).await?;
    let deadline = Instant::now() + PATIENCE;
    let mut last = None;
    loop {
        let (now, _) = source::describe(config, id).await?;
        let is_settled = now.as_ref().is_none_or(is_settled);
        // Seen twice: what ended otherwise than decided shows once its record is durable.
        if (is_settled && now == last) || Instant::now() >= deadline {
            return Ok(now);
        }
        last = now;
        sleep(LOOK_INTERVAL).await;
    }
}

fn is_settled(transaction: &TransactionInfo) -> bool {
    matches!(transaction.state.as_str(), "ended" | "mixed")
}

fn report(
    transaction: &Option<TransactionInfo>,
    (id, asked): (TransactionId, DecisionName),
    json: bool,
) -> Result<Exit, Failure> {
    let Some(transaction) = transaction else {
        return Err(unknown(id));
    };
    match json {
        true => output::json(transaction),
        false => output::line(&view::page(transaction)),
    }
    let exit = judge(transaction, asked);
    if exit == Exit::Otherwise {
        let ended = transaction.decision.as_deref().unwrap_or("abort");
        return Err(Failure::with(
            Exit::Otherwise,
            format!("{id} had ended by {ended} before: nothing was changed"),
        ));
    }
    if transaction.state == "mixed" {
        return Err(Failure::with(
            Exit::NeedsHand,
            format!(
                "{id} ended otherwise than decided (mixed), and nothing is left to resolve; {}",
                remedy::mixed(&id.to_string())
            ),
        ));
    }
    Ok(exit)
}

fn judge(transaction: &TransactionInfo, asked: DecisionName) -> Exit {
    let asked = match asked {
        DecisionName::Commit => "commit",
        DecisionName::Abort => "abort",
    };
    match (transaction.state.as_str(), transaction.decision.as_deref()) {
        ("ended", Some(decision)) if decision != asked => Exit::Otherwise,
        ("ended", _) => Exit::Done,
        _ => Exit::NeedsHand,
    }
}

async fn end_foreign(
    owner: &Owner,
    config: &Config,
    (request, (participant, transactional_id)): (AdminRequest, (&str, &str)),
) -> Result<(), Failure> {
    if let Owner::This(coordinator) = owner {
        let verified = coordinator.verified(participant).await;
        verified.map_err(Failure::from_library)?;
    }
    let is_listed = |branch: &Branch| {
        branch.participant == participant && branch.transactional_id == transactional_id
    };
    if !source::list(config, true)
        .await?
        .foreign
        .iter()
        .any(is_listed)
    {
        let text = format!(
            "{participant}:{transactional_id} is not listed as an open branch of another log; see \
             `gtc list`"
        );
        return Err(Failure::with(Exit::Unknown, text));
    }
    ask_owner(config, &request).await?;
    let deadline = Instant::now() + PATIENCE;
    loop {
        let listed = source::list(config, true).await?;
        if !listed.foreign.iter().any(is_listed) {
            return Ok(());
        }
        if Instant::now() >= deadline {
            let text = format!("{transactional_id} is still open; it is tried again");
            return Err(Failure::with(Exit::NeedsHand, text));
        }
        sleep(LOOK_INTERVAL).await;
    }
}

fn say(as_json: bool, what: &str, id: &str) {
    match as_json {
        true => output::json(&json!({ "id": id, "result": what })),
        false => output::line(&format!("{id} {what}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decision_that_came_too_late_is_told_apart() {
        let transaction = |state: &str, decision: &str| -> TransactionInfo {
            let value = json!({
                "id": "1-1", "key": null, "key_hex": null, "state": state, "decision": decision,
                "since_unix_ms": 0, "branches": [],
            });
            serde_json::from_value(value).unwrap()
        };
        for (state, decision, asked, exit) in [
            ("ended", "commit", DecisionName::Commit, Exit::Done),
            ("ended", "commit", DecisionName::Abort, Exit::Otherwise),
            ("ended", "abort", DecisionName::Abort, Exit::Done),
            ("ended", "abort", DecisionName::Commit, Exit::Otherwise),
            ("mixed", "commit", DecisionName::Abort, Exit::NeedsHand),
            (
                "completing",
                "commit",
                DecisionName::Commit,
                Exit::NeedsHand,
            ),
        ] {
            assert_eq!(
                judge(&transaction(state, decision), asked),
                exit,
                "{state} {decision}"
            );
        }
    }
}
