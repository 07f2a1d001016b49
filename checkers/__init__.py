"""Programs that check certificates and plans without memplan; docs/certificates.md proves their rules sound."""
