"""Suspected secrets: found in events by a detector, masked until someone decides about them."""
