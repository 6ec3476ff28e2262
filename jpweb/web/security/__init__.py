"""Sign-ins, caches, rate limits and the security log of the pages."""
