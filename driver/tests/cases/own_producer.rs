//! An application's own producer beside the managed ones: of class v1 (librdkafka, in the process)
//! and v2 (the Java client, in its own).

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use gtc::{
    Config, Coordinator, ErrorKind, KnownOutcome, OwnBranch, OwnProducer, Reuse, Transaction,
    VersionClass,
};
use gtc_clusters::{Verdict, shared};
use rdkafka::ClientConfig;
use rdkafka::producer::{FutureProducer, FutureRecord, Producer};

use crate::child::{self, killed_at};
use crate::java::JavaProducer;
use crate::setup::Setup;
use crate::support::{PATIENCE, Result, committed, record};
use crate::world::{END_TXN, Fault, World, control, create_topic, world};

/// A producer of the application's, of either class.
enum Own {
    V1(FutureProducer),
    V2(JavaProducer),
}

impl Own {
    /// Makes and initialises it, which aborts what its id has open.
    fn open(class: VersionClass, bootstrap: &str, id: &str) -> Result<Self> {
        Ok(match class {
            VersionClass::V1 => Self::V1(rust_producer(bootstrap, id)?),
            VersionClass::V2 => Self::V2(JavaProducer::open(bootstrap, id)?),
        })
    }

    fn begin(&mut self) -> Result {
        match self {
            Self::V1(producer) => Ok(producer.begin_transaction()?),
            Self::V2(producer) => producer.call("begin"),
        }
    }

    /// Writes a record and waits for its delivery, which is to the partition that it gives back.
    async fn write(&mut self, topic: &str, value: &str) -> Result<i32> {
        match self {
            Self::V1(producer) => {
                let record = FutureRecord::<(), str>::to(topic).payload(value);
                let sent = producer.send(record, PATIENCE).await;
                Ok(sent.map_err(|(error, _)| error)?.partition)
            }
            Self::V2(producer) => {
                producer.call(&format!("send {topic} 0 {value}"))?;
                producer.call("flush")?;
                Ok(0)
            }
        }
    }

    /// Its own call, after gtc has ended the branch.
    fn end(&mut self, commits: bool) -> Result {
        match (self, commits) {
            (Self::V1(producer), true) => Ok(producer.commit_transaction(PATIENCE)?),
            (Self::V1(producer), false) => Ok(producer.abort_transaction(PATIENCE)?),
            (Self::V2(producer), true) => producer.call("commit"),
            (Self::V2(producer), false) => producer.call("abort"),
        }
    }
}

fn rust_producer(bootstrap: &str, id: &str) -> Result<FutureProducer> {
    let producer: FutureProducer = ClientConfig::new()
        .set("bootstrap.servers", bootstrap)
        .set("transactional.id", id)
        .set("transaction.timeout.ms", "300000")
        .create()?;
    producer.init_transactions(PATIENCE)?;
    Ok(producer)
}

/// Writes `value` by the own producer to eu, and by a managed one to us.
async fn write(
    transaction: &Transaction,
    producer: &mut Own,
    (topic, id, class): (&str, &str, VersionClass),
    value: &str,
) -> Result<OwnBranch> {
    let own = transaction.enlist("eu", id, class).await?;
    producer.begin()?;
    own.sent();
    let partition = producer.write(topic, value).await?;
    own.delivered_to(topic, partition);
    transaction.send("us", record(topic, value)).await?;
    Ok(own)
}

