package kappa;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.util.concurrent.Callable;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FSDataOutputStreamBuilder;
import org.apache.hadoop.fs.FileAlreadyExistsException;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.PathFilter;
import org.apache.hadoop.fs.s3a.RemoteFileChangedException;
import org.apache.spark.sql.execution.streaming.checkpointing.CheckpointFileManager;

/**
 * Files of a Spark checkpoint in a bucket of S3. A file is put whole when it is closed, or not at all. Where Spark
 * forbids to overwrite, the server refuses all puts of a name but the first (If-None-Match), and the others fail.
 */
public class ConditionalCheckpointFileManager implements CheckpointFileManager {
    private final FileSystem fs;
    private final Path checkpoint;

    public ConditionalCheckpointFileManager(Path path, Configuration configuration) throws IOException {
        fs = path.getFileSystem(configuration);
        checkpoint = fs.makeQualified(path);
    }

    @Override
    public CancellableFSDataOutputStream createAtomic(Path path, boolean overwrite) {
        FSDataOutputStreamBuilder<?, ?> builder = fs.createFile(path).overwrite(true).recursive();
        builder.opt("fs.s3a.create.performance", true);
        if (!overwrite) {
            builder.must("fs.option.create.conditional.overwrite", true);
        }
        return asked(() -> new Put(builder.build(), path));
    }

    @Override
    public FSDataInputStream open(Path path) {
        return asked(() -> fs.open(path));
    }

    @Override
    public FileStatus[] list(Path path, PathFilter filter) {
        try {
            return fs.listStatus(path, filter);
        } catch (FileNotFoundException error) {
            return new FileStatus[0];
        } catch (IOException error) {
            throw undeclared(error);
        }
    }

    /** A bucket has no folders: S3A would leave an object for one, that nothing needs and a copy does not see. */
    @Override
    public void mkdirs(Path path) {}

    @Override
    public boolean exists(Path path) {
        return asked(() -> fs.exists(path));
    }

    @Override
    public void delete(Path path) {
        asked(() -> fs.delete(path, true));
    }

    @Override
    public boolean isLocal() {
        return false;
    }

    @Override
    public Path createCheckpointDirectory() {
        return checkpoint;
    }

    private static <T> T asked(Callable<T> request) {
        try {
            return request.call();
        } catch (Exception error) {
            throw undeclared(error);
        }
    }

    /** Scala's methods declare no exception, and Spark tells some of these by their class: thrown as they are. */
    @SuppressWarnings("unchecked")
    private static <E extends Throwable> RuntimeException undeclared(Throwable error) throws E {
        throw (E) error;
    }

    /** The file while it is written. An error of its close is never swallowed: it is all that tells a lost put. */
    private static final class Put extends CancellableFSDataOutputStream {
        private final FSDataOutputStream out;
        private final Path path;
        private boolean cancelled;

        Put(FSDataOutputStream out, Path path) {
            super(out);
            this.out = out;
            this.path = path;
        }

        @Override
        public void close() throws IOException {
            if (cancelled) {
                return;
            }
            try {
                out.close();
            } catch (RemoteFileChangedException error) {
                throw (IOException) new FileAlreadyExistsException(path + " is there already").initCause(error);
            }
        }

        @Override
        public void cancel() {
            cancelled = true;
            out.abort();
        }
    }
}
