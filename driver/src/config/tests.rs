//! What a configuration file may say, and what is said of a wrong one.

use super::*;

fn lookup(name: &str) -> Option<String> {
    (name == "EU_PASSWORD").then(|| "planted-secret".to_owned())
}

fn read(text: &str) -> Result<Config, Error> {
    file::read(Some("gtc.toml"), text, &lookup)
}

const BASE: &str = "[coordinator]\nid = \"orders\"\nlog = \"/var/lib/gtc\"\n";

#[test]
fn properties_may_be_dotted_or_quoted() {
    let forms = [
        "bootstrap.servers = 'a:1'\nlinger.ms = 5\nsocket.keepalive.enable = true",
        "'bootstrap.servers' = 'a:1'\n'linger.ms' = '5'\n'socket.keepalive.enable' = 'true'",
        "bootstrap.servers = 'a:1'\n'linger.ms' = 5\n[participants.eu.socket]\nkeepalive.enable = true",
    ];
    for form in forms {
        let text = format!("{BASE}[participants.eu]\nkind = 'kafka'\nslots = 3\n{form}\n");
        let config = read(&text).expect(form);
        let participant = &config.participants()[0];
        assert_eq!(participant.slots, 3);
        let expected = [
            ("bootstrap.servers", "a:1"),
            ("linger.ms", "5"),
            ("socket.keepalive.enable", "true"),
        ];
        let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(participant.revealed(), expected.into(), "{form}");
    }
}

#[test]
fn every_key_is_read() {
    let config = read(
        "[coordinator]\nid = 'c'\nlog = 'dir'\nadopt = true\n[coordinator.limits]\n\
         slot_idle_ms = 1_000\n[participants.us]\nkind = 'kafka'\nslots = 2\nnames_max = 9\n\
         margin_ms = 7\ntransaction_timeout_ms = 60000\nbootstrap.servers = 'b:1'\n\
         [participants.eu]\nkind = 'kafka'\nbootstrap.servers = 'a:1'\n",
    )
    .expect("all keys are known");
    assert_eq!(
        (config.id(), config.log(), config.adopt),
        ("c", Path::new("dir"), true)
    );
    assert_eq!(config.limits.slot_idle_ms, 1_000);
    let names: Vec<_> = config
        .participants()
        .iter()
        .map(ParticipantConfig::name)
        .collect();
    assert_eq!(names, ["eu", "us"]);
    let us = &config.participants()[1];
    assert_eq!((us.slots, us.names_max), (2, 9));
    assert_eq!(us.resolve_timeout_ms(Some(i64::MAX)), 60_000);
    assert_eq!(us.resolve_margin_ms(60_000), 7);
}

#[test]
fn errors_name_place_and_remedy() {
    let eu = "[participants.eu]\nkind = 'kafka'\nbootstrap.servers = 'a:1'\n";
    let cases = [
        (
            "[coordinatr]".to_owned(),
            "line 1: unknown key `coordinatr`",
            "`coordinator`",
        ),
        (
            format!("{BASE}logs = 'x'"),
            "line 4: unknown key `logs`",
            "`log`",
        ),
        (
            format!("{BASE}limits.slot_idle = 1"),
            "unknown key `slot_idle`",
            "`slot_idle_ms`",
        ),
        (
            "[coordinator]\nid = 'x'".to_owned(),
            "has no `log`",
            "id and log",
        ),
        (
            String::new(),
            "there is no [coordinator]",
            "add [coordinator]",
        ),
        (
            format!("{BASE}{eu}slot = 3"),
            "line 7: unknown key `slot`",
            "`slots`",
        ),
        (
            format!("{BASE}{eu}max_names = 3"),
            "unknown key `max_names`",
            "use one of",
        ),
        (format!("{BASE}{eu}linger.sm = 3"), "line 7", "`linger.ms`"),
        (format!("{BASE}{eu}acks = 1"), "line 7", "gtc sets"),
        (
            format!("{BASE}{eu}topics = ['a']"),
            "`topics` is no string",
            "quotes",
        ),
        (
            format!("{BASE}{eu}client.id = '${{NONE}}'"),
            "`NONE` is not set",
            "set the variable",
        ),
        (
            format!("{BASE}[participants.eu]\nkind = 'sql'"),
            "no kind `sql`",
            "\"kafka\"",
        ),
        (
            format!("{BASE}[participants.eu]"),
            "has no `kind`",
            "\"kafka\"",
        ),
        (
            format!("{BASE}participants = 3"),
            "unknown key `participants`",
            "use one of",
        ),
        (format!("{BASE}id = 'again'"), "line 4: duplicate key", ""),
    ];
    for (text, place, remedy) in cases {
        assert_refused(&text, place, remedy);
    }
}

