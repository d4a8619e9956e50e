//! The program on clusters with TLS and SASL.

use gtc_clusters::{Acl, Cluster, ClusterOptions, Operation, Resource, Security, shared};

use crate::kafka::{await_rows, create_topic, end, numbered, partitions_of, produce};
use crate::program::{Place, Running};

/// Nothing that is printed may hold it.
const WRONG: &str = "planted-7f3a-wrong";

#[test]
fn a_secured_pair_is_checked_and_mirrored_and_a_wrong_password_is_said_to_be_that() {
    let [a, b] = shared::secure(2).unwrap()[..] else {
        unreachable!()
    };
    for (cluster, where_) in [(a, "source"), (b, "destination")] {
        let rights: Vec<Acl> = documented("secure")
            .into_iter()
            .filter(|right| right.on(where_))
            .map(|right| right.acl)
            .collect();
        cluster.add_acls(&rights).unwrap();
    }
    let place = Place::new("secure", &[("a", a), ("b", b)]);
    create_topic(a, "secure", 1, &[]);
    produce(a, "secure", &numbered(0..10, 1));
    let checked = place.run("check --json");
    let command = "replicate --from a --to b --topic secure --until-end";
    let mirrored = place.run(command);
    assert_eq!(
        (checked.code, mirrored.code),
        (Some(0), Some(0)),
        "{}{}",
        checked.stdout,
        mirrored.stderr
    );
    assert_eq!(await_rows(b, "secure", 10).len(), 10);

    let right = b.client_properties()["sasl.password"].clone();
    place.rewrite(&format!("{right:?}"), &format!("{WRONG:?}"));
    let findings = place.run("check --json").expect(1);
    let judged = findings.json().remove(0);
    let judged = judged.as_array().unwrap().iter();
    let failed: Vec<_> = judged
        .filter(|finding| finding["level"] == "fail")
        .collect();
    assert!(
        !failed.is_empty()
            && failed
                .iter()
                .all(|found| found["check"] == "authentication"),
        "{failed:?}"
    );
    let refused = place.run(command).expect(1);
    for part in ["SASL", "sasl.password"] {
        assert!(
            refused.stderr.contains(part),
            "no {part} in {}",
            refused.stderr
        );
    }
    for shown in [&findings, &refused] {
        let shown = format!("{}{}", shown.stdout, shown.stderr);
        assert!(!shown.contains(WRONG), "{shown}");
    }
}

/// A row of docs/acls.md for one job, whose topic and coordinator are called `name`.
struct Right {
    place: String,
    text: String,
    acl: Acl,
}

impl Right {
    fn on(&self, place: &str) -> bool {
        self.place == "every participant" || self.place == place
    }
}

fn documented(name: &str) -> Vec<Right> {
    let rows = include_str!("../../../../docs/acls.md").lines();
    let rows = rows.filter(|line| line.starts_with("| ") && !line.starts_with("| where"));
    rows.map(|line| right(line, name)).collect()
}

fn right(line: &str, name: &str) -> Right {
    let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
    let [place, resource, pattern, of, operation, _] = cells[..] else {
        panic!("no right: {line}")
    };
    let resource_kind = match resource {
        "Topic" => Resource::Topic,
        "Group" => Resource::Group,
        "Cluster" => Resource::Cluster,
        "TransactionalId" => Resource::TransactionalId,
        _ => panic!("no resource: {line}"),
    };
    let may = match operation {
        "Read" => Operation::Read,
        "Write" => Operation::Write,
        "Create" => Operation::Create,
        "Describe" => Operation::Describe,
        "DescribeConfigs" => Operation::DescribeConfigs,
        _ => panic!("no operation: {line}"),
    };
    let of = of
        .trim_matches('`')
        .replace("<coordinator>", name)
        .replace("<group>", &format!("gtc-{name}"))
        .replace("<topic>", name);
    let acl = match pattern {
        "literal" => Acl::literal(resource_kind, of, may),
        _ => Acl::prefixed(resource_kind, of, may),
    };
    Right {
        place: place.to_owned(),
        text: format!("{resource} {operation}"),
        acl,
    }
}

