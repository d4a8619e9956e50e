package gtc;

import java.time.Instant;
import java.util.List;
import java.util.Optional;

/**
 * A transaction as operators see it.
 *
 * @param id its id
 * @param key the application's key
 * @param state its state
 * @param decision the decision, once there is one
 * @param since when it was decided, or began
 * @param branches its branches
 */
public record TransactionInfo(
        String id,
        Optional<byte[]> key,
        String state,
        Optional<Decision> decision,
        Instant since,
        List<BranchInfo> branches) {}
