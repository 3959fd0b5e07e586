// node client.mjs PACKAGE CALLS (URL | COMMAND [ARGUMENT...]): list the tools, make the calls, print a line of JSON for each.

const [name, calls, command, ...args] = process.argv.slice(2);
const v2 = name === "@modelcontextprotocol/client";
const { Client } = await import(v2 ? name : `${name}/client/index.js`);
const { StdioClientTransport } = await import(v2 ? `${name}/stdio` : `${name}/client/stdio.js`);
const { StreamableHTTPClientTransport } = await import(v2 ? name : `${name}/client/streamableHttp.js`);

// Only v2 knows this option: it asks for the newest revision that both sides speak.
const client = new Client({ name: "interop", version: "1" }, { versionNegotiation: { mode: "auto" } });
const transport = command.startsWith("http://")
  ? new StreamableHTTPClientTransport(new URL(command))
  : new StdioClientTransport({ command, args, stderr: "inherit" });
await client.connect(transport);
await client.listTools();
for (const call of JSON.parse(calls)) {
  const line = await client.callTool(call).then(
    (result) => ({ result }),
    (error) => ({ thrown: String(error) }),
  );
  console.log(JSON.stringify(line));
}
await client.close();
