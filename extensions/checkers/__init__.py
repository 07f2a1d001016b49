"""Programs that check certificates and share no code with memplan; `docs/certificates.md` proves them right."""
