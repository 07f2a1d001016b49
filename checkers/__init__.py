"""Programs that check certificates, and share no code with memplan: `docs/proofs.md` says why they are right."""