/// A number has a range, which is said.
#[test]
fn values_that_are_none_of_their_kind_are_refused_with_what_is_one() {
    let eu = "[participants.eu]\nkind = 'kafka'\nbootstrap.servers = 'a:1'\n";
    let cases = [
        (
            format!("{BASE}limits.slot_idle_ms = -1"),
            "line 4: `slot_idle_ms` is no whole number from 0 to 9223372036854775807",
            "write one of these",
        ),
        (
            format!("{BASE}{eu}slots = 'two'"),
            "line 7: `slots` is no whole number from 1 to 1000",
            "without quotes",
        ),
        (
            format!("{BASE}{eu}slots = 0"),
            "line 7: `slots` is no whole number from 1 to 1000",
            "write one of these",
        ),
        (
            format!("{BASE}{eu}names_max = 1"),
            "line 7: `names_max` is no whole number from 2 to 4294967295",
            "write one of these",
        ),
        (
            format!("{BASE}{eu}transaction_timeout_ms = 2147483648"),
            "line 7: `transaction_timeout_ms` is no whole number from 1 to 2147483647",
            "write one of these",
        ),
        (
            format!("{BASE}limits.branches_max = 0\n{eu}"),
            "line 4: `branches_max` is no whole number from 1 to",
            "write one of these",
        ),
        (
            format!("{BASE}{eu}slots = '${{EU_PASSWORD}}'"),
            "line 7: `slots` is no whole number",
            "a variable that holds one",
        ),
        (
            format!("{BASE}{eu}sasl.passwrd = 'x'"),
            "line 7: property `sasl.passwrd`",
            "did you mean `sasl.password`?",
        ),
        (
            format!("{BASE}{eu}transactional.id = 'x'"),
            "line 7: property `transactional.id`: gtc sets this property itself",
            "remove it",
        ),
        (
            format!("{BASE}{eu}sasl.password = 12345"),
            "line 7: `sasl.password` is no string",
            "put the value in quotes",
        ),
        (
            format!("{BASE}adopt = 'yes'"),
            "line 4: `adopt` is neither true nor false",
            "without quotes",
        ),
    ];
    for (text, place, remedy) in cases {
        assert_refused(&text, place, remedy);
    }
}

#[track_caller]
fn assert_refused(text: &str, place: &str, remedy: &str) {
    let error = read(text).expect_err(text);
    assert_eq!(error.kind(), ErrorKind::Config, "{text}");
    let message = error.to_string();
    crate::said_once::assert_said_once(&message);
    assert!(message.contains("gtc.toml"), "{message}");
    assert!(message.contains(place), "{message} has no {place}");
    assert!(message.contains(remedy), "{message} has no {remedy}");
}

