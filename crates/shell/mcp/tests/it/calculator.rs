//! A server with tools of every temper.

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, DiscoverResult,
    ErrorCode, ErrorData, Implementation, ListToolsResult, PaginatedRequestParams, ProtocolVersion,
    ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServerHandler};
use serde_json::{Value, json};
use std::sync::Arc;

/// The server. It has no state: a new process is as good as the old one.
#[derive(Clone, Debug)]
pub(crate) struct Calculator {
    /// True if it knows the older protocol only.
    pub(crate) old: bool,
}

fn tool(name: &'static str, description: &'static str, schema: &Value) -> Tool {
    let schema = schema.as_object().cloned().unwrap_or_default();
    Tool::new(name, description, Arc::new(schema))
}

impl ServerHandler for Calculator {
    fn get_info(&self) -> ServerConfig {
        let can = ServerCapabilities::builder().enable_tools().build();
        let mut info = ServerConfig::new(can).with_instructions("Add with add.");
        info.server_info = Implementation::new("calculator", "1");
        info
    }

    async fn discover(&self, _: RequestContext<RoleServer>) -> Result<DiscoverResult, ErrorData> {
        if self.old {
            let words = "Method not found";
            return Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, words, None));
        }
        let versions = vec![ProtocolVersion::V_2026_07_28];
        Ok(DiscoverResult::from_server_info(versions, self.get_info()))
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let numbers = json!({ "type": "object", "properties": { "a": { "type": "number" }, "b": { "type": "number" } } });
        let nothing = json!({ "type": "object" });
        let tools = vec![
            tool("add", "Adds two numbers", &numbers),
            tool("pid", "Number of the process", &nothing),
            tool("wait", "Waits for ever", &nothing),
            tool("die", "Ends the server", &nothing),
            tool("fail", "Fails", &nothing),
            tool("bad name", "Is left out", &nothing),
        ];
        Ok(ListToolsResult::with_all_items(tools))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let input = Value::Object(request.arguments.unwrap_or_default());
        let text = match request.name.as_ref() {
            "add" => {
                let number = |name: &str| input[name].as_f64().unwrap_or_default();
                (number("a") + number("b")).to_string()
            }
            "pid" => std::process::id().to_string(),
            "wait" => {
                context.ct.cancelled().await;
                // Says that the cancel has arrived.
                if let Some(file) = input["file"].as_str() {
                    let _written = std::fs::write(file, "cancelled");
                }
                "cancelled".to_owned()
            }
            "die" => std::process::exit(3),
            _ => return Err(ErrorData::invalid_params("it never works", None)),
        };
        let result = CallToolResult::success(vec![ContentBlock::text(text)]);
        Ok(CallToolResponse::Complete(result))
    }
}
