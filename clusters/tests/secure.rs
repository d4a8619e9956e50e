//! The secure variant, judged by Kafka's own command line client.

use std::collections::BTreeMap;
use std::path::Path;

use gtc_clusters::{
    Acl, Cluster, ClusterOptions, Mechanism, Operation, Resource, Security, kafka_tool,
};

/// The property file of a Java client for properties that are named as librdkafka names them.
fn java_properties(properties: &BTreeMap<String, String>, file: &Path) {
    let get = |name: &str| properties.get(name).cloned();
    let mut text = format!("security.protocol={}\n", get("security.protocol").unwrap());
    text += &format!(
        "ssl.truststore.type=PEM\nssl.truststore.location={}\n",
        get("ssl.ca.location").unwrap()
    );
    if let Some(mechanism) = get("sasl.mechanism") {
        let module = match mechanism.as_str() {
            "PLAIN" => "plain.PlainLoginModule",
            _ => "scram.ScramLoginModule",
        };
        text += &format!(
            "sasl.mechanism={mechanism}\n\
             sasl.jaas.config=org.apache.kafka.common.security.{module} required \
             username=\"{}\" password=\"{}\";\n",
            get("sasl.username").unwrap(),
            get("sasl.password").unwrap()
        );
    }
    if let Some(key) = get("ssl.key.location") {
        let read = |path: &str| std::fs::read_to_string(path).unwrap();
        let pem = file.with_extension("pem");
        let chain = read(&key) + &read(&get("ssl.certificate.location").unwrap());
        std::fs::write(&pem, chain).unwrap();
        text += &format!(
            "ssl.keystore.type=PEM\nssl.keystore.location={}\n",
            pem.display()
        );
    }
    std::fs::write(file, text).unwrap();
}

/// Runs the topics tool, and returns whether it succeeded and what it said.
fn topics(
    properties: &BTreeMap<String, String>,
    file: &Path,
    arguments: &[&str],
) -> (bool, String) {
    java_properties(properties, file);
    let output = kafka_tool("org.apache.kafka.tools.TopicCommand")
        .unwrap()
        .arg("--bootstrap-server")
        .arg(&properties["bootstrap.servers"])
        .arg("--command-config")
        .arg(file)
        .args(arguments)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned()
        + &String::from_utf8_lossy(&output.stderr);
    (output.status.success(), text)
}

#[test]
fn every_mechanism_logs_in_and_only_given_rights_hold() {
    let options = ClusterOptions::new("secure")
        .security(Security::Secure)
        .default_partitions(3);
    let cluster = Cluster::start(options).unwrap();
    let dir = cluster.log_path().parent().unwrap();
    let user = cluster.client_properties();
    assert_eq!(user["sasl.mechanism"], "SCRAM-SHA-512");

    let create = ["--create", "--topic", "mine"];
    let (created, text) = topics(&user, &dir.join("user"), &create);
    assert!(
        !created && text.contains("TopicAuthorizationException"),
        "{text}"
    );

    let rights = [
        Operation::Create,
        Operation::Describe,
        Operation::DescribeConfigs,
    ]
    .map(|operation| Acl::literal(Resource::Topic, "mine", operation));
    cluster.add_acls(&rights).unwrap();
    let (created, text) = topics(&user, &dir.join("user"), &create);
    assert!(created, "{text}");
    let (_, text) = topics(&user, &dir.join("user"), &["--describe", "--topic", "mine"]);
    assert!(text.contains("PartitionCount: 3"), "{text}");

    let (created, text) = topics(
        &cluster.admin_properties(),
        &dir.join("admin"),
        &["--create", "--topic", "other"],
    );
    assert!(created, "{text}");
    for mechanism in [
        Mechanism::ScramSha256,
        Mechanism::Plain,
        Mechanism::MutualTls,
    ] {
        let properties = cluster.properties_for(mechanism);
        let (listed, text) = topics(&properties, &dir.join("mechanism"), &["--list"]);
        // The other topic is hidden: it is the ordinary principal that logged in.
        assert!(
            listed && text.contains("mine") && !text.contains("other"),
            "{mechanism:?}: {text}"
        );
    }
    let mut wrong = user.clone();
    wrong.insert("sasl.password".into(), "wrong".into());
    let (listed, text) = topics(&wrong, &dir.join("wrong"), &["--list"]);
    assert!(
        !listed && text.contains("SaslAuthenticationException"),
        "{text}"
    );
}
