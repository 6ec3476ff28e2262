"""The doors for programs. Empty until REST and MCP arrive; its place in the layers is already enforced."""
