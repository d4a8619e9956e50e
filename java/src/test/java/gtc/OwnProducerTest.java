package gtc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Stock producers of Kafka's client beside a managed one. */
class OwnProducerTest {
    private static final int TOO_LARGE_BYTES = 2_000_000;

    @TempDir Path directory;
    private World world;
    private String topic;

    @BeforeEach
    void prepare() throws Exception {
        world = new World(directory);
        topic = world.topic();
    }

    private KafkaProducer<String, String> producer() {
        return producer(topic);
    }

    private KafkaProducer<String, String> producer(String transactionalId) {
        Map<String, Object> settings =
                Map.of(
                        "bootstrap.servers", world.bootstrap("eu"),
                        "transactional.id", transactionalId,
                        "max.request.size", 2 * TOO_LARGE_BYTES);
        StringSerializer text = new StringSerializer();
        KafkaProducer<String, String> producer = new KafkaProducer<>(settings, text, text);
        producer.initTransactions();
        return producer;
    }

    private ProducerRecord<String, String> record(String value) {
        return new ProducerRecord<>(topic, value);
    }

    /** Takes part beside a managed producer, and writes the same with both. */
    private OwnProducer<String, String> writeWithBoth(
            GlobalTransaction txn, Producer<String, String> producer, String value) {
        OwnProducer<String, String> own = txn.enlist("eu", producer, topic);
        own.send(record(value));
        txn.send("us", OutgoingRecord.to(topic).value(value));
        return own;
    }

    /**
     * The first request to end an own branch is lost, and repeated after half of {@code retry_initial_ms} at the earliest: the
     * commit is reported before that, while the branch is still open.
     */
    private Coordinator openReportingInDoubt() {
        Map<String, Object> loses = Map.of("client.id", World.LOSES_FIRST_END + topic);
        return Coordinator.open(
                world.values(loses)
                        .set(ConfigKeys.COORDINATOR_LIMITS_REPORT_TIMEOUT_MS, 1)
                        .build());
    }

    private void assertCommitted(String... values) {
        assertEquals(List.of(values), world.committed("eu", topic));
        assertEquals(List.of(values), world.committed("us", topic));
    }

    @Test
    void goesOnAfterCommitsAndAborts() throws Exception {
        try (Coordinator coordinator = world.open();
                KafkaProducer<String, String> producer = producer()) {
            coordinator.settle("eu", topic);
            for (int round = 0; round < 4; round++) {
                producer.beginTransaction();
                try (GlobalTransaction txn = coordinator.begin()) {
                    OwnProducer<String, String> own = txn.enlist("eu", producer, topic);
                    own.send(record("a" + round));
                    own.send(record("b" + round));
                    txn.send("us", OutgoingRecord.to(topic).value("a" + round));
                    txn.send("us", OutgoingRecord.to(topic).value("b" + round));
                    switch (round) {
                        case 0 -> txn.commit();
                        case 1 -> txn.abort("a test");
                        case 2 -> txn.commitAsync().get();
                        default -> txn.abortAsync("a test").get();
                    }
                    assertEquals(Reuse.REUSE, own.finished());
                }
            }
            assertTrue(coordinator.inDoubt().isEmpty());
        }
        assertCommitted("a0", "b0", "a2", "b2");
    }

    /** The case failed-send-then-flush: the broker has one of two records, and says Ongoing. */
    @Test
    void aFailedDeliveryIsANoThoughTheFlushReturns() throws Exception {
        try (Coordinator coordinator = world.open()) {
            List<Exception> told = new ArrayList<>();
            KafkaProducer<String, String> producer = producer();
            producer.beginTransaction();
            try (GlobalTransaction txn = coordinator.begin()) {
                OwnProducer<String, String> own = txn.enlist("eu", producer, topic);
                own.send(record("small"));
                own.flush();
                own.send(record("x".repeat(TOO_LARGE_BYTES)), (metadata, error) -> told.add(error));
                txn.send("us", OutgoingRecord.to(topic).value("small"));
                GtcException no = assertThrows(GtcException.Aborted.class, txn::commit);
                assertTrue(no.problem().contains("1 deliveries failed"), no.getMessage());
                assertEquals(1, told.size());
                assertEquals(Reuse.DISCARD, own.finished());
            }
            coordinator.settle("eu", topic);
            producer = producer();
            producer.beginTransaction();
            try (GlobalTransaction txn = coordinator.begin()) {
                OwnProducer<String, String> own = writeWithBoth(txn, producer, "again");
                txn.commit();
                assertEquals(Reuse.REUSE, own.finished());
            }
            producer.close();
        }
        assertCommitted("again");
    }

