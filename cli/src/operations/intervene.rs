//! `gtc resolve` and `gtc forget`: through the living owner, or as owner where there is none.

use std::time::Duration;

use gtc::admin::{AdminAnswer, AdminRequest, DecisionName, ask};
use gtc::views::TransactionInfo;
use gtc::{Config, Coordinator, TransactionId};
use serde_json::json;
use tokio::time::{Instant, sleep};

use super::{source, view};
use crate::args::{ForgetArgs, ResolveArgs, Target};
use crate::failure::{Exit, Failure};
use crate::output;

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
            let owner = Owner::find(config).await?;
            let result = act(&owner, config, request, *id).await;
            owner.leave().await?;
            report(&result?, *id, args.report.json)
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
            let owner = Owner::find(config).await?;
            let result = end_foreign(config, request, transactional_id).await;
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
    let owner = Owner::find(config).await?;
    let result = ask_owner(config, &request).await;
    owner.leave().await?;
    result?;
    say(args.report.json, "forgotten", &args.id.to_string());
    Ok(Exit::Done)
}

/// Who acts on the log: another process, or this one for as long as it takes.
enum Owner {
    Other,
    This(Box<Coordinator>),
}

impl Owner {
    async fn find(config: &Config) -> Result<Self, Failure> {
        let answer = ask(config.log(), &AdminRequest::Status)
            .await
            .map_err(Failure::from_error)?;
        if answer.is_some() {
            return Ok(Self::Other);
        }
        // Opening a log that does not exist would make one, and find nothing in it.
        gtc::read_log(config.log()).map_err(Failure::from_error)?;
        tracing::info!("no coordinator owns this log: acting as its owner");
        let coordinator = Coordinator::open(config.clone())
            .await
            .map_err(Failure::from_error)?;
        Ok(Self::This(Box::new(coordinator)))
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
    if let Owner::This(coordinator) = owner {
        // Recovery may end it by itself; what it is to be resolved from is the state after that.
        let _ = tokio::time::timeout(PATIENCE, coordinator.recovered()).await;
    }
    let before = source::describe(config, id).await?;
    // Nothing is known of it, or nothing is left to do.
    if before
        .as_ref()
        .is_none_or(|transaction| transaction.state == "ended")
    {
        return Ok(before);
    }
    ask_owner(config, &request).await?;
    let deadline = Instant::now() + PATIENCE;
    let mut last = None;
    loop {
        let now = source::describe(config, id).await?;
        let is_settled = now
            .as_ref()
            .is_none_or(|now| matches!(now.state.as_str(), "ended" | "mixed"));
        // Seen twice: what ended otherwise than decided shows once its record is durable.
        if (is_settled && now == last) || Instant::now() >= deadline {
            return Ok(now);
        }
        last = now;
        sleep(LOOK_INTERVAL).await;
    }
}

fn report(
    transaction: &Option<TransactionInfo>,
    id: TransactionId,
    json: bool,
) -> Result<Exit, Failure> {
    let Some(transaction) = transaction else {
        let text = format!("the log does not know transaction {id}");
        return Err(Failure::with(Exit::Unknown, text));
    };
    match json {
        true => output::json(transaction),
        false => output::line(&view::page(transaction)),
    }
    Ok(if transaction.state == "ended" {
        Exit::Done
    } else {
        Exit::NeedsHand
    })
}

async fn end_foreign(
    config: &Config,
    request: AdminRequest,
    transactional_id: &str,
) -> Result<(), Failure> {
    ask_owner(config, &request).await?;
    let deadline = Instant::now() + PATIENCE;
    loop {
        let listed = source::list(config).await?;
        if listed
            .foreign
            .iter()
            .all(|branch| branch.transactional_id != transactional_id)
        {
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
