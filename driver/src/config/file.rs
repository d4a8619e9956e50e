//! The TOML form of the configuration.

use std::ops::{Range, RangeInclusive};

use gtc_core::validate_name;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::environment::{Lookup, substitute};
use super::{Config, Limits, ParticipantConfig, nearest};
use crate::error::{Error, ErrorKind};
use crate::kafka::properties::{self, Properties};

/// The largest whole number that TOML has.
const INTEGER_MAX: u64 = i64::MAX as u64;
/// The largest count of names.
const COUNT_MAX: u64 = u32::MAX as u64;
/// The largest time-out that a broker takes.
const TIMEOUT_MAX_MS: u64 = i32::MAX as u64;

/// What is being read; every error names its place in it.
struct Source<'a> {
    /// Without a name it has no lines that anybody could look at either.
    name: Option<&'a str>,
    text: &'a str,
    lookup: Lookup<'a>,
}

impl Source<'_> {
    fn error(&self, span: Range<usize>, problem: impl AsRef<str>) -> Error {
        const OPERATION: &str = "read configuration";
        let Some(name) = self.name else {
            return Error::new(ErrorKind::Config, OPERATION, problem.as_ref());
        };
        let start = span.start.min(self.text.len());
        let line = self.text.as_bytes()[..start]
            .iter()
            .filter(|byte| **byte == b'\n')
            .count()
            + 1;
        let place = format!("{name} line {line}: {}", problem.as_ref());
        Error::new(ErrorKind::Config, OPERATION, place)
    }

    fn unknown(&self, span: Range<usize>, name: &str, known: &[&str]) -> Error {
        let remedy = match nearest(name, known.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("use one of {}", known.join(", ")),
        };
        self.error(span, format!("unknown key `{name}`"))
            .with_remedy(remedy)
    }

    fn table<'t, 'i>(
        &self,
        name: &str,
        value: &'t Spanned<DeValue<'i>>,
    ) -> Result<&'t DeTable<'i>, Error> {
        value.get_ref().as_table().ok_or_else(|| {
            self.error(value.span(), format!("`{name}` is no table"))
                .with_remedy(format!("write it as [{name}]"))
        })
    }

    fn string(&self, name: &str, value: &Spanned<DeValue<'_>>) -> Result<Text, Error> {
        let text = value.get_ref().as_str().ok_or_else(|| {
            self.error(value.span(), format!("`{name}` is no string"))
                .with_remedy("put the value in quotes")
        })?;
        let substituted = substitute(text, self.lookup).map_err(|problem| {
            self.error(value.span(), format!("`{name}`: {problem}"))
                .with_remedy("set the variable, or write `$${` for a plain `${`")
        })?;
        Ok(Text {
            written: text.to_owned(),
            value: substituted,
        })
    }

    /// What a variable stands for, where the value is written as one.
    fn variable(&self, name: &str, value: &Spanned<DeValue<'_>>) -> Result<Option<String>, Error> {
        match value.get_ref().as_str() {
            Some(text) if text.contains("${") => Ok(Some(self.string(name, value)?.value)),
            _ => Ok(None),
        }
    }

    fn integer<T: TryFrom<u64>>(
        &self,
        (name, range): (&str, RangeInclusive<u64>),
        value: &Spanned<DeValue<'_>>,
    ) -> Result<T, Error> {
        let number = match value.get_ref().as_integer() {
            Some(number) => u64::from_str_radix(number.as_str(), number.radix()).ok(),
            None => {
                let text = self.variable(name, value)?;
                text.and_then(|text| text.parse().ok())
            }
        };
        let number = number.filter(|number| range.contains(number));
        let number = number.and_then(|number| T::try_from(number).ok());
        number.ok_or_else(|| {
            let (least, most) = (range.start(), range.end());
            let problem = format!("`{name}` is no whole number from {least} to {most}");
            self.error(value.span(), problem)
                .with_remedy("write one of these, without quotes, or a variable that holds one")
        })
    }

    fn boolean(&self, name: &str, value: &Spanned<DeValue<'_>>) -> Result<bool, Error> {
        if let Some(truth) = value.get_ref().as_bool() {
            return Ok(truth);
        }
        match self.variable(name, value)?.as_deref() {
            Some("true") => Ok(true),
            Some("false") => Ok(false),
            _ => {
                let problem = format!("`{name}` is neither true nor false");
                Err(self
                    .error(value.span(), problem)
                    .with_remedy("write one of the two, without quotes"))
            }
        }
    }

    /// The value of a librdkafka property; numbers and booleans may stand without quotes. Not in the
    /// place of a password: of `0_123` or `1e3` it would not be the signs that count.
    fn scalar(&self, name: &str, value: &Spanned<DeValue<'_>>) -> Result<Text, Error> {
        match value.get_ref() {
            _ if properties::is_secret(name) => self.string(name, value),
            DeValue::Integer(number) if number.radix() == 10 => Ok(Text::plain(number.as_str())),
            DeValue::Float(number) => Ok(Text::plain(number.as_str())),
            DeValue::Boolean(truth) => Ok(Text::plain(&truth.to_string())),
            _ => self.string(name, value),
        }
    }
}

