//! C: the status numbers as an enum of the binding, and the whole header `gtc.h` from the binding's
//! functions and types, with the keys of a configuration.

use std::collections::HashMap;
use std::fmt::Write;
use std::path::PathBuf;

use cbindgen::{
    Braces, Config, DocumentationStyle, EnumConfig, ExportConfig, Language as Dialect, RenameRule,
    Style,
};

use crate::Language;
use crate::root;
use crate::tables::{NOTE, key_doc, keys_of, kinds, pascal};

pub(crate) const C: Language = Language {
    name: "C",
    generated: || {
        let status = status();
        let header = header(&status);
        vec![
            ("bindings/c/src/status.rs", status),
            ("c-include/gtc.h", header),
        ]
    },
    documented: &[("c-include/gtc.h", &OBJECTS)],
};

/// Columns of the header.
const LONGEST: usize = 100;

const OBJECTS: [&str; 5] = [
    "coordinator",
    "transaction",
    "consumer",
    "batch",
    "own_branch",
];

/// The modules of the binding in the order of the header.
const MODULES: [&str; 12] = [
    "status",
    "error",
    "words",
    "record",
    "source",
    "views",
    "coordinator",
    "operator",
    "transaction",
    "own",
    "consumer",
    "bare",
];

fn status() -> String {
    let mut text = format!("// {NOTE}\n//! The numbers of the kinds of errors.\n\n");
    text += "use std::ffi::CStr;\n\nuse gtc::{ErrorKind, Retry};\n\n";
    text += "/// What came of a call. A number is never given to another kind.\n";
    text += "#[repr(C)]\n#[derive(Clone, Copy, Debug, PartialEq, Eq)]\n";
    text += "pub enum gtc_status {\n    /// It worked.\n    Ok = 0,\n";
    for (kind, doc) in kinds() {
        let (name, code) = (pascal(kind.as_str()), kind.code());
        // Writing into a string cannot fail.
        let _ = writeln!(text, "    /// {doc}\n    {name} = {code},");
    }
    text += "}\n\nimpl gtc_status {\n    /// The status with a number.\n";
    text += "    pub(crate) fn from_number(number: u32) -> Option<Self> {\n";
    text += "        Some(match number {\n            0 => Self::Ok,\n";
    for (kind, _) in kinds() {
        let (name, code) = (pascal(kind.as_str()), kind.code());
        let _ = writeln!(text, "            {code} => Self::{name},");
    }
    text += "            _ => return None,\n        })\n    }\n\n";
    text += "    /// The name in every language.\n";
    text += "    pub(crate) fn name(self) -> &'static CStr {\n        match self {\n";
    text += "            Self::Ok => c\"ok\",\n";
    for (kind, _) in kinds() {
        let (name, word) = (pascal(kind.as_str()), kind.as_str());
        let _ = writeln!(text, "            Self::{name} => c\"{word}\",");
    }
    text += "        }\n    }\n\n    /// The usual advice on a retry.\n";
    text += "    pub(crate) fn retry(self) -> gtc_retry {\n        match self {\n";
    text += "            Self::Ok => gtc_retry::Never,\n";
    for (kind, _) in kinds() {
        let (name, retry) = (pascal(kind.as_str()), pascal(kind.retry().as_str()));
        let _ = writeln!(text, "            Self::{name} => gtc_retry::{retry},");
    }
    text += "        }\n    }\n}\n\nimpl From<ErrorKind> for gtc_status {\n";
    text += "    fn from(kind: ErrorKind) -> Self {\n";
    text += "        Self::from_number(u32::from(kind.code())).unwrap_or(Self::Internal)\n";
    text += "    }\n}\n\n";
    text + RETRY
}

const RETRY: &str = "\
/// Whether asking again helps.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum gtc_retry {
    /// The same call fails again.
    Never = 0,
    /// The same call, or the whole transaction, may succeed later.
    Later = 1,
    /// First learn the outcome, or have an operator settle it.
    AfterResolve = 2,
}

impl From<Retry> for gtc_retry {
    fn from(retry: Retry) -> Self {
        match retry {
            Retry::Never => Self::Never,
            Retry::Later => Self::Later,
            Retry::AfterResolve => Self::AfterResolve,
        }
    }
}
";

/// What stands above everything.
const ABOUT: &str = "\
/**
 * gtc commits one transaction over two or more Kafka clusters: on all of them, or on none.
 *
 * Calls give back a `gtc_status`; the `gtc_error` functions tell the rest of the last error of
 * their thread. A verb that may take a while waits, and has an `_async` form that calls back.
 *
 * What is opened, begun or made is a handle: any thread may use it, closing it twice does no harm,
 * and its `_free` function takes it back, while no other call uses it. What is listed or read is a
 * structure that is freed by the function of its name, with everything that it points to.
 *
 * Texts are UTF-8 and end with a NUL; keys, values and headers have a length. What is passed in has
 * to stay as it is until the call returns, also that of an `_async` call. NULL is an error of the
 * kind config wherever it is not said to be allowed, and for `_free` it does no harm. An argument of
 * an enumeration is an `uint32_t`, and other numbers than its own are an error of the kind config.
 *
 * gtc's threads start at the first use and do not survive a fork: in a forked child every verb gives
 * GTC_STATUS_UNSUPPORTED.
 */";

