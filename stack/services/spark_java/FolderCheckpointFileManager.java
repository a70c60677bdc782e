package kappa;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.attribute.PosixFilePermissions;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.LocalFileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager;

/**
 * Files of a Spark checkpoint in a folder, as Spark itself keeps them, without a process for each. Where Hadoop has no
 * native library it starts chmod for every file and folder that it makes: some twenty times a batch.
 */
public class FolderCheckpointFileManager extends FileSystemBasedCheckpointFileManager {
    public FolderCheckpointFileManager(Path path, Configuration configuration) {
        super(path, inProcess(configuration));
    }

    /** Of its own, uncached: what else this JVM does with files goes on as it would. */
    private static Configuration inProcess(Configuration configuration) {
        Configuration own = new Configuration(configuration);
        own.setClassLoader(FolderCheckpointFileManager.class.getClassLoader());
        own.setClass("fs.file.impl", Folder.class, FileSystem.class);
        own.setBoolean("fs.file.impl.disable.cache", true);
        return own;
    }

    /** The local file system, which sets permissions itself. */
    public static final class Folder extends LocalFileSystem {
        public Folder() {
            super(new Raw());
        }
    }

    private static final class Raw extends RawLocalFileSystem {
        @Override
        public void setPermission(Path path, FsPermission permission) throws IOException {
            String bits = permission.getUserAction().SYMBOL + permission.getGroupAction().SYMBOL
                    + permission.getOtherAction().SYMBOL;
            Files.setPosixFilePermissions(pathToFile(path).toPath(), PosixFilePermissions.fromString(bits));
        }
    }
}