#[test]
fn what_no_command_could_work_with_is_refused_by_all() {
    let eu = "[participants.eu]\nkind = 'kafka'\nbootstrap.servers = 'a:1'\n";
    let cases = [
        (
            format!("{BASE}[participants.eu]\nkind = 'kafka'\nslots = 3"),
            "line 4: property `bootstrap.servers`: no broker is named",
            "host:port",
        ),
        (
            format!("{BASE}\n[participants.eu]\nslots = 3"),
            "line 5: [participants.eu] has no `kind`",
            "\"kafka\"",
        ),
        (
            format!("{}{eu}", BASE.replace("orders", "or ders")),
            "line 2: coordinator id \"or ders\"",
            "use 1 to 64",
        ),
        (
            format!("{}{eu}", BASE.replace("orders", "")),
            "coordinator id \"\"",
            "use 1 to 64",
        ),
        (
            format!("{}{eu}", BASE.replace("/var/lib/gtc", "")),
            "`log` is empty",
            "a directory",
        ),
        (
            format!(
                "{BASE}{}",
                eu.replace("participants.eu", "participants.'e:u'")
            ),
            "participant name \"e:u\"",
            "use 1 to 64",
        ),
        (BASE.to_owned(), "no participant", "for each cluster"),
        (
            format!(
                "{}{eu}",
                BASE.replace("'", "\"").replace("/var/lib/gtc", "a\\u0000b")
            ),
            "`log` holds a zero byte",
            "a directory",
        ),
        (
            format!("{BASE}{eu}transaction_timeout_ms = 9000\nmargin_ms = 9000"),
            "leaves nothing after the safety margin of 9000 ms",
            "raise the one",
        ),
    ];
    for (text, place, remedy) in cases {
        assert_refused(&text, place, remedy);
    }
}

#[test]
fn no_output_shows_a_planted_secret() {
    let sasl = "security.protocol = 'sasl_plaintext'\nsasl.mechanism = 'PLAIN'\n\
                sasl.username = 'gtc'\nsasl.password = '${EU_PASSWORD}'\n";
    let eu = format!("{BASE}[participants.eu]\nkind = 'kafka'\nbootstrap.servers = 'a:1'\n{sasl}");
    let config = read(&eu).expect("a full configuration");
    let password = config.participants()[0].revealed().remove("sasl.password");
    assert_eq!(password.as_deref(), Some("planted-secret"));
    assert!(!format!("{config:?}").contains("planted"), "{config:?}");

    let broken = [
        eu.replace("sasl.username", "sasl.usernam"),
        eu.replace("'PLAIN'", "'PLAIM'"),
        eu.replace(
            "sasl.password = '${EU_PASSWORD}'",
            "sasl.password = 'planted-secret",
        ),
        eu.replace(
            "sasl.password = '${EU_PASSWORD}'",
            "sasl.pasword = 'planted-secret'",
        ),
        eu.replace(
            "sasl.password = '${EU_PASSWORD}'",
            "sasl.password = ['planted-secret']",
        ),
    ];
    for text in broken {
        let error = read(&text).expect_err("it is broken");
        let shown = format!("{error} {error:?} {:?}", std::error::Error::source(&error));
        assert!(!shown.contains("planted"), "{shown}");
    }
}

#[test]
fn a_relative_log_belongs_to_the_directory_of_its_file() {
    let directory = std::env::temp_dir().join(format!("gtc-config-{}", std::process::id()));
    std::fs::create_dir_all(&directory).expect("a temporary directory");
    let path = directory.join("gtc.toml");
    let eu = "[participants.eu]\nkind = 'kafka'\nbootstrap.servers = 'a:1'\n";
    let text = format!("[coordinator]\nid = 'c'\nlog = 'log'\n{eu}");
    std::fs::write(&path, text).expect("a file");
    let config = Config::from_file(&path).expect("a configuration");
    assert_eq!(config.log(), directory.join("log"));
    std::fs::remove_dir_all(&directory).expect("it was made above");
    let error = Config::from_file(&path).expect_err("it is gone");
    assert!(error.to_string().contains("gtc.toml"), "{error}");
}

