"""MCP server (Model Context Protocol) over a memory, on stdio and over HTTP."""