fn header(status: &str) -> String {
    let directory = root().join("bindings/c/src");
    // A stale file would give a stale header. Two tests may write it at once, so each has its own.
    let fresh = root().join("target/generate");
    let file = fresh.join(format!("status-{:?}.rs", std::thread::current().id()));
    let written = std::fs::create_dir_all(&fresh).and_then(|()| std::fs::write(&file, status));
    let sources = MODULES.iter().map(|module| match *module {
        "status" => file.clone(),
        module => directory.join(module).with_extension("rs"),
    });
    let sources: Vec<PathBuf> = sources.chain([directory.join("callback.rs")]).collect();
    let mut builder = cbindgen::Builder::new().with_config(config());
    for source in sources {
        builder = builder.with_src(source);
    }
    match (written, builder.generate()) {
        (Ok(()), Ok(bindings)) => {
            let mut text = Vec::new();
            bindings.write(&mut text);
            plain(&String::from_utf8_lossy(&text))
        }
        // It cannot be what is checked in, and says why.
        (Err(error), _) => format!("{error}\n"),
        (_, Err(error)) => format!("{error}\n"),
    }
}

fn config() -> Config {
    let words = [
        "gtc_decision",
        "gtc_commit_return",
        "gtc_version_class",
        "gtc_offset_reset",
    ];
    Config {
        language: Dialect::C,
        header: Some(format!("/* {NOTE} */")),
        after_includes: Some(format!("\n{ABOUT}\n{}", keys())),
        include_guard: Some("GTC_H".to_owned()),
        no_includes: true,
        sys_includes: ["stdbool.h", "stddef.h", "stdint.h"]
            .map(str::to_owned)
            .to_vec(),
        cpp_compat: true,
        braces: Braces::SameLine,
        line_length: LONGEST,
        tab_width: 4,
        style: Style::Both,
        documentation_style: DocumentationStyle::Doxy,
        usize_is_size_t: true,
        enumeration: EnumConfig {
            rename_variants: RenameRule::QualifiedScreamingSnakeCase,
            ..EnumConfig::default()
        },
        export: ExportConfig {
            include: words.map(str::to_owned).to_vec(),
            rename: HashMap::new(),
            ..ExportConfig::default()
        },
        ..Config::default()
    }
}

/// The `Safety` sections are for readers of the Rust side: the header has its rules once, at the top.
fn plain(header: &str) -> String {
    let mut text = String::new();
    let mut in_safety = false;
    for line in header.lines() {
        let bare = line.trim();
        in_safety = match bare {
            "* # Safety" => true,
            _ => in_safety && bare != "*/",
        };
        if !in_safety {
            text += &defined(line.trim_end());
            text.push('\n');
        }
    }
    // Before each section stood an empty line.
    short(&text.replace(" *\n */", " */"))
}

/// A comment of one line stands in one line.
fn short(header: &str) -> String {
    let lines: Vec<&str> = header.lines().collect();
    let mut text = String::new();
    let mut rest = &lines[..];
    while let Some((line, behind)) = rest.split_first() {
        let joined = match behind {
            [doc, end, ..] if line.trim() == "/**" && end.trim() == "*/" => {
                let doc = doc.trim().trim_start_matches("* ");
                Some(format!("{line} {doc} */")).filter(|joined| joined.len() <= LONGEST)
            }
            _ => None,
        };
        rest = if joined.is_some() {
            &behind[2..]
        } else {
            behind
        };
        text += joined.as_deref().unwrap_or(line);
        text.push('\n');
    }
    text
}

/// A negative number, in the brackets that a macro needs.
fn defined(line: &str) -> String {
    match line
        .split_once(" -")
        .filter(|_| line.starts_with("#define "))
    {
        Some((name, number)) if number.bytes().all(|digit| digit.is_ascii_digit()) => {
            format!("{name} (-{number})")
        }
        _ => line.to_owned(),
    }
}

/// The keys of a configuration, as the strings that `gtc_setting` takes.
fn keys() -> String {
    let mut text = String::new();
    for (table, prefix) in [
        ("coordinator", "GTC_KEY_"),
        ("coordinator.limits", "GTC_KEY_LIMITS_"),
    ] {
        for key in keys_of(table) {
            let value = format!("{table}.{}", key.name);
            text += &define(&format!("{prefix}{}", key.name), &value, &key_doc(&key));
        }
    }
    for key in keys_of("participants.NAME") {
        let doc = format!("Of a participant: {}", key_doc(&key));
        text += &define(&format!("GTC_PARTICIPANT_{}", key.name), key.name, &doc);
    }
    let doc = "The whole key of a participant's key or property, of string literals: \
               `GTC_PARTICIPANT_KEY(\"eu\", \"bootstrap.servers\")`.";
    let value = "\"participants.\" participant \".\" key";
    text + &comment(doc) + &format!("#define GTC_PARTICIPANT_KEY(participant, key) {value}\n")
}

fn define(name: &str, value: &str, doc: &str) -> String {
    comment(doc) + &format!("#define {} \"{value}\"\n", name.to_uppercase())
}

/// A comment whose lines are not too long.
fn comment(doc: &str) -> String {
    let mut lines = vec![String::new()];
    for word in doc.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.is_empty() || line.len() + 4 + word.len() <= LONGEST => {
                line.push_str(if line.is_empty() { "" } else { " " });
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    format!("\n/**\n * {}\n */\n", lines.join("\n * "))
}