    /** Nobody is asked to commit: the record that was not delivered could arrive in the next transaction. */
    @Test
    void aFailedDeliveryIsAskedForByAnAbort() throws Exception {
        try (Coordinator coordinator = world.open();
                GlobalTransaction txn = coordinator.begin()) {
            KafkaProducer<String, String> producer = producer();
            producer.beginTransaction();
            OwnProducer<String, String> own = txn.enlist("eu", producer, topic);
            own.send(record("small"));
            own.flush();
            own.send(record("x".repeat(TOO_LARGE_BYTES)));
            txn.abort("a test");
            assertEquals(Reuse.DISCARD, own.finished());
            coordinator.settle("eu", topic);
        }
        assertCommitted();
    }

    @Test
    void whoWritesNothingIsInNobodysWay() throws Exception {
        try (Coordinator coordinator = world.open();
                KafkaProducer<String, String> producer = producer()) {
            for (int round = 0; round < 3; round++) {
                producer.beginTransaction();
                try (GlobalTransaction txn = coordinator.begin()) {
                    OwnProducer<String, String> own = txn.enlist("eu", producer, topic);
                    if (round == 1) {
                        txn.abort();
                        assertEquals(Reuse.REUSE, own.finished());
                        continue;
                    }
                    txn.send("us", OutgoingRecord.to(topic).value("value"));
                    txn.commit();
                    assertEquals(Reuse.REUSE, own.finished());
                }
            }
        }
        assertEquals(List.of("value", "value"), world.committed("us", topic));
    }

    @Test
    void offsetsMoveWithTheTransaction() throws Exception {
        TopicPartition partition = new TopicPartition(topic, 0);
        try (Coordinator coordinator = world.open();
                KafkaProducer<String, String> producer = producer();
                GlobalTransaction txn = coordinator.begin()) {
            producer.beginTransaction();
            OwnProducer<String, String> own = txn.enlist("eu", producer, topic);
            own.sendOffsetsToTransaction(Map.of(partition, new OffsetAndMetadata(7)), group());
            txn.send("us", OutgoingRecord.to(topic).value("value"));
            txn.commit();
        }
        Map<String, Object> settings = Map.of("bootstrap.servers", world.bootstrap("eu"));
        try (Admin admin = Admin.create(settings)) {
            var offsets = admin.listConsumerGroupOffsets(topic).partitionsToOffsetAndMetadata();
            assertEquals(7, offsets.get().get(partition).offset());
        }
    }

    /** A group without members. */
    private ConsumerGroupMetadata group() {
        Map<String, Object> settings =
                Map.of("bootstrap.servers", world.bootstrap("eu"), "group.id", topic);
        StringDeserializer text = new StringDeserializer();
        try (KafkaConsumer<String, String> consumer = new KafkaConsumer<>(settings, text, text)) {
            return consumer.groupMetadata();
        }
    }

