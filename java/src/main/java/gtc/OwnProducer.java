package gtc;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.Future;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.Callback;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.Metric;
import org.apache.kafka.common.MetricName;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.errors.InterruptException;
import org.apache.kafka.common.metrics.KafkaMetric;

/**
 * A producer of the application's in a global transaction: what is written through it is counted,
 * and every delivery has to succeed for the transaction to commit. What is written to the producer
 * itself meanwhile is not counted, so do not.
 *
 * <p>The global transaction begins and ends for it: its own commit or abort is called by {@link
 * GlobalTransaction#commit} and {@link GlobalTransaction#abort}. After that nothing can be written
 * through this object, and {@link #finished} tells whether the producer goes on.
 *
 * @param <K> the type of keys
 * @param <V> the type of values
 */
public final class OwnProducer<K, V> extends Enlisted implements Producer<K, V> {
    private static final System.Logger LOGGER = System.getLogger("gtc");

    private final Producer<K, V> producer;
    private final OwnBranch branch;
    /** Its lock guards the three fields below. */
    private final Object gate = new Object();
    private boolean refusing;
    private int underWay;
    private boolean isWritten;
    private volatile Reuse reuse;

    OwnProducer(Producer<K, V> producer, OwnBranch branch) {
        this.producer = producer;
        this.branch = branch;
    }

    @Override
    public Future<RecordMetadata> send(ProducerRecord<K, V> record) {
        return send(record, null);
    }

    @Override
    public Future<RecordMetadata> send(ProducerRecord<K, V> record, Callback callback) {
        Objects.requireNonNull(record, "record");
        enter();
        try {
            branch.sent();
            return producer.send(record, counting(callback));
        } catch (RuntimeException error) {
            branch.failed(error);
            throw error;
        } finally {
            leave();
        }
    }

    /** Counts before the application hears of it, which may throw. */
    private Callback counting(Callback callback) {
        return (metadata, error) -> {
            if (error == null) {
                branch.deliveredTo(metadata.topic(), metadata.partition());
            } else {
                branch.failed(error);
            }
            if (callback != null) {
                callback.onCompletion(metadata, error);
            }
        };
    }

    @Override
    public void sendOffsetsToTransaction(
            Map<TopicPartition, OffsetAndMetadata> offsets, ConsumerGroupMetadata group) {
        Objects.requireNonNull(offsets, "offsets");
        Objects.requireNonNull(group, "group");
        enter();
        try {
            branch.sent();
            producer.sendOffsetsToTransaction(offsets, group);
            branch.delivered();
        } catch (RuntimeException error) {
            branch.failed(error);
            throw error;
        } finally {
            leave();
        }
    }

    /** Refused: the producer is initialised before it is enlisted. */
    @Override
    public void initTransactions() {
        throw notHere("initTransactions", "initialise the producer before it is enlisted");
    }

    /** Refused: the producer's transaction is begun before it is enlisted. */
    @Override
    public void beginTransaction() {
        throw notHere("beginTransaction", "begin on the producer itself, before it is enlisted");
    }

    /** Refused: {@link GlobalTransaction#commit} does it. */
    @Override
    public void commitTransaction() {
        throw notHere("commitTransaction", "commit the global transaction");
    }

    /** Refused: {@link GlobalTransaction#abort} does it. */
    @Override
    public void abortTransaction() {
        throw notHere("abortTransaction", "abort the global transaction");
    }

    @Override
    public void flush() {
        producer.flush();
    }

    @Override
    public List<PartitionInfo> partitionsFor(String topic) {
        return producer.partitionsFor(topic);
    }

    @Override
    public Map<MetricName, ? extends Metric> metrics() {
        return producer.metrics();
    }

    @Override
    public void registerMetricForSubscription(KafkaMetric metric) {
        producer.registerMetricForSubscription(metric);
    }

    @Override
    public void unregisterMetricFromSubscription(KafkaMetric metric) {
        producer.unregisterMetricFromSubscription(metric);
    }

    @Override
    public Uuid clientInstanceId(Duration timeout) {
        return producer.clientInstanceId(timeout);
    }

    /** Takes no more records. The producer stays open: it is the application's. */
    @Override
    public void close() {
        refuse();
    }

