package gtc;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/**
 * Begins transactions without end, and prints the resident memory after each round. They abort
 * before they write, as commits take too long for a test: what crosses the border (handles, results,
 * exceptions, records) is made and dropped all the same.
 *
 * <pre>Leaks CONFIG ROUNDS TRANSACTIONS</pre>
 */
final class Leaks {
    private static final int PAGE_BYTES = 4096;

    public static void main(String[] arguments) throws Exception {
        int rounds = Integer.parseInt(arguments[1]);
        int transactions = Integer.parseInt(arguments[2]);
        try (Coordinator coordinator = Coordinator.open(Path.of(arguments[0]))) {
            for (int round = 0; round < rounds; round++) {
                for (int number = 0; number < transactions; number++) {
                    transact(coordinator, number);
                }
                System.gc();
                System.out.println(residentBytes());
            }
        }
    }

    private static void transact(Coordinator coordinator, int number) {
        try (GlobalTransaction txn = coordinator.begin("key-" + number)) {
            OutgoingRecord record = OutgoingRecord.to("topic").value("value".repeat(20));
            try {
                txn.sendMany("nowhere", List.of(record.header("h", new byte[] {1})));
            } catch (GtcException.Config expected) {
                txn.abort();
            }
        }
    }

    private static long residentBytes() throws Exception {
        String[] pages = Files.readString(Path.of("/proc/self/statm")).split(" ");
        return Long.parseLong(pages[1]) * PAGE_BYTES;
    }

    private Leaks() {}
}
