use super::*;

const SECRET: &str = "planted-7f3a";

fn parse(pairs: &[(&str, &str)]) -> Result<Properties, PropertyError> {
    let values = pairs
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let mut values: BTreeMap<_, _> = values.collect();
    values
        .entry("bootstrap.servers".to_owned())
        .or_insert_with(|| "one:9092".to_owned());
    Properties::parse("eu", values)
}

fn refusal(pairs: &[(&str, &str)]) -> String {
    let error = parse(pairs).expect_err("refused");
    let text = error.to_string();
    assert!(text.contains("`eu`"), "no participant in {text}");
    assert!(!error.remedy().is_empty());
    text
}

#[test]
fn plain_properties_reach_both_planes() {
    let properties = parse(&[
        (
            "bootstrap.servers",
            "one:9092, [::1]:9093,three,PLAINTEXT://four:1",
        ),
        ("linger.ms", "5"),
        ("socket.timeout.ms", "2500"),
    ])
    .expect("valid");
    let connection = properties.connection();
    let shown: Vec<_> = connection
        .bootstrap
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(shown, ["one:9092", "[::1]:9093", "three:9092", "four:1"]);
    assert_eq!(connection.request_timeout.as_millis(), 2500);
    assert!(connection.tls.is_none() && connection.sasl.is_none());
    assert_eq!(properties.client_config().get("linger.ms"), Some("5"));
}

#[test]
fn unknown_name_is_refused_with_the_nearest() {
    for (slip, meant) in [
        ("sasl.pasword", "sasl.password"),
        ("sasl.passwrd", "sasl.password"),
        ("sasl.user.name", "sasl.username"),
        ("ssl.ca.locaton", "ssl.ca.location"),
        ("ssl.key.passwort", "ssl.key.password"),
    ] {
        let text = refusal(&[(slip, SECRET)]);
        assert!(text.contains(&format!("did you mean `{meant}`")), "{text}");
        assert!(!text.contains(SECRET), "{text}");
    }
    let text = refusal(&[("lingr.ms", "5")]);
    assert!(text.contains("did you mean `linger.ms`"), "{text}");
    let text = refusal(&[("zzz", "5")]);
    assert!(
        text.contains("`zzz`") && !text.contains("did you mean"),
        "{text}"
    );
}

#[test]
fn bad_value_is_refused_with_librdkafkas_reason() {
    let text = refusal(&[("security.protocol", "tls")]);
    assert!(
        text.contains("security.protocol") && text.contains("Invalid value"),
        "{text}"
    );
    assert!(refusal(&[("socket.timeout.ms", "1")]).contains("socket.timeout.ms"));
}

#[test]
fn owned_properties_are_refused_with_the_reason() {
    for name in [
        "transactional.id",
        "acks",
        "group.id",
        "isolation.level",
        "max.in.flight",
    ] {
        let text = refusal(&[(name, "1")]);
        assert!(
            text.contains(name) && text.contains("gtc sets this"),
            "{text}"
        );
    }
    assert!(
        refusal(&[("transaction.timeout.ms", "1000")]).contains("transaction_timeout_ms"),
        "the gtc setting is named"
    );
}

#[test]
fn what_only_the_data_plane_honours_is_refused() {
    let names = [
        "ssl.keystore.location",
        "ssl.engine.location",
        "ssl.cipher.suites",
        "ssl.crl.location",
        "ssl.providers",
        "sasl.kerberos.service.name",
        "sasl.oauthbearer.config",
        "enable.sasl.oauthbearer.unsecure.jwt",
        "https.ca.location",
        "metadata.broker.list",
    ];
    for name in names {
        let text = refusal(&[(name, "true")]);
        assert!(
            text.contains(name) && text.contains("control plane"),
            "{text}"
        );
    }
    let canonical = (
        "client.dns.lookup",
        "resolve_canonical_bootstrap_servers_only",
    );
    assert!(refusal(&[canonical]).contains("use_all_dns_ips"));
}