/// Text, and how the file has it. What stands for a variable may be a secret, so that an error
/// shows it as it is written.
struct Text {
    value: String,
    written: String,
}

impl Text {
    fn plain(text: &str) -> Self {
        Self {
            value: text.to_owned(),
            written: text.to_owned(),
        }
    }
}

/// Reads the text of a configuration; `name` stands for it in errors, with the line.
pub(crate) fn read(name: Option<&str>, text: &str, lookup: Lookup<'_>) -> Result<Config, Error> {
    let source = Source { name, text, lookup };
    // The parser's own message would quote the line, and a line may hold a password.
    let root = DeTable::parse(text)
        .map_err(|error| source.error(error.span().unwrap_or(0..0), error.message()))?;
    let mut coordinator = None;
    let mut participants = Vec::new();
    for (key, value) in root.get_ref() {
        let table = |name| source.table(name, value);
        match key.get_ref().as_ref() {
            "coordinator" => {
                let table = table("coordinator")?;
                coordinator = Some(read_coordinator(&source, key.span(), table)?);
            }
            "participants" => {
                participants = read_participants(&source, table("participants")?)?;
            }
            other => {
                return Err(source.unknown(key.span(), other, &["coordinator", "participants"]));
            }
        }
    }
    let mut config = coordinator.ok_or_else(|| {
        source
            .error(0..0, "there is no [coordinator]")
            .with_remedy("add [coordinator] with id and log")
    })?;
    config.participants = participants;
    config.validate().map_err(|error| match name {
        Some(name) => error.within(name),
        None => error,
    })?;
    Ok(config)
}

fn read_coordinator(
    source: &Source<'_>,
    header: Range<usize>,
    table: &DeTable<'_>,
) -> Result<Config, Error> {
    let (mut id, mut log, mut adopt, mut limits) = (None, None, false, Limits::default());
    for (key, value) in table {
        match key.get_ref().as_ref() {
            "id" => id = Some(read_id(source, value)?),
            "log" => log = Some(source.string("log", value)?.value),
            "adopt" => adopt = source.boolean("adopt", value)?,
            "limits" => limits = read_limits(source, source.table("coordinator.limits", value)?)?,
            other => {
                let known = ["adopt", "id", "limits", "log"];
                return Err(source.unknown(key.span(), other, &known));
            }
        }
    }
    let missing = |name: &str| {
        source
            .error(header.clone(), format!("[coordinator] has no `{name}`"))
            .with_remedy("set both id and log")
    };
    let id = id.ok_or_else(|| missing("id"))?;
    let log = log.ok_or_else(|| missing("log"))?;
    Ok(Config::new(id, log).adopt(adopt).limits(limits))
}

fn read_id(source: &Source<'_>, value: &Spanned<DeValue<'_>>) -> Result<String, Error> {
    let Text { value: id, written } = source.string("id", value)?;
    match validate_name("coordinator id", &id) {
        Ok(()) => Ok(id),
        Err(error) if id == written => Err(source.error(value.span(), error.to_string())),
        Err(_) => {
            let problem = format!("coordinator id {written:?}: the variable holds no id");
            Err(source
                .error(value.span(), problem)
                .with_remedy("use 1 to 64 letters, digits, '-' and '_'"))
        }
    }
}

fn read_limits(source: &Source<'_>, table: &DeTable<'_>) -> Result<Limits, Error> {
    let mut limits = Limits::default();
    for (key, value) in table {
        let name = key.get_ref().as_ref();
        match limits.by_name(name) {
            Some((limit, least)) => {
                *limit = source.integer((name, least..=INTEGER_MAX), value)?;
            }
            None => {
                let known: Vec<_> = Limits::TABLE.iter().map(|(name, ..)| *name).collect();
                return Err(source.unknown(key.span(), name, &known));
            }
        }
    }
    Ok(limits)
}

