use clap::CommandFactory;

use super::*;

fn parse(line: &str) -> Result<Cli, clap::Error> {
    Cli::try_parse_from(line.split_whitespace())
}

fn replicate(line: &str) -> ReplicateArgs {
    match parse(line).unwrap().command {
        Command::Replicate(args) => *args,
        other => panic!("expected replicate, got {other:?}"),
    }
}

#[test]
fn definition_is_consistent() {
    Cli::command().debug_assert();
}

#[test]
fn replicate_has_the_documented_defaults() {
    let args = replicate("gtc replicate --from a --to b --topic t");
    assert_eq!(args.batch_records, 5000);
    assert_eq!(args.batch_bytes, 8 * 1024 * 1024);
    assert_eq!(args.linger_ms, Duration::from_millis(50));
    assert_eq!(args.on_loss, OnLoss::Fail);
    assert_eq!(args.group, None);
    assert!(!args.until_end && !args.json && !args.no_create_topics && !args.extend_topics);
}

#[test]
fn replicate_fans_out_over_several_topics() {
    let args = replicate("gtc replicate --from a --to b --to c --topic t --topic u --group g");
    assert_eq!(args.to, ["b", "c"]);
    assert_eq!(args.topic, ["t", "u"]);
    assert_eq!(args.group.as_deref(), Some("g"));
}

#[test]
fn a_topic_regex_matches_whole_names() {
    let args = replicate("gtc replicate --from a --to b --topics orders|flights");
    let regex = args.topics.unwrap();
    assert!(regex.is_match("orders") && regex.is_match("flights"));
    assert!(!regex.is_match("orders-dead-letters") && !regex.is_match("old-flights"));
}

#[test]
fn wrong_command_lines_exit_with_the_usage_code() {
    for line in [
        "gtc",
        "gtc replicate --from a --to b",
        "gtc replicate --from a --topic t",
        "gtc replicate --to b --topic t",
        "gtc replicate --from a --to b --topic t --topics u",
        "gtc replicate --from a --to b --topics (",
        "gtc replicate --from a --to b --topic t --batch-records 0",
        "gtc replicate --from a --to b --topic t --linger-ms 1.5",
        "gtc replicate --from a --to b --topic t --on-loss ignore",
        "gtc replicate --from a --to b --topic t --metrics nowhere",
        "gtc replicate --from a --to b --topic t --no-create-topics --extend-topics",
        "gtc describe",
        "gtc describe seventeen",
        "gtc outcome",
        "gtc outcome 3-17 --key k",
        "gtc outcome --key-hex abc",
        "gtc outcome --key-hex zz",
        "gtc resolve 3-17",
        "gtc resolve 3-17 --commit --abort",
        "gtc forget",
        "gtc unknown",
    ] {
        let error = parse(line).expect_err(line);
        assert_eq!(error.exit_code(), 2, "{line}");
    }
}

/// Of a shell's variable that is not set, or that has a line break at its end.
#[test]
fn names_and_patterns_that_cannot_be_meant_are_refused_by_every_command() {
    let replicate = ["gtc", "replicate", "--from", "a", "--to", "b"];
    for (command, option, value, told) in [
        (&replicate[..], "--topics", "", "write `.*` for all of them"),
        (&replicate[..], "--topic", "", "at least one letter"),
        (&replicate[..], "--topic", "t\n", "control character"),
        (
            &["gtc", "check"][..],
            "--group",
            "g\nh",
            "control character",
        ),
        (&["gtc", "check"][..], "--group", "", "at least one letter"),
    ] {
        let line = [command, &[option, value]].concat();
        let error = Cli::try_parse_from(line).expect_err(option);
        assert_eq!(error.exit_code(), 2, "{option}");
        assert!(error.to_string().contains(told), "{error}");
    }
    let line = [&replicate[..], &["--topic", "t", "--group", "g\r"]].concat();
    let error = Cli::try_parse_from(line).expect_err("a group");
    assert!(error.to_string().contains("control character"), "{error}");
}

#[test]
fn keys_are_read_as_text_or_hexadecimal() {
    let outcome = |line: &str| match parse(line).unwrap().command {
        Command::Outcome(args) => args,
        other => panic!("expected outcome, got {other:?}"),
    };
    assert_eq!(
        outcome("gtc outcome --key order-9").key.as_deref(),
        Some("order-9")
    );
    assert_eq!(
        outcome("gtc outcome --key-hex 00fF").key_hex,
        Some(Hex(vec![0, 255]))
    );
    assert_eq!(outcome("gtc outcome 3-17").id.unwrap().to_string(), "3-17");
}

#[test]
fn resolve_takes_a_transaction_or_a_foreign_branch() {
    let target = |line: &str| match parse(line).unwrap().command {
        Command::Resolve(args) => args.target,
        other => panic!("expected resolve, got {other:?}"),
    };
    let transaction = Target::Transaction("3-17".parse().unwrap());
    assert_eq!(target("gtc resolve 3-17 --commit"), transaction);
    let foreign = Target::Foreign {
        participant: "eu".into(),
        transactional_id: "gtc.c.1.1.eu.0".into(),
    };
    assert_eq!(target("gtc resolve eu:gtc.c.1.1.eu.0 --abort"), foreign);
}

#[test]
fn global_options_stand_on_either_side() {
    for line in [
        "gtc --config f.toml list --json",
        "gtc list --config f.toml --json",
    ] {
        let cli = parse(line).unwrap();
        assert_eq!(cli.config, PathBuf::from("f.toml"), "{line}");
        assert!(
            matches!(&cli.command, Command::List(args) if args.report.json),
            "{line}"
        );
    }
}

#[test]
fn help_names_every_exit_code() {
    let help = Cli::command().render_long_help().to_string();
    for code in 0..=8 {
        assert!(
            help.contains(&format!("\n  {code}  ")),
            "exit code {code} is missing:\n{help}"
        );
    }
}

#[test]
fn help_says_that_nobody_knows_how_a_branch_that_is_given_up_ends() {
    let help = parse("gtc resolve --help").unwrap_err().to_string();
    let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        help.contains("is given up is not known: it may have committed"),
        "{help}"
    );
}
