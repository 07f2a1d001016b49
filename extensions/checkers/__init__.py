"""Programs that check certificates and plans without importing memplan; docs/certificates.md proves their rules."""
