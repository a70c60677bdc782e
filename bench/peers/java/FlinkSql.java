package kappa.peers;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.GlobalConfiguration;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.table.annotation.DataTypeHint;
import org.apache.flink.table.api.bridge.java.StreamTableEnvironment;
import org.apache.flink.table.functions.ScalarFunction;
import org.apache.flink.types.Row;

/** Hands a file of SQL statements, apart by lines of "---", to a running Flink. Arguments: Flink's folder, the file. */
public final class FlinkSql {
    private FlinkSql() {}

    public static void main(String[] arguments) throws Exception {
        Configuration configuration = GlobalConfiguration.loadConfiguration(arguments[0]);
        var tables = StreamTableEnvironment.create(new StreamExecutionEnvironment(configuration));
        tables.createTemporarySystemFunction("accepted", Accepted.class);
        for (String statement : Files.readString(Path.of(arguments[1])).split("\n---\n")) {
            tables.executeSql(statement);
        }
        System.exit(0);
    }

    /** Of a record's key, value and append time the event; null: it is refused. */
    public static final class Accepted extends ScalarFunction {
        @DataTypeHint("ROW<client_id STRING, ad_id STRING, minute_ms BIGINT, id STRING, is_click BOOLEAN, micros BIGINT>")
        public Row eval(
                @DataTypeHint("BYTES") byte[] key,
                @DataTypeHint("BYTES") byte[] value,
                @DataTypeHint("TIMESTAMP_LTZ(3)") Instant appended) {
            Event event = Event.accepted(key, value, appended.toEpochMilli());
            return event == null ? null : Row.of(
                    event.clientId, event.adId, event.minute(), event.identity(), event.isClick, event.costMicros);
        }
    }
}
