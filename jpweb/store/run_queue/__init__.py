"""Runs between processes: leases, jobs, heartbeats, interrupts and checkpoints."""
