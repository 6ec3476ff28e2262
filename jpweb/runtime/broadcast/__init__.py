"""Publish/subscribe: signals of changes, to this process's subscribers and to other processes."""
