//! Every error says each thing once: its kind, its participant, its remedy, its cause.

use gtc_core::{
    AbortReason, Decision, HeuristicBranch, HeuristicKind, Incarnation, Outcome, Refusal,
    StopReason, TransactionId,
};

use crate::admin::AdminAnswer;
use crate::config::{Config, ParticipantConfig};
use crate::error::{Error, ErrorKind};
use crate::kafka::control::ControlError;
use crate::kafka::error::{DataError, DataErrorKind};
use crate::kafka::participant::{data_error, properties};
use crate::log::{LogError, LogErrorKind};
use crate::open::log_error;
use crate::{admin, verdict};

const ID: TransactionId = TransactionId {
    incarnation: Incarnation(3),
    sequence: 17,
};

/// Long enough that two parts of a message are not alike by chance.
const FRAGMENT_CHARS_MIN: usize = 12;

/// What Rust's own output of a value looks like: `Mixed {`, `Some(`, `StaleLog("`.
fn shows_rust(text: &str) -> bool {
    let opens = |at: usize| {
        let word = text[..at].trim_end_matches(' ');
        let word = word.rsplit(|sign: char| !sign.is_alphanumeric()).next();
        let is_type = word.is_some_and(|word| word.starts_with(|sign: char| sign.is_uppercase()));
        let close = !text[..at].ends_with(' ');
        is_type && (close || text[at..].starts_with('{'))
    };
    text.match_indices(['(', '{']).any(|(at, _)| opens(at))
}

/// Fails where a message repeats itself, or shows a value as Rust writes it.
#[track_caller]
pub(crate) fn assert_said_once(text: &str) {
    assert!(!shows_rust(text), "a value as Rust writes it: {text}");
    let count = |part: &str| text.matches(part).count();
    let remedies = text.to_lowercase().matches("remedy:").count();
    assert!(remedies <= 1, "two remedies: {text}");
    assert!(count("did you mean") <= 1, "asked twice: {text}");
    assert!(count("participant `") <= 1, "named twice: {text}");
    for (_, kind, ..) in ErrorKind::TABLE {
        // An error that was wrapped with its own text keeps its kind in the middle.
        assert_eq!(count(&format!(": {kind}: ")), 0, "{kind} twice: {text}");
    }
    let mut fragments: Vec<&str> = text.split([':', ';', '(', ')']).map(str::trim).collect();
    fragments.retain(|fragment| fragment.chars().count() >= FRAGMENT_CHARS_MIN);
    fragments.sort_unstable();
    let twice = fragments.windows(2).find(|pair| pair[0] == pair[1]);
    assert!(twice.is_none(), "{twice:?} is said twice: {text}");
}

#[track_caller]
fn assert_error(error: Error) {
    let named = error.with_participant("eu").with_transaction(ID);
    let text = named.to_string();
    assert_said_once(&text);
    // An owner's error reaches an operator as it was.
    let through = admin::refused(AdminAnswer::from(&named));
    assert_eq!(through.to_string(), text);
    assert_eq!(through.kind(), named.kind());
}

/// What a cluster that does not answer makes the core say.
fn unreachable() -> String {
    ControlError::sample(0).brief()
}

#[test]
fn refusals() {
    let why = unreachable;
    for refusal in [
        Refusal::UnknownTransaction(ID),
        Refusal::InvalidState(why()),
        Refusal::Limit("branches_max", 1),
        Refusal::Limit("transactions_max", 1),
        Refusal::Unavailable(why()),
        Refusal::SlotTimeout(format!("within 30000 ms; last error: {}", why())),
        Refusal::Fenced("another process initialised its slot gtc.a.1".to_owned()),
        Refusal::WrongCluster("it is cluster a, but the log binds eu to cluster b".to_owned()),
        Refusal::Broken("`prepare` failed by a defect of gtc: index out of bounds".to_owned()),
        Refusal::Config("eu has transaction.version 1".to_owned()),
        Refusal::Closed,
        Refusal::Stopped(StopReason::Closed),
    ] {
        assert_error(verdict::refused("commit", refusal));
    }
}

#[test]
fn reasons_to_stop() {
    let failed = LogError::new(LogErrorKind::Io, "syncing failed: no space").at("/srv/orders");
    for reason in [
        StopReason::LogFailed(failed.poisons().problem()),
        StopReason::LogFenced(failed.problem()),
        StopReason::StaleLog("a cluster lists gtc.a.1, which this log never made".to_owned()),
        StopReason::Closed,
    ] {
        assert_error(verdict::stopped("begin", &reason));
        assert_said_once(&format!("the coordinator stopped, as {reason}"));
    }
}

