package gtc;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;

/** What blocks, on real clusters. */
class CoordinatorTest {
    @TempDir Path directory;
    private World world;

    @BeforeEach
    void prepare() {
        world = new World(directory);
    }

    @Test
    void commitsOnBothClustersWithEverythingThatARecordHas() throws Exception {
        String topic = world.topic();
        try (Coordinator coordinator = world.open();
                GlobalTransaction txn = coordinator.begin("order-1")) {
            OutgoingRecord record = OutgoingRecord.to(topic).key("key").value("value");
            txn.send("eu", record.partition(0).timestampMs(1234));
            byte[] one = {1};
            OutgoingRecord umlaut = OutgoingRecord.to(topic).value("ü");
            txn.send("us", umlaut.header("h", one).header("h", null));
            txn.sendMany(
                    "us",
                    List.of(
                            OutgoingRecord.to(topic).key(new byte[0]),
                            OutgoingRecord.to(topic).value(new byte[0]).header("n", one)));
            assertEquals(txn.id(), txn.commit());
            Optional<KeyedOutcome> found = coordinator.outcomeByKey("order-1");
            assertEquals(Optional.of(new KeyedOutcome(txn.id(), Outcome.COMMITTED)), found);
            assertEquals(Outcome.COMMITTED, coordinator.outcome(txn.id()));
            assertTrue(coordinator.inDoubt().isEmpty());
            TransactionInfo described = coordinator.describe(txn.id()).orElseThrow();
            assertArrayEquals("order-1".getBytes(UTF_8), described.key().orElseThrow());
            assertTrue(coordinator.describe("1-999999").isEmpty());
        }
        ConsumerRecord<byte[], byte[]> eu = world.records("eu", topic).get(0);
        assertArrayEquals("key".getBytes(UTF_8), eu.key());
        assertArrayEquals("value".getBytes(UTF_8), eu.value());
        assertEquals(1234, eu.timestamp());
        List<ConsumerRecord<byte[], byte[]>> us = world.records("us", topic);
        assertEquals(3, us.size());
        assertNull(us.get(0).key());
        assertArrayEquals("ü".getBytes(UTF_8), us.get(0).value());
        List<byte[]> headers = new ArrayList<>();
        us.get(0).headers().headers("h").forEach(header -> headers.add(header.value()));
        assertArrayEquals(new byte[] {1}, headers.get(0));
        assertNull(headers.get(1));
        assertArrayEquals(new byte[0], us.get(1).key());
        assertNull(us.get(1).value());
        assertArrayEquals(new byte[0], us.get(2).value());
    }

    @Test
    void manyRecordsCrossAtOnceForSeveralTopicsAndWithLongHeaders() throws Exception {
        String first = world.topic("-first");
        String second = world.topic("-second");
        byte[] large = new byte[10_000];
        List<OutgoingRecord> records = new ArrayList<>();
        for (String topic : List.of(first, first, second, first)) {
            OutgoingRecord record = OutgoingRecord.to(topic).value("" + records.size());
            records.add(record.header("ü".repeat(500), large).header("", null));
        }
        try (Coordinator coordinator = world.open();
                GlobalTransaction txn = coordinator.begin()) {
            txn.sendMany("eu", records);
            txn.commit();
        }
        Map<String, List<String>> expected =
                Map.of(first, List.of("0", "1", "3"), second, List.of("2"));
        for (String topic : List.of(first, second)) {
            List<ConsumerRecord<byte[], byte[]>> found = world.records("eu", topic);
            List<String> values = found.stream().map(one -> new String(one.value(), UTF_8)).toList();
            assertEquals(expected.get(topic), values);
            for (ConsumerRecord<byte[], byte[]> record : found) {
                assertArrayEquals(large, record.headers().lastHeader("ü".repeat(500)).value());
                assertNull(record.headers().lastHeader("").value());
            }
        }
    }

