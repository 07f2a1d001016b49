"""Reports of plans for people and other tools: tables, pictures, charts and additional formats."""
