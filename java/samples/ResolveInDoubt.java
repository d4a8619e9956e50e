import gtc.BranchInfo;
import gtc.Coordinator;
import gtc.Decision;
import gtc.TransactionInfo;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;

/**
 * Shows what needs a hand, and ends it as an operator decides.
 *
 * <pre>
 * java -cp JARS ResolveInDoubt.java gtc.toml                 # lists
 * java -cp JARS ResolveInDoubt.java gtc.toml 3-17 commit     # tries its branches again now
 * java -cp JARS ResolveInDoubt.java gtc.toml 3-17 abort      # gives up its open branches
 * java -cp JARS ResolveInDoubt.java gtc.toml 3-17 forget     # a mixed outcome was dealt with
 * </pre>
 */
public class ResolveInDoubt {
    public static void main(String[] arguments) {
        try (Coordinator coordinator = Coordinator.open(Path.of(arguments[0]))) {
            if (arguments.length == 3 && arguments[2].equals("forget")) {
                coordinator.forget(arguments[1]);
            } else if (arguments.length == 3) {
                String decision = arguments[2].toUpperCase(Locale.ROOT);
                coordinator.resolve(arguments[1], Decision.valueOf(decision));
            }
            List<TransactionInfo> listed = coordinator.list();
            for (TransactionInfo transaction : listed) {
                String decision = transaction.decision().map(Decision::toString).orElse("undecided");
                System.out.println(
                        transaction.id() + " " + transaction.state() + " " + decision);
                for (BranchInfo branch : transaction.branches()) {
                    System.out.println("    " + branch.participant() + " " + branch.state());
                }
            }
            if (listed.isEmpty()) {
                System.out.println("nothing is open");
            }
        }
    }
}
