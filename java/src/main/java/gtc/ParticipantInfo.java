package gtc;

import java.util.Optional;

/**
 * How a participant stands.
 *
 * @param name its name
 * @param state {@code starting}, {@code verified}, {@code unavailable} or {@code stopped}
 * @param detail why it is not verified
 * @param slotsOpen slots that are open
 * @param slotsFree slots that a transaction can have at once
 * @param waiting callers that wait for a slot
 */
public record ParticipantInfo(
        String name,
        String state,
        Optional<String> detail,
        long slotsOpen,
        long slotsFree,
        long waiting) {}
