"""A whole team's jpweb on one machine, for trying: servers, daphnes, workers, a balancer."""
