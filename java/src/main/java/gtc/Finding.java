package gtc;

import java.util.Optional;

/**
 * One precondition of the guarantee on one participant.
 *
 * @param participant the participant
 * @param check the name of the precondition
 * @param level whether it is met
 * @param detail what was found, for people
 * @param remedy what to do about it
 */
public record Finding(
        String participant, String check, Level level, String detail, Optional<String> remedy) {
    /** Whether a precondition is met. */
    public enum Level {
        /** It is. */
        OK,

        /** The guarantee holds, with a limit that the detail names. */
        WARN,

        /** It is not: the guarantee does not hold. */
        FAIL
    }
}