    @Test
    void theEndOfATryStatementAbortsWhatIsUndecided() throws Exception {
        String topic = world.topic();
        try (Coordinator coordinator = world.open()) {
            GlobalTransaction kept;
            try (GlobalTransaction txn = coordinator.begin()) {
                kept = txn;
                txn.send("eu", OutgoingRecord.to(topic).value("no"));
                txn.send("us", OutgoingRecord.to(topic).value("no"));
            }
            assertEquals(Outcome.ABORTED, coordinator.outcome(kept.id()));
            GtcException late =
                    assertThrows(
                            GtcException.InvalidState.class,
                            () -> kept.send("eu", OutgoingRecord.to(topic)));
            assertEquals(Optional.of(kept.id()), late.transaction());
            assertThrows(GtcException.InvalidState.class, kept::commit);
            kept.close();
            try (GlobalTransaction txn = coordinator.begin()) {
                txn.send("eu", OutgoingRecord.to(topic).value("yes"));
                assertEquals(txn.id(), txn.commit(CommitReturn.DECIDED));
            }
        }
        assertEquals(List.of("yes"), world.committed("eu", topic));
        assertEquals(List.of(), world.committed("us", topic));
    }

    @Test
    void errorsHaveTheClassOfTheirKind() {
        Config wrong = Config.builder().set(ConfigKeys.COORDINATOR_ID, "x").build();
        GtcException config =
                assertThrows(GtcException.Config.class, () -> Coordinator.open(wrong));
        assertEquals(ErrorKind.CONFIG, config.kind());
        assertEquals(Retry.NEVER, config.retry());
        assertTrue(config.problem().contains("log"), config.problem());
        Coordinator coordinator = Coordinator.open(world.configFile());
        try (coordinator;
                GlobalTransaction txn = coordinator.begin()) {
            GtcException locked =
                    assertThrows(GtcException.Log.class, () -> Coordinator.open(world.config()));
            assertEquals(Retry.LATER, locked.retry());
            OutgoingRecord record = OutgoingRecord.to("topic");
            GtcException unknown =
                    assertThrows(GtcException.Config.class, () -> txn.send("eux", record));
            assertEquals(Optional.of("did you mean `eu`?"), unknown.remedy());
            assertEquals(Optional.of("eux"), unknown.participant());
            assertEquals("send", unknown.operation());
            assertThrows(GtcException.Config.class, () -> coordinator.outcome("seventeen"));
            assertThrows(GtcException.InvalidState.class, () -> coordinator.forget(txn.id()));
            assertThrows(
                    GtcException.InvalidState.class,
                    () -> coordinator.resolve("1-999999", Decision.COMMIT));
        }
        assertThrows(GtcException.Closed.class, coordinator::begin);
        coordinator.close();
    }

    @Test
    void whatNoClusterCanTakeIsRefusedAtOnce() throws Exception {
        String topic = world.topic();
        try (Coordinator coordinator = world.open()) {
            for (String name : new String[] {"", "a\0b"}) {
                try (GlobalTransaction txn = coordinator.begin()) {
                    txn.send("us", OutgoingRecord.to(topic).value("value"));
                    OutgoingRecord record = OutgoingRecord.to(name);
                    assertThrows(GtcException.Config.class, () -> txn.send("eu", record));
                    GtcException aborted = assertThrows(GtcException.Aborted.class, txn::commit);
                    assertEquals(Retry.NEVER, aborted.retry());
                }
            }
            try (GlobalTransaction txn = coordinator.begin()) {
                GtcException empty =
                        assertThrows(
                                GtcException.Config.class,
                                () -> txn.enlist("eu", "", VersionClass.V2));
                assertTrue(empty.problem().contains("transactional.id"), empty.problem());
            }
            assertThrows(GtcException.Config.class, () -> coordinator.settle("eu", ""));
            assertThrows(GtcException.Config.class, () -> coordinator.begin("k".repeat(1025)));
        }
        assertEquals(List.of(), world.committed("us", topic));
    }

    @Test
    void aPlaceThatTheClusterDoesNotHaveIsNotToBeTriedAgain() throws Exception {
        String topic = world.topic();
        try (Coordinator coordinator = world.open()) {
            for (OutgoingRecord record :
                    List.of(OutgoingRecord.to(topic).partition(99), OutgoingRecord.to("no-such"))) {
                try (GlobalTransaction txn = coordinator.begin()) {
                    txn.send("us", OutgoingRecord.to(topic).value("value"));
                    GtcException error =
                            assertThrows(
                                    GtcException.class,
                                    () -> {
                                        txn.send("eu", record);
                                        txn.commit();
                                    });
                    assertEquals(Retry.NEVER, error.retry(), error.getMessage());
                    assertTrue(error.problem().contains(record.topic()), error.problem());
                    assertTrue(error.problem().contains("`eu`"), error.problem());
                }
            }
        }
        assertEquals(List.of(), world.committed("us", topic));
    }

