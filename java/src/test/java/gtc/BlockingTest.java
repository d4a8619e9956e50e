package gtc;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class BlockingTest {
    /** The end of a transaction must not be left out because nobody waits for it any more. */
    @Test
    void whatIsCancelledIsDoneAllTheSame() throws Exception {
        int calls = 100;
        CountDownLatch done = new CountDownLatch(calls);
        for (int call = 0; call < calls; call++) {
            Blocking.call(
                            () -> {
                                done.countDown();
                                return null;
                            })
                    .cancel(true);
        }
        assertTrue(done.await(World.PATIENCE.toSeconds(), TimeUnit.SECONDS), "" + done);
    }
}
