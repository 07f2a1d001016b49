"""Programs that check certificates without importing memplan; `docs/certificates.md` proves their rules."""
