package kappa.peers;

import java.io.FileInputStream;
import java.nio.ByteBuffer;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.util.HashMap;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Repartitioned;
import org.apache.kafka.streams.processor.StateStore;
import org.apache.kafka.streams.processor.StateStoreContext;
import org.apache.kafka.streams.processor.api.Processor;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.StoreBuilder;
import org.apache.kafka.streams.state.Stores;
import org.apache.kafka.streams.state.WindowStore;
import org.apache.kafka.streams.state.internals.CacheFlushListener;
import org.apache.kafka.streams.state.internals.CachedStateStore;

/** The job in Kafka Streams. Arguments: a properties file of Kafka Streams, topic, JDBC URL, table. */
public final class KafkaStreams {
    private static final String SEEN = "seen", TOTALS = "totals", ROWS = "rows";
    private static final java.time.Duration KEPT = java.time.Duration.ofHours(3);

    private KafkaStreams() {}

    public static void main(String[] arguments) throws Exception {
        Properties properties = new Properties();
        try (FileInputStream file = new FileInputStream(arguments[0])) {
            properties.load(file);
        }
        StreamsBuilder builder = topology(arguments[1], arguments[2], arguments[3]);
        var streams = new org.apache.kafka.streams.KafkaStreams(builder.build(properties), properties);
        streams.setUncaughtExceptionHandler(error -> {
            error.printStackTrace();
            Runtime.getRuntime().halt(1);
            return StreamThreadExceptionResponse.SHUTDOWN_CLIENT;
        });
        Runtime.getRuntime().addShutdownHook(new Thread(() -> streams.close(java.time.Duration.ofSeconds(10))));
        streams.start();
    }

    /** First copies, by the user that they are partitioned by; then rows, by client, ad and minute. */
    private static StreamsBuilder topology(String topic, String url, String table) {
        StreamsBuilder builder = new StreamsBuilder();
        builder.addStateStore(Stores.windowStoreBuilder(
                Stores.persistentWindowStore(SEEN, KEPT, java.time.Duration.ofMillis(Event.MINUTE_MS), false),
                Serdes.String(), Serdes.ByteArray()));
        builder.addStateStore(Stores.keyValueStoreBuilder(
                Stores.persistentKeyValueStore(TOTALS), Serdes.String(), Serdes.ByteArray()).withCachingEnabled());
        builder.addStateStore(new RowsBuilder(url, table));
        builder.stream(topic, Consumed.with(Serdes.ByteArray(), Serdes.ByteArray()))
                .process(First::new, SEEN)
                .repartition(Repartitioned.with(Serdes.String(), Serdes.ByteArray()).withName("by-row"))
                .process(Add::new, TOTALS, ROWS);
        return builder;
    }

    /** Lets the first copy of each event through: key client, ad, minute; value impressions, clicks, micros. */
    private static final class First implements Processor<byte[], byte[], String, byte[]> {
        private static final byte[] THERE = {1};
        private ProcessorContext<String, byte[]> context;
        private WindowStore<String, byte[]> seen;

        @Override
        public void init(ProcessorContext<String, byte[]> given) {
            context = given;
            seen = given.getStateStore(SEEN);
        }

        @Override
        public void process(Record<byte[], byte[]> record) {
            Event event = Event.accepted(record.key(), record.value(), record.timestamp());
            if (event == null) {
                return;
            }
            long minute = event.minute();
            String row = event.clientId + " " + event.adId + " ", identity = row + event.identity();
            if (seen.fetch(identity, minute) != null) {
                return;
            }
            seen.put(identity, THERE, minute);
            byte[] one = counts(event.isClick ? 0 : 1, event.isClick ? 1 : 0, event.costMicros);
            context.forward(new Record<>(row + minute, one, record.timestamp()));
        }
    }

    /** Adds to a row, and has its absolute values written. */
    private static final class Add implements Processor<String, byte[], Void, Void> {
        private KeyValueStore<String, byte[]> totals;
        private Rows rows;

        @Override
        public void init(ProcessorContext<Void, Void> context) {
            totals = context.getStateStore(TOTALS);
            rows = context.getStateStore(ROWS);
        }

