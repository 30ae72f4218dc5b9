"""Search engine for tests of the service: a double, or OpenSearch on loopback."""
