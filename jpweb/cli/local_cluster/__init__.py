"""A local cluster for trying: PostgreSQL, Redis, web servers, workers and a load balancer."""