    @Test
    void aNullIsRefusedByTheNameOfTheArgument() {
        try (Coordinator coordinator = world.open();
                GlobalTransaction txn = coordinator.begin()) {
            OutgoingRecord record = OutgoingRecord.to("topic");
            Map<String, Executable> attempts = new LinkedHashMap<>();
            attempts.put("report", () -> txn.commit(null));
            attempts.put("reason", () -> txn.abort(null));
            attempts.put("participant", () -> txn.send(null, record));
            attempts.put("record", () -> txn.sendAsync("eu", null));
            attempts.put("records[1]", () -> txn.sendMany("eu", Arrays.asList(record, null)));
            attempts.put("batch", () -> txn.sendOffsets((Batch) null));
            attempts.put("versionClass", () -> txn.enlist("eu", "id", null));
            attempts.put("transactionalId", () -> coordinator.settle("eu", null));
            attempts.put("id", () -> coordinator.outcome(null));
            attempts.put("key", () -> coordinator.begin((String) null));
            attempts.put("decision", () -> coordinator.resolve("1-1", null));
            attempts.put("options", () -> coordinator.consumer("eu", null));
            attempts.put("topics[0]", () -> ConsumerOptions.group("g", (String) null));
            attempts.put("topic", () -> OutgoingRecord.to(null));
            attempts.put("name", () -> record.header(null, null));
            attempts.put("config", () -> Coordinator.open((Config) null));
            attempts.put("the value of coordinator.id", () -> Config.builder().set("coordinator.id", null));
            attempts.forEach(
                    (name, attempt) -> {
                        Exception refused = assertThrows(NullPointerException.class, attempt);
                        assertEquals(name, refused.getMessage());
                    });
            assertThrows(
                    IllegalArgumentException.class,
                    () -> Config.builder().set("coordinator.id", List.of("x")));
            // Nothing was asked for by any of them.
            txn.commit();
        }
    }

    @Test
    void threadsWriteAtOnce() throws Exception {
        String topic = world.topic();
        try (Coordinator coordinator = world.open()) {
            List<Throwable> failed = new ArrayList<>();
            List<Thread> threads = new ArrayList<>();
            for (int number = 0; number < 8; number++) {
                Thread thread = new Thread(() -> book(coordinator, topic));
                thread.setUncaughtExceptionHandler((of, error) -> failed.add(error));
                thread.start();
                threads.add(thread);
            }
            for (Thread thread : threads) {
                thread.join(World.PATIENCE.toMillis());
            }
            assertEquals(List.of(), failed);
        }
        assertEquals(8, world.committed("eu", topic).size());
        assertEquals(8, world.committed("us", topic).size());
    }

    private static void book(Coordinator coordinator, String topic) {
        try (GlobalTransaction txn = coordinator.begin()) {
            txn.send("eu", OutgoingRecord.to(topic).value("value"));
            txn.send("us", OutgoingRecord.to(topic).value("value"));
            txn.commit();
        }
    }

    @Test
    void checksAndStatus() {
        Config toml = Config.toml(world.toml().replace("\"log\"", "\"" + directory + "/log\""));
        for (Config config : List.of(world.config(), toml)) {
            List<Finding> found = Coordinator.check(config, "us");
            assertTrue(found.stream().allMatch(one -> one.participant().equals("us")), "" + found);
            Finding.Level reached =
                    found.stream()
                            .filter(one -> one.check().equals("reachable"))
                            .findFirst()
                            .orElseThrow()
                            .level();
            assertEquals(Finding.Level.OK, reached);
        }
        try (Coordinator coordinator = Coordinator.open(toml)) {
            coordinator.recover();
            coordinator.verified("eu");
            coordinator.verified("us");
            Status status = coordinator.status();
            assertEquals(world.name, status.coordinator());
            assertTrue(status.recovered());
            assertEquals(0, status.open());
            assertEquals(
                    List.of("verified", "verified"),
                    status.participants().stream().map(ParticipantInfo::state).toList());
            assertEquals(List.of(), coordinator.list());
            assertEquals(List.of(), coordinator.foreign());
            assertEquals("eu", coordinator.checkParticipants("eu").get(0).participant());
        }
    }
}
