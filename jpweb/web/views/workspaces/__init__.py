"""Pages of one workspace: members, tools, question expiry and user-local copies."""
