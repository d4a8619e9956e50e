// The header is one of C++ too, and its handles are what unique_ptr takes.
#include <cstdio>
#include <cstring>
#include <memory>
#include <stdexcept>

#include <gtc.h>

template <typename Handle, void (*Free)(Handle *)> struct Freed {
    void operator()(Handle *handle) const { Free(handle); }
};
using Coordinator = std::unique_ptr<gtc_coordinator, Freed<gtc_coordinator, gtc_coordinator_free>>;
using Transaction = std::unique_ptr<gtc_transaction, Freed<gtc_transaction, gtc_transaction_free>>;

static void check(gtc_status status) {
    if (status != GTC_STATUS_OK)
        throw std::runtime_error(gtc_error_text());
}

static gtc_bytes bytes(const char *text) {
    return {text, std::strlen(text)};
}

static void transfer(char **argv) {
    gtc_coordinator *opened = nullptr;
    check(gtc_coordinator_open(gtc_source_file(argv[1]), &opened));
    Coordinator coordinator(opened);
    gtc_transaction *begun = nullptr;
    check(gtc_coordinator_begin(coordinator.get(), nullptr, &begun));
    Transaction transaction(begun);
    for (const char *participant : {argv[2], argv[3]}) {
        gtc_record record = gtc_record_to(argv[4]);
        record.value = bytes("an order");
        check(gtc_transaction_send(transaction.get(), participant, &record));
    }
    check(gtc_transaction_commit_with(transaction.get(), GTC_COMMIT_RETURN_ACKNOWLEDGED));
    std::printf("%s is on both clusters\n", gtc_transaction_id(transaction.get()));
    // In the order of their end: the transaction first, then the coordinator, which closes.
}

int main(int argc, char **argv) {
    if (argc < 5)
        return 2;
    try {
        transfer(argv);
        return 0;
    } catch (const std::exception &error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}
