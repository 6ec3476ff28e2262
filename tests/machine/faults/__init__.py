"""What goes wrong around a running jpweb: silence, pauses, full disks, other clocks."""
