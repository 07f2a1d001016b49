"""The question `convert`: problems, models and plans written in other formats."""
