//! Python: a subclass a kind, and the keys of a configuration as typed dictionaries.

use std::fmt::Write;

use gtc::config::{ConfigKey, KeyType};

use crate::Language;
use crate::tables::{NOTE, key_doc, keys_of, kinds, pascal};

pub(crate) const PYTHON: Language = Language {
    name: "Python",
    generated: || {
        vec![
            ("python/gtc/_kinds.py", errors()),
            ("python/gtc/_config.py", config()),
        ]
    },
    documented: &[
        ("python/gtc/_sync.py", &OBJECTS),
        (
            "python/gtc/_aio.py",
            &["coordinator", "transaction", "consumer"],
        ),
        ("bindings/python/src/consumer.rs", &["batch"]),
    ],
};

const OBJECTS: [&str; 4] = ["coordinator", "transaction", "consumer", "own_branch"];

fn errors() -> String {
    let mut text = format!("# {NOTE}\n\"\"\"One class for each kind of error.\"\"\"\n\n");
    text += "from __future__ import annotations\n\nfrom typing import Dict, Type\n\n";
    text += "from ._error import GtcError\n";
    for (kind, doc) in kinds() {
        let (class, name) = (class(kind.as_str()), kind.as_str());
        let (code, retry) = (kind.code(), kind.retry());
        // Writing into a string cannot fail.
        let _ = write!(
            text,
            "\n\nclass {class}(GtcError):\n    \"\"\"{doc}\n\n    The usual advice on a retry is \
             {retry}.\n    \"\"\"\n\n    kind = \"{name}\"\n    code = {code}\n"
        );
    }
    text += "\n\nKINDS: Dict[int, Type[GtcError]] = {\n";
    for (kind, _) in kinds() {
        let _ = writeln!(text, "    {}: {},", kind.code(), class(kind.as_str()));
    }
    text + "}\n"
}

fn class(name: &str) -> String {
    format!("{}Error", pascal(name))
}

fn config() -> String {
    let mut text = format!("# {NOTE}\n\"\"\"The keys of a configuration.\"\"\"\n\n");
    text += "from __future__ import annotations\n\nfrom typing import Mapping, TypedDict, Union\n";
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
    ];
    for (class, table, doc) in tables {
        let _ = write!(
            text,
            "\n\nclass {class}(TypedDict, total=False):\n    \"\"\"{doc}\"\"\"\n"
        );
        keys_of(table).iter().for_each(|key| field(&mut text, key));
        if table == "coordinator" {
            text += "\n    limits: LimitsConfig\n    \"\"\"Its limits.\"\"\"\n";
        }
    }
    text += "\n\nPARTICIPANT_KEYS: Mapping[str, str] = {\n";
    for key in keys_of("participants.NAME") {
        let _ = writeln!(text, "    {:?}: {:?},", key.name, key_doc(&key));
    }
    text += "}\n\"\"\"gtc's own keys of a participant; every other key is a property of \
             librdkafka.\"\"\"\n";
    text += "\nParticipantConfig = Mapping[str, Union[str, int, bool]]\n";
    text +=
        "\n\nclass Config(TypedDict):\n    \"\"\"A configuration, as its file has it.\"\"\"\n\n";
    text += "    coordinator: CoordinatorConfig\n    \"\"\"The coordinator.\"\"\"\n\n";
    text += "    participants: Mapping[str, ParticipantConfig]\n";
    text += "    \"\"\"The clusters by name.\"\"\"\n";
    text
}

fn field(text: &mut String, key: &ConfigKey) {
    let name = match key.value {
        KeyType::Integer => "int",
        KeyType::Boolean => "bool",
        _ => "str",
    };
    let _ = write!(
        text,
        "\n    {}: {name}\n    \"\"\"{}\"\"\"\n",
        key.name,
        key_doc(key)
    );
}
