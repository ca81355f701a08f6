package planproof.tests;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.attribute.PosixFilePermissions;
import org.apache.hadoop.fs.LocalFileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.fs.permission.FsPermission;

/**
 * Hadoop's files of this machine, without a process for each permission.
 *
 * Where Hadoop's native library is not loaded, as in pip's pyspark, Hadoop starts `chmod` for each file and each folder
 * that it makes: over two thousand times in a hundred tests that publish. Here the JVM sets the same permission itself.
 */
public class LocalFiles extends LocalFileSystem {
    public LocalFiles() {
        super(new Raw());
    }

    public static class Raw extends RawLocalFileSystem {
        public void setPermission(Path path, FsPermission given) throws IOException {
            String letters =
                given.getUserAction().SYMBOL + given.getGroupAction().SYMBOL + given.getOtherAction().SYMBOL;
            Files.setPosixFilePermissions(pathToFile(path).toPath(), PosixFilePermissions.fromString(letters));
        }
    }
}
