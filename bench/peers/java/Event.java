package kappa.peers;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadConstraints;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Locale;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * An event as the contract's section 1 has it, and the fates that a record alone decides: both peers on the JVM read
 * records by this. It prints READING and the time (epoch ms) when it sees the first record.
 */
public final class Event {
    static final long MINUTE_MS = 60_000, CLICK_MS = 10_000, LATE_MS = 7_200_000, FUTURE_MS = 300_000;
    private static final int MOST_BYTES = 65_536;
    private static final long MOST_MS = 253_402_300_799_999L, MOST_MICROS = 1_000_000_000_000L;
    private static final JsonFactory JSON = JsonFactory.builder()
            .streamReadConstraints(StreamReadConstraints.builder()
                    .maxNestingDepth(64).maxNumberLength(MOST_BYTES).maxNameLength(MOST_BYTES).build())
            .build();
    private static final AtomicBoolean TOLD = new AtomicBoolean();

    public boolean isClick;
    public String clientId, adId, userId, eventId;
    public long eventTime, costMicros;
    private String type, slotId;

    private Event() {}

    /** The event of a record that is neither a dead letter, nor late, nor future; else null. */
    public static Event accepted(byte[] key, byte[] value, long appendMs) {
        if (!TOLD.get() && TOLD.compareAndSet(false, true)) {
            System.out.println("READING " + System.currentTimeMillis());
        }
        Event event = decode(key, value);
        if (event == null || event.eventTime - appendMs > FUTURE_MS || appendMs - event.eventTime > LATE_MS) {
            return null;
        }
        return event;
    }

    /** The start of its minute, epoch ms. */
    public long minute() {
        return eventTime / MINUTE_MS * MINUTE_MS;
    }

    /** Of the events that are alike in this, client, ad and minute, the first one counts. */
    public String identity() {
        return isClick ? "c" + userId + " " + eventTime / CLICK_MS : "i" + eventId;
    }

    private static Event decode(byte[] key, byte[] value) {
        if (key == null || value == null || value.length > MOST_BYTES) {
            return null;
        }
        Event event = new Event();
        try (JsonParser parser = JSON.createParser(value)) {
            if (parser.nextToken() != JsonToken.START_OBJECT) {
                return null;
            }
            while (parser.nextToken() == JsonToken.FIELD_NAME) {
                event.member(parser.currentName(), parser);
            }
            if (parser.nextToken() != null) {
                return null;
            }
        } catch (IOException broken) {
            return null;
        }
        return event.isGood(key) ? event : null;
    }

    /** Of a name that is repeated the last copy counts, so what is wrong is told at the end. */
    private void member(String name, JsonParser parser) throws IOException {
        JsonToken token = parser.nextToken();
        switch (name) {
            case "event_id" -> eventId = text(token, parser);
            case "event_type" -> type = text(token, parser);
            case "slot_id" -> slotId = text(token, parser);
            case "client_id" -> clientId = text(token, parser);
            case "ad_id" -> adId = text(token, parser);
            case "user_id" -> userId = text(token, parser);
            case "event_time" -> eventTime = 1 + number(token, parser, MOST_MS);
            case "cost_micros" -> costMicros = 1 + number(token, parser, MOST_MICROS);
            default -> { }
        }
        if (token.isStructStart()) {
            parser.skipChildren();
        }
    }

    private static String text(JsonToken token, JsonParser parser) throws IOException {
        return token == JsonToken.VALUE_STRING ? parser.getText() : null;
    }

    /** -1: it is no integer from 0 to `most`. */
    private static long number(JsonToken token, JsonParser parser, long most) throws IOException {
        if (token != JsonToken.VALUE_NUMBER_INT || parser.getNumberType() == JsonParser.NumberType.BIG_INTEGER) {
            return -1;
        }
        long found = parser.getLongValue();
        return found >= 0 && found <= most ? found : -1;
    }

    /** Numbers are one too large until here, so that 0 is one that is missing or wrong. */
    private boolean isGood(byte[] key) {
        isClick = "click".equals(type);
        if (eventTime-- == 0 || costMicros-- == 0 || !(isClick || "impression".equals(type)) || !isUuid(eventId)) {
            return false;
        }
        eventId = eventId.toLowerCase(Locale.ROOT);
        return isName(slotId) && isName(clientId) && isName(adId) && isName(userId) && isKey(key);
    }

    private boolean isKey(byte[] key) {
        return java.util.Arrays.equals(key, userId.getBytes(StandardCharsets.UTF_8));
    }

    private static boolean isName(String text) {
        if (text == null || text.isEmpty() || text.length() > 64) {
            return false;
        }
        for (int at = 0; at < text.length(); at++) {
            char sign = text.charAt(at);
            if (!isLetter(sign) && !isDigit(sign) && "_.:-".indexOf(sign) < 0) {
                return false;
            }
        }
        return true;
    }

    private static boolean isUuid(String text) {
        if (text == null || text.length() != 36) {
            return false;
        }
        for (int at = 0; at < 36; at++) {
            char sign = text.charAt(at);
            boolean isDash = at == 8 || at == 13 || at == 18 || at == 23;
            boolean isHex = isDigit(sign) || sign >= 'a' && sign <= 'f' || sign >= 'A' && sign <= 'F';
            if (isDash ? sign != '-' : !isHex) {
                return false;
            }
        }
        return true;
    }

    private static boolean isLetter(char sign) {
        return sign >= 'a' && sign <= 'z' || sign >= 'A' && sign <= 'Z';
    }

    private static boolean isDigit(char sign) {
        return sign >= '0' && sign <= '9';
    }
}
