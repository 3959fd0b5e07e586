//! `interop CALLS (URL | COMMAND [ARGUMENT...])`: list the tools, make the calls, print a line of JSON for each.

use std::error::Error;

use rmcp::{
    ServiceExt,
    model::CallToolRequestParams,
    transport::{StreamableHttpClientTransport, TokioChildProcess},
};
use serde_json::json;
use tokio::process::Command;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let calls: Vec<CallToolRequestParams> = serde_json::from_str(&args.next().ok_or("no calls")?)?;
    let command = args.next().ok_or("no command")?;
    let client = if command.starts_with("http://") {
        ().serve(StreamableHttpClientTransport::from_uri(command)).await?
    } else {
        let mut server = Command::new(command);
        server.args(args);
        ().serve(TokioChildProcess::new(server)?).await?
    };
    client.list_all_tools().await?;
    for call in calls {
        let line = match client.call_tool(call).await {
            Ok(result) => json!({ "result": result }),
            Err(error) => json!({ "thrown": error.to_string() }),
        };
        println!("{line}");
    }
    client.cancel().await?;
    Ok(())
}
