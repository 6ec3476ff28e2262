"""What changed, told to the pages of this process and to the other processes."""
