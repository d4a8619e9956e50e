package gtc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.File;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Samples, crashes and memory: what a process as a whole goes through. */
class ProcessTest {
    private static final int KILLED = 128 + 9;
    /** The program gtc, which recovers what a Java process has left. */
    private static final String PROGRAM = "GTC_PROGRAM";

    @TempDir Path directory;
    private World world;

    @BeforeEach
    void prepare() {
        world = new World(directory);
    }

    private record Ended(int code, String output, String errors) {}

    private Ended run(List<String> command, Map<String, String> environment) throws Exception {
        File output = directory.resolve("output").toFile();
        File errors = directory.resolve("errors").toFile();
        ProcessBuilder builder = new ProcessBuilder(command);
        builder.environment().putAll(environment);
        Process process = builder.redirectOutput(output).redirectError(errors).start();
        boolean ended = process.waitFor(2 * World.PATIENCE.toSeconds(), TimeUnit.SECONDS);
        if (!ended) {
            process.destroyForcibly().waitFor();
        }
        return new Ended(
                ended ? process.exitValue() : -1,
                Files.readString(output.toPath(), StandardCharsets.UTF_8),
                Files.readString(errors.toPath(), StandardCharsets.UTF_8));
    }

    private Ended java(List<String> options, String name, String... arguments) throws Exception {
        return java(Map.of(), options, name, arguments);
    }

    private Ended java(
            Map<String, String> environment, List<String> options, String name, String... arguments)
            throws Exception {
        String path = System.getProperty("java.class.path");
        return java(path, environment, options, name, arguments);
    }

    private Ended java(
            String path,
            Map<String, String> environment,
            List<String> options,
            String name,
            String... arguments)
            throws Exception {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(List.of("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"));
        command.addAll(options);
        command.addAll(List.of("-cp", path, name));
        command.addAll(List.of(arguments));
        return run(command, environment);
    }

    private String sample(String name, String... arguments) throws Exception {
        Ended ended = java(List.of(), name, arguments);
        assertEquals(0, ended.code(), "" + ended);
        // Where its output is not what was expected, this says why.
        System.err.print(ended.errors());
        return ended.output();
    }

    @Test
    void theSamplesDoWhatTheySay() throws Exception {
        String topic = world.topic();
        String file = world.configFile().toString();
        String basic = sample("Basic", file, "eu", "us", topic);
        assertTrue(basic.contains("is on both clusters"), basic);
        String abort = sample("Abort", file, "eu", "us", topic);
        assertTrue(abort.contains("is on neither cluster: ABORTED"), abort);
        String own = sample("OwnProducerSample", file, "eu", "us", topic, world.bootstrap("eu"));
        assertEquals(2, own.split("is on both clusters", -1).length - 1, own);
        assertEquals("nothing is open\n", sample("ResolveInDoubt", file));
        Ended unknown = java(List.of(), "ResolveInDoubt", file, "1-1000", "commit");
        assertTrue(unknown.errors().contains("GtcException$InvalidState"), unknown.errors());
        List<String> orders = List.of("an order", "an order", "another order");
        assertEquals(orders, world.committed("eu", topic));
        assertEquals(orders, world.committed("us", topic));
    }

    @Test
    void theJobsDoWhatTheySay() throws Exception {
        String orders = world.topic("-orders");
        String sums = world.topic("-sums");
        world.write("eu", orders, "1 2", "3", "4 5 6");
        String file = world.configFile().toString();
        String[] transform = {file, "eu", orders, "us", sums};
        assertEquals("3 orders summed\n", sample("ConsumeTransformProduce", transform));
        assertEquals(List.of("3", "3", "15"), world.committed("us", sums));
        assertEquals("0 orders summed\n", sample("ConsumeTransformProduce", transform));
        String copied = sample("FanOut", file, "us", sums, "eu");
        assertEquals("3 records are on all clusters\n", copied);
        assertEquals(List.of("3", "3", "15"), world.committed("eu", sums));
    }

