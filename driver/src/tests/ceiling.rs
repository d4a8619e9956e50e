//! Time-outs, and the ceilings of clusters.

use super::{Result, eventually, state_of};
use crate::config::ParticipantConfig;
use crate::error::ErrorKind;
use crate::testing::World;

#[tokio::test]
async fn timeout_above_ceiling() {
    let mut world = World::new();
    world.us.state().ceiling_ms = Some(900_000);
    let opened = world.open_with(|participant| participant.transaction_timeout_ms(900_001));
    let error = opened.await.expect_err("us cannot promise that long");
    assert_eq!(error.kind(), ErrorKind::Config);
    assert_eq!(error.participant(), Some("us"));
    let text = error.to_string();
    for part in ["900001", "900000", "transaction.max.timeout.ms"] {
        assert!(text.contains(part), "{text}");
    }
}

#[tokio::test]
async fn the_default_time_out_is_the_ceiling_within_a_day() -> Result {
    const DAY_MS: i64 = 86_400_000;
    let cases = [
        (Some(60_000), 60_000),
        (Some(DAY_MS), 86_400_000),
        (Some(i64::from(i32::MAX)), 86_400_000),
        (None, 900_000),
    ];
    for (ceiling_ms, expected) in cases {
        let mut world = World::new();
        world.eu.state().ceiling_ms = ceiling_ms;
        let coordinator = world.open().await?;
        let transaction = coordinator.begin()?;
        transaction.lease("eu").await?;
        let opened_with_ms = world.eu.state().opened_with_ms.clone();
        assert!(opened_with_ms.contains(&expected), "{opened_with_ms:?}");
    }
    Ok(())
}

/// Its ceiling is learnt when it is connected to, and it is used as if it had been known at open.
#[tokio::test]
async fn a_cluster_that_was_down_at_open_is_used_with_its_own_ceiling() -> Result {
    type Choose = fn(ParticipantConfig) -> ParticipantConfig;
    let choices: [(Choose, Option<i32>); 3] = [
        (|it| it, Some(60_000)),
        (|it| it.margin_ms(30_000), Some(60_000)),
        // A margin that leaves nothing was chosen, and so stays.
        (|it| it.margin_ms(60_000), None),
    ];
    for (choose, expected) in choices {
        let mut world = World::new();
        world.us.state().ceiling_ms = Some(60_000);
        world.us.state().unreachable = Some("down".to_owned());
        let coordinator = world.open_with(choose).await?;
        eventually(|| state_of(&coordinator, "us").0 == "unavailable").await;
        world.us.state().unreachable = None;
        let Some(expected) = expected else {
            let margin = |detail: Option<String>| detail.is_some_and(|why| why.contains("margin"));
            eventually(|| margin(state_of(&coordinator, "us").1)).await;
            continue;
        };
        coordinator.verified("us").await?;
        let transaction = coordinator.begin()?;
        transaction.lease("us").await?;
        let opened_with_ms = world.us.state().opened_with_ms.clone();
        assert!(!opened_with_ms.is_empty());
        assert!(opened_with_ms.iter().all(|ms| *ms == expected));
        transaction.commit().await?;
        coordinator.close().await?;
    }
    Ok(())
}
