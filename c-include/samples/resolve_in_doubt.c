/* Shows what needs a hand, and ends it as an operator decides.
 *
 *     resolve_in_doubt gtc.toml                    lists
 *     resolve_in_doubt gtc.toml 3-17 commit        tries its branches again now
 *     resolve_in_doubt gtc.toml 3-17 abort         gives up its open branches
 *     resolve_in_doubt gtc.toml 3-17 forget        a mixed outcome was dealt with
 */
#include "sample.h"

static void decide(gtc_coordinator *coordinator, const char *id, const char *word) {
    if (strcmp(word, "forget") == 0)
        check(gtc_coordinator_forget(coordinator, id));
    else if (strcmp(word, "commit") == 0)
        check(gtc_coordinator_resolve(coordinator, id, GTC_DECISION_COMMIT));
    else if (strcmp(word, "abort") == 0)
        check(gtc_coordinator_resolve(coordinator, id, GTC_DECISION_ABORT));
    else
        usage(1, 0, "resolve_in_doubt CONFIG [ID commit|abort|forget]");
}

static void show(const gtc_transaction_info *transaction) {
    const char *decision = transaction->decision ? transaction->decision : "undecided";
    printf("%s %s %s\n", transaction->id, transaction->state, decision);
    for (size_t i = 0; i < transaction->branches_length; i++) {
        const gtc_branch_info *branch = &transaction->branches[i];
        const char *detail = branch->detail ? branch->detail : "";
        printf("    %s %s %s\n", branch->participant, branch->state, detail);
    }
}

int main(int argc, char **argv) {
    usage(2, argc, "resolve_in_doubt CONFIG [ID commit|abort|forget]");

    gtc_coordinator *coordinator;
    check(gtc_coordinator_open(gtc_source_file(argv[1]), &coordinator));
    if (argc > 3)
        decide(coordinator, argv[2], argv[3]);

    gtc_transactions *listed;
    check(gtc_coordinator_list(coordinator, &listed));
    for (size_t i = 0; i < listed->length; i++)
        show(&listed->items[i]);
    if (listed->length == 0)
        printf("nothing is open\n");

    gtc_transactions_free(listed);
    check(gtc_coordinator_close(coordinator));
    gtc_coordinator_free(coordinator);
    return 0;
}
