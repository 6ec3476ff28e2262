"""Views, one module per group of pages; the modules do not import each other."""
