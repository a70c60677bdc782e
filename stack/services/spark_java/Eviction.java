package kappa;

import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.EventTimeWatermark;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.MetadataBuilder;
import scala.runtime.AbstractFunction1;
import scala.runtime.AbstractPartialFunction;
import scala.runtime.BoxedUnit;

/**
 * Has one batch of this process's stream free the windows that the watermark has closed.
 *
 * Spark frees them by a walk over the whole state, in each batch whose plan groups by a column that bears the
 * watermark's mark. Plans are made anew for each batch, so a rule that marks the column makes one batch walk, and the
 * query goes on. What it may mark, the plan names by a mark of our own, with the watermark's delay.
 */
public final class Eviction extends AbstractFunction1<SparkSessionExtensions, BoxedUnit> {
    /** The mark of a grouping column that is a window, in its metadata: the watermark's delay, ms. */
    public static final String WINDOW = "kappa.window.delayMs";

    private static final AtomicBoolean ASKED = new AtomicBoolean();

    /** Have the batch that is planned next evict. */
    public static void ask() {
        ASKED.set(true);
    }

    /** Whether no batch has been planned since it was asked for. */
    public static boolean isAsked() {
        return ASKED.get();
    }

    /** What a session does with its extensions: `spark.sql.extensions` names this class. */
    @Override
    public BoxedUnit apply(SparkSessionExtensions extensions) {
        extensions.injectOptimizerRule(new AbstractFunction1<SparkSession, Rule<LogicalPlan>>() {
            @Override
            public Rule<LogicalPlan> apply(SparkSession session) {
                return new Marking();
            }
        });
        return BoxedUnit.UNIT;
    }

    private static final class Marking extends Rule<LogicalPlan> {
        @Override
        public LogicalPlan apply(LogicalPlan plan) {
            return ASKED.get() && plan.isStreaming() ? (LogicalPlan) plan.transform(new Aggregates()) : plan;
        }
    }

    private static final class Aggregates extends AbstractPartialFunction<LogicalPlan, LogicalPlan> {
        @Override
        public boolean isDefinedAt(LogicalPlan plan) {
            return plan instanceof Aggregate;
        }

        @Override
        public LogicalPlan apply(LogicalPlan plan) {
            return (LogicalPlan) plan.transformExpressions(new Windows());
        }
    }

    private static final class Windows extends AbstractPartialFunction<Expression, Expression> {
        @Override
        public boolean isDefinedAt(Expression expression) {
            return expression instanceof AttributeReference && ((AttributeReference) expression).metadata().contains(WINDOW);
        }

        @Override
        public Expression apply(Expression expression) {
            ASKED.set(false);
            AttributeReference window = (AttributeReference) expression;
            return window.withMetadata(marked(window.metadata()));
        }

        private static Metadata marked(Metadata metadata) {
            long delay = metadata.getLong(WINDOW);
            return new MetadataBuilder().withMetadata(metadata).putLong(EventTimeWatermark.delayKey(), delay).build();
        }
    }
}
