"""Requests and sockets in, HTML out."""