/// How many mirrors run beside each other.
const AT_ONCE: usize = 4;

/// What a mirror does without a right.
#[derive(Clone, Copy)]
enum Without {
    Ends(i32, &'static str),
    /// It goes on trying, and tells one of these.
    Tells(&'static [&'static str]),
    /// It ends so where a topic has to be made, and goes on trying otherwise; it tells this.
    EndsOrTells(i32, &'static str),
}

fn without(right: &str) -> Without {
    match right {
        "Cluster DescribeConfigs" => Without::Ends(0, ""),
        "TransactionalId Write" => Without::Tells(&["Kafka error 53", "_FAILED (53)"]),
        "Group Read" => Without::EndsOrTells(1, "GroupAuthorizationFailed"),
        "Topic Read" => Without::Ends(2, "has no topic"),
        "Topic DescribeConfigs" => Without::Ends(1, "allow DescribeConfigs on it at the source"),
        "Topic Write" => Without::Ends(2, "the cluster does not show it"),
        "Topic Create" => Without::Ends(1, "TopicAuthorizationFailed"),
        _ => panic!("docs/acls.md says nothing of a mirror without {right}"),
    }
}

/// Each right of docs/acls.md is left out once, with all others given.
#[test]
fn no_right_of_the_documentation_is_there_for_nothing() {
    let secure = |name: &str| ClusterOptions::new(name).security(Security::Secure);
    let clusters = Cluster::start_all(["acls-a", "acls-b"].map(secure)).unwrap();
    let [a, b] = &clusters[..] else {
        unreachable!()
    };
    let rights = documented("x");
    let is_shared = |right: &Right| right.text == "Cluster DescribeConfigs";
    // The right on the cluster is not one of a job: it is left out first, and then given for all.
    let shared = rights.iter().position(is_shared).unwrap();
    leave_out((shared, "source", true), a, b);
    let others = (0..rights.len()).filter(|index| *index != shared);
    let places = others.flat_map(|index| [(index, "source"), (index, "destination")]);
    let jobs: Vec<_> = places
        .filter(|(index, place)| rights[*index].on(place))
        .collect();
    // Each job has names of its own, and mostly waits.
    for some in jobs.chunks(AT_ONCE) {
        std::thread::scope(|scope| {
            for (index, place) in some {
                scope.spawn(|| leave_out((*index, *place, false), a, b));
            }
        });
    }
}

fn leave_out((index, place, everywhere): (usize, &str, bool), a: &Cluster, b: &Cluster) {
    let name = format!("acl-{place}-{index}-x");
    create_topic(a, &name, 1, &[]);
    produce(a, &name, &numbered(0..10, 1));
    for (at, cluster) in [("source", a), ("destination", b)] {
        let given = documented(&name).into_iter().enumerate();
        let given = given
            .filter(|(n, right)| right.on(at) && !(*n == index && (everywhere || at == place)));
        let given: Vec<Acl> = given.map(|(_, right)| right.acl).collect();
        cluster.add_acls(&given).unwrap();
    }
    let job = Place::new(&name, &[("a", a), ("b", b)]);
    let start = || {
        job.start(&format!(
            "replicate --from a --to b --topic {name} --until-end"
        ))
    };
    match without(&documented(&name)[index].text) {
        Without::Ends(code, told) => ends(start(), code, told),
        Without::Tells(told) => tells(start(), told, (b, &name)),
        Without::EndsOrTells(code, told) => {
            ends(start(), code, told);
            create_topic(b, &name, 1, &[]);
            tells(start(), &[told], (b, &name));
        }
    }
}

fn ends(running: Running, code: i32, told: &str) {
    let ended = running.await_end().expect(code);
    assert!(ended.stderr.contains(told), "no {told} in {}", ended.stderr);
}

fn tells(mut running: Running, told: &[&str], (b, topic): (&Cluster, &str)) {
    running.await_one_of(told);
    running.kill();
    let shown = partitions_of(b, topic) > 0;
    assert!(
        !shown || end(b, topic, 0) == 0,
        "{topic}: something was mirrored"
    );
}