    /** An application without own producers need not have it. */
    @Test
    void kafkasClientIsForOwnProducersOnly() throws Exception {
        String[] path = System.getProperty("java.class.path").split(File.pathSeparator);
        String without =
                Stream.of(path)
                        .filter(entry -> !entry.contains("kafka-clients"))
                        .collect(Collectors.joining(File.pathSeparator));
        String topic = world.topic();
        String file = world.configFile().toString();
        for (String sample : List.of("Basic", "Abort")) {
            Ended ended = java(without, Map.of(), List.of(), sample, file, "eu", "us", topic);
            assertEquals(0, ended.code(), "" + ended);
        }
        assertEquals(List.of("an order"), world.committed("eu", topic));
    }

    /** The program gtc finishes what a Java process had decided when it was killed. */
    @Test
    void anotherLanguageRecoversWhatWasDecided() throws Exception {
        String topic = world.topic();
        String file = world.configFile().toString();
        killed("append-decided:after", file, topic);
        String program = System.getenv(PROGRAM);
        assertTrue(program != null, PROGRAM + " is set by `cargo xtask languages java`");
        Ended recovered = run(List.of(program, "--config", file, "recover"), Map.of());
        assertEquals(0, recovered.code(), "" + recovered);
        assertEquals(List.of("-100"), world.committed("eu", topic));
        assertEquals(List.of("+100"), world.committed("us", topic));
        String again = sample("CrashAndRecover", file, "eu", "us", topic);
        assertTrue(again.contains("was booked before"), again);
        assertEquals(List.of("-100"), world.committed("eu", topic));
    }

    @Test
    void killedBeforeTheDecisionTheNextRunBooksIt() throws Exception {
        String topic = world.topic();
        String file = world.configFile().toString();
        killed("append-decided:before", file, topic);
        String again = sample("CrashAndRecover", file, "eu", "us", topic);
        assertTrue(again.contains("is booked, as"), again);
        assertEquals(List.of("-100"), world.committed("eu", topic));
        assertEquals(List.of("+100"), world.committed("us", topic));
    }

    private void killed(String at, String file, String topic) throws Exception {
        Map<String, String> crash = Map.of("GTC_CRASH_AT", at);
        Ended killed = java(crash, List.of(), "CrashAndRecover", file, "eu", "us", topic);
        assertEquals(
                KILLED,
                killed.code(),
                "this needs a build with the feature crash-points, as `cargo xtask languages java` "
                        + "makes it: " + killed);
    }

    @Test
    void transactionsLeakNothing() throws Exception {
        // Kept outcomes are no leak, and would look like one.
        String limits = "\n[coordinator.limits]\noutcomes_max = 100\n[participants.eu]";
        Path file = world.configFile();
        Files.writeString(file, world.toml().replace("[participants.eu]", limits));
        // A heap that is all there from the beginning: what grows is not Java's.
        List<String> heap = List.of("-Xms48m", "-Xmx48m", "-XX:+AlwaysPreTouch");
        Ended ended = java(heap, "gtc.Leaks", file.toString(), "5", "4000");
        assertEquals(0, ended.code(), "" + ended);
        long[] resident = ended.output().lines().mapToLong(Long::parseLong).toArray();
        // The first rounds warm up caches, the allocator and the compiler.
        assertTrue(resident[4] - resident[1] < 2_000_000, ended.output());
    }

    /** What nobody can reach any more is given back, a coordinator with its log too. */
    @Test
    void whatIsLetGoIsGivenBack() throws Exception {
        abandon();
        long deadline = System.nanoTime() + World.PATIENCE.toNanos();
        while (true) {
            System.gc();
            try (Coordinator coordinator = world.open()) {
                assertEquals(world.name, coordinator.id());
                return;
            } catch (GtcException.Log held) {
                assertTrue(System.nanoTime() < deadline, held.getMessage());
                Thread.sleep(50);
            }
        }
    }

    private void abandon() throws Exception {
        Coordinator coordinator = world.open();
        assertThrows(GtcException.Log.class, world::open);
        coordinator.begin();
    }
}
