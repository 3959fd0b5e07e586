import io.modelcontextprotocol.client.McpClient;
import io.modelcontextprotocol.client.transport.HttpClientStreamableHttpTransport;
import io.modelcontextprotocol.client.transport.ServerParameters;
import io.modelcontextprotocol.client.transport.StdioClientTransport;
import io.modelcontextprotocol.json.McpJsonDefaults;
import io.modelcontextprotocol.json.McpJsonMapper;
import io.modelcontextprotocol.json.TypeRef;
import io.modelcontextprotocol.spec.McpClientTransport;
import io.modelcontextprotocol.spec.McpSchema.CallToolRequest;
import java.util.Arrays;
import java.util.List;
import java.util.Map;

/** {@code Interop CALLS (URL | COMMAND [ARGUMENT...])}: list the tools, make the calls, print a line of JSON for each. */
class Interop {
  public static void main(String[] args) throws Exception {
    var json = McpJsonDefaults.getMapper();
    var calls = json.readValue(args[0], new TypeRef<List<CallToolRequest>>() {});
    // With the schemas of the listed tools at hand, the client checks each result.
    var options = McpClient.sync(connect(args, json)).enableCallToolSchemaCaching(true);
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

  private static McpClientTransport connect(String[] args, McpJsonMapper json) {
    if (args[1].startsWith("http://")) {
      return HttpClientStreamableHttpTransport.builder(args[1].replaceFirst("/mcp$", "")).jsonMapper(json).build();
    }
    var server = ServerParameters.builder(args[1]).args(Arrays.asList(args).subList(2, args.length)).build();
    return new StdioClientTransport(server, json);
  }
}