fn read_participants(
    source: &Source<'_>,
    table: &DeTable<'_>,
) -> Result<Vec<ParticipantConfig>, Error> {
    table
        .iter()
        .map(|(key, value)| {
            let name = key.get_ref().as_ref();
            let table = source.table(&format!("participants.{name}"), value)?;
            read_participant(source, (name, key.span()), table)
                .map_err(|error| error.with_participant(name))
        })
        .collect()
}

fn read_participant(
    source: &Source<'_>,
    (name, header): (&str, Range<usize>),
    table: &DeTable<'_>,
) -> Result<ParticipantConfig, Error> {
    let mut participant = ParticipantConfig::kafka(name);
    let mut kind = None;
    let mut places = Vec::new();
    for (key, value) in table {
        match key.get_ref().as_ref() {
            "kind" => kind = Some(value),
            "slots" => {
                let range = 1..=u64::from(ParticipantConfig::SLOTS_MAX);
                participant.slots = source.integer(("slots", range), value)?;
            }
            "names_max" => {
                participant.names_max = source.integer(("names_max", 2..=COUNT_MAX), value)?;
            }
            "margin_ms" => {
                let read = source.integer(("margin_ms", 0..=INTEGER_MAX), value)?;
                participant.margin_ms = Some(read);
            }
            "transaction_timeout_ms" => {
                let range = ("transaction_timeout_ms", 1..=TIMEOUT_MAX_MS);
                participant.transaction_timeout_ms = Some(source.integer(range, value)?);
            }
            property => flatten(source, property, (key.span(), value), &mut places)?,
        }
    }
    check_kind(source, (name, &header), kind)?;
    for Place { name, text, .. } in &places {
        participant = participant.property(name, &text.value);
        if text.value != text.written {
            participant
                .written
                .insert(name.clone(), text.written.clone());
        }
    }
    check_properties(source, (&participant, header), &places)?;
    Ok(participant)
}

/// A property and where it stands.
struct Place {
    name: String,
    text: Text,
    span: Range<usize>,
}

/// TOML reads `a.b = 1` as a table `a` with a key `b`; librdkafka wants the name `a.b` back.
fn flatten(
    source: &Source<'_>,
    name: &str,
    (span, value): (Range<usize>, &Spanned<DeValue<'_>>),
    places: &mut Vec<Place>,
) -> Result<(), Error> {
    let Some(table) = value.get_ref().as_table() else {
        let (name, text) = (name.to_owned(), source.scalar(name, value)?);
        places.push(Place { name, text, span });
        return Ok(());
    };
    for (key, value) in table {
        let name = format!("{name}.{}", key.get_ref());
        flatten(source, &name, (key.span(), value), places)?;
    }
    Ok(())
}

fn check_kind(
    source: &Source<'_>,
    (name, header): (&str, &Range<usize>),
    kind: Option<&Spanned<DeValue<'_>>>,
) -> Result<(), Error> {
    match kind {
        Some(value) => {
            let kind = source.string("kind", value)?;
            if kind.value == "kafka" {
                return Ok(());
            }
            let problem = format!("there is no kind `{}` of participant", kind.written);
            Err(source
                .error(value.span(), problem)
                .with_remedy("write kind = \"kafka\""))
        }
        None => Err(source
            .error(
                header.clone(),
                format!("[participants.{name}] has no `kind`"),
            )
            .with_remedy("write kind = \"kafka\"")),
    }
}

fn check_properties(
    source: &Source<'_>,
    (participant, header): (&ParticipantConfig, Range<usize>),
    places: &[Place],
) -> Result<(), Error> {
    // What is missing has no place but that of its participant.
    let span = |property: &str| {
        let place = places.iter().find(|place| place.name == property);
        place.map_or(header.clone(), |place| place.span.clone())
    };
    // librdkafka's names have dots or are single words: the rest is a slip of one of gtc's own.
    for Place { name, .. } in places {
        let own = name.contains('_') && name != "log_level";
        let near = || nearest(name, ParticipantConfig::KEYS.iter().copied()).is_some();
        // What librdkafka has is no slip, such as transactional.id, which gtc sets itself.
        if own || !properties::is_known(name) && near() {
            return Err(source.unknown(span(name), name, ParticipantConfig::KEYS));
        }
    }
    let written = participant.written.clone();
    Properties::parse_written(&participant.name, participant.revealed(), written)
        .map(drop)
        .map_err(|error| {
            let place = source.error(span(error.property()), error.problem());
            place.with_remedy(error.remedy()).with_source(error)
        })
}