    @Test
    void theGlobalTransactionBeginsAndEndsForIt() throws Exception {
        try (Coordinator coordinator = world.open();
                KafkaProducer<String, String> producer = producer();
                GlobalTransaction txn = coordinator.begin()) {
            producer.beginTransaction();
            OwnProducer<String, String> own = txn.enlist("eu", producer, topic, VersionClass.V2);
            assertThrows(GtcException.InvalidState.class, own::initTransactions);
            assertThrows(GtcException.InvalidState.class, own::beginTransaction);
            assertThrows(GtcException.InvalidState.class, own::commitTransaction);
            assertThrows(GtcException.InvalidState.class, own::abortTransaction);
            assertThrows(GtcException.InvalidState.class, own::finished);
            assertEquals(1, own.partitionsFor(topic).size());
            own.send(record("value")).get();
            txn.send("us", OutgoingRecord.to(topic).value("value"));
            txn.commit();
            GtcException late =
                    assertThrows(GtcException.InvalidState.class, () -> own.send(record("late")));
            assertEquals(txn.id(), late.transaction().orElseThrow());
        }
        assertCommitted("value");
    }

    @Test
    void anOpenProducerIsRefused() throws Exception {
        try (Coordinator coordinator = world.open();
                KafkaProducer<String, String> producer = producer();
                GlobalTransaction txn = coordinator.begin()) {
            producer.beginTransaction();
            producer.send(record("too early")).get();
            GtcException open =
                    assertThrows(
                            GtcException.InvalidState.class,
                            () -> txn.enlist("eu", producer, topic));
            assertTrue(open.problem().contains("before its first write"), open.getMessage());
            producer.abortTransaction();
        }
    }

    /** It throws in its own commit: the transaction has committed, and the producer is closed. */
    @Test
    void aProducerThatCannotGoOnIsDiscarded() throws Exception {
        List<String> calls = new ArrayList<>();
        try (Coordinator coordinator = world.open();
                KafkaProducer<String, String> stock = producer();
                GlobalTransaction txn = coordinator.begin()) {
            stock.beginTransaction();
            OwnProducer<String, String> own = writeWithBoth(txn, failing(stock, calls), "value");
            assertEquals(txn.id(), txn.commit());
            assertEquals(Reuse.DISCARD, own.finished());
            assertEquals(List.of("send", "flush", "commitTransaction", "close " + Duration.ZERO), calls);
        }
        assertCommitted("value");
    }

    /** What it wrote would be no part of what is committed, and the other one's records would be. */
    @Test
    void underTheIdOfAnotherProducerItIsRefused() throws Exception {
        String another = topic + "-another";
        try (Coordinator coordinator = world.open();
                KafkaProducer<String, String> producer = producer();
                KafkaProducer<String, String> other = producer(another);
                GlobalTransaction txn = coordinator.begin()) {
            producer.beginTransaction();
            GtcException.InvalidState error =
                    assertThrows(
                            GtcException.InvalidState.class,
                            () -> txn.enlist("eu", producer, another));
            assertTrue(error.problem().contains("another producer's"), error.getMessage());
            other.beginTransaction();
            txn.enlist("eu", other, another).send(record("other"));
            txn.enlist("eu", producer, topic).send(record("own"));
            txn.send("us", OutgoingRecord.to(topic).value("us"));
            txn.commit();
        }
        assertEquals(Set.of("own", "other"), Set.copyOf(world.committed("eu", topic)));
    }

    @SuppressWarnings("unchecked")
    private static Producer<String, String> failing(
            Producer<String, String> stock, List<String> calls) {
        return (Producer<String, String>)
                Proxy.newProxyInstance(
                        Producer.class.getClassLoader(),
                        new Class<?>[] {Producer.class},
                        (proxy, method, arguments) -> {
                            boolean closes = method.getName().equals("close");
                            calls.add(method.getName() + (closes ? " " + arguments[0] : ""));
                            if (method.getName().equals("commitTransaction")) {
                                throw new TimeoutException("a test");
                            }
                            try {
                                return method.invoke(stock, arguments);
                            } catch (InvocationTargetException error) {
                                throw error.getCause();
                            }
                        });
    }

