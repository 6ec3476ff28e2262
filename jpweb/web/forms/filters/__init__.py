"""Forms of filters, in the addresses of tables and lists."""
