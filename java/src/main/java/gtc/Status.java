package gtc;

import java.util.List;
import java.util.Optional;

/**
 * How a coordinator stands.
 *
 * @param coordinator its id
 * @param incarnation the number of its start
 * @param recovered whether everything that the log left open is ended
 * @param stopped why it stopped for good, if it did
 * @param participants its participants
 * @param open transactions that are not ended, or ended otherwise than decided
 */
public record Status(
        String coordinator,
        long incarnation,
        boolean recovered,
        Optional<String> stopped,
        List<ParticipantInfo> participants,
        long open) {}
