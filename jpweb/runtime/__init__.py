"""What is alive in a server process: where the agent and the store meet."""
