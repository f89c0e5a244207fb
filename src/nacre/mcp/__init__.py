"""The MCP server: tools, resources and prompts, over stdin and stdout, and over HTTP inside the daemon."""
