import java.lang.reflect.*;
import java.util.*;

/** Stands before the client of Hive's metastore, and fails calls of it from the first of a given kind on. */
public class Outage implements InvocationHandler {
  private static final Set<String> ASKS_NOTHING = Set.of("close", "reconnect", "isCompatibleWith", "isLocalMetaStore",
      "isSameConfObj", "setHiveAddedJars", "setMetaConf", "getMetaConf", "getConfigValue", "flushCache",
      "getTokenStrForm", "hashCode", "equals", "toString");
  private static final Set<String> LISTS = Set.of("getTables", "getAllTables", "getDatabases", "getAllDatabases");
  private static final String HIVES = "org.apache.hadoop.hive.metastore.api.";

  private final Object hive, stand;
  private Object plain;
  private final Field field;
  private final ThreadLocal<String> asker = ThreadLocal.withInitial(() -> "");
  private String how = "", kind;
  private boolean begun;
  private long length;
  private final List<String> failed = new ArrayList<>();
  private final Map<String, Integer> asked = new LinkedHashMap<>();

  /** `hive`: the org.apache.hadoop.hive.ql.metadata.Hive that Spark asks. */
  public Outage(Object hive) throws Exception {
    this.hive = hive;
    field = hive.getClass().getDeclaredField("metaStoreClient");
    field.setAccessible(true);
    Class<?> type = field.getType();
    stand = Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, this);
  }

  /** Hive may have closed its client, and made another one. */
  private void enter() throws Exception {
    if (field.get(hive) == stand) return;
    plain = hive.getClass().getMethod("getMSC").invoke(hive);
    field.set(hive, stand);
  }

  public synchronized void leave() throws Exception { if (field.get(hive) == stand) field.set(hive, plain); }

  /** Who asks from here on, on this thread. */
  public void asks(String name) { asker.set(name); }

  /** The first call of this kind fails, and `length` calls in all; none where there is no kind. */
  public synchronized void begin(String how, String kind, long length) throws Exception {
    enter();
    this.how = how; this.kind = kind; this.length = length;
    begun = false;
    failed.clear();
    asked.clear();
  }

  /** Everything is answered again: the kinds of the calls that failed, a line each. */
  public synchronized String end() { length = 0; return String.join("\n", failed); }

  /** The kinds of the calls since the beginning, in the order of their first ones, each with its number: a line each. */
  public synchronized String kinds() {
    StringBuilder lines = new StringBuilder();
    asked.forEach((known, times) -> lines.append(times).append(' ').append(known).append('\n'));
    return lines.toString();
  }

  @Override
  public Object invoke(Object proxy, Method asked, Object[] given) throws Throwable {
    if (!ASKS_NOTHING.contains(asked.getName()) && fails(kind(asked, given))) return failure(asked);
    try {
      return asked.invoke(plain, given);
    } catch (InvocationTargetException thrown) {
      throw thrown.getCause();
    }
  }

  private synchronized boolean fails(String own) {
    asked.merge(own, 1, Integer::sum);
    begun |= own.equals(kind);
    boolean now = begun && failed.size() < length;
    if (now) failed.add(own);
    return now;
  }

  /** The call, whether its object is one of the guard's own, and who asks. */
  private String kind(Method asked, Object[] given) {
    boolean own = given != null && Arrays.stream(given).anyMatch(o -> o instanceof String && ((String) o).contains("planproof"));
    return asked.getName() + (own ? " own" : "") + " " + asker.get();
  }

  /**
   * `gone`: an error. `absent`: there is no such object, and no list. `empty`: the lists are empty, too. No
   * TTransportException: after one Spark makes itself another client, and asks again (HiveClientImpl.retryLocked).
   */
  private Object failure(Method asked) throws Throwable {
    ClassLoader hives = field.getType().getClassLoader();
    if (how.equals("gone")) throw error(hives, HIVES + "MetaException", "java.net.ConnectException: Connection refused");
    if (asked.getName().equals("tableExists")) return false;
    if (how.equals("empty") && LISTS.contains(asked.getName())) return new ArrayList<>();
    boolean looksUp = Arrays.stream(asked.getExceptionTypes()).anyMatch(t -> t.getName().endsWith(".NoSuchObjectException"));
    throw error(hives, HIVES + (looksUp ? "NoSuchObjectException" : "MetaException"), "the metastore's database is gone");
  }

  private static Throwable error(ClassLoader from, String name, String said) throws Exception {
    return (Throwable) Class.forName(name, true, from).getConstructor(String.class).newInstance(said);
  }
}
