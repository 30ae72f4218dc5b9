"""Service for many tenants: HTTP API and MCP over files, found by a search engine beside them."""
