"""Django app of the commands of evidence bundles."""
