// interop CALLS (URL | COMMAND [ARGUMENT...]): list the tools, make the calls, print a line of JSON for each.
package main

import (
	"context"
	"encoding/json"
	"log"
	"os"
	"os/exec"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func main() {
	var calls []*mcp.CallToolParams
	if err := json.Unmarshal([]byte(os.Args[1]), &calls); err != nil {
		log.Fatal(err)
	}
	server := exec.Command(os.Args[2], os.Args[3:]...)
	server.Stderr = os.Stderr
	var transport mcp.Transport = &mcp.CommandTransport{Command: server}
	if strings.HasPrefix(os.Args[2], "http://") {
		transport = &mcp.StreamableClientTransport{Endpoint: os.Args[2]}
	}

	ctx := context.Background()
	client := mcp.NewClient(&mcp.Implementation{Name: "interop", Version: "1"}, nil)
	session, err := client.Connect(ctx, transport, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()
	if _, err := session.ListTools(ctx, nil); err != nil {
		log.Fatal(err)
	}

	out := json.NewEncoder(os.Stdout)
	for _, call := range calls {
		line := map[string]any{}
		if result, err := session.CallTool(ctx, call); err != nil {
			line["thrown"] = err.Error()
		} else {
			line["result"] = result
		}
		if err := out.Encode(line); err != nil {
			log.Fatal(err)
		}
	}
}
