package gtc;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.List;

/**
 * Records on their way to the native side, in one piece of memory: a call for each part of each
 * record would cost more than copying it. {@code bindings/jni/src/packed.rs} reads what is written
 * here, in the same order.
 */
final class Packed {
    /** Stands for null, and for the topic of the record before. */
    private static final int NONE = -1;

    private static final int NUMBERS_OF_A_RECORD = 5 * Integer.BYTES + Long.BYTES;
    /** What topics and headers may take before the piece grows. */
    private static final int REST = 256;
    /** How large an array can be. */
    private static final int MOST = Integer.MAX_VALUE - 8;

    private ByteBuffer bytes;
    private String topic;

    private Packed(long length) {
        bytes = ByteBuffer.allocate((int) Math.min(length, MOST));
    }

    static byte[] of(OutgoingRecord record) {
        return of(List.of(record));
    }

    static byte[] of(List<OutgoingRecord> records) {
        long length = REST;
        for (OutgoingRecord record : records) {
            length += NUMBERS_OF_A_RECORD + length(record.key()) + length(record.value());
        }
        Packed packed = new Packed(length);
        records.forEach(packed::add);
        return packed.bytes.array();
    }

    private static int length(byte[] part) {
        return part == null ? 0 : part.length;
    }

    private void add(OutgoingRecord record) {
        room(NUMBERS_OF_A_RECORD);
        bytes.putInt(record.partition()).putLong(record.timestampMs());
        if (record.topic().equals(topic)) {
            bytes.putInt(NONE);
        } else {
            topic = record.topic();
            put(topic);
        }
        put(record.key());
        put(record.value());
        room(Integer.BYTES);
        bytes.putInt(record.headers().size());
        for (Header header : record.headers()) {
            put(header.name());
            put(header.value());
        }
    }

    private void put(String text) {
        put(text.getBytes(StandardCharsets.UTF_8));
    }

    private void put(byte[] part) {
        room((long) Integer.BYTES + length(part));
        if (part == null) {
            bytes.putInt(NONE);
        } else {
            bytes.putInt(part.length).put(part);
        }
    }

    private void room(long length) {
        if (bytes.remaining() >= length) {
            return;
        }
        long needed = bytes.position() + length;
        if (needed > MOST) {
            throw new IllegalArgumentException(
                    "records of more than 2 GiB: send them in several calls");
        }
        long wanted = Math.max(2L * bytes.capacity(), needed);
        bytes = ByteBuffer.allocate((int) Math.min(wanted, MOST)).put(bytes.flip());
    }
}
