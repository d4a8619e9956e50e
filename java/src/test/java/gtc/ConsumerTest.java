package gtc;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Batches, and waiting for them. */
class ConsumerTest {
    @TempDir Path directory;
    private World world;

    @BeforeEach
    void prepare() {
        world = new World(directory);
    }

    @Test
    void batchesTravelWithWhatWasMadeOfThem() throws Exception {
        String topic = world.topic();
        world.write("eu", topic, "a", "b", "c");
        List<String> copied = new ArrayList<>();
        try (Coordinator coordinator = world.open()) {
            ConsumerOptions options = ConsumerOptions.group(topic, topic).recordsMax(2);
            TransactionalConsumer consumer = coordinator.consumer("eu", options);
            assertEquals("eu", consumer.participant());
            Batch first = consumer.next(World.PATIENCE);
            assertEquals("a", text(first.get(0)));
            assertEquals(first.size() - 1, first.get(first.size() - 1).offset());
            assertThrows(IndexOutOfBoundsException.class, () -> first.get(first.size()));
            try (GlobalTransaction txn = coordinator.begin()) {
                txn.sendOffsets(first);
                assertThrows(GtcException.InvalidState.class, () -> txn.sendOffsets(first));
            }
            // What was aborted comes again, and nothing is skipped.
            List<Position> end = List.of(new Position(topic, 0, 3));
            Batch batch;
            do {
                batch = consumer.next(World.PATIENCE);
                copy(coordinator, consumer, batch, copied);
            } while (!batch.positions().equals(end));
            assertNull(consumer.next(Duration.ofMillis(200)));
            assertTrue(batch.isStale());
            assertEquals(
                    List.of(Notice.Kind.ASSIGNED),
                    consumer.notices().stream().map(Notice::kind).distinct().toList());
            consumer.close();
            assertThrows(GtcException.Closed.class, consumer::next);
            consumer.close();
        }
        assertEquals(List.of("a", "b", "c"), copied);
        assertEquals(copied, world.committed("us", topic));
    }

    private static void copy(
            Coordinator coordinator,
            TransactionalConsumer consumer,
            Batch batch,
            List<String> copied) {
        assertFalse(batch.isStale());
        try (GlobalTransaction txn = coordinator.begin()) {
            for (ConsumedRecord record : batch) {
                OutgoingRecord copy = OutgoingRecord.to(record.topic()).value(record.value());
                txn.send("us", copy.partition(record.partition()));
                copied.add(text(record));
                assertTrue(record.timestampMs().isPresent());
            }
            txn.sendOffsets(consumer);
            txn.commit();
        }
    }

    private static String text(ConsumedRecord record) {
        return new String(record.value(), UTF_8);
    }

    @Test
    void recordsComeWithKeysAndHeaders() throws Exception {
        String topic = world.topic();
        try (Coordinator coordinator = world.open()) {
            try (GlobalTransaction txn = coordinator.begin()) {
                OutgoingRecord record = OutgoingRecord.to(topic).key("k").timestampMs(77);
                txn.send("eu", record.header("a", new byte[] {1}).header("b", null));
                txn.send("eu", OutgoingRecord.to(topic).value(""));
                txn.commit();
            }
            ConsumerOptions options = ConsumerOptions.group(topic, topic).linger(Duration.ofMillis(500));
            try (TransactionalConsumer consumer = coordinator.consumer("eu", options)) {
                Batch batch = consumer.next(World.PATIENCE);
                assertEquals(2, batch.size());
                ConsumedRecord record = batch.get(0);
                assertEquals("k", new String(record.key(), UTF_8));
                assertNull(record.value());
                assertEquals(77, record.timestampMs().getAsLong());
                List<Header> headers = record.headers();
                assertEquals(List.of("a", "b"), headers.stream().map(Header::name).toList());
                assertEquals(1, headers.get(0).value()[0]);
                assertNull(headers.get(1).value());
                assertNull(batch.get(1).key());
                assertEquals(0, batch.get(1).value().length);
                assertEquals(List.of(), batch.get(1).headers());
            }
        }
    }

    @Test
    void aCancelledWaitLosesNothing() throws Exception {
        String topic = world.topic();
        try (Coordinator coordinator = Coordinator.openAsync(world.config()).get()) {
            ConsumerOptions options = ConsumerOptions.group(topic, topic);
            TransactionalConsumer consumer = coordinator.consumerAsync("eu", options).get();
            CompletableFuture<Batch> waiting = consumer.nextAsync(null);
            assigned(consumer);
            assertFalse(waiting.isDone());
            assertTrue(waiting.cancel(false));
            world.write("eu", topic, "a", "b");
            List<String> found = new ArrayList<>();
            while (found.size() < 2) {
                Batch batch = consumer.nextAsync(World.PATIENCE).get();
                try (GlobalTransaction txn = coordinator.begin()) {
                    txn.sendOffsetsAsync(batch).get();
                    txn.sendAsync("us", OutgoingRecord.to(topic).value("x")).get();
                    txn.commitAsync().get();
                }
                batch.forEach(record -> found.add(text(record)));
            }
            assertEquals(List.of("a", "b"), found);
            consumer.closeAsync().get();
        }
    }

    @Test
    void anInterruptEndsAWaitAndClosingEndsAnother() throws Exception {
        String topic = world.topic();
        try (Coordinator coordinator = world.open()) {
            TransactionalConsumer consumer =
                    coordinator.consumer("eu", ConsumerOptions.group(topic, topic));
            CompletableFuture<Throwable> told = new CompletableFuture<>();
            Thread thread = new Thread(() -> told.complete(waitFor(consumer)));
            thread.start();
            assigned(consumer);
            thread.interrupt();
            Throwable interrupted = told.get(World.PATIENCE.toSeconds(), TimeUnit.SECONDS);
            assertInstanceOf(WaitInterruptedException.class, interrupted);

            CompletableFuture<Batch> waiting = consumer.nextAsync(null);
            coordinator.closeAsync().get();
            ExecutionException closed = assertThrows(ExecutionException.class, waiting::get);
            assertInstanceOf(GtcException.Closed.class, closed.getCause());
        }
    }

    private static Throwable waitFor(TransactionalConsumer consumer) {
        Throwable told = assertThrows(RuntimeException.class, consumer::next);
        return Thread.currentThread().isInterrupted() ? told : new AssertionError("no status", told);
    }

    private static void assigned(TransactionalConsumer consumer) throws InterruptedException {
        long deadline = System.nanoTime() + World.PATIENCE.toNanos();
        while (consumer.notices().stream().noneMatch(one -> one.kind() == Notice.Kind.ASSIGNED)) {
            assertTrue(System.nanoTime() < deadline, "nothing is assigned");
            Thread.sleep(10);
        }
    }
}