    /**
     * As {@link #close()}.
     *
     * @param timeout not used
     */
    @Override
    public void close(Duration timeout) {
        refuse();
    }

    /**
     * Tells whether the producer may go on, once the global transaction has ended. {@link
     * Reuse#DISCARD} means that it is closed already, in a way that leaves its transaction alone:
     * its ordinary close would abort what may have been promised. Settle its transactional.id, and
     * make a new one.
     *
     * @return whether it may
     * @throws GtcException.InvalidState before the end
     */
    public Reuse finished() {
        if (reuse == null) {
            throw refusal("finished", "the transaction has not ended", "commit or abort it first");
        }
        return reuse;
    }

    private void enter() {
        synchronized (gate) {
            if (refusing) {
                throw refusal(
                        "send", "the transaction is ending", "write before its end is asked for");
            }
            underWay++;
            isWritten = true;
        }
    }

    private void leave() {
        synchronized (gate) {
            underWay--;
            gate.notifyAll();
        }
    }

    /** Takes no more records, and waits for the calls under way. */
    @Override
    void refuse() {
        boolean interrupted = false;
        synchronized (gate) {
            refusing = true;
            while (underWay > 0) {
                try {
                    gate.wait();
                } catch (InterruptedException interrupt) {
                    interrupted = true;
                }
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    /** Before the vote: after a flush every delivery has been counted. */
    @Override
    void prepare() {
        refuse();
        try {
            through(producer::flush);
        } catch (RuntimeException error) {
            branch.failed(error);
            return;
        }
        stateUnlessWritten();
    }

    /** Before an abort, which waits for the deliveries: a flush could take longer than it has to. */
    @Override
    void withdraw() {
        refuse();
        stateUnlessWritten();
    }

    /** Silence is a no, also of who has nothing to count. */
    private void stateUnlessWritten() {
        if (!isWritten) {
            branch.stateDelivered();
        }
    }

    /** After the outcome: the producer's own call, which is a repeat, lets it go on. */
    @Override
    void end(Decision decision) {
        try {
            through(
                    () -> {
                        if (branch.finished() == Reuse.REUSE) {
                            call(decision);
                            reuse = Reuse.REUSE;
                        }
                    });
        } catch (RuntimeException error) {
            String text = "an own producer cannot go on; its transaction has ended as decided";
            LOGGER.log(System.Logger.Level.WARNING, text, error);
        }
    }

    /**
     * Runs a call of the client to its end: interrupted, it would give up half-way, and the producer
     * would have to be discarded. The interrupt is seen by what waits next. Each call may be made
     * again.
     */
    private static void through(Runnable call) {
        boolean interrupted = Thread.interrupted();
        try {
            while (true) {
                try {
                    call.run();
                    return;
                } catch (InterruptException | WaitInterruptedException interrupt) {
                    interrupted = true;
                    // The client has set it again.
                    Thread.interrupted();
                }
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private void call(Decision decision) {
        if (decision == Decision.COMMIT) {
            producer.commitTransaction();
        } else {
            producer.abortTransaction();
        }
    }

    /**
     * Closes it where its end is not known, or where it must not go on. The time of zero keeps the
     * client from aborting its transaction, which may be promised to commit.
     */
    @Override
    void discardUnlessEnded() {
        if (reuse == null) {
            reuse = Reuse.DISCARD;
            try {
                through(() -> producer.close(Duration.ZERO));
            } catch (RuntimeException error) {
                LOGGER.log(System.Logger.Level.WARNING, "closing an own producer", error);
            }
        }
    }

    private GtcException notHere(String call, String remedy) {
        return refusal(call, "a global transaction begins and ends for this producer", remedy);
    }

    private GtcException refusal(String call, String problem, String remedy) {
        String id = branch.transaction().id();
        return GtcException.of(
                ErrorKind.INVALID_STATE.code(),
                new GtcException.Details(
                        "invalid-state: " + call + " of transaction " + id + ": " + problem
                                + "; remedy: " + remedy,
                        Retry.NEVER,
                        call,
                        null,
                        id,
                        problem,
                        remedy));
    }
}
