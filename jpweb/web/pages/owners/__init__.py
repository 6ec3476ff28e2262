"""What owners decide for a workspace, and what its members may see of it."""
