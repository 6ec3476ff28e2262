"""Forms of the pages, one module per group of pages."""
