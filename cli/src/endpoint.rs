//! The HTTP endpoint of long-running commands: `/metrics` and `/health`.

mod limited;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use serde::Serialize;
use tokio::net::TcpListener;

use crate::failure::Failure;
use limited::Limited;

/// Upper bounds of the latency histograms, in seconds: from a local sync to a broker restart.
const SECONDS_BUCKETS: [f64; 14] = [
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 60.0,
];

/// How often the recorder folds its samples, as it grows otherwise.
const UPKEEP: Duration = Duration::from_secs(5);

/// What is wrong now, by subject; nothing, where all is well.
#[derive(Clone, Debug, Default)]
pub(crate) struct Health {
    reasons: Arc<Mutex<BTreeMap<String, String>>>,
}

impl Health {
    /// Something about `subject` needs attention.
    pub(crate) fn degrade(&self, subject: impl Into<String>, reason: impl Into<String>) {
        let mut reasons = self.reasons.lock().unwrap_or_else(PoisonError::into_inner);
        reasons.insert(subject.into(), reason.into());
    }

    /// `subject` is well again.
    pub(crate) fn restore(&self, subject: &str) {
        self.reasons
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(subject);
    }

    fn answer(&self) -> (StatusCode, Answer) {
        let reasons = self
            .reasons
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        match reasons.is_empty() {
            true => (
                StatusCode::OK,
                Answer {
                    status: "ok",
                    reasons,
                },
            ),
            false => (
                StatusCode::SERVICE_UNAVAILABLE,
                Answer {
                    status: "degraded",
                    reasons,
                },
            ),
        }
    }
}

#[derive(Debug, Serialize)]
struct Answer {
    status: &'static str,
    reasons: BTreeMap<String, String>,
}

/// Serves the endpoint from now on, until the process ends.
pub(crate) async fn serve(address: SocketAddr, health: Health) -> Result<SocketAddr, Failure> {
    let recorder = install_recorder()?;
    let listener = TcpListener::bind(address).await.map_err(|error| {
        Failure::error(format!(
            "listening on {address} for --metrics: {error}; choose another"
        ))
    })?;
    let bound = listener.local_addr().unwrap_or(address);
    tokio::spawn(keep_up(recorder.clone()));
    tokio::spawn(async move {
        if let Err(error) = axum::serve(Limited::new(listener), router(recorder, health)).await {
            tracing::error!(%error, "the metrics endpoint ended");
        }
    });
    tracing::info!(address = %bound, "serving /metrics and /health");
    Ok(bound)
}

fn install_recorder() -> Result<PrometheusHandle, Failure> {
    let builder = PrometheusBuilder::new()
        .set_buckets_for_metric(Matcher::Suffix("_seconds".into()), &SECONDS_BUCKETS)
        .map_err(|error| Failure::error(format!("setting up the metrics: {error}")))?;
    builder
        .install_recorder()
        .map_err(|error| Failure::error(format!("setting up the metrics: {error}")))
}

fn router(recorder: PrometheusHandle, health: Health) -> Router {
    let metrics = Router::new()
        .route("/metrics", get(answer_metrics))
        .with_state(recorder);
    let health = Router::new()
        .route("/health", get(answer_health))
        .with_state(health);
    metrics.merge(health)
}

async fn answer_metrics(State(recorder): State<PrometheusHandle>) -> Response {
    const TEXT_FORMAT: &str = "text/plain; version=0.0.4; charset=utf-8";
    ([(header::CONTENT_TYPE, TEXT_FORMAT)], recorder.render()).into_response()
}

async fn answer_health(State(health): State<Health>) -> Response {
    let (status, answer) = health.answer();
    (status, Json(answer)).into_response()
}

async fn keep_up(recorder: PrometheusHandle) {
    let mut ticks = tokio::time::interval(UPKEEP);
    loop {
        ticks.tick().await;
        recorder.run_upkeep();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn health_is_degraded_as_long_as_one_reason_is_left() {
        let health = Health::default();
        assert_eq!(health.answer().0, StatusCode::OK);
        health.degrade("participant eu", "unreachable");
        health.degrade("batch", "aborted 3 times in a row");
        let (status, answer) = health.answer();
        assert_eq!(
            (status, answer.status),
            (StatusCode::SERVICE_UNAVAILABLE, "degraded")
        );
        assert_eq!(answer.reasons["participant eu"], "unreachable");
        health.restore("participant eu");
        assert_eq!(health.answer().1.reasons.len(), 1);
        health.restore("batch");
        assert_eq!(health.answer().0, StatusCode::OK);
    }
}
