import java.util.*;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.analysis.*;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.connector.catalog.*;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.connector.read.*;
import org.apache.spark.sql.connector.write.*;
import org.apache.spark.sql.sources.DataSourceRegister;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * Stands in for the formats that take MERGE, by their names: tables in Spark's own catalog whose rows lie in this JVM.
 * A MERGE or DELETE replaces all rows; CREATE OR REPLACE TABLE AS happens when all rows are there, or not at all.
 */
public class RowLevel extends DelegatingCatalogExtension implements StagingTableCatalog {
  private static final String ID = "row_level.id";
  private static final Map<String, List<Written>> ROWS = new ConcurrentHashMap<>();

  /** Rows as they were written; a table that got columns since reads them as null. */
  record Written(StructType schema, ArrayList<InternalRow> rows) {
    InternalRow as(InternalRow row, StructType wanted) {
      List<String> names = Arrays.asList(schema.fieldNames());
      return new GenericInternalRow(Arrays.stream(wanted.fieldNames()).map(names::indexOf)
          .map(at -> at < 0 || row.isNullAt(at) ? null : row.get(at, schema.apply(at).dataType())).toArray());
    }
  }

  record Rows(ArrayList<InternalRow> rows)
      implements Batch, InputPartition, PartitionReaderFactory, WriterCommitMessage {
    public InputPartition[] planInputPartitions() { return new InputPartition[] {this}; }
    public PartitionReaderFactory createReaderFactory() { return this; }
    public PartitionReader<InternalRow> createReader(InputPartition partition) {
      Iterator<InternalRow> left = ((Rows) partition).rows.iterator();
      return new PartitionReader<>() {
        private InternalRow row;
        public boolean next() { boolean more = left.hasNext(); row = more ? left.next() : null; return more; }
        public InternalRow get() { return row; }
        public void close() {}
      };
    }
  }

  record Writing(Rows written) implements DataWriter<InternalRow> {
    public void write(InternalRow row) { written.rows.add(row.copy()); }
    public WriterCommitMessage commit() { return written; }
    public void abort() {}
    public void close() {}
  }

  static class Stored implements SupportsRead, SupportsWrite, SupportsRowLevelOperations {
    final String name;
    final Column[] columns; final Transform[] partitions;
    final Map<String, String> properties;

    Stored(String name, Column[] columns, Transform[] partitions, Map<String, String> properties) {
      this.name = name; this.columns = columns; this.partitions = partitions; this.properties = properties;
    }
    List<Written> rows() { return ROWS.getOrDefault(properties.get(ID), List.of()); }
    public String name() { return name; }
    public Column[] columns() { return columns; }
    public Transform[] partitioning() { return partitions; }
    public Map<String, String> properties() { return properties; }
    public Set<TableCapability> capabilities() {
      return Set.of(TableCapability.BATCH_READ, TableCapability.BATCH_WRITE, TableCapability.TRUNCATE);
    }
    public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
      StructType wanted = CatalogV2Util.v2ColumnsToStructType(columns);
      Rows found = new Rows(new ArrayList<>());
      rows().forEach(w -> w.rows.forEach(row -> found.rows.add(w.as(row, wanted))));
      return () -> new Scan() {
        public StructType readSchema() { return wanted; }
        public Batch toBatch() { return found; }
      };
    }
    public WriteBuilder newWriteBuilder(LogicalWriteInfo info) { return new Writer(info, false); }
    public RowLevelOperationBuilder newRowLevelOperationBuilder(RowLevelOperationInfo info) {
      return () -> new RowLevelOperation() {
        public Command command() { return info.command(); }
        public ScanBuilder newScanBuilder(CaseInsensitiveStringMap o) { return Stored.this.newScanBuilder(o); }
        public WriteBuilder newWriteBuilder(LogicalWriteInfo rows) { return new Writer(rows, true); }
      };
    }

    class Writer implements SupportsTruncate, Write, BatchWrite {
      private final LogicalWriteInfo info; private boolean replaces;
      Writer(LogicalWriteInfo info, boolean replaces) { this.info = info; this.replaces = replaces; }
      public WriteBuilder truncate() { replaces = true; return this; }
      public Write build() { return this; }
      public BatchWrite toBatch() { return this; }
      public DataWriterFactory createBatchWriterFactory(PhysicalWriteInfo physical) {
        return (partition, task) -> new Writing(new Rows(new ArrayList<>()));
      }
      public void abort(WriterCommitMessage[] m) {}
      public void commit(WriterCommitMessage[] messages) {
        List<Written> all = new ArrayList<>(replaces ? List.of() : rows());
        for (WriterCommitMessage message : messages) all.add(new Written(info.schema(), ((Rows) message).rows));
        ROWS.put(properties.get(ID), all);
      }
    }
  }

  class Staged extends Stored implements StagedVersion {
    private final Identifier place;
    Staged(Identifier place, TableInfo info) {
      super(place.toString(), info.columns(), info.partitions(), numbered(info.properties()));
      this.place = place;
    }
    public void commitStagedChanges() {
      try {
        RowLevel.super.dropTable(place);
        RowLevel.super.createTable(place, columns, partitions, properties);
      } catch (Exception error) { throw new RuntimeException(error); }
    }
    public void abortStagedChanges() { ROWS.remove(properties.get(ID)); }
  }

  private static Map<String, String> numbered(Map<String, String> properties) {
    Map<String, String> more = new HashMap<>(properties);
    more.put(ID, UUID.randomUUID().toString());
    return more;
  }
  public Table loadTable(Identifier place) throws NoSuchTableException {
    Table found = super.loadTable(place);
    if (!(found instanceof V1Table) || !Set.of("delta", "iceberg").contains(found.properties().getOrDefault("provider", ""))) return found;
    return new Stored(found.name(), found.columns(), found.partitioning(), found.properties());
  }
  public Table createTable(Identifier place, Column[] columns, Transform[] by, Map<String, String> properties)
      throws TableAlreadyExistsException, NoSuchNamespaceException {
    return super.createTable(place, columns, by, numbered(properties));
  }
  public StagedVersion stageCreate(Identifier place, TableInfo info) { return new Staged(place, info); }
  public StagedVersion stageReplace(Identifier place, TableInfo info) { return new Staged(place, info); }
  public StagedVersion stageCreateOrReplace(Identifier place, TableInfo info) { return new Staged(place, info); }

  /** Formats by their names, for CREATE TABLE ... USING. */
  public abstract static class Format implements TableProvider, DataSourceRegister {
    public String shortName() { return getClass().getSimpleName().toLowerCase(); }
    public StructType inferSchema(CaseInsensitiveStringMap options) { return new StructType(); }
    public boolean supportsExternalMetadata() { return true; }
    public Table getTable(StructType schema, Transform[] by, Map<String, String> properties) {
      return new Stored("", CatalogV2Util.structTypeToV2Columns(schema, true), by, properties);
    }
  }
  public static class Delta extends Format {}
  public static class Iceberg extends Format {}
}
