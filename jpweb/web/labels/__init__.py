"""Labels of pages, one module per family of pages."""
