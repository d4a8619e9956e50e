package gtc;

import java.util.AbstractList;
import java.util.List;
import java.util.RandomAccess;

/**
 * Records, and the offsets after them. There may be no records: transaction markers and aborted
 * records move offsets too, so send its offsets all the same.
 *
 * <p>A batch is done when the transaction that its offsets were sent into has committed. If that
 * aborts, or the next batch is asked for before the offsets were sent, the records are read again.
 */
public final class Batch extends AbstractList<ConsumedRecord> implements RandomAccess {
    final String[] topics;
    final byte[][] keys;
    final byte[][] values;
    final Object[] headers;
    final int[] partitions;
    final long[] offsets;
    final long[] timestamps;

    private final Handle handle;
    private final List<Position> positions;

    /** From what {@link Native#next} gives back. */
    Batch(Object[] raw) {
        handle = Handle.of(this, (Long) raw[0]);
        positions = Raw.list(raw[1], Raw::position);
        topics = (String[]) raw[2];
        keys = (byte[][]) raw[3];
        values = (byte[][]) raw[4];
        headers = (Object[]) raw[5];
        partitions = (int[]) raw[6];
        offsets = (long[]) raw[7];
        timestamps = (long[]) raw[8];
    }

    /**
     * The record at an index.
     *
     * @param index from 0
     * @return a view of it
     */
    @Override
    public ConsumedRecord get(int index) {
        if (index < 0 || index >= topics.length) {
            throw new IndexOutOfBoundsException(index);
        }
        return new ConsumedRecord(this, index);
    }

    /**
     * How many records it has.
     *
     * @return the number
     */
    @Override
    public int size() {
        return topics.length;
    }

    /**
     * The next offset to read of each partition that the batch moved.
     *
     * @return the positions
     */
    public List<Position> positions() {
        return positions;
    }

    /**
     * Whether its offsets would be refused: the group has rebalanced, or an earlier batch is read
     * again.
     *
     * @return false once the offsets are sent; true once the next batch was asked for
     */
    public boolean isStale() {
        return handle.use(this, number -> number == 0 || Native.isStale(number));
    }

    Handle handle() {
        return handle;
    }
}
