package gtc;

import java.util.Optional;

/**
 * One participant's part of a transaction.
 *
 * @param participant the participant
 * @param transactionalId its transactional.id, once known
 * @param state its state
 * @param detail the last error, or the evidence
 */
public record BranchInfo(
        String participant, Optional<String> transactionalId, String state, Optional<String> detail) {}
