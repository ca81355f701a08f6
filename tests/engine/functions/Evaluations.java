import org.apache.spark.SparkThrowable;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.QueryPlanningTracker;
import org.apache.spark.sql.catalyst.analysis.Analyzer;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.InterpretedMutableProjection;
import org.apache.spark.sql.catalyst.optimizer.ReplaceExpressions$;
import org.apache.spark.sql.catalyst.parser.ParserInterface;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.MapData;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StructType;

/** Runs expressions over each row of a local relation, on the driver: no job, and an error ends one row only. */
public final class Evaluations {

  private final ParserInterface parser;
  private final Analyzer analyzer;
  private final QueryPlanningTracker tracker;
  private final LocalRelation relation;

  public Evaluations(ParserInterface parser, Analyzer analyzer, QueryPlanningTracker tracker, LocalRelation relation) {
    this.parser = parser;
    this.analyzer = analyzer;
    this.tracker = tracker;
    this.relation = relation;
  }

  /** Of each line, an expression: the first error (or "-"), then whether a value is null, then whether a part of one is
   * under a flag that says not; "!" and why where there is nothing to run. */
  public String outcomes(String lines) {
    StringBuilder outcomes = new StringBuilder();
    String[] expressions = lines.split("\n");
    for (int i = 0; i < expressions.length; i++) {
      if (i > 0) {
        outcomes.append('\n');
      }
      outcomes.append(outcome(expressions[i]));
    }
    return outcomes.toString();
  }

  /** Of each line, an expression: whether Spark calls it deterministic, then of how many rows, how many fail, are null
   * and are true; "!" and why where there is nothing to run, or what only Spark's optimizer makes executable. */
  public String counts(String lines) {
    StringBuilder counts = new StringBuilder();
    String[] expressions = lines.split("\n");
    for (int i = 0; i < expressions.length; i++) {
      if (i > 0) {
        counts.append('\n');
      }
      counts.append(count(expressions[i]));
    }
    return counts.toString();
  }

  private String count(String expression) {
    Project planned;
    InterpretedMutableProjection projection;
    try {
      planned = planned(expression);
      projection = new InterpretedMutableProjection(planned.projectList().toSeq(), planned.child().output());
      projection.initialize(0);
    } catch (Throwable error) {
      return "!" + condition(error);
    }
    boolean isBoolean = planned.schema().fields()[0].dataType() instanceof BooleanType;
    boolean deterministic = ((Expression) planned.projectList().head()).deterministic();
    int all = 0;
    int failed = 0;
    int nulls = 0;
    int trues = 0;
    for (scala.collection.Iterator rows = relation.data().iterator(); rows.hasNext(); ) {
      InternalRow given = (InternalRow) rows.next();
      all++;
      try {
        InternalRow row = projection.apply(given);
        if (row.isNullAt(0)) {
          nulls++;
        } else if (isBoolean && row.getBoolean(0)) {
          trues++;
        }
      } catch (Throwable error) {
        if (condition(error).equals("INTERNAL_ERROR")) {
          return "!INTERNAL_ERROR";
        }
        failed++;
      }
    }
    return deterministic + " " + all + " " + failed + " " + nulls + " " + trues;
  }

  private Project planned(String expression) throws Exception {
    Project parsed = (Project) parser.parsePlan("SELECT " + expression);
    LogicalPlan analyzed = analyzer.executeAndCheck(new Project(parsed.projectList(), relation), tracker);
    return (Project) ReplaceExpressions$.MODULE$.apply(analyzed);
  }

  private String outcome(String expression) {
    Project planned;
    InterpretedMutableProjection projection;
    try {
      planned = planned(expression);
      projection = new InterpretedMutableProjection(planned.projectList().toSeq(), planned.child().output());
      projection.initialize(0);
    } catch (Throwable error) {
      return "!" + condition(error);
    }
    DataType type = planned.schema().fields()[0].dataType();
    String raised = "-";
    boolean isNull = false;
    boolean holdsNull = false;
    for (scala.collection.Iterator rows = relation.data().iterator(); rows.hasNext(); ) {
      try {
        InternalRow row = projection.apply((InternalRow) rows.next());
        if (row.isNullAt(0)) {
          isNull = true;
        } else {
          holdsNull = holdsNull || holdsNull(row.get(0, type), type);
        }
      } catch (Throwable error) {
        raised = raised.equals("-") ? condition(error) : raised;
      }
    }
    return raised + " " + (isNull ? "null" : "-") + " " + (holdsNull ? "null" : "-");
  }

  private boolean holdsNull(Object value, DataType type) {
    if (type instanceof ArrayType) {
      return holdsNull((ArrayData) value, ((ArrayType) type).elementType(), ((ArrayType) type).containsNull());
    }
    if (type instanceof MapType) {
      MapType map = (MapType) type;
      return holdsNull(((MapData) value).keyArray(), map.keyType(), false)
          || holdsNull(((MapData) value).valueArray(), map.valueType(), map.valueContainsNull());
    }
    if (type instanceof StructType) {
      StructType struct = (StructType) type;
      for (int i = 0; i < struct.length(); i++) {
        DataType member = struct.fields()[i].dataType();
        boolean isNull = ((InternalRow) value).isNullAt(i);
        if (isNull ? !struct.fields()[i].nullable() : holdsNull(((InternalRow) value).get(i, member), member)) {
          return true;
        }
      }
    }
    return false;
  }

  private boolean holdsNull(ArrayData array, DataType element, boolean nullable) {
    for (int i = 0; i < array.numElements(); i++) {
      if (array.isNullAt(i) ? !nullable : holdsNull(array.get(i, element), element)) {
        return true;
      }
    }
    return false;
  }

  private String condition(Throwable error) {
    String condition = error instanceof SparkThrowable ? ((SparkThrowable) error).getErrorClass() : null;
    return condition != null ? condition : error.getClass().getSimpleName();
  }
}
