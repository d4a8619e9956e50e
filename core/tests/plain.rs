//! What comes in as plain objects: every word that `vectors/README.md` has, and nothing else.

use gtc_core::{Config, Request, Response};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

fn read<T: DeserializeOwned>(value: &Value) -> T {
    serde_json::from_value(value.clone()).unwrap_or_else(|error| panic!("{error}: {value}"))
}

fn plain(value: impl serde::Serialize) -> Value {
    serde_json::to_value(value).expect("plain")
}

/// What does not follow the form is refused, and not taken for something else.
#[test]
fn words_that_do_not_exist_are_refused() {
    let refused = [
        json!({ "request": "rollback", "transaction": "1-1" }),
        json!({ "request": "commit", "transaction": "1" }),
        json!({ "request": "commit", "transaction": "1-1", "report": "soon" }),
        json!({ "request": "enlist", "transaction": "1-1" }),
        json!({ "request": "begin", "key_hex": "0" }),
        json!({ "request": "begin", "key_hex": "+1" }),
    ];
    for value in refused {
        assert!(
            serde_json::from_value::<Request>(value.clone()).is_err(),
            "{value}"
        );
    }
    let refused = [
        json!({ "response": "ended", "answer": "code" }),
        json!({ "response": "ended", "answer": "maybe" }),
        json!({ "response": "connect-failed" }),
    ];
    for value in refused {
        assert!(
            serde_json::from_value::<Response>(value.clone()).is_err(),
            "{value}"
        );
    }
}

/// Every member that a request or a response may need, beside the word that is asked for.
fn with_everything(member: &str, word: &str) -> Value {
    let producer = json!({ "producer_id": "1", "epoch": 0 });
    let mut all = json!({
        "transaction": "1-1", "participant": 0, "transactional_id": "t", "version_class": "v1",
        "decision": "commit", "reason": "r", "why": "w", "detail": "d", "code": 1,
        "cluster_id": "c", "transaction_version": 2, "timeout_above_ceiling": false,
        "writes": {}, "transactions": [], "complete": true, "state": "empty",
        "producer": producer, "start_time_ms": 1, "timeout_ms": 1, "condition": "clean",
        "failure": "refused", "answer": "acknowledged", "inquiry": "not-found",
    });
    if word == "slot-opened" {
        all["condition"] = json!({ "condition": "clean" });
    }
    if word == "prepared" {
        all["inquiry"] = json!({ "inquiry": "not-found" });
    }
    all[member] = word.into();
    all
}

/// What is made of a word again, after it was read where it stands.
fn written_again(member: &str, word: &str) -> Option<Value> {
    let asked = |request: &str| {
        let mut all = with_everything(member, word);
        all["request"] = request.into();
        plain(read::<Request>(&all))
    };
    let answered = |response: &str| {
        let mut all = with_everything(member, word);
        all["response"] = response.into();
        plain(read::<Response>(&all))
    };
    Some(match member {
        "request" => asked(word),
        "response" => answered(word),
        "report" => asked("commit"),
        "decision" => asked("resolve"),
        "version_class" => asked("enlist-own"),
        "failure" => answered("append-failed"),
        "condition" => answered("slot-verified"),
        "answer" => answered("ended"),
        "inquiry" => answered("inquired"),
        "state" => {
            let mut all = with_everything("inquiry", "described");
            all["response"] = "inquired".into();
            all[member] = word.into();
            plain(read::<Response>(&all))
        }
        "gives_way" => {
            let mut config = config();
            config["participants"][0][member] = word.into();
            plain(read::<Config>(&config))["participants"][0].take()
        }
        _ => return None,
    })
}

fn config() -> Value {
    json!({ "coordinator": "c", "log_id": "00000000000000ab", "participants": [
        { "name": "eu", "slots_max": 1, "timeout_ms": 60000, "margin_us": 1, "names_max": 1 },
    ] })
}

/// The compiler does not see a reader that lacks a word.
#[test]
fn every_word_that_may_come_in_is_read() {
    let mut count = 0;
    for (member, words) in gtc_core::WORDS {
        for word in *words {
            let Some(again) = written_again(member, word) else {
                continue;
            };
            count += 1;
            let is_the_default = *word == "nothing" && again[*member].is_null();
            assert!(again[*member] == *word || is_the_default, "{member} {word}");
        }
    }
    assert_eq!(count, 55, "words that may come in");
}

#[test]
fn what_does_not_fit_is_named_by_its_place() {
    let refused = |change: fn(&mut Value)| {
        let mut config = config();
        change(&mut config);
        let error = serde_json::from_value::<Config>(config).unwrap_err();
        error.to_string()
    };
    for (change, text) in [
        (
            (|config| config["log_id"] = "AB".into()) as fn(&mut Value),
            "`log_id` is no log id",
        ),
        (
            |config| config["limits"] = json!(1),
            "`limits` is no object",
        ),
        (
            |config| config["seed"] = json!(-1),
            "`seed` is no whole number, or none of u64",
        ),
        (
            |config| config["limits"] = json!({ "slot_idle_us": 0.5 }),
            "`limits` `slot_idle_us` is no whole number",
        ),
        (
            |config| config["participants"] = json!([{}]),
            "`participants` `name` is missing",
        ),
        (
            |config| config["participants"] = Value::Null,
            "`participants` is no list",
        ),
    ] {
        let found = refused(change);
        assert!(found.contains(text), "{found}");
    }
    let twice = r#"{ "request": "forget", "transaction": "1-1", "transaction": "1-2" }"#;
    let found = serde_json::from_str::<Request>(twice)
        .unwrap_err()
        .to_string();
    assert!(found.contains("`transaction` is there twice"), "{found}");
    // Members of others, whatever they are, do not matter.
    let other = r#"{ "request": "close", "speed": 0.5, "speed": [{ "of": null }] }"#;
    serde_json::from_str::<Request>(other).unwrap();
}
