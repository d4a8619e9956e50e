use std::string::ToString;

use super::*;

fn name(participant: &str) -> SlotName {
    SlotName {
        log_id: LogId(0xab),
        incarnation: Incarnation(12),
        participant: participant.into(),
        number: 7,
    }
}

#[test]
fn slot_names_are_written_and_read_back() {
    let text = name("eu-1").to_transactional_id("orders");
    assert_eq!(&*text, "gtc.orders.00000000000000ab.12.eu-1.7");
    assert_eq!(SlotName::parse("orders", &text), Some(name("eu-1")));
    assert!(text.starts_with(&SlotName::coordinator_prefix("orders")));
}

#[test]
fn other_names_are_not_read() {
    let others = [
        "",
        "gtc.",
        "gtc.orders",
        "gtc.orders.",
        "gtc.order.00000000000000ab.12.eu.7",
        "gtc.orders2.00000000000000ab.12.eu.7",
        "GTC.orders.00000000000000ab.12.eu.7",
        "gtc.orders.ab.12.eu.7",
        "gtc.orders.+0000000000000ab.12.eu.7",
        "gtc.orders.00000000000000AB.12.eu.7",
        "gtc.orders.00000000000000ab.+12.eu.7",
        "gtc.orders.00000000000000ab.012.eu.7",
        "gtc.orders.00000000000000ab.12.eu.07",
        "gtc.orders.00000000000000ab.12.eu.+7",
        "gtc.orders.00000000000000ab.12.eu.-7",
        "gtc.orders.00000000000000ab.12.eu",
        "gtc.orders.00000000000000ab.12.7",
        "gtc.orders.00000000000000ab.4294967296.eu.7",
        "gtc.orders.00000000000000ab.12.eu.4294967296",
        "gtc.orders.00000000000000ab.12.eu.7 ",
        "prefix.gtc.orders.00000000000000ab.12.eu.7",
    ];
    for other in others {
        assert_eq!(SlotName::parse("orders", other), None, "{other}");
    }
}

#[test]
fn transaction_ids_are_written_and_read_back() {
    let id = TransactionId {
        incarnation: Incarnation(3),
        sequence: 17,
    };
    assert_eq!(id.to_string(), "3-17");
    assert_eq!("3-17".parse(), Ok(id));
    for wrong in ["", "3", "3-", "-17", "3-17-1", "a-1", "4294967296-1"] {
        assert!(wrong.parse::<TransactionId>().is_err(), "{wrong}");
    }
}
