"""Sessions, cache headers, rate limits and the security log of the pages."""
