"""Services of a running process, which connect the agent to the store."""
