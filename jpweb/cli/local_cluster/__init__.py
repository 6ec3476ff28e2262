"""A local cluster for trying: PostgreSQL, Redis, web servers and workers."""