    /** Its ordinary close would abort what is promised, so it is closed before anybody can. */
    @Test
    void inDoubtTheProducerIsClosedWithoutAborting() throws Exception {
        try (Coordinator coordinator = openReportingInDoubt();
                KafkaProducer<String, String> producer = producer();
                GlobalTransaction txn = coordinator.begin()) {
            producer.beginTransaction();
            OwnProducer<String, String> own = writeWithBoth(txn, producer, "value");
            ExecutionException told = assertThrows(ExecutionException.class, txn.commitAsync()::get);
            GtcException doubt = (GtcException) told.getCause();
            assertEquals(ErrorKind.IN_DOUBT, doubt.kind(), doubt.getMessage());
            assertEquals(txn.id(), doubt.transaction().orElseThrow());
            assertEquals(Reuse.DISCARD, own.finished());
            coordinator.settle("eu", topic);
            coordinator.recover();
            assertEquals(Outcome.COMMITTED, coordinator.outcome(txn.id()));
        }
        assertCommitted("value");
    }

    /** The client gives up at once where it is interrupted, and says so by an exception of its own. */
    @Test
    void anInterruptIsSeenAfterTheEnd() throws Exception {
        try (Coordinator coordinator = world.open();
                KafkaProducer<String, String> producer = producer();
                GlobalTransaction txn = coordinator.begin()) {
            producer.beginTransaction();
            OwnProducer<String, String> own = writeWithBoth(txn, producer, "value");
            Thread.currentThread().interrupt();
            String id = txn.commit();
            assertTrue(Thread.interrupted());
            assertEquals(txn.id(), id);
            assertEquals(Reuse.REUSE, own.finished());
        }
        assertCommitted("value");
    }

    @Test
    void anInterruptDoesNotHideThatItAborted() throws Exception {
        try (Coordinator coordinator = world.open();
                GlobalTransaction txn = coordinator.begin()) {
            KafkaProducer<String, String> producer = producer();
            producer.beginTransaction();
            OwnProducer<String, String> own = txn.enlist("eu", producer, topic);
            own.send(record("x".repeat(TOO_LARGE_BYTES)));
            Thread.currentThread().interrupt();
            assertThrows(GtcException.Aborted.class, txn::commit);
            assertTrue(Thread.interrupted());
            assertEquals(Reuse.DISCARD, own.finished());
            coordinator.settle("eu", topic);
        }
    }

    @Test
    void aBranchTellsOfItsEndAfterItWasInDoubt() throws Exception {
        try (Coordinator coordinator = openReportingInDoubt();
                KafkaProducer<String, String> producer = producer();
                GlobalTransaction txn = coordinator.begin()) {
            producer.beginTransaction();
            OwnBranch branch = txn.enlist("eu", topic, VersionClass.V2);
            producer.send(record("value")).get();
            branch.stateDelivered();
            txn.send("us", OutgoingRecord.to(topic).value("value"));
            assertThrows(GtcException.InDoubt.class, txn::commit);
            coordinator.settle("eu", topic);
            assertNotNull(branch.finished());
            producer.close(Duration.ZERO);
        }
        assertCommitted("value");
    }

    @Test
    void anyOtherClientTellsByItself() throws Exception {
        try (Coordinator coordinator = world.open();
                KafkaProducer<String, String> producer = producer()) {
            for (boolean speaks : new boolean[] {true, false}) {
                producer.beginTransaction();
                try (GlobalTransaction txn = coordinator.begin()) {
                    OwnBranch branch = txn.enlistAsync("eu", topic, VersionClass.V2).get();
                    branch.sent();
                    producer.send(record("value")).get();
                    txn.send("us", OutgoingRecord.to(topic).value("value"));
                    if (speaks) {
                        branch.delivered();
                        txn.commit();
                        producer.commitTransaction();
                        assertEquals(Reuse.REUSE, branch.finishedAsync().get());
                    } else {
                        branch.failed("a test");
                        assertThrows(GtcException.Aborted.class, txn::commit);
                        assertEquals(Reuse.DISCARD, branch.finished());
                    }
                }
            }
        }
        assertCommitted("value");
    }
}