#[test]
fn a_value_as_rust_writes_it_is_found() {
    for text in [
        "reason=StaleLog(\"a\")",
        "it is Mixed { decision: Commit }",
        "Some(3)",
    ] {
        assert!(shows_rust(text), "{text}");
    }
    for text in [
        "answered INVALID (47)",
        "`eu` heuristic abort (CompleteAbort)",
        "$${HOME}",
    ] {
        assert!(!shows_rust(text), "{text}");
    }
}

#[test]
fn outcomes() {
    let mixed = Outcome::Mixed {
        decision: Decision::Commit,
        heuristic: vec![HeuristicBranch {
            participant: "eu".to_owned(),
            kind: HeuristicKind::Aborted,
            detail: "CompleteAbort at epoch 3".to_owned(),
        }],
    };
    let voted_no = AbortReason::VotedNo {
        participant: "eu".to_owned(),
        detail: unreachable(),
    };
    for outcome in [
        Outcome::Aborted(voted_no),
        Outcome::Aborted(AbortReason::LogFull(
            "decision log /log: no room".to_owned(),
        )),
        Outcome::InDoubt(unreachable()),
        mixed,
    ] {
        assert_error(verdict::committed(ID, &outcome).expect_err("it did not commit"));
    }
    assert_error(verdict::aborted(ID, &Outcome::Committed).expect_err("it committed"));
}

#[test]
fn errors_of_the_log() {
    use LogErrorKind::{
        Absent, Closed, Corrupt, Foreign, Full, Io, Locked, Moved, Poisoned, TooLarge, Unsupported,
    };
    for kind in [
        Absent,
        Closed,
        Corrupt,
        Foreign,
        Full,
        Io,
        Locked,
        Moved,
        Poisoned,
        TooLarge,
        Unsupported,
    ] {
        let error = LogError::new(kind, "the cause")
            .at("/srv/orders")
            .at_offset(7);
        assert_said_once(&error.to_string());
        assert_said_once(&error.poisons().to_string());
        assert_said_once(&error.poisons().poisons().to_string());
        assert_error(log_error("open", error.poisons()));
        assert_error(log_error("open", error));
    }
}

#[test]
fn errors_of_the_control_plane() {
    for index in 0..ControlError::SAMPLES {
        let error = ControlError::sample(index);
        assert_said_once(&error.to_string());
        assert_said_once(&error.brief());
        assert_error(verdict::refused(
            "send",
            Refusal::Unavailable(error.brief()),
        ));
    }
}

#[test]
fn errors_of_the_data_plane() {
    use DataErrorKind::{
        Closed, Config, Denied, Fenced, ForeignGroup, GroupMoved, InvalidState, Misplaced,
        NeverAccepted, NoSuchPartition, NoSuchTopic, Refused, Timeout, Unavailable,
    };
    for kind in [
        Closed,
        Config,
        Denied,
        Fenced,
        ForeignGroup,
        GroupMoved,
        InvalidState,
        Misplaced,
        NeverAccepted,
        NoSuchPartition,
        NoSuchTopic,
        Refused,
        Timeout,
        Unavailable,
    ] {
        let error = DataError::new("eu", kind, "cannot write to topic orders: no leader");
        assert_said_once(&error.to_string());
        assert_error(data_error("send", error));
    }
}

#[test]
fn errors_of_properties() {
    for (name, value) in [
        ("client.id", ""),
        ("acks", "1"),
        ("linger.sm", "1"),
        ("nothing.like.it", "1"),
        ("linger.ms", "soon"),
        (
            "client.dns.lookup",
            "resolve_canonical_bootstrap_servers_only",
        ),
        ("security.protocol", "sasl_ssl"),
        ("bootstrap.servers", "a:b:c"),
    ] {
        let mut participant = ParticipantConfig::kafka("eu");
        if !["client.id", "bootstrap.servers"].contains(&name) {
            participant = participant.property("bootstrap.servers", "127.0.0.1:9");
        }
        let participant = participant.property(name, value);
        let error = properties(&participant).expect_err("it cannot be used");
        assert!(error.to_string().contains("remedy: "), "{error}");
        assert_error(error);
    }
}

#[test]
fn errors_of_a_configuration() {
    let eu = || ParticipantConfig::kafka("eu");
    for config in [
        Config::new("a b", "log").participant(eu()),
        Config::new("a", "").participant(eu()),
        Config::new("a", "log"),
        Config::new("a", "log").participant(eu()).participant(eu()),
        Config::new("a", "log").participant(eu().slots(0)),
        Config::new("a", "log").participant(eu().slots(1_001)),
        Config::new("a", "log").participant(eu().transaction_timeout_ms(1).margin_ms(1)),
    ] {
        assert_error(config.validate().expect_err("it cannot work"));
    }
}
