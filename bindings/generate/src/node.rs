//! Node: a class a kind, with its code, and the keys of a configuration as interfaces.

use std::fmt::Write;

use gtc::config::{ConfigKey, KeyType};

use crate::Language;
use crate::tables::{NOTE, key_doc, keys_of, kinds, pascal};

pub(crate) const NODE: Language = Language {
    name: "Node",
    generated: || {
        vec![
            ("node/src/kinds.ts", errors()),
            ("node/src/config.ts", config()),
        ]
    },
    documented: &[
        ("node/src/coordinator.ts", &["coordinator"]),
        ("node/src/transaction.ts", &["transaction"]),
        ("node/src/consumer.ts", &["consumer", "batch"]),
        ("node/src/own.ts", &["own_branch"]),
    ],
};

fn errors() -> String {
    let mut text =
        format!("// {NOTE}\n\nimport {{ GtcError, type GtcErrorClass }} from './error';\n");
    for (kind, doc) in kinds() {
        let (class, name, code) = (class(kind.as_str()), kind.as_str(), code(kind.as_str()));
        let (number, retry) = (kind.code(), kind.retry());
        // Writing into a string cannot fail.
        let _ = write!(
            text,
            "\n/**\n * {doc}\n *\n * The usual advice on a retry is {retry}.\n */\n\
             export class {class} extends GtcError {{\n  \
             override readonly code = '{code}';\n  override readonly kind = '{name}';\n  \
             override readonly number = {number};\n}}\n"
        );
    }
    text += "\n/** The class of each kind by its number. */\n";
    text += "export const KINDS: ReadonlyMap<number, GtcErrorClass> = \
             new Map<number, GtcErrorClass>([\n";
    for (kind, _) in kinds() {
        let _ = writeln!(text, "  [{}, {}],", kind.code(), class(kind.as_str()));
    }
    text + "]);\n"
}

fn class(name: &str) -> String {
    format!("{}Error", pascal(name))
}

/// `in-doubt` as `ERR_IN_DOUBT`.
fn code(name: &str) -> String {
    format!("ERR_{}", name.to_uppercase().replace('-', "_"))
}

fn config() -> String {
    let mut text = format!("// {NOTE}\n");
    let tables = [
        (
            "LimitsConfig",
            "coordinator.limits",
            "Limits of a coordinator. All are finite.",
        ),
        (
            "CoordinatorConfig",
            "coordinator",
            "The coordinator itself.",
        ),
        (
            "ParticipantConfig",
            "participants.NAME",
            "A participant: gtc's own keys, and properties of librdkafka.",
        ),
    ];
    for (interface, table, doc) in tables {
        let _ = write!(text, "\n/** {doc} */\nexport interface {interface} {{\n");
        keys_of(table).iter().for_each(|key| field(&mut text, key));
        text += match table {
            "coordinator" => {
                "  /** Its limits. */\n  readonly limits?: LimitsConfig | undefined;\n"
            }
            "participants.NAME" => {
                "  /** Every other key is a property of librdkafka. */\n  readonly [property: \
                 string]: string | number | boolean | undefined;\n"
            }
            _ => "",
        };
        text += "}\n";
    }
    text += "\n/** A configuration, as its file has it. */\nexport interface Config {\n";
    text += "  /** The coordinator. */\n  readonly coordinator: CoordinatorConfig;\n";
    text += "  /** The clusters by name. */\n";
    text += "  readonly participants: Readonly<Record<string, ParticipantConfig>>;\n}\n";
    text
}

fn field(text: &mut String, key: &ConfigKey) {
    let name = match key.value {
        KeyType::Integer => "number",
        KeyType::Boolean => "boolean",
        _ => "string",
    };
    let _ = write!(
        text,
        "  /** {} */\n  readonly {}?: {name} | undefined;\n",
        key_doc(key),
        key.name,
    );
}
