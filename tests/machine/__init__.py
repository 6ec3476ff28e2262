"""What the tests need of the machine: a browser, two servers, and jpweb itself as a process."""
