"""Service with its files in an object store (S3), spoken by a server of moto on loopback."""

from commonplace.service.tokens import tenant_key

KEY = tenant_key("acme")