#[test]
fn mechanism_has_to_be_one_that_both_planes_speak() {
    let protocol = ("security.protocol", "SASL_PLAINTEXT");
    for mechanism in ["OAUTHBEARER", "GSSAPI"] {
        let text = refusal(&[protocol, ("sasl.mechanism", mechanism)]);
        assert!(
            text.contains(mechanism) && text.contains("not supported"),
            "{text}"
        );
    }
    assert!(refusal(&[protocol]).contains("sasl.mechanism"));
    let both = [
        protocol,
        ("sasl.mechanism", "PLAIN"),
        ("sasl.mechanisms", "SCRAM-SHA-256"),
    ];
    assert!(refusal(&both).contains("remove one"));
    let text = refusal(&[
        protocol,
        ("sasl.mechanism", "PLAIN"),
        ("sasl.username", "ann"),
    ]);
    assert!(
        text.contains("sasl.password") && text.contains("PLAIN"),
        "{text}"
    );
}

#[test]
fn certificate_and_key_come_together() {
    let protocol = ("security.protocol", "ssl");
    for (given, missing) in [
        ("ssl.certificate.pem", "ssl.key.pem"),
        ("ssl.certificate.location", "ssl.key.location"),
        ("ssl.key.pem", "ssl.certificate.pem"),
        ("ssl.key.location", "ssl.certificate.location"),
    ] {
        let text = refusal(&[protocol, (given, "x")]);
        // The form that the user took is the form that is asked for.
        let (_, form) = given.rsplit_once('.').expect("a form");
        assert!(text.contains(&format!("`{missing}`")), "{text}");
        assert!(text.contains(&format!("beside `{given}`")), "{text}");
        assert_eq!(text.contains(".location"), form == "location", "{text}");
    }
    let both = [protocol, ("ssl.ca.pem", "x"), ("ssl.ca.location", "y")];
    assert!(refusal(&both).contains("remove one"));
}

#[test]
fn bootstrap_servers_are_checked() {
    for bad in [
        "",
        " , ",
        "host:port",
        "host:0",
        "ssl://one:1",
        "a b:1",
        ":9092",
        "[::1",
        "ann@one:9092",
        "sasl_plaintext://ann:planted@one:9092",
        "ann:planted@one:9092",
    ] {
        let text = refusal(&[("bootstrap.servers", bad)]);
        assert!(text.contains("bootstrap.servers"), "{bad}");
        assert!(!text.contains("planted"), "{text}");
    }
}

#[test]
fn no_secret_is_shown() {
    let secrets = [
        ("security.protocol", "SASL_SSL"),
        ("sasl.mechanism", "PLAIN"),
        ("sasl.username", "ann"),
        ("sasl.password", SECRET),
        ("ssl.key.password", SECRET),
        ("ssl.key.pem", SECRET),
        ("ssl.certificate.pem", "certificate"),
    ];
    let properties = parse(&secrets).expect("valid");
    let shown = format!("{properties:?} {:#?}", properties.connection());
    assert!(shown.contains("ann") && !shown.contains(SECRET), "{shown}");
}

#[test]
fn every_name_of_the_tables_is_known_to_librdkafka() {
    for name in table::UNDERSTOOD.iter().chain(table::DATA_PLANE) {
        assert!(is_known(name), "{name}");
    }
}

#[test]
fn the_documentation_says_of_each_refused_property_what_the_error_says() {
    let page = include_str!("../../../../docs/properties.md");
    let (_, refused) = page.split_once("## Refused").expect("a section");
    let rows: Vec<(&str, &str)> = refused
        .lines()
        .filter_map(|line| {
            line.strip_prefix("| `")?
                .strip_suffix(" |")?
                .split_once(" | ")
        })
        .collect();
    let mut documented = Vec::new();
    for (names, remedy) in rows {
        for name in names.split('`').step_by(2) {
            match table::class(name) {
                Class::Owned(told) | Class::OnePlane(told) => assert_eq!(told, remedy, "{name}"),
                Class::Allowed => panic!("{name} is documented as refused, and is not"),
            }
            documented.push(name);
        }
    }
    for (name, _) in table::OWNED {
        assert!(documented.contains(name), "docs/properties.md lacks {name}");
    }
}
