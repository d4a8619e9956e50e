package gtc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.InputStream;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.net.URL;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** The border itself, without clusters. */
class NativeTest {
    /** It waits, and every other test needs it. */
    private static final Set<String> WAITS = Set.of("takeReady");

    @Test
    void everyNativeMethodIsThereWithItsSignatureAndRefusesWhatItDoesNotHold() {
        List<Method> methods =
                Arrays.stream(Native.class.getDeclaredMethods())
                        .filter(method -> Modifier.isNative(method.getModifiers()))
                        .filter(method -> !WAITS.contains(method.getName()))
                        .toList();
        assertTrue(methods.size() > 40, "" + methods);
        for (Method method : methods) {
            Object[] arguments =
                    Arrays.stream(method.getParameterTypes()).map(NativeTest::nothing).toArray();
            try {
                method.invoke(null, arguments);
            } catch (InvocationTargetException thrown) {
                assertInstanceOf(GtcException.class, thrown.getCause(), method.getName());
            } catch (IllegalAccessException impossible) {
                throw new AssertionError(impossible);
            }
        }
    }

    private static Object nothing(Class<?> type) {
        if (type == long.class) {
            return 0L;
        }
        if (type == int.class) {
            return 0;
        }
        return type == boolean.class ? false : null;
    }

    @Test
    void anObjectOfAnotherKindIsNoCrash() {
        for (long number : new long[] {-1, 0, Long.MAX_VALUE}) {
            assertThrows(GtcException.Closed.class, () -> Native.commit(number, false));
            assertThrows(GtcException.Closed.class, () -> Native.take(number));
            Native.free(number);
            Native.giveUp(number);
        }
    }

    @Test
    void theLicencesOfWhatIsLinkedInAreBesideIt() throws Exception {
        URL notices = NativeTest.class.getResource("/META-INF/THIRD-PARTY-NOTICES");
        assertTrue(notices.getPath().contains("-linux-"), "" + notices);
        try (InputStream found = notices.openStream()) {
            String text = new String(found.readAllBytes(), StandardCharsets.UTF_8);
            assertTrue(text.contains("librdkafka"));
            assertEquals(Files.readString(Path.of("THIRD-PARTY-NOTICES")), text);
        }
    }

    @Test
    void everyKindHasAClassAndANumber() {
        for (ErrorKind kind : ErrorKind.values()) {
            GtcException.Details details =
                    new GtcException.Details("text", kind.retry(), null, null, null, "text", null);
            GtcException error = GtcException.of(kind.code(), details);
            assertEquals(kind, error.kind());
            assertEquals(kind.retry(), error.retry());
            String name = error.getClass().getSimpleName();
            assertEquals(kind.word().replace("-", ""), name.toLowerCase(java.util.Locale.ROOT));
        }
        assertEquals(12, ErrorKind.values().length);
    }
}
