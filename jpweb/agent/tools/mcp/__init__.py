"""Tools of MCP servers, through the official SDK.

The servers live for one turn (``connect_servers``); their tools are merged under the
workspace's configuration (``McpConnections.make_tool_config``), and a call is an McpTool. A
server's elicitation during a call becomes questions of that tool.
"""

from __future__ import annotations

from jpweb.agent.tools.mcp.connections import McpConnections, connect_servers
from jpweb.agent.tools.mcp.tool import CallLimits, McpTool

__all__ = ["CallLimits", "McpConnections", "McpTool", "connect_servers"]
