import org.apache.spark.SparkThrowable;
import org.apache.spark.sql.catalyst.QueryPlanningTracker;
import org.apache.spark.sql.catalyst.analysis.Analyzer;
import org.apache.spark.sql.catalyst.parser.ParserInterface;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.OneRowRelation;
import org.apache.spark.sql.catalyst.plans.logical.Project;

/** Spark's parser and analyzer over many select lists, in one round trip. Spark's own Janino compiles this. */
public final class Analyses {

  private final ParserInterface parser;
  private final Analyzer analyzer;
  private final QueryPlanningTracker tracker;
  private final LogicalPlan relation;

  public Analyses(ParserInterface parser, Analyzer analyzer, QueryPlanningTracker tracker, LogicalPlan relation) {
    this.parser = parser;
    this.analyzer = analyzer;
    this.tracker = tracker;
    this.relation = relation;
  }

  /** Of each line, a select list over the relation or with a FROM of its own: its schema, or "!" and why it has none. */
  public String answers(String lines) {
    StringBuilder answers = new StringBuilder();
    String[] lists = lines.split("\n");
    for (int i = 0; i < lists.length; i++) {
      if (i > 0) {
        answers.append('\n');
      }
      answers.append(answer(lists[i]));
    }
    return answers.toString();
  }

  private String answer(String list) {
    try {
      LogicalPlan asked = parser.parsePlan("SELECT " + list);
      if (asked instanceof Project && ((Project) asked).child() instanceof OneRowRelation) {
        asked = new Project(((Project) asked).projectList(), relation);
      }
      return analyzer.executeAndCheck(asked, tracker).schema().json();
    } catch (Throwable error) {
      return "!" + refused(error);
    }
  }

  private String refused(Throwable error) {
    String condition = error instanceof SparkThrowable ? ((SparkThrowable) error).getErrorClass() : null;
    String message = String.valueOf(error.getMessage()).split("\n")[0];
    return condition != null ? condition : error.getClass().getSimpleName() + ": " + message;
  }
}
