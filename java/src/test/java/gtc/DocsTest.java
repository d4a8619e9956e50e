package gtc;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** The code of the documentation is that of whole samples, which run. */
class DocsTest {
    private static final Pattern BLOCK = Pattern.compile("```java\n(.*?)```", Pattern.DOTALL);

    @Test
    void everyBlockIsAWholeSample() throws Exception {
        List<String> samples = new ArrayList<>();
        try (Stream<Path> files = Files.list(Path.of("samples"))) {
            for (Path file : files.toList()) {
                samples.add(lines(Files.readString(file)));
            }
        }
        int blocks = 0;
        for (String page : List.of("README.md", "../docs/languages/java.md")) {
            Matcher block = BLOCK.matcher(Files.readString(Path.of(page)));
            while (block.find()) {
                blocks++;
                String text = lines(block.group(1));
                assertTrue(samples.contains(text), text);
            }
        }
        assertTrue(blocks >= 3, "too few blocks: " + blocks);
    }

    /** Without indentation, which a page takes away in part. */
    private static String lines(String text) {
        return text.strip().lines().map(String::strip).collect(Collectors.joining("\n"));
    }
}
