import io.modelcontextprotocol.client.McpClient;
import io.modelcontextprotocol.client.transport.ServerParameters;
import io.modelcontextprotocol.client.transport.StdioClientTransport;
import io.modelcontextprotocol.json.McpJsonDefaults;
import io.modelcontextprotocol.json.TypeRef;
import io.modelcontextprotocol.spec.McpSchema.CallToolRequest;
import java.util.Arrays;
import java.util.List;
import java.util.Map;

/** {@code Interop CALLS COMMAND [ARGUMENT...]}: list the tools, make the calls, print a line of JSON for each. */
class Interop {
  public static void main(String[] args) throws Exception {
    var json = McpJsonDefaults.getMapper();
    var calls = json.readValue(args[0], new TypeRef<List<CallToolRequest>>() {});
    var server = ServerParameters.builder(args[1]).args(Arrays.asList(args).subList(2, args.length)).build();

    // With the schemas of the listed tools at hand, the client checks each result.
    var options = McpClient.sync(new StdioClientTransport(server, json)).enableCallToolSchemaCaching(true);
    try (var client = options.build()) {
      client.initialize();
      client.listTools();
      for (var call : calls) {
        Map<String, Object> line;
        try {
          line = Map.of("result", client.callTool(call));
        } catch (RuntimeException error) {
          line = Map.of("thrown", error.toString());
        }
        System.out.println(json.writeValueAsString(line));
      }
    }
  }
}