        @Override
        public void process(Record<String, byte[]> record) {
            byte[] before = totals.get(record.key()), after = record.value();
            if (before != null) {
                ByteBuffer old = ByteBuffer.wrap(before), more = ByteBuffer.wrap(after);
                after = counts(old.getLong() + more.getLong(), old.getLong() + more.getLong(),
                        old.getLong() + more.getLong());
            }
            totals.put(record.key(), after);
            rows.put(record.key(), after);
        }
    }

    private static byte[] counts(long impressions, long clicks, long micros) {
        return ByteBuffer.allocate(24).putLong(impressions).putLong(clicks).putLong(micros).array();
    }

    /**
     * Rows on their way to Postgres. A transaction of Kafka does not reach there: what is written before its commit is
     * written again after a crash, as absolute values. The only moment that Kafka Streams offers before each commit is
     * the flush of caches, so this store says that it has one.
     */
    private static final class Rows implements StateStore, CachedStateStore<String, byte[]> {
        private final String url, statement;
        private final Map<String, byte[]> waiting = new HashMap<>();
        private Connection connection;

        Rows(String url, String table) {
            this.url = url;
            statement = "insert into " + table + " values (?, ?, ?, ?, ?, ?) on conflict (client_id, ad_id, minute_ms)"
                    + " do update set impressions = excluded.impressions, clicks = excluded.clicks,"
                    + " spend_micros = excluded.spend_micros";
        }

        void put(String row, byte[] counts) {
            waiting.put(row, counts);
        }

        @Override
        public void flushCache() {
            if (waiting.isEmpty()) {
                return;
            }
            try (PreparedStatement upsert = connection.prepareStatement(statement)) {
                for (Map.Entry<String, byte[]> row : waiting.entrySet()) {
                    add(upsert, row.getKey().split(" "), ByteBuffer.wrap(row.getValue()));
                }
                upsert.executeBatch();
                connection.commit();
            } catch (SQLException error) {
                throw new IllegalStateException("rows could not be written", error);
            }
            waiting.clear();
        }

        private static void add(PreparedStatement upsert, String[] key, ByteBuffer counts) throws SQLException {
            upsert.setString(1, key[0]);
            upsert.setString(2, key[1]);
            upsert.setLong(3, Long.parseLong(key[2]));
            for (int column = 4; column <= 6; column++) {
                upsert.setLong(column, counts.getLong());
            }
            upsert.addBatch();
        }

        @Override
        public void init(StateStoreContext context, StateStore root) {
            try {
                connection = DriverManager.getConnection(url);
                connection.setAutoCommit(false);
            } catch (SQLException error) {
                throw new IllegalStateException("Postgres does not answer", error);
            }
            context.register(root, (key, value) -> { });
        }

        @Override
        public void close() {
            try {
                connection.close();
            } catch (SQLException error) {
                throw new IllegalStateException("the connection could not be closed", error);
            }
        }

        @Override
        public boolean setFlushListener(CacheFlushListener<String, byte[]> listener, boolean sendOldValues) {
            return false;
        }

        @Override
        public void clearCache() {
            waiting.clear();
        }

        @Override
        public String name() {
            return ROWS;
        }

        @Override
        public boolean persistent() {
            return false;
        }

        @Override
        public boolean isOpen() {
            return connection != null;
        }
    }

    private record RowsBuilder(String url, String table) implements StoreBuilder<Rows> {
        @Override
        public Rows build() {
            return new Rows(url, table);
        }

        @Override
        public StoreBuilder<Rows> withCachingEnabled() {
            return this;
        }

        @Override
        public StoreBuilder<Rows> withCachingDisabled() {
            return this;
        }

        @Override
        public StoreBuilder<Rows> withLoggingEnabled(Map<String, String> config) {
            return this;
        }

        @Override
        public StoreBuilder<Rows> withLoggingDisabled() {
            return this;
        }

        @Override
        public Map<String, String> logConfig() {
            return Map.of();
        }

        @Override
        public boolean loggingEnabled() {
            return false;
        }

        @Override
        public String name() {
            return ROWS;
        }
    }
}
