package gtc;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;

/** Finds the native library in the jar of this platform, and loads it. */
final class NativeLibrary {
    /** Names a native library to load instead of the one in the jar. */
    private static final String PROPERTY = "gtc.native";

    static void load() {
        String file = System.getProperty(PROPERTY);
        if (file != null) {
            System.load(Path.of(file).toAbsolutePath().toString());
            return;
        }
        try {
            loadUnpacked();
        } catch (IOException error) {
            throw new UnsatisfiedLinkError("unpacking the native library of gtc: " + error);
        }
    }

    private static void loadUnpacked() throws IOException {
        String name = System.mapLibraryName("gtc_jni");
        String resource = "/gtc/native/" + platform() + "/" + name;
        try (InputStream library = NativeLibrary.class.getResourceAsStream(resource)) {
            if (library == null) {
                throw new UnsatisfiedLinkError(
                        "there is no native library of gtc for this platform on the class path: add "
                                + "the jar of gtc with the classifier " + platform()
                                + ", or name a library with -D" + PROPERTY + "=FILE");
            }
            Path directory = Files.createTempDirectory("gtc-native");
            Path unpacked = directory.resolve(name);
            try {
                Files.copy(library, unpacked);
                System.load(unpacked.toString());
            } finally {
                // Once it is mapped it needs no name, and a process that is killed leaves none.
                Files.deleteIfExists(unpacked);
                Files.deleteIfExists(directory);
            }
        }
    }

    /** The operating system and the processor, as the classifiers of the jars have them. */
    private static String platform() {
        String system = System.getProperty("os.name").toLowerCase(Locale.ROOT);
        String processor = System.getProperty("os.arch").toLowerCase(Locale.ROOT);
        return system + "-" + (processor.equals("amd64") ? "x86_64" : processor);
    }

    private NativeLibrary() {}
}
