import java.lang.reflect.*;
import java.util.*;

/** Stands before the client of Hive's metastore, and fails calls of it from a given one on. */
public class Outage implements InvocationHandler {
  private static final Set<String> ASKS_NOTHING = Set.of("close", "reconnect", "isCompatibleWith", "isLocalMetaStore",
      "isSameConfObj", "setHiveAddedJars", "setMetaConf", "getMetaConf", "getConfigValue", "flushCache",
      "getTokenStrForm", "hashCode", "equals", "toString");
  private static final Set<String> LISTS = Set.of("getTables", "getAllTables", "getDatabases", "getAllDatabases");
  private static final String HIVES = "org.apache.hadoop.hive.metastore.api.";

  private final Object hive, plain;
  private final Field field;
  private String how = "";
  private long at = Long.MAX_VALUE, length, calls;
  private final List<String> failed = new ArrayList<>();

  /** `hive`: the org.apache.hadoop.hive.ql.metadata.Hive that Spark asks. */
  public Outage(Object hive) throws Exception {
    this.hive = hive;
    hive.getClass().getMethod("getMSC").invoke(hive);
    field = hive.getClass().getDeclaredField("metaStoreClient");
    field.setAccessible(true);
    plain = field.get(hive);
    Class<?> type = field.getType();
    field.set(hive, Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, this));
  }

  public void leave() throws Exception { field.set(hive, plain); }

  /** Call number `at`, the first being 0, fails, and `length` of them in all. */
  public synchronized void begin(String how, long at, long length) {
    this.how = how; this.at = at; this.length = length;
    calls = 0;
    failed.clear();
  }

  /** Everything is answered again: which calls failed, a line each. */
  public synchronized String end() { at = Long.MAX_VALUE; return String.join("\n", failed); }

  public synchronized long calls() { return calls; }

  @Override
  public Object invoke(Object proxy, Method asked, Object[] given) throws Throwable {
    if (!ASKS_NOTHING.contains(asked.getName()) && fails(asked)) return failure(asked);
    try {
      return asked.invoke(plain, given);
    } catch (InvocationTargetException thrown) {
      throw thrown.getCause();
    }
  }

  private synchronized boolean fails(Method asked) {
    long own = calls++;
    boolean now = at <= own && own - at < length;
    if (now) failed.add(own + " " + asked.getName());
    return now;
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
