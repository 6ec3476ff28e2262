"""Tools of MCP servers, through the official SDK.

The servers are there for one turn (``connected``); what they offer is laid under what the
workspace configures (``Connections.tool_config``), and a call is an McpTool. What a server asks
during a call (elicitation) becomes questions of that tool.
"""

from __future__ import annotations

from jpweb.agent.tools.mcp.connections import Connections, connected
from jpweb.agent.tools.mcp.tool import McpTool, Patience

__all__ = ["Connections", "McpTool", "Patience", "connected"]