/// Not only in text: what a machine decides is often a number.
#[test]
fn a_variable_stands_for_any_value() {
    let lookup = |name: &str| {
        let values = [("KIND", "kafka"), ("SLOTS", "3"), ("ADOPT", "true")];
        let found = values.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| (*value).to_owned())
    };
    let text = format!(
        "{BASE}adopt = '${{ADOPT}}'\nlimits.branches_max = '${{SLOTS}}'\n[participants.eu]\n\
         kind = '${{KIND}}'\nslots = '${{SLOTS}}'\nbootstrap.servers = 'a:1'\n"
    );
    let config = file::read(Some("gtc.toml"), &text, &lookup).expect("all of it is set");
    assert_eq!(config.participants()[0].slots, 3);
    assert_eq!((config.adopt, config.branches_max()), (true, 3));
}

/// Not from a file: the limits are checked all the same.
#[test]
fn limits_that_cannot_work_are_refused_with_the_least_value() {
    let limits = Limits {
        watch_interval_ms: 0,
        ..Limits::default()
    };
    let config = Config::new("c", "log").participant(ParticipantConfig::kafka("eu"));
    let error = config
        .limits(limits)
        .validate()
        .expect_err("it cannot work");
    let text = error.to_string();
    assert!(text.contains("watch_interval_ms = 0"), "{text}");
    assert!(text.contains("raise it to 1 or more"), "{text}");
}

/// Found by the fuzz target `configuration`: a secret in the wrong place was repeated.
#[test]
fn no_error_repeats_what_came_from_the_environment() {
    let kafka = format!("{BASE}[participants.eu]\nkind = 'kafka'\nbootstrap.servers = 'a:1'\n");
    let cases = [
        (
            format!("{BASE}[participants.eu]\nkind = 'k${{EU_PASSWORD}}'"),
            "no kind `k${EU_PASSWORD}`",
        ),
        (
            format!(
                "{BASE}[participants.eu]\nkind = 'kafka'\nbootstrap.servers = 'a,${{EU_PASSWORD}}:x'"
            ),
            "one of them is no address of a broker",
        ),
        (
            format!(
                "{}{}",
                BASE.replace("orders", "a ${EU_PASSWORD}"),
                &kafka[BASE.len()..]
            ),
            "line 2: coordinator id \"a ${EU_PASSWORD}\": the variable holds no id",
        ),
        (
            format!("{kafka}'security.protocol' = '${{EU_PASSWORD}}'"),
            "`security.protocol`",
        ),
        (
            format!("{kafka}'linger.ms' = '${{EU_PASSWORD}}'"),
            "`linger.ms`",
        ),
    ];
    for (text, expected) in cases {
        let error = read(&text).expect_err(&text);
        let source = std::error::Error::source(&error).map(|source| format!("{source:?}"));
        let shown = format!("{error} {error:?} {source:?}");
        assert!(shown.contains(expected), "{shown}");
        assert!(!shown.contains("planted-secret"), "{shown}");
    }
}

/// A device or a pipe may never end.
#[test]
fn a_file_that_is_too_long_for_a_configuration_is_not_read_to_its_end() {
    let error = Config::from_file("/dev/zero").expect_err("it never ends");
    assert_eq!(error.kind(), ErrorKind::Config);
    assert!(
        error.to_string().contains("more than 1048576 bytes"),
        "{error}"
    );
    assert_eq!(error.remedy(), "name a readable TOML file");
}

#[test]
fn more_slots_than_a_process_can_have_are_refused_wherever_they_are_set() {
    let text = |slots: u32| {
        format!(
            "{BASE}[participants.eu]\nkind = 'kafka'\nslots = {slots}\nbootstrap.servers = 'a:1'\n"
        )
    };
    assert!(read(&text(1_000)).is_ok());
    let error = read(&text(1_001)).expect_err("too many");
    assert!(error.to_string().contains("from 1 to 1000"), "{error}");
    let config =
        |slots| Config::new("c", "log").participant(ParticipantConfig::kafka("eu").slots(slots));
    assert!(config(1_000).validate().is_ok());
    let error = config(1_000_000_000).validate().expect_err("too many");
    assert_eq!(
        (error.kind(), error.participant()),
        (ErrorKind::Config, Some("eu"))
    );
    assert!(error.to_string().contains("is more than 1000"), "{error}");
}
