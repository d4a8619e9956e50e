package gtc;

/**
 * An open branch that another log left under this coordinator's id.
 *
 * @param participant the participant
 * @param transactionalId its transactional.id
 * @param state its state at the last listing
 */
public record ForeignInfo(String participant, String transactionalId, String state) {}
