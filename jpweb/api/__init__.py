"""The doors for programs. Empty until REST and MCP arrive; its layer is enforced already."""
