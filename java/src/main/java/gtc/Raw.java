package gtc;

import java.time.Instant;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.Function;

/** What the native side gives back, as the classes of this package. */
final class Raw {
    static <T> List<T> list(Object raw, Function<Object[], T> of) {
        return Arrays.stream((Object[]) raw).map(one -> of.apply((Object[]) one)).toList();
    }

    private static Optional<String> text(Object raw) {
        return Optional.ofNullable((String) raw);
    }

    static TransactionInfo transaction(Object[] raw) {
        return new TransactionInfo(
                (String) raw[0],
                Optional.ofNullable((byte[]) raw[1]),
                (String) raw[2],
                text(raw[3]).map(word -> Words.constant(Decision.class, word)),
                Instant.ofEpochMilli((Long) raw[4]),
                list(raw[5], Raw::branch));
    }

    private static BranchInfo branch(Object[] raw) {
        return new BranchInfo((String) raw[0], text(raw[1]), (String) raw[2], text(raw[3]));
    }

    static ForeignInfo foreign(Object[] raw) {
        return new ForeignInfo((String) raw[0], (String) raw[1], (String) raw[2]);
    }

    static Status status(Object[] raw) {
        return new Status(
                (String) raw[0],
                (Long) raw[1],
                (Boolean) raw[2],
                text(raw[3]),
                list(raw[4], Raw::participant),
                (Long) raw[5]);
    }

    private static ParticipantInfo participant(Object[] raw) {
        return new ParticipantInfo(
                (String) raw[0],
                (String) raw[1],
                text(raw[2]),
                (Long) raw[3],
                (Long) raw[4],
                (Long) raw[5]);
    }

    static Finding finding(Object[] raw) {
        Finding.Level level = Words.constant(Finding.Level.class, (String) raw[2]);
        return new Finding((String) raw[0], (String) raw[1], level, (String) raw[3], text(raw[4]));
    }

    static Position position(Object[] raw) {
        return new Position((String) raw[0], ((Long) raw[1]).intValue(), (Long) raw[2]);
    }

    static Lag lag(Object[] raw) {
        OptionalLong position =
                raw[2] == null ? OptionalLong.empty() : OptionalLong.of((Long) raw[2]);
        return new Lag((String) raw[0], ((Long) raw[1]).intValue(), position, (Long) raw[3]);
    }

    static Notice notice(Object[] raw) {
        return new Notice(
                Words.constant(Notice.Kind.class, (String) raw[0]),
                (String) raw[1],
                list(raw[2], one -> new Notice.Partition((String) one[0], ((Long) one[1]).intValue())));
    }

    private Raw() {}
}