async fn assert_visible(world: &World, topic: &str, expected: &[String]) -> Result {
    for cluster in world.clusters() {
        assert_eq!(
            committed(cluster, topic).await?,
            expected,
            "{}",
            cluster.name()
        );
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn goes_on_after_commits_and_aborts() -> Result {
    let world = world().await?;
    let setup = Setup::new("own-goes-on", world);
    let coordinator = setup.open().await?;
    for (class, topic) in [(VersionClass::V1, "own-v1"), (VersionClass::V2, "own-v2")] {
        world.topic(topic).await?;
        coordinator.settle("eu", topic).await?;
        let mut producer = Own::open(class, &world.eu.bootstrap(), topic)?;
        let mut expected = Vec::new();
        for (round, commits) in [true, true, false, true, false, false, true]
            .into_iter()
            .enumerate()
        {
            let value = format!("{round}");
            let transaction = coordinator.begin()?;
            let name = (topic, topic, class);
            let own = write(&transaction, &mut producer, name, &value).await?;
            match commits {
                true => transaction.commit().await.map(drop)?,
                false => transaction.abort("a test").await?,
            }
            assert_eq!(own.finished().await?, Reuse::Reuse, "{class:?} {round}");
            // Repeats what gtc has done, without harm.
            producer.end(commits)?;
            if commits {
                expected.push(value);
            }
            assert_visible(world, topic, &expected).await?;
        }
    }
    Ok(coordinator.close().await?)
}

/// Steps at which the application is killed, and whether its transaction commits.
const KILLS: [(&str, bool); 3] = [
    ("append-decided:before", false),
    ("append-decided:after", true),
    ("end-transaction:eu:after", true),
];

#[tokio::test(flavor = "multi_thread")]
async fn settles_before_it_initialises_after_a_kill_v1() -> Result {
    settle_after_kills("own-killed-v1", VersionClass::V1).await
}

#[tokio::test(flavor = "multi_thread")]
async fn settles_before_it_initialises_after_a_kill_v2() -> Result {
    settle_after_kills("own-killed-v2", VersionClass::V2).await
}

async fn settle_after_kills(topic: &'static str, class: VersionClass) -> Result {
    if let Some(file) = child::config_file() {
        return be_killed_with_producer(file, class).await;
    }
    let world = world().await?;
    world.topic(topic).await?;
    let test = match class {
        VersionClass::V1 => "own_producer::settles_before_it_initialises_after_a_kill_v1",
        VersionClass::V2 => "own_producer::settles_before_it_initialises_after_a_kill_v2",
    };
    let setup = Setup::new(topic, world);
    let file = setup.directory().join("bootstrap");
    std::fs::write(file, world.eu.bootstrap())?;
    let mut expected = Vec::new();
    for (step, commits) in KILLS {
        let id = killed_at(step, test, &setup)?;
        let coordinator = setup.open().await?;
        coordinator.settle("eu", topic).await?;
        if commits {
            expected.push("killed".to_owned());
        }
        // Before settling this would have aborted what was promised.
        let mut producer = Own::open(class, &world.eu.bootstrap(), topic)?;
        let transaction = coordinator.begin()?;
        let name = (topic, topic, class);
        let own = write(&transaction, &mut producer, name, step).await?;
        transaction.commit().await?;
        own.finished().await?;
        producer.end(true)?;
        expected.push(step.to_owned());
        coordinator.recovered().await?;
        let outcome = coordinator.outcome(id);
        assert_eq!(
            outcome == KnownOutcome::Committed,
            commits,
            "{step}: {outcome:?}"
        );
        coordinator.close().await?;
        assert_visible(world, topic, &expected).await?;
    }
    Ok(())
}

async fn be_killed_with_producer(file: PathBuf, class: VersionClass) -> Result {
    let bootstrap = std::fs::read_to_string(file.with_file_name("bootstrap"))?;
    let coordinator = Coordinator::open(Config::from_file(file)?).await?;
    let topic = coordinator.id().to_owned();
    coordinator.settle("eu", &topic).await?;
    let mut producer = Own::open(class, &bootstrap, &topic)?;
    let transaction = coordinator.begin()?;
    let name = (topic.as_str(), topic.as_str(), class);
    write(&transaction, &mut producer, name, "killed").await?;
    child::say(transaction.id())?;
    transaction.commit().await?;
    Err("it was not killed".into())
}

#[tokio::test(flavor = "multi_thread")]
async fn enlisting_an_open_producer_is_refused() -> Result {
    let world = world().await?;
    world.topic("own-open").await?;
    let setup = Setup::new("own-open", world);
    let coordinator = setup.open().await?;
    let mut producer = Own::open(VersionClass::V1, &world.eu.bootstrap(), "own-open")?;
    producer.begin()?;
    producer.write("own-open", "too early").await?;
    let transaction = coordinator.begin()?;
    let enlisted = transaction.enlist("eu", "own-open", VersionClass::V1).await;
    let error = enlisted.expect_err("when it began is not known");
    assert_eq!(error.kind(), ErrorKind::InvalidState, "{error}");
    assert!(
        error
            .to_string()
            .contains("enlist it before its first write"),
        "{error}"
    );
    let enlisted = transaction
        .enlist("eu", "own-unknown", VersionClass::V1)
        .await;
    let error = enlisted.expect_err("nobody has initialised it");
    assert_eq!(error.kind(), ErrorKind::InvalidState, "{error}");
    transaction.abort("a test").await?;
    // The transaction that it had begun by itself is its own affair.
    producer.end(true)?;
    assert_eq!(committed(&world.eu, "own-open").await?, ["too early"]);
    Ok(coordinator.close().await?)
}

/// A producer that is enlisted under the id of another one, which has a transaction of its own open: that would be
/// committed in its place. Who tells its identity is refused at once, who tells where it delivered at the vote.
#[tokio::test(flavor = "multi_thread")]
async fn enlisting_under_the_id_of_another_producer_does_not_commit() -> Result {
    const ID: &str = "own-mistaken";
    const ANOTHER: &str = "own-another";
    let world = world().await?;
    for topic in [ID, ANOTHER] {
        world.topic(topic).await?;
    }
    let setup = Setup::new(ID, world);
    let coordinator = setup.open().await?;
    let mut producer = Own::open(VersionClass::V1, &world.eu.bootstrap(), ID)?;
    let mut another = Own::open(VersionClass::V1, &world.eu.bootstrap(), ANOTHER)?;
    let found = control(&world.eu)?.describe_transaction(ID).await?;
    let identity = found.ok_or("it is initialised")?.producer;

    let transaction = coordinator.begin()?;
    let told = OwnProducer::new(ANOTHER).identity(identity);
    let enlisted = transaction.enlist_producer("eu", told).await;
    let error = enlisted.expect_err("it is another one's id");
    assert_eq!(error.kind(), ErrorKind::InvalidState, "{error}");
    assert!(error.to_string().contains(ANOTHER), "{error}");

    let own = transaction.enlist("eu", ANOTHER, VersionClass::V1).await?;
    producer.begin()?;
    another.begin()?;
    own.sent();
    let partition = producer.write(ID, "mistaken").await?;
    own.delivered_to(ID, partition);
    another.write(ANOTHER, "another").await?;
    transaction.send("us", record(ID, "mistaken")).await?;
    let error = transaction.commit().await.expect_err("it is no part of it");
    assert_eq!(error.kind(), ErrorKind::Aborted, "{error}");
    assert!(error.problem().contains(ID), "{error}");
    assert!(committed(&world.us, ID).await?.is_empty());
    Ok(coordinator.close().await?)
}

/// An EndTxn of gtc's was not answered, so that a late one could end the next transaction of the
/// same identity: the producer must not go on (R3).
#[tokio::test(flavor = "multi_thread")]
async fn enlisting_a_discarded_producer_is_refused() -> Result {
    const ID: &str = "own-discarded";
    let world = world().await?;
    world.topic(ID).await?;
    let setup = Setup::new(ID, world);
    let coordinator = setup.open().await?;
    let producer = Own::open(VersionClass::V1, &world.us.bootstrap(), ID)?;
    let Own::V1(producer) = producer else {
        return Err("it is of class v1".into());
    };
    let transaction = coordinator.begin()?;
    let own = transaction.enlist("us", ID, VersionClass::V1).await?;
    producer.begin_transaction()?;
    let sent = FutureRecord::<(), str>::to(ID).payload("x");
    let sent = producer.send(sent, PATIENCE).await;
    sent.map_err(|(error, _)| error)?;
    own.state_delivered();
    transaction.send("eu", record(ID, "x")).await?;
    let _fault = cut_first_end(ID);
    transaction.commit().await?;
    assert_eq!(own.finished().await?, Reuse::Discard);

    let transaction = coordinator.begin()?;
    let enlisted = transaction.enlist("us", ID, VersionClass::V1).await;
    let error = enlisted.expect_err("it was to be discarded");
    assert_eq!(error.kind(), ErrorKind::InvalidState, "{error}");
    assert!(
        error.to_string().contains("initialise a new one"),
        "{error}"
    );
    drop(producer);
    coordinator.settle("us", ID).await?;
    let _new = Own::open(VersionClass::V1, &world.us.bootstrap(), ID)?;
    transaction.enlist("us", ID, VersionClass::V1).await?;
    transaction.abort("a test").await?;
    assert_visible(world, ID, &["x".to_owned()]).await?;
    Ok(coordinator.close().await?)
}

/// Cuts the connection on which the first EndTxn of this id comes.
fn cut_first_end(id: &'static str) -> Fault {
    let is_cut = AtomicBool::new(false);
    Fault::new(Verdict::Cut, move |frame| {
        frame.api_key == END_TXN && frame.mentions(id) && !is_cut.swap(true, Ordering::SeqCst)
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn class_v2_is_refused_on_a_cluster_without_it() -> Result {
    let world = world().await?;
    let old = tokio::task::spawn_blocking(|| shared::transaction_version_1(1)).await??;
    let setup = Setup::new("own-v2-refused", world).participant("us", old[0]);
    let coordinator = setup.open().await?;
    coordinator.verified("us").await?;
    let transaction = coordinator.begin()?;
    let enlisted = transaction
        .enlist("us", "own-v2-refused", VersionClass::V2)
        .await;
    let error = enlisted.expect_err("the cluster has transaction.version 1");
    assert_eq!(error.kind(), ErrorKind::Config, "{error}");
    assert!(
        error.to_string().contains("transaction.version 1"),
        "{error}"
    );
    transaction.abort("a test").await?;
    Ok(coordinator.close().await?)
}

/// Nobody has to say the class of the Java client: on such a cluster it is v1, and on others v2.
#[tokio::test(flavor = "multi_thread")]
async fn the_newest_class_is_that_of_the_cluster() -> Result {
    const ID: &str = "own-newest";
    let world = world().await?;
    let old = tokio::task::spawn_blocking(|| shared::transaction_version_1(1)).await??;
    world.topic(ID).await?;
    create_topic(old[0], ID, &[]).await?;
    let setup = Setup::new(ID, world).participant("us", old[0]);
    let coordinator = setup.open().await?;
    for (participant, cluster) in [("us", old[0]), ("eu", &world.eu)] {
        let mut producer = Own::open(VersionClass::V2, &cluster.bootstrap(), ID)?;
        let mut expected = Vec::new();
        for value in ["first", "second"] {
            let transaction = coordinator.begin()?;
            let own = transaction.enlist_newest(participant, ID).await?;
            producer.begin()?;
            own.sent();
            producer.write(ID, value).await?;
            own.delivered();
            transaction.commit().await?;
            assert_eq!(own.finished().await?, Reuse::Reuse, "{participant}");
            producer.end(true)?;
            expected.push(value);
            assert_eq!(committed(cluster, ID).await?, expected, "{participant}");
        }
    }
    Ok(coordinator.close().await?)
}
